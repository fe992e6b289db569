"""The charts of a study's seconds: each candidate's trials, all trials one after the other, and a box for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from dialin.model.record import StudyRecord
from dialin.model.trial import TrialState
from dialin.report import captions
from dialin.report.chart import NARROW_LABEL, Chart, axis, blank, plain, room, safe
from dialin.report.series import Box, Series
from dialin.report.style import Style
from dialin.report.units import Units, units_in
from dialin.report.words import naming
from dialin.text import number, shorten

_FIGURES = 56

_Place = Callable[[Series, int], float]
"""Where a second of a trial lies on a chart's axis."""


def over_time(record: StudyRecord, series: Sequence[Series], style: Mapping[str, Style]) -> list[Chart]:
    """Return one chart per candidate, all on one scale: the seconds of every trial, from the end of its warm-up."""
    points, unit = [value for one in series for value in one.tps], units_in(record)
    first = min((one.seconds[0] - one.zero - 1 for one in series if one.seconds), default=0)
    last = max((one.seconds[-1] - one.zero for one in series if one.seconds), default=1)
    top = 1.05 * max(points, default=1.0)
    titles = naming(record.spec).full
    charts = []
    for place, candidate in enumerate(record.spec.candidates, start=1):
        own = [one for one in series if one.trial.candidate == candidate.name]
        figure = blank(
            margin={"l": _FIGURES, "r": 8, "t": 8, "b": 44},
            xaxis={**axis("seconds from the start of measuring"), "range": [first, last]},
            yaxis={**axis(""), "range": [0, top]},
        )
        if first < 0:
            figure.add_vrect(x0=first, x1=0, fillcolor="var(--warm)", line_width=0, layer="below")
        figure.add_trace(_line(unit, [one.trial.id for one in own], "warm_up", "trial", "var(--muted)", 0.8))
        for one in own:
            if len(one.seconds) > one.warm:
                dash = "dot" if one.is_fresh else "solid"
                figure.add_trace(_line(unit, [one.trial.id], "measure", "trial", style[candidate.name].colour, 0.9, dash))
        _mark(figure, own, "trial", lambda one, second: second - one.zero)
        role = "The baseline. " if candidate.name == record.spec.baseline else ""
        charts.append(Chart(f"over-time-{place}", titles[candidate.name], role + captions.over_time(own), 208, plain(figure)))
    return charts


def combined(record: StudyRecord, series: Sequence[Series], style: Mapping[str, Style]) -> Chart:
    """Return all trials on the study's clock; its first traces are the candidates', in their order, for a legend to switch."""
    unit = units_in(record)
    figure = blank(
        margin={"l": _FIGURES, "r": 8, "t": 18, "b": 44},
        xaxis=axis("minutes of the study"),
        yaxis={**axis(""), "rangemode": "tozero"},
    )

    def minute(one: Series, second: int) -> float:
        return (one.base + second) / 60

    for candidate in record.spec.candidates:
        own = [one.trial.id for one in series if one.trial.candidate == candidate.name]
        figure.add_trace(_line(unit, own, "measure", "study", style[candidate.name].colour, 1))
    figure.add_trace(_line(unit, [one.trial.id for one in series], "warm_up", "study", "var(--muted)", 0.8))
    fresh = [minute(one, second) for one in series if one.is_fresh for second in one.seconds]
    if fresh:
        figure.add_vrect(
            x0=min(fresh),
            x1=max(fresh),
            fillcolor="var(--band)",
            line_width=0,
            layer="below",
            annotation={"text": "fresh trials", "font": {"size": 12, "color": "var(--ink-2)"}, "yanchor": "bottom"},
            annotation_position="top left",
        )
    _mark(figure, series, "study", minute)
    return Chart("combined", f"All trials, one after the other, {unit.rate}", captions.combined(series), 340, plain(figure))


def boxes(record: StudyRecord, series: Sequence[Series], style: Mapping[str, Style]) -> Chart:
    """Return a box per trial, grouped by candidate, trials of one candidate in the order they ran."""
    labels = [style[candidate.name].label for candidate in record.spec.candidates]
    figure = blank(
        margin={"l": room(labels), "r": 16, "t": 8, "b": 32},
        xaxis={**axis(""), "rangemode": "tozero"},
        yaxis={**axis(""), "showgrid": False, "zeroline": False},
    )
    place, middles, unit = 0.0, [], units_in(record)
    for candidate in record.spec.candidates:
        own = [(one, one.box) for one in series if one.trial.candidate == candidate.name and one.box]
        middles.append(place + max(0, len(own) - 1) / 2)
        placed = [(one, shown, place + index) for index, (one, shown) in enumerate(own)]
        for fresh in (False, True):
            alike = [each for each in placed if each[0].is_fresh is fresh]
            if alike:
                figure.add_trace(_box_trace(alike, style[candidate.name], "var(--band)" if fresh else "var(--card)"))
                figure.add_trace(_worst_trace(alike, style[candidate.name]))
        place += max(1, len(own)) + 0.8
    figure.update_yaxes(tickvals=middles, ticktext=[safe(label) for label in labels], range=[place - 1, -0.9])
    short = [shorten(label, NARROW_LABEL) for label in labels]
    figure.update_layout(
        meta={"narrow": {"margin": {"l": room(short)}, "yaxis": {"ticktext": [safe(label) for label in short]}}}
    )
    return Chart(
        "boxes",
        f"The measured {unit.one}s of each trial, {unit.rate}",
        captions.boxes(series, style),
        int(76 + 15 * place),
        plain(figure),
    )


def _line(unit: Units, trials: Sequence[int], part: str, along: str, colour: str, width: float, dash: str = "solid") -> Any:
    return go.Scatter(
        x=[],
        y=[],
        mode="lines",
        line={"color": colour, "width": width, "dash": dash},
        meta={"trials": list(trials), "part": part, "axis": along},
        hovertemplate=f"%{{y:{unit.hover}}} {unit.rate}<br>%{{text}}<extra></extra>",
    )


def _mark(figure: Any, series: Sequence[Series], along: str, place: _Place) -> None:
    """Mark seconds that the host lost, trials that did not become steady, and those that failed."""
    lost = [one.trial.id for one in series if one.lost]
    if lost:
        unit = series[0].units
        figure.add_trace(
            go.Scatter(
                x=[],
                y=[],
                mode="markers",
                marker={"symbol": "triangle-down-open", "size": 8, "color": "var(--care)", "line": {"width": 1.5}},
                meta={"trials": lost, "part": "lost", "axis": along},
                hovertemplate=f"%{{y:{unit.hover}}} {unit.rate}<br>%{{text}}: lost to the host<extra></extra>",
                cliponaxis=False,
            )
        )
    moving = [one for one in series if not one.steady and one.seconds]
    if moving:
        look = {"symbol": "circle-open", "size": 9, "color": "var(--care)", "line": {"width": 2}}
        figure.add_trace(_ends(moving, place, look, "did not become steady"))
    failed = [one for one in series if one.trial.state is TrialState.FAILED]
    if failed:
        look = {"symbol": "x", "size": 10, "color": "var(--bad)", "line": {"width": 1, "color": "var(--card)"}}
        figure.add_trace(_ends(failed, place, look, "failed"))


def _ends(series: Sequence[Series], place: _Place, look: Mapping[str, Any], says: str) -> Any:
    return go.Scatter(
        x=[place(one, one.seconds[-1] if one.seconds else one.zero) for one in series],
        y=[one.tps[-1] if one.tps else 0 for one in series],
        mode="markers",
        marker=dict(look),
        text=[f"trial {one.trial.id}, block {one.trial.block}: {says}" for one in series],
        hovertemplate="%{text}<extra></extra>",
        cliponaxis=False,
    )


def _box_trace(placed: Sequence[tuple[Series, Box, float]], look: Style, fill: str) -> Any:
    return go.Box(
        y=[place for *_, place in placed],
        lowerfence=[shown.low for _, shown, _ in placed],
        q1=[shown.first for _, shown, _ in placed],
        median=[shown.median for _, shown, _ in placed],
        q3=[shown.third for _, shown, _ in placed],
        upperfence=[shown.high for _, shown, _ in placed],
        orientation="h",
        width=0.62,
        line={"color": look.colour, "width": 1.5},
        fillcolor=fill,
        hoverinfo="x",
    )


def _worst_trace(placed: Sequence[tuple[Series, Box, float]], look: Style) -> Any:
    return go.Scatter(
        x=[shown.worst for _, shown, _ in placed],
        y=[place for *_, place in placed],
        mode="markers",
        marker={"symbol": "line-ns-open", "size": 7, "color": look.colour, "line": {"width": 1.5}},
        text=[
            f"trial {one.trial.id}, block {one.trial.block}: lowest second {number(shown.worst)}" for one, shown, _ in placed
        ],
        hovertemplate="%{text}<extra></extra>",
    )
