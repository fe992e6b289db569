"""The forest plot of what decides: each candidate against the baseline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dialin.measures.of_verdict import band, capital, deciding, measure_of
from dialin.model.verdict import CandidateVerdict, Verdict
from dialin.report.charts import captions
from dialin.report.charts import plotly_data as go
from dialin.report.charts.chart import Chart, axis, cut_off, error_bars, plain, rows_with_figures, safe
from dialin.report.charts.forest import plot, scale
from dialin.report.charts.style import Style
from dialin.sentences.load_units import change_in_percent
from dialin.sentences.state_sentences import deciding_of


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
        figure.add_trace(_row(candidate, verdict, style[candidate.name], place))
    cut = [
        (change_in_percent(ratio), place, style[one.name].colour)
        for place, one in enumerate(rows)
        if one.name != verdict.baseline and (ratio := deciding(one, verdict))
    ]
    across = (100 * (ends.low - 1), 100 * (ends.high - 1))
    figure.add_traces(cut_off(cut, across))
    return Chart(
        "forest",
        f"{capital(aim.noun)} against the baseline{lower}",
        captions.forest(verdict),
        76 + 36 * len(rows),
        plain(figure),
        forest=drawn,
    )


def _row(candidate: CandidateVerdict, verdict: Verdict, look: Style, place: int) -> Any:
    ratio = deciding(candidate, verdict)
    if ratio is None:
        return go.Scatter(x=[], y=[])
    is_baseline = candidate.name == verdict.baseline
    change = change_in_percent(ratio)
    has_bars = not is_baseline and change.low is not None and change.high is not None
    is_hollow = not is_baseline and (candidate.trials == 1 or not has_bars)
    return go.Scatter(
        x=[change.mean],
        y=[place],
        mode="markers",
        marker=look.marker(11, is_hollow=is_hollow),
        error_x=error_bars([change], look.colour, 2.5, 6) if has_bars else None,
        text=[f"{safe(look.label)}<br>{deciding_of(candidate, verdict)}"],
        hovertemplate="%{text}<extra></extra>",
    )
