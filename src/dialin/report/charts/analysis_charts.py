"""The charts of an analysis of logs: throughput over time, how it varies, and by threads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dialin.model.analysis import Analysis, FolderKind, RunAnalysis, ScalingCurve
from dialin.report.charts import plotly_data as go
from dialin.report.charts.chart import Chart, axis, blank, log_ticks, marked_line, plain, safe
from dialin.report.charts.course_chart import short
from dialin.report.charts.style import Style, looks_of
from dialin.report.charts.thin import thin_smooth
from dialin.stats.boxes import box
from dialin.stats.rolling_mean import rolling
from dialin.text import listed, number, visible

_MOST_RUNS = 24
"""Runs that a chart shows; more lines cannot be told apart."""
_MOST_NAMED = 8
"""Lines of a chart up to which each has its name at its end."""
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


def _axis(series: Sequence[RunSeries], unit: str) -> dict[str, object]:
    """Return the axis of throughput; it begins at 0 where any line is near it, so that stalls are not drawn larger."""
    lines = [tps for one in series for tps in one.tps]
    begins = "tozero" if min(lines) < _NEAR_ZERO * max(lines) else "normal"
    return {**axis(unit), "rangemode": begins}


def _over_time(series: Sequence[RunSeries], runs: Mapping[str, RunAnalysis], style: Mapping[str, Style]) -> Chart:
    figure = blank(
        margin={"l": 64, "r": 16, "t": 12, "b": 44},
        xaxis=axis("seconds since the run began"),
        yaxis=_axis(series, _unit(runs.values())),
    )
    places = list(dict.fromkeys(runs[one.file].candidate for one in series))
    for place, one in enumerate(series):
        run = runs[one.file]
        look = _style_of(style, run.candidate or "", place)
        means = rolling(one.tps, max(1, round(_WINDOW / run.interval)))
        points = thin_smooth(means, _POINTS)
        figure.add_trace(
            go.Scatter(
                x=[short(one.times[index]) for index in points],
                y=[short(means[index]) for index in points],
                mode="lines",
                line={"color": look.colour, "width": 1.4},
                hovertemplate=f"{safe(visible(run.label))}<br>%{{x}} s: %{{y:,.0f}} {safe(run.unit)}<extra></extra>",
            )
        )
        if len(series) <= _MOST_NAMED:
            figure.add_trace(_name_at(one.times[-1], means[-1], run.label, look, places.index(run.candidate)))
    levels = ", ".join(f"{visible(runs[one.file].label)} {number(runs[one.file].tps)}" for one in series)
    text = f"Rolling mean over {_WINDOW:g} s of each run, with its start. Throughput after it: {levels}."
    return Chart("throughput-course", "Throughput over time", text, 380, plain(figure))


def _name_at(x: float, y: float, label: str, look: Style, place: int) -> go.Scatter:
    """Return the name of a line at its end, above or below it in turns, because lines often end side by side."""
    return go.Scatter(
        x=[short(x)],
        y=[short(y)],
        mode="text",
        text=[safe(visible(label))],
        textposition="bottom left" if place % 2 else "top left",
        cliponaxis=False,
        textfont={"color": look.colour, "size": 12},
        hoverinfo="skip",
    )


def _boxes(series: Sequence[RunSeries], runs: Mapping[str, RunAnalysis], style: Mapping[str, Style]) -> Chart:
    figure = blank(
        margin={"l": 64, "r": 16, "t": 12, "b": 90},
        xaxis={**axis(""), "type": "category"},
        yaxis=_axis(series, _unit(runs.values())),
    )
    texts = []
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
        texts.append(f"{visible(run.label)} {number(figures.low)} to {number(figures.high)}")
    text = f"Percentiles 5 to 95 (line), 25 to 75 (bar) and the median of each run's lines after its start: {'; '.join(texts)}."
    return Chart("run-boxes", "How throughput varies within each run", text, 380, plain(figure))


def _by_threads(curves: Sequence[ScalingCurve], style: Mapping[str, Style], unit: str) -> Chart:
    threads = [float(point.threads) for curve in curves for point in curve.points]
    figure = blank(
        margin={"l": 64, "r": 16, "t": 12, "b": 44},
        xaxis={**axis("threads"), **log_ticks(threads)},
        yaxis={**axis(unit), **log_ticks([point.tps for curve in curves for point in curve.points])},
    )
    peaks = []
    for place, curve in enumerate(curves):
        label = ", ".join(filter(None, (curve.candidate, *curve.conditions.values()))) or "all runs"
        look = _style_of(style, curve.candidate, place)
        hovers = [
            f"{safe(visible(label))}, {point.threads:,} threads: {number(point.tps)} {safe(unit)}" for point in curve.points
        ]
        figure.add_trace(
            marked_line([point.threads for point in curve.points], [short(point.tps) for point in curve.points], look, hovers)
        )
        if len(curves) <= _MOST_NAMED:
            figure.add_trace(_name_at(curve.points[-1].threads, curve.points[-1].tps, label, look, place))
        peaks.append(f"{visible(label)} at {curve.peak_threads:,}")
    text = f"Throughput by threads, both axes logarithmic. It is highest with these threads: {listed(peaks)}."
    return Chart("by-threads", "Throughput by threads", text, 380, plain(figure))
