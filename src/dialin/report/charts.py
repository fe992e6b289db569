"""The figures of the HTML report, as Plotly describes them; the page's script fills in samples and colours.

Traces name trials (`meta`) instead of holding their samples, so that each sample is embedded once however many charts show
it. Colours are CSS variables, so that a chart follows the page from light to dark.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from dialin.model.record import StudyRecord
from dialin.model.trial import TrialState
from dialin.model.verdict import CandidateVerdict, Verdict
from dialin.report import captions
from dialin.report.series import Series
from dialin.report.style import Style
from dialin.report.words import naming, ratio_of
from dialin.text import number, shorten

_NARROW_LABEL = 13
_FIGURES = 56
_CLEAR = "rgba(0,0,0,0)"


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart of the page.

    Attributes:
        id: of its element.
        title: what stands above it.
        text: what it shows, in words and figures, for those who cannot see it.
        height: in CSS pixels.
        figure: the Plotly figure, as JSON would hold it.
    """

    id: str
    title: str
    text: str
    height: int
    figure: Mapping[str, Any]


def forest(verdict: Verdict, style: Mapping[str, Style]) -> Chart:
    """Return the forest plot: each candidate's ratio to the baseline with its interval, and the worthwhile band."""
    rows = list(reversed(verdict.candidates))
    places = {candidate.name: place for place, candidate in enumerate(rows)}
    figures = [ratio_of(candidate, verdict) for candidate in rows]
    labels = [style[candidate.name].label for candidate in rows]
    figure = _figure(
        margin={"l": _room(labels), "r": _room(figures), "t": 12, "b": 44},
        xaxis={**_axis("change of throughput against the baseline"), "ticksuffix": " %", "zeroline": False},
        yaxis={
            **_axis(""),
            "tickvals": list(places.values()),
            "ticktext": [_label(candidate, verdict, label) for candidate, label in zip(rows, labels, strict=True)],
            "range": [-0.6, len(rows) - 0.4],
            "showgrid": False,
            "zeroline": False,
        },
        yaxis2={
            "overlaying": "y",
            "side": "right",
            "tickvals": list(places.values()),
            "ticktext": figures,
            "range": [-0.6, len(rows) - 0.4],
            "showgrid": False,
            "zeroline": False,
            "ticklabelstandoff": 6,
            "fixedrange": True,
        },
        meta={
            "narrow": {
                "margin": {"l": _room(labels, _NARROW_LABEL), "r": 16},
                "xaxis": {"title": {"text": "change of throughput"}},
                "yaxis": {
                    "ticktext": [
                        _label(candidate, verdict, shorten(label, _NARROW_LABEL))
                        for candidate, label in zip(rows, labels, strict=True)
                    ]
                },
                "yaxis2": {"showticklabels": False},
            }
        },
    )
    band = 100 * verdict.worthwhile
    figure.add_vrect(x0=-band, x1=band, fillcolor="var(--band)", line_width=0, layer="below")
    figure.add_vline(x=0, line={"color": "var(--base)", "width": 1.5})
    for candidate in rows:
        figure.add_trace(_forest_row(candidate, verdict, style[candidate.name], places[candidate.name]))
    figure.add_trace(go.Scatter(x=[0], y=[0], yaxis="y2", mode="markers", marker={"opacity": 0}, hoverinfo="skip"))
    return Chart("forest", "Ratio to the baseline", captions.forest(verdict, style), 76 + 36 * len(rows), _plain(figure))


def over_time(record: StudyRecord, series: Sequence[Series], style: Mapping[str, Style]) -> list[Chart]:
    """Return one chart per candidate, all on one scale: the seconds of every trial, from the end of its warm-up."""
    points = [value for one in series for value in one.tps]
    first = min((one.seconds[0] - one.zero - 1 for one in series if one.seconds), default=0)
    last = max((one.seconds[-1] - one.zero for one in series if one.seconds), default=1)
    top = 1.05 * max(points, default=1.0)
    titles = naming(record.spec).full
    charts = []
    for place, candidate in enumerate(record.spec.candidates, start=1):
        own = [one for one in series if one.trial.candidate == candidate.name]
        figure = _figure(
            margin={"l": _FIGURES, "r": 8, "t": 8, "b": 44},
            xaxis={**_axis("seconds from the start of measuring"), "range": [first, last]},
            yaxis={**_axis(""), "range": [0, top]},
        )
        if first < 0:
            figure.add_vrect(x0=first, x1=0, fillcolor="var(--warm)", line_width=0, layer="below")
        figure.add_trace(_line([one.trial.id for one in own], "warm_up", "trial", "var(--muted)", 0.8))
        for one in own:
            if len(one.seconds) > one.warm:
                figure.add_trace(_line([one.trial.id], "measure", "trial", style[candidate.name].colour, 0.9))
        _mark_failures(figure, own, lambda one: one.seconds[-1] - one.zero if one.seconds else 0)
        role = "The baseline. " if candidate.name == record.spec.baseline else ""
        charts.append(Chart(f"over-time-{place}", titles[candidate.name], role + captions.over_time(own), 208, _plain(figure)))
    return charts


def combined(record: StudyRecord, series: Sequence[Series], style: Mapping[str, Style]) -> Chart:
    """Return all trials on the study's clock; its first traces are the candidates', in their order, for a legend to switch."""
    figure = _figure(
        margin={"l": _FIGURES, "r": 8, "t": 8, "b": 44},
        xaxis=_axis("minutes of the study"),
        yaxis={**_axis(""), "rangemode": "tozero"},
    )
    for candidate in record.spec.candidates:
        own = [one.trial.id for one in series if one.trial.candidate == candidate.name]
        figure.add_trace(_line(own, "measure", "study", style[candidate.name].colour, 1))
    figure.add_trace(_line([one.trial.id for one in series], "warm_up", "study", "var(--muted)", 0.8))
    _mark_failures(figure, series, lambda one: (one.base + (one.seconds[-1] if one.seconds else 0)) / 60)
    return Chart("combined", "All trials, one after the other, transactions/s", captions.combined(series), 340, _plain(figure))


def boxes(record: StudyRecord, series: Sequence[Series], style: Mapping[str, Style]) -> Chart:
    """Return a box per trial, grouped by candidate, trials of one candidate in the order they ran."""
    labels = [style[candidate.name].label for candidate in record.spec.candidates]
    figure = _figure(
        margin={"l": _room(labels), "r": 16, "t": 8, "b": 32},
        xaxis={**_axis(""), "rangemode": "tozero"},
        yaxis={**_axis(""), "showgrid": False, "zeroline": False},
    )
    place, middles = 0.0, []
    for candidate in record.spec.candidates:
        own = [(one, one.box) for one in series if one.trial.candidate == candidate.name and one.box]
        middles.append(place + max(0, len(own) - 1) / 2)
        places = [place + index for index in range(len(own))]
        if own:
            figure.add_trace(_box_trace(own, places, style[candidate.name]))
            figure.add_trace(_worst_trace(own, places, style[candidate.name]))
        place += max(1, len(own)) + 0.8
    figure.update_yaxes(tickvals=middles, ticktext=[_safe(label) for label in labels], range=[place - 1, -0.9])
    short = [shorten(label, _NARROW_LABEL) for label in labels]
    figure.update_layout(
        meta={"narrow": {"margin": {"l": _room(short)}, "yaxis": {"ticktext": [_safe(label) for label in short]}}}
    )
    return Chart(
        "boxes",
        "The measured seconds of each trial, transactions/s",
        captions.boxes(series, style),
        int(76 + 15 * place),
        _plain(figure),
    )


def _figure(**layout: Any) -> Any:
    return go.Figure(
        layout={
            "template": go.layout.Template(),
            "paper_bgcolor": _CLEAR,
            "plot_bgcolor": _CLEAR,
            "font": {"family": "inherit", "size": 13, "color": "var(--ink-2)"},
            "hoverlabel": {"bgcolor": "var(--card)", "bordercolor": "var(--line)", "font": {"color": "var(--ink)", "size": 13}},
            "hovermode": "closest",
            "showlegend": False,
            "autosize": True,
            **layout,
        }
    )


def _axis(title: str) -> dict[str, Any]:
    return {
        "title": {"text": title, "font": {"size": 12, "color": "var(--ink-2)"}, "standoff": 8},
        "gridcolor": "var(--grid)",
        "zerolinecolor": "var(--grid)",
        "automargin": False,
        "ticks": "",
        "ticklabelstandoff": 4,
        "separatethousands": True,
        "exponentformat": "none",
    }


def _plain(figure: Any) -> dict[str, Any]:
    described: dict[str, Any] = figure.to_plotly_json()
    described["layout"].pop("template", None)
    return described


def _safe(text: str) -> str:
    """Return text for Plotly, which reads a little HTML in labels."""
    return html.escape(text, quote=False)


def _line(trials: Sequence[int], part: str, axis: str, colour: str, width: float, **more: Any) -> Any:
    return go.Scatter(
        x=[],
        y=[],
        mode="lines",
        line={"color": colour, "width": width},
        meta={"trials": list(trials), "part": part, "axis": axis},
        hovertemplate="%{y:,.0f} transactions/s<br>%{text}<extra></extra>",
        **more,
    )


def _mark_failures(figure: Any, series: Sequence[Series], place: Any) -> None:
    failed = [one for one in series if one.trial.state is TrialState.FAILED]
    if failed:
        figure.add_trace(
            go.Scatter(
                x=[place(one) for one in failed],
                y=[one.tps[-1] if one.tps else 0 for one in failed],
                mode="markers",
                marker={"symbol": "x", "size": 10, "color": "var(--bad)", "line": {"width": 1, "color": "var(--card)"}},
                text=[f"trial {one.trial.id}, block {one.trial.block}: failed" for one in failed],
                hovertemplate="%{text}<extra></extra>",
                cliponaxis=False,
            )
        )


def _label(candidate: CandidateVerdict, verdict: Verdict, label: str) -> str:
    return f"<b>{_safe(label)}</b>" if candidate.name == verdict.recommended_candidate else _safe(label)


def _room(labels: Sequence[str], most: int = 60) -> int:
    """Return the pixels to leave for labels; fixed, for a margin that fits itself can change for ever."""
    return round(18 + 7.9 * min(most, max(map(len, labels))))


def _forest_row(candidate: CandidateVerdict, verdict: Verdict, look: Style, place: int) -> Any:
    ratio = candidate.ratio
    marker = {"symbol": look.symbol, "size": 11, "color": look.colour}
    if ratio is None:
        return go.Scatter(x=[], y=[])
    bars: dict[str, Any] | None = None
    if candidate.name != verdict.baseline and ratio.low is not None and ratio.high is not None:
        bars = {
            "type": "data",
            "symmetric": False,
            "array": [100 * (ratio.high - ratio.mean)],
            "arrayminus": [100 * (ratio.mean - ratio.low)],
            "color": look.colour,
            "thickness": 2.5,
            "width": 6,
        }
    return go.Scatter(
        x=[100 * (ratio.mean - 1)],
        y=[place],
        mode="markers",
        marker=marker if bars or candidate.name == verdict.baseline else {**marker, "symbol": f"{look.symbol}-open"},
        error_x=bars,
        text=[f"{_safe(look.label)}<br>{ratio_of(candidate, verdict)}"],
        hovertemplate="%{text}<extra></extra>",
    )


def _box_trace(own: Sequence[tuple[Series, Any]], places: Sequence[float], look: Style) -> Any:
    return go.Box(
        y=list(places),
        lowerfence=[shown.low for _, shown in own],
        q1=[shown.first for _, shown in own],
        median=[shown.median for _, shown in own],
        q3=[shown.third for _, shown in own],
        upperfence=[shown.high for _, shown in own],
        orientation="h",
        width=0.62,
        line={"color": look.colour, "width": 1.5},
        fillcolor="var(--card)",
        hoverinfo="x",
    )


def _worst_trace(own: Sequence[tuple[Series, Any]], places: Sequence[float], look: Style) -> Any:
    return go.Scatter(
        x=[shown.worst for _, shown in own],
        y=list(places),
        mode="markers",
        marker={"symbol": "line-ns-open", "size": 7, "color": look.colour, "line": {"width": 1.5}},
        text=[f"trial {one.trial.id}, block {one.trial.block}: lowest second {number(shown.worst)}" for one, shown in own],
        hovertemplate="%{text}<extra></extra>",
    )
