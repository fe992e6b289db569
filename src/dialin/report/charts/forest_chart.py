"""The forest plot of what decides: each candidate against the baseline."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from dialin.measures.of_verdict import capital, deciding, measure_of
from dialin.model.verdict import CandidateVerdict, Verdict
from dialin.report.charts import captions
from dialin.report.charts import plotly_data as go
from dialin.report.charts.chart import Chart, Span, axis, cut_off, error_bars, marks, plain, rows_with_figures, safe
from dialin.report.charts.forest import ForestPlot, plot, scale
from dialin.report.charts.style import Style
from dialin.sentences.load_units import change_in_percent
from dialin.sentences.state_sentences import deciding_of


def forest(verdict: Verdict, style: Mapping[str, Style]) -> Chart:
    """Return the forest plot: each candidate's deciding ratio to the baseline, its interval, and the worthwhile band."""
    rows = list(reversed(verdict.candidates))
    figures = [deciding_of(candidate, verdict) for candidate in rows]
    labels = [style[candidate.name].label for candidate in rows]
    aim, drawn = measure_of(verdict), plot(verdict)
    lower = "" if aim.higher_is_better else f" ({aim.direction})"
    strong = [place for place, candidate in enumerate(rows) if candidate.name == verdict.recommended_candidate]
    titles = (f"change of {aim.noun} against the baseline{lower}", f"change of {aim.noun}{lower}")
    figure, span = forest_figure(drawn, labels, figures, titles, strong)
    for place, candidate in enumerate(rows):
        figure.add_trace(_row(candidate, verdict, style[candidate.name], place))
    cut = [
        (change_in_percent(ratio), place, style[one.name].colour)
        for place, one in enumerate(rows)
        if one.name != verdict.baseline and (ratio := deciding(one, verdict))
    ]
    figure.add_traces(cut_off(cut, span))
    return Chart(
        "forest",
        f"{capital(aim.noun)} against the baseline{lower}",
        captions.forest(verdict),
        76 + 36 * len(rows),
        plain(figure),
        forest=drawn,
    )


def forest_figure(
    drawn: ForestPlot, labels: Sequence[str], figures: Sequence[str], titles: tuple[str, str], strong: Collection[int]
) -> tuple[go.Figure, Span]:
    """Return a forest plot without its marks, and the ends of its axis in percent; the second title is for a narrow screen."""
    title, narrow = titles
    ends = scale(drawn, 2)
    span = (100 * (ends.low - 1), 100 * (ends.high - 1))
    across = {**axis(title), "ticksuffix": " %", "zeroline": False, "range": list(span)}
    figure = rows_with_figures(labels, figures, across, strong=strong, narrow={"xaxis": {"title": {"text": narrow}}})
    low, high = (100 * (end - 1) for end in drawn.band)
    figure.add_vrect(x0=low, x1=high, fillcolor="var(--band)", line={"width": 0}, layer="below")
    figure.add_vline(x=0, line={"color": "var(--base)", "width": 1.5})
    return figure, span


def _row(candidate: CandidateVerdict, verdict: Verdict, look: Style, place: int) -> Any:
    ratio = deciding(candidate, verdict)
    if ratio is None:
        return go.Scatter(x=[], y=[])
    is_baseline = candidate.name == verdict.baseline
    change = change_in_percent(ratio)
    has_bars = not is_baseline and change.low is not None and change.high is not None
    is_hollow = not is_baseline and (candidate.trials == 1 or not has_bars)
    bars = error_bars([change], look.colour, 2.5, 6) if has_bars else None
    hover = f"{safe(look.label)}<br>{deciding_of(candidate, verdict)}"
    return marks([change.mean], [place], look.marker(11, is_hollow=is_hollow), [hover], error_x=bars)
