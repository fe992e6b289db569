"""The chart of a suite: the change under each workload with its interval."""

from __future__ import annotations

from dialin.model.suite import SuiteCandidate, SuitePlan, SuiteResult
from dialin.model.verdict import CandidateState
from dialin.report.charts import plotly_data as go
from dialin.report.charts.chart import Chart, axis, cut_off, error_bars, plain, rows_with_figures, safe
from dialin.report.charts.forest import ForestPlot, ForestRow, scale
from dialin.sentences.changes import change_with_interval
from dialin.sentences.load_units import change_in_percent
from dialin.text import change, visible

MEAN = "all, weighted"
"""The name of the row of the weighted mean."""

MARKS = {CandidateState.BETTER: " ▲", CandidateState.WORSE: " ▼", CandidateState.EQUAL: " =", CandidateState.UNSAFE: " unsafe"}
"""What stands beside a change whose state is proven."""

_COLOURS = {CandidateState.BETTER: "var(--c3)", CandidateState.WORSE: "var(--c2)"}
_OTHERWISE = "var(--ink-2)"


def workload_forest(plan: SuitePlan, result: SuiteResult, one: SuiteCandidate) -> Chart:
    """Return the change of one candidate under each workload, the largest gain first, and over the mix last."""
    cells = [(row.name, row.cell(one.name)) for row in result.rows]
    rows = [(visible(name), cell.ratio, cell.state) for name, cell in cells]
    rows = [*rows, (MEAN, one.mean, one.state)][::-1]
    figures = [change_with_interval(ratio) if ratio else "not measured" for _, ratio, _ in rows]
    band = (1 / (1 + plan.worthwhile), 1 + plan.worthwhile)
    drawn = ForestPlot(
        [
            ForestRow(name, ratio, figure, is_baseline=False, is_recommended=name == MEAN)
            for (name, ratio, _), figure in zip(rows, figures, strict=True)
        ],
        band,
    )
    ends = scale(drawn, 2)
    span = (100 * (ends.low - 1), 100 * (ends.high - 1))
    figure = rows_with_figures(
        [name for name, _, _ in rows],
        figures,
        {**axis("change against the baseline (higher is better)"), "ticksuffix": " %", "zeroline": False, "range": list(span)},
        strong=[0],
        narrow={"xaxis": {"title": {"text": "change"}}},
    )
    figure.add_vrect(x0=100 * (band[0] - 1), x1=100 * (band[1] - 1), fillcolor="var(--band)", line={"width": 0}, layer="below")
    figure.add_vline(x=0, line={"color": "var(--base)", "width": 1.5})
    cut = []
    for place, (name, ratio, state) in enumerate(rows):
        if ratio is None:
            continue
        shown, colour = change_in_percent(ratio), _COLOURS.get(state, _OTHERWISE)
        cut.append((shown, place, colour))
        figure.add_trace(
            go.Scatter(
                x=[shown.mean],
                y=[place],
                mode="markers",
                marker={"symbol": "diamond" if name == MEAN else "circle", "size": 11, "color": colour},
                error_x=error_bars([shown], colour, 2.5, 0),
                hovertemplate=f"{safe(name)}: {safe(figures[place])}<extra></extra>",
            )
        )
    figure.add_traces(cut_off(cut, span))
    text = f"Bars are confidence intervals. Shaded: too small to matter ({change(band[0])} to {change(band[1])})."
    return Chart("suite-forest", f"{one.full} against the baseline, by workload", text, 76 + 30 * len(rows), plain(figure))
