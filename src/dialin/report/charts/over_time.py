"""The charts of a study's seconds: each candidate's trials beside each other, and all trials one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dialin.model.record import StudyRecord
from dialin.model.trial import TrialState
from dialin.report.charts import captions
from dialin.report.charts import plotly_data as go
from dialin.report.charts.chart import Chart, ChartToggle, axis, blank, latency_axis, plain
from dialin.report.charts.course_chart import CourseChart, short
from dialin.report.charts.style import Style
from dialin.report.charts.trial_series import Series
from dialin.sentences.load_units import Units, units_of_record
from dialin.sentences.names import naming

_FIGURES = 64
_LATENCY = "%{y:,.3~r} ms"
_MIDDLES = {"tps": "mean", "latency": "median"}


def over_time(record: StudyRecord, series: Sequence[Series], style: Mapping[str, Style]) -> list[Chart]:
    """Return one chart per candidate, all on one scale: the seconds of every trial, from the end of its warm-up.

    Each has two sides, throughput and latency, of which the page shows one at a time.
    """
    unit = units_of_record(record)
    percentile = record.spec.workload.percentile
    across = _seconds(series)
    up = {**axis(unit.rate), "range": [0, 1.05 * max(_values(one.tps for one in series), default=1.0)]}
    latency_up = latency_axis(percentile, _values(one.latency for one in series))
    titles = naming(record.spec).full
    charts = []
    for place, candidate in enumerate(record.spec.candidates, start=1):
        trials = [one for one in series if one.trial.candidate == candidate.name]
        figure = blank(
            margin={"l": _FIGURES, "r": 8, "t": 8, "b": 44},
            xaxis={**axis("seconds from the start of measuring"), "range": across},
            yaxis=up,
            meta={"latency": {"yaxis": latency_up}},
        )
        if across[0] < 0:
            figure.add_vrect(x0=across[0], x1=0, fillcolor="var(--warm)", line={"width": 0}, layer="below")
        figure.add_traces(_panel(trials, unit, style[candidate.name].colour))
        _mark(figure, trials, "trial")
        role = "The baseline. " if candidate.name == record.spec.baseline else ""
        charts.append(
            Chart(
                f"over-time-{place}",
                titles[candidate.name],
                role + captions.over_time(trials),
                216,
                plain(figure),
                [_toggle(one) for one in trials] if len(trials) > 1 else (),
                toggled="Trials",
            )
        )
    return charts


def combined(record: StudyRecord, series: Sequence[Series], style: Mapping[str, Style]) -> Chart:
    """Return all trials on the study's clock."""
    unit = units_of_record(record)
    figure = blank(
        margin={"l": _FIGURES, "r": 8, "t": 18, "b": 44},
        xaxis=axis("minutes of the study"),
        yaxis={**axis(unit.rate), "rangemode": "tozero"},
        meta={"latency": {"yaxis": latency_axis(record.spec.workload.percentile, _values(one.latency for one in series))}},
    )
    every = [one.trial.id for one in series]
    toggles = []
    for place, (name, look) in enumerate(style.items(), start=1):
        trials = [one.trial.id for one in series if one.trial.candidate == name]
        figure.add_trace(_line(trials, "tps", "m", "study", look.colour, _hover(unit), width=1))
        figure.add_trace(_line(trials, "latency", "m", "study", look.colour, _LATENCY, width=1))
        figure.add_traces(_middles([one for one in series if one.trial.candidate == name], look, unit, str(place)))
        toggles.append(ChartToggle(str(place), look.label, look.label, look.colour, trials, look.symbol))
    figure.add_trace(_line(every, "tps", "w", "study", "var(--muted)", _hover(unit), width=0.8))
    figure.add_trace(_line(every, "latency", "w", "study", "var(--muted)", _LATENCY, width=0.8))
    fresh = [(one.base + second) / 60 for one in series if one.is_fresh for second, _ in one.tps.points]
    if fresh:
        figure.add_vrect(
            x0=min(fresh),
            x1=max(fresh),
            fillcolor="var(--band)",
            line={"width": 0},
            layer="below",
            annotation={"text": "confirmation trials", "font": {"size": 12, "color": "var(--ink-2)"}, "yanchor": "bottom"},
        )
    _mark(figure, series, "study")
    text = captions.combined(series)
    return Chart("combined", "All trials, one after the other", text, 340, plain(figure), toggles=toggles)


def _middles(series: Sequence[Series], look: Style, unit: Units, key: str) -> list[Any]:
    """Return a mark for each trial in the middle of its time, on both sides; marks tell candidates apart without colour."""
    traces = []
    for measure, hover in (("tps", _hover(unit)), ("latency", _LATENCY)):
        marks = []
        for one in series:
            figure = one.mean if measure == "tps" else one.latency_median
            points = one.tps.measured.known
            if points and figure:
                marks.append(((one.base + (points[0][0] + points[-1][0]) / 2) / 60, figure, one.trial.id))
        traces.append(
            go.Scatter(
                x=[round(at, 3) for at, *_ in marks],
                y=[short(figure) for _, figure, _ in marks],
                mode="markers",
                marker={
                    "symbol": look.symbol,
                    "size": 10,
                    "color": look.colour,
                    "line": {"width": 1.5, "color": "var(--card)"},
                },
                text=[f"trial {trial}, {_MIDDLES[measure]}" for *_, trial in marks],
                hovertemplate=f"{hover}<br>%{{text}}<extra></extra>",
                meta={"of": measure, "key": key},
            )
        )
    return traces


def _seconds(series: Sequence[Series]) -> list[int]:
    points = [(one, one.tps.points) for one in series]
    first = min((course[0][0] - one.zero - 1 for one, course in points if course), default=0)
    return [min(0, first), max((course[-1][0] - one.zero for one, course in points if course), default=1)]


def _values(courses: Iterable[CourseChart]) -> list[float]:
    return [value for one in courses for _, value in one.points]


def _toggle(one: Series) -> ChartToggle:
    remarks = "".join(f", {remark}" for remark in one.remarks)
    failed = ", failed" if one.trial.state is TrialState.FAILED else ""
    return ChartToggle(
        str(one.trial.id),
        str(one.trial.id),
        f"trial {one.trial.id}, block {one.trial.block}{remarks}{failed}",
        "",
        [one.trial.id],
    )


def _panel(series: Sequence[Series], unit: Units, colour: str) -> list[Any]:
    """Return the traces of one candidate, of both measures: seconds thin, rolling means thick, confirmation trials dotted."""
    race = [one.trial.id for one in series if not one.is_fresh]
    fresh = [one.trial.id for one in series if one.is_fresh]
    window = next((one.window for one in series if one.window), None)
    traces = []
    for measure, hover in (("tps", _hover(unit)), ("latency", _LATENCY)):
        traces.append(_line([*race, *fresh], measure, "w", "trial", "var(--muted)", hover, width=0.8))
        for trials, dash in ((race, "solid"), (fresh, "dot")):
            if not trials:
                continue
            if window is None:
                traces.append(_line(trials, measure, "m", "trial", colour, hover, width=0.9, dash=dash))
                continue
            traces.append(_line(trials, measure, "m", "trial", colour, hover, width=0.8, opacity=0.55))
            mean = f"{hover}, mean of {window} s"
            traces.append(_line(trials, measure, "a", "trial", colour, mean, width=2, dash=dash))
    return traces


def _hover(unit: Units) -> str:
    return f"%{{y:{unit.hover}}} {unit.rate}"


def _line(
    trials: Sequence[int],
    measure: str,
    part: str,
    along: str,
    colour: str,
    hover: str,
    *,
    width: float,
    dash: str = "solid",
    opacity: float = 1.0,
) -> Any:
    """Return a line that the page's script fills: a part of these trials, `w`arm-up, `m`easured or their `a`verages."""
    return go.Scatter(
        x=[],
        y=[],
        mode="lines",
        line={"color": colour, "width": width, "dash": dash},
        opacity=opacity,
        meta={"trials": list(trials), "of": measure, "part": part, "axis": along},
        hovertemplate=f"{hover}<br>%{{text}}<extra></extra>",
    )


def _mark(figure: Any, series: Sequence[Series], along: str) -> None:
    lost = {"symbol": "triangle-down-open", "size": 8, "color": "var(--care)", "line": {"width": 1.5}}
    unsteady = {"symbol": "circle-open", "size": 9, "color": "var(--care)", "line": {"width": 2}}
    failed = {"symbol": "x", "size": 10, "color": "var(--bad)", "line": {"width": 1, "color": "var(--card)"}}
    for part, look, says, marked in (
        ("lost", lost, "host stalls", [one for one in series if one.lost]),
        ("end", unsteady, "did not become steady", [one for one in series if not one.steady and one.tps.points]),
        ("end", failed, "failed", [one for one in series if one.trial.state is TrialState.FAILED]),
    ):
        if marked:
            figure.add_trace(
                go.Scatter(
                    x=[],
                    y=[],
                    mode="markers",
                    marker=look,
                    meta={"trials": [one.trial.id for one in marked], "part": part, "axis": along},
                    hovertemplate=f"%{{text}}: {says}<extra></extra>",
                    cliponaxis=False,
                )
            )
