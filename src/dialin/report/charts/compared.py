"""The charts that compare candidates: the forest plot of what decides, and throughput against steadiness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dialin.model.measure import band, capital, deciding, measure_of
from dialin.model.verdict import CandidateVerdict, Estimate, Verdict
from dialin.model.workload import latency_name
from dialin.report.charts import captions
from dialin.report.charts import plotly_data as go
from dialin.report.charts.chart import (
    NARROW_LABEL,
    Chart,
    Span,
    axis,
    blank,
    cut_off,
    error_bars,
    plain,
    rows_with_figures,
    safe,
)
from dialin.report.charts.forest import plot, scale, widened
from dialin.report.charts.placing import positions
from dialin.report.charts.style import Style
from dialin.report.trade_off import PairComparison, pareto_candidates, plotted_candidates
from dialin.sentences.changes import with_interval
from dialin.sentences.load_units import change_in_percent, in_percent, units_of_verdict
from dialin.sentences.verdict_sentences import deciding_of
from dialin.text import percent, shorten

_MOST_LABELLED = 12
"""Points of the chart of throughput against steadiness that may all have their names beside them."""
_PER_CHARACTER = 0.015
"""The approximate width of a character of a name, as a share of the chart's width: between a screen's and a phone's."""
_REACH = 1.5
"""How far beyond the outermost points error bars are shown, in units of the distance between these."""


def forest(verdict: Verdict, style: Mapping[str, Style]) -> Chart:
    """Return the forest plot: each candidate's deciding ratio to the baseline, its interval, and the worthwhile band."""
    rows = list(reversed(verdict.candidates))
    figures = [deciding_of(candidate, verdict) for candidate in rows]
    labels = [style[candidate.name].label for candidate in rows]
    aim, drawn = measure_of(verdict), plot(verdict)
    ends = scale(drawn, 2)
    lower = "" if aim.higher_is_better else f" ({aim.direction})"
    figure = rows_with_figures(
        labels,
        figures,
        {
            **axis(f"change of {aim.noun} against the baseline{lower}"),
            "ticksuffix": " %",
            "zeroline": False,
            "range": [100 * (ends.low - 1), 100 * (ends.high - 1)],
        },
        strong=[place for place, candidate in enumerate(rows) if candidate.name == verdict.recommended_candidate],
        narrow={"xaxis": {"title": {"text": f"change of {aim.noun}{lower}"}}},
    )
    low, high = band(verdict)
    figure.add_vrect(x0=100 * (low - 1), x1=100 * (high - 1), fillcolor="var(--band)", line={"width": 0}, layer="below")
    figure.add_vline(x=0, line={"color": "var(--base)", "width": 1.5})
    for place, candidate in enumerate(rows):
        figure.add_trace(_forest_row(candidate, verdict, style[candidate.name], place))
    cut = [
        (change_in_percent(ratio), place, style[one.name].colour)
        for place, one in enumerate(rows)
        if one.name != verdict.baseline and (ratio := deciding(one, verdict))
    ]
    across = (100 * (ends.low - 1), 100 * (ends.high - 1))
    figure.add_traces(cut_off(cut, across))
    return Chart(
        "forest",
        f"{capital(aim.noun)} against the baseline",
        captions.forest(verdict, style),
        76 + 36 * len(rows),
        plain(figure),
        forest=drawn,
    )


def pareto(verdict: Verdict, style: Mapping[str, Style], ends: PairComparison) -> Chart | None:
    """Return throughput against the variation of seconds, both with their intervals; None with fewer than two candidates.

    Candidates that no other one beats at both are filled, and joined by a line. `ends` compares the fastest of these with the
    steadiest.
    """
    shown = plotted_candidates(verdict)
    if len(shown) < 2:
        return None
    best = pareto_candidates(verdict)
    unit = units_of_verdict(verdict)
    across = _range([one.tps for one in shown])
    up = _range([_percent(one.cv) for one in shown])
    up = [max(0.0, up[0]), up[1]]
    figure = blank(
        margin={"l": 56, "r": 16, "t": 12, "b": 44},
        xaxis={**axis(f"{unit.rate} (higher is better)"), "range": across},
        yaxis={**axis(f"CV of {unit.one}s, % (lower is better)"), "range": up},
        meta={"narrow": {"yaxis": {"title": {"text": "CV, % (lower is better)"}}}},
    )
    if len(best) > 1:
        figure.add_trace(
            go.Scatter(
                x=[_x(one) for one in best],
                y=[_y(one) for one in best],
                mode="lines",
                line={"color": "var(--ink-2)", "width": 1.2, "dash": "dot", "shape": "vh"},
                hoverinfo="skip",
            )
        )
    labelled = {one.name for one in (shown if len(shown) <= _MOST_LABELLED else best)}
    labelled |= {verdict.baseline, verdict.recommended_candidate}
    places = [((_x(one) - across[0]) / (across[1] - across[0]), (_y(one) - up[0]) / (up[1] - up[0])) for one in shown]
    widths = [_PER_CHARACTER * min(NARROW_LABEL, len(style[one.name].label)) for one in shown]
    for candidate, side in zip(shown, positions(places, widths), strict=True):
        figure.add_trace(_point(candidate, verdict, style[candidate.name], side if candidate.name in labelled else ""))
    figure.add_traces(_cut_off_points(shown, style, (across[0], across[1]), (up[0], up[1])))
    return Chart("pareto", "Throughput against steadiness", captions.pareto(verdict, style, ends), 360, plain(figure))


def _label(candidate: CandidateVerdict, verdict: Verdict, label: str) -> str:
    return f"<b>{safe(label)}</b>" if candidate.name == verdict.recommended_candidate else safe(label)


def _forest_row(candidate: CandidateVerdict, verdict: Verdict, look: Style, place: int) -> Any:
    ratio = deciding(candidate, verdict)
    marker = {"symbol": look.symbol, "size": 11, "color": look.colour}
    if ratio is None:
        return go.Scatter(x=[], y=[])
    is_baseline = candidate.name == verdict.baseline
    change = change_in_percent(ratio)
    bars = None if is_baseline else _bars(change, look.colour, 2.5)
    return go.Scatter(
        x=[change.mean],
        y=[place],
        mode="markers",
        marker=marker if bars or is_baseline else {**marker, "symbol": f"{look.symbol}-open"},
        error_x=bars,
        text=[f"{safe(look.label)}<br>{deciding_of(candidate, verdict)}"],
        hovertemplate="%{text}<extra></extra>",
    )


def _point(candidate: CandidateVerdict, verdict: Verdict, look: Style, side: str) -> Any:
    lines = [
        safe(look.label),
        f"{with_interval(candidate.tps)} {units_of_verdict(verdict).rate}",
        f"CV {with_interval(candidate.cv, percent)}",
        f"stalls per 1000 s: {with_interval(candidate.stall_seconds_per_1000)}",
        f"{latency_name(verdict.percentile)}: {with_interval(candidate.latency_ms)} ms",
    ]
    return go.Scatter(
        x=[_x(candidate)],
        y=[_y(candidate)],
        mode="markers+text" if side else "markers",
        marker={
            "symbol": look.symbol if candidate.pareto else f"{look.symbol}-open",
            "size": 11,
            "color": look.colour,
            "line": {"width": 2, "color": look.colour},
        },
        error_x=_bars(candidate.tps, look.colour, 1.2),
        error_y=_bars(_percent(candidate.cv), look.colour, 1.2),
        opacity=1.0 if candidate.pareto else 0.6,
        text=[_label(candidate, verdict, shorten(look.label, NARROW_LABEL))],
        textposition=side or None,
        textfont={"color": "var(--ink)" if candidate.pareto else "var(--ink-2)"},
        hovertext=["<br>".join(lines)],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _cut_off_points(shown: Sequence[CandidateVerdict], style: Mapping[str, Style], across: Span, up: Span) -> list[Any]:
    """Return the arrows of intervals that are cut off, of throughput and of variation."""
    of_tps = [(one.tps, _y(one), style[one.name].colour) for one in shown if one.tps]
    of_cv = [(cv, _x(one), style[one.name].colour) for one in shown if (cv := _percent(one.cv))]
    return [*cut_off(of_tps, across), *cut_off(of_cv, up, upright=True)]


def _bars(estimate: Estimate | None, colour: str, thickness: float) -> dict[str, Any] | None:
    if estimate is None or estimate.low is None or estimate.high is None:
        return None
    return error_bars([estimate], colour, thickness, 6 if thickness > 2 else 3)


def _range(estimates: Sequence[Estimate | None]) -> list[float]:
    """Return a range that holds all figures, and their intervals unless these are much wider than what lies between them."""
    means = [one.mean for one in estimates if one]
    low, high = min(means), max(means)
    low, high = widened(low, high, [one for one in estimates if one], _REACH * max(high - low, 0.02 * high))
    margin = 0.08 * (high - low) or 1.0
    return [low - margin, high + margin]


def _percent(estimate: Estimate | None) -> Estimate | None:
    return estimate and in_percent(estimate)


def _x(candidate: CandidateVerdict) -> float:
    return candidate.tps.mean if candidate.tps else 0.0


def _y(candidate: CandidateVerdict) -> float:
    return 100 * candidate.cv.mean if candidate.cv else 0.0
