"""The charts of an analysis of logs: throughput over time, how it varies, and by threads."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dialin.model.analysis import Analysis, FolderKind, RunAnalysis, ScalingCurve
from dialin.report.charts import plotly_data as go
from dialin.report.charts.chart import Chart, LineName, axis, blank, log_ticks, marked_line, names_at_ends, plain, safe
from dialin.report.charts.course_chart import short
from dialin.report.charts.plotly_data import thin
from dialin.report.charts.style import Style, looks_of
from dialin.stats.summaries import box, rolling
from dialin.text import listed, number, visible

_MOST_RUNS = 24
"""Runs that a chart shows; more lines cannot be told apart."""
_MOST_NAMED = 8
"""Lines of a chart up to which each has its name at its end."""
_LONGEST_NAME, _SHORT_NAME = 28, 11
"""Characters of such a name, also on a narrow screen."""
_HEIGHT, _MARGIN = 380, {"l": 84, "r": 16, "t": 12, "b": 44}
"""The height and the margins of a chart, in CSS pixels."""
_MOST_TICKS = 9
_POINTS = 400
_NEAR_ZERO = 0.5
_WINDOW = 60.0
"""Seconds of the rolling mean."""


@dataclass(frozen=True, slots=True)
class RunSeries:
    """The figures of a run over time: seconds since it began, and transactions per second."""

    file: str
    times: Sequence[float]
    tps: Sequence[float]


def looks(analysis: Analysis) -> dict[str, Style]:
    """Return how each candidate looks; without candidates, how each load or run does."""
    names = [one.name for one in analysis.candidates]
    names = names or list(dict.fromkeys(one.name for row in analysis.suite for one in row.candidates))
    return looks_of({name: visible(name) for name in names}, analysis.baseline)


def analysis_charts(analysis: Analysis, series: Sequence[RunSeries]) -> list[Chart]:
    """Return the charts of an analysis: over time only where runs have one load, so that one axis suits all."""
    style = looks(analysis)
    by_file = {run.file: run for run in analysis.runs if run.copy_of is None and run.candidate is not None}
    shown = [one for one in series if one.file in by_file and len(one.times) > 1][:_MOST_RUNS]
    is_alike = analysis.kind in (FolderKind.ALTERNATIVES, FolderKind.RATE_RAMP)
    charts = [_over_time(shown, by_file, style), _boxes(shown, by_file, style)] if shown and is_alike else []
    return [*charts, *([_by_threads(analysis.scaling, style, _unit(analysis.runs))] if analysis.scaling else [])]


def _style_of(style: Mapping[str, Style], name: str, place: int) -> Style:
    if name in style:
        return style[name]
    return list(looks_of({str(index): str(index) for index in range(place + 2)}, "0").values())[place + 1]


def _unit(runs: Iterable[RunAnalysis]) -> str:
    units = list(dict.fromkeys(run.unit for run in runs))
    return "transactions per second" if units == ["tps"] else ", ".join(units)


def _axis(series: Sequence[RunSeries], unit: str) -> dict[str, Any]:
    """Return the axis of throughput; it begins at 0 where any line is near it, so that stalls are not drawn larger."""
    lowest, highest = min(min(one.tps) for one in series), max(max(one.tps) for one in series)
    begins = 0.0 if lowest < _NEAR_ZERO * highest else lowest - 0.05 * (highest - lowest)
    return {**axis(unit), "range": [begins, highest + 0.05 * ((highest - begins) or 1.0)]}


def _over_time(series: Sequence[RunSeries], runs: Mapping[str, RunAnalysis], style: Mapping[str, Style]) -> Chart:
    up = _axis(series, _unit(runs.values()))
    figure = blank(margin=_MARGIN, xaxis=axis("seconds since the run began"), yaxis=up)
    names = []
    for place, one in enumerate(series):
        run = runs[one.file]
        look = _style_of(style, run.candidate or "", place)
        means = rolling(one.tps, max(1, round(_WINDOW / run.interval)))
        points = thin(means, _POINTS, is_smooth=True)
        figure.add_trace(
            go.Scatter(
                x=[short(one.times[index]) for index in points],
                y=[short(means[index]) for index in points],
                mode="lines",
                line={"color": look.colour, "width": 1.4},
                hovertemplate=f"{safe(visible(run.label))}<br>%{{x}} s: %{{y:,.0f}} {safe(run.unit)}<extra></extra>",
            )
        )
        names.append(LineName(visible(run.label), look.colour, means[-1]))
    _name_lines(figure, names, up["range"])
    text = f"Rolling mean over {_WINDOW:g} s of each run, with its start."
    return Chart("throughput-course", "Throughput over time", text, _HEIGHT, plain(figure))


def _name_lines(figure: go.Figure, names: Sequence[LineName], span: Sequence[float]) -> None:
    """Write the name of each line beside its end, in the margin; nothing where there are too many lines."""
    if len(names) > _MOST_NAMED:
        return
    room, longest = _HEIGHT - _MARGIN["t"] - _MARGIN["b"], max(len(one.label) for one in names)
    wide, narrow = (
        {"margin": {"r": 14 + 7 * min(width, longest)}, "annotations": names_at_ends(names, span, room, width)}
        for width in (_LONGEST_NAME, _SHORT_NAME)
    )
    figure.update_layout(**wide, meta={"narrow": narrow})


def _boxes(series: Sequence[RunSeries], runs: Mapping[str, RunAnalysis], style: Mapping[str, Style]) -> Chart:
    figure = blank(
        margin={**_MARGIN, "b": 90},
        xaxis={**axis(""), "type": "category"},
        yaxis=_axis(series, _unit(runs.values())),
    )
    for place, one in enumerate(series):
        run = runs[one.file]
        measured = [tps for time, tps in zip(one.times, one.tps, strict=True) if time > run.warm_up_seconds]
        figures = box(measured)
        if figures is None:
            continue
        look, label = _style_of(style, run.candidate or "", place), safe(visible(run.label))
        for low, high, width in ((figures.low, figures.high, 2), (figures.first, figures.third, 10)):
            figure.add_trace(
                go.Scatter(
                    x=[label, label], y=[short(low), short(high)], mode="lines",
                    line={"color": look.colour, "width": width}, hoverinfo="skip",
                )
            )  # fmt: skip
        hover = (
            f"{label}<br>P5 {number(figures.low)}, median {number(figures.median)}, P95 {number(figures.high)} {safe(run.unit)}"
        )
        figure.add_trace(
            go.Scatter(
                x=[label], y=[short(figures.median)], mode="markers", hovertemplate=f"{hover}<extra></extra>",
                marker={"symbol": "line-ew-open", "size": 14, "color": "var(--ink)"},
            )
        )  # fmt: skip
    text = "Line: percentiles 5 to 95; bar: 25 to 75; tick: the median, each of the run after its start."
    return Chart("run-boxes", "How throughput varies within each run", text, _HEIGHT, plain(figure))


def _by_threads(curves: Sequence[ScalingCurve], style: Mapping[str, Style], unit: str) -> Chart:
    threads = sorted({point.threads for curve in curves for point in curve.points})
    up = {**axis(unit), **log_ticks([point.tps for curve in curves for point in curve.points])}
    ticks = {"tickvals": threads, "ticktext": [f"{count:,}" for count in threads]} if len(threads) <= _MOST_TICKS else {}
    figure = blank(margin=_MARGIN, xaxis={**axis("threads"), **log_ticks(list(map(float, threads))), **ticks}, yaxis=up)
    names, peaks = [], []
    for place, curve in enumerate(curves):
        label = ", ".join(filter(None, (curve.candidate, *curve.conditions.values()))) or "all runs"
        look = _style_of(style, curve.candidate, place)
        hovers = [
            f"{safe(visible(label))}, {point.threads:,} threads: {number(point.tps)} {safe(unit)}" for point in curve.points
        ]
        figure.add_trace(
            marked_line([point.threads for point in curve.points], [short(point.tps) for point in curve.points], look, hovers)
        )
        names.append(LineName(visible(label), look.colour, math.log10(curve.points[-1].tps)))
        peaks.append(f"{visible(label)} at {curve.peak_threads:,}")
    _name_lines(figure, names, up["range"])
    text = f"Both axes are logarithmic. Highest with these threads: {listed(peaks)}."
    return Chart("by-threads", "Throughput by threads", text, _HEIGHT, plain(figure))
