"""The charts of a suite: the change under each workload with its interval, all changes and costs at once, and by threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dialin.model.suite import SuiteCandidate, SuitePlan, SuiteResult, SuiteRow
from dialin.model.verdict import CandidateState, Estimate
from dialin.model.why import ScalingPoint
from dialin.report.charts import plotly_data as go
from dialin.report.charts.by_value import heat
from dialin.report.charts.chart import (
    LABEL,
    NARROW_LABEL,
    Chart,
    LineName,
    Span,
    axis,
    blank,
    cut_off,
    error_bars,
    label_margin,
    marked_line,
    names_at_ends,
    plain,
    safe,
    threads_axis,
)
from dialin.report.charts.forest import ForestPlot, ForestRow, widened
from dialin.report.charts.forest_chart import forest_figure
from dialin.report.charts.style import Style
from dialin.sentences.changes import change_with_interval
from dialin.sentences.load_units import change_in_percent
from dialin.sentences.suite_sentences import COSTS
from dialin.text import bare_change, change, counted, distinct, listed, visible

MEAN = "all, weighted"
"""The name of the row of the weighted mean."""

MARKS = {CandidateState.BETTER: " ▲", CandidateState.WORSE: " ▼", CandidateState.EQUAL: " =", CandidateState.UNSAFE: " unsafe"}
"""What stands beside a change whose state is proven."""

_COLOURS = {CandidateState.BETTER: "var(--c3)", CandidateState.WORSE: "var(--c2)"}
_OTHERWISE = "var(--ink-2)"

_FULL_COLOUR = 25.0
"""The change in percent from which on a cell of the heatmap has its full colour: one large change must not pale all others."""
_CELL, _LINE, _HEADING = 104, 27, 34
"""The width of a cell of the heatmap, its height, and the height of the titles above, in CSS pixels."""
_TITLE, _NARROW_TITLE = 14, 7
"""Characters of a title there, also on a narrow screen."""
_SMALL, _NAME = 220, 11
"""The height of a chart by threads, in CSS pixels, and characters of a name in it."""
_IN_WORDS = 3
"""Candidates that the words below a chart by threads name at most."""


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
    titles = ("change against the baseline (higher is better)", "change")
    figure, span = forest_figure(drawn, [name for name, _, _ in rows], figures, titles, [0])
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


@dataclass(frozen=True, slots=True)
class _HeatColumn:
    """A column of the heatmap: the ratios of workloads and of the mix, and whether a higher one is better."""

    title: str
    ratios: Sequence[Estimate | None]
    higher_is_better: bool = True

    def shades(self) -> list[float | None]:
        """Return how much better each cell is, in percent; of a cost, its inverse."""
        means = [one.mean if one else None for one in self.ratios]
        return [None if mean is None else 100 * ((mean if self.higher_is_better else 1 / mean) - 1) for mean in means]


def suite_heatmap(result: SuiteResult) -> Chart | None:
    """Return all changes at once: of every candidate, or of a single one with its costs; None where that is one column."""
    rows = result.rows
    columns = [_HeatColumn(one.label, [*(row.cell(one.name).ratio for row in rows), one.mean]) for one in result.others]
    if len(columns) == 1:
        (one,) = result.others
        columns = [_HeatColumn("performance", columns[0].ratios), *_cost_columns(rows, one.name)]
    if len(columns) < 2:
        return None
    names = [*distinct([visible(row.name) for row in rows], LABEL), MEAN]
    titles = distinct([visible(column.title) for column in columns], _TITLE)
    shades = [*zip(*(column.shades() for column in columns), strict=True)][::-1]
    texts = ([bare_change(ratio.mean if ratio else None) for ratio in column.ratios] for column in columns)
    text = [*zip(*texts, strict=True)][::-1]
    across = {**axis(""), "side": "top", "showgrid": False, "fixedrange": True, "tickvals": list(range(len(titles)))}
    up = {**axis(""), "showgrid": False, "fixedrange": True, "tickvals": list(range(len(names)))}
    figure = blank(
        margin={"l": label_margin(names), "r": 12, "t": _HEADING, "b": 8},
        xaxis={**across, "type": "category", "ticktext": [safe(title) for title in titles]},
        yaxis={**up, "type": "category", "ticktext": [safe(name) for name in names[::-1]]},
        meta={
            "narrow": {
                "margin": {"l": label_margin(names, NARROW_LABEL), "r": 4},
                "xaxis": {"ticktext": [safe(title) for title in distinct(titles, _NARROW_TITLE)]},
                "yaxis": {"ticktext": [safe(name) for name in distinct(names[::-1], NARROW_LABEL)]},
            }
        },
    )
    figure.add_trace(
        heat([safe(one) for one in titles], [safe(one) for one in names[::-1]], shades, text, most=_FULL_COLOUR, size=12)
    )
    costs = " Costs are per operation, the lower the better." if len(result.others) == 1 else ""
    reading = f"Change against the baseline in percent, coloured from worse to better.{costs} Intervals are in the tables."
    height, width = _HEADING + 8 + _LINE * len(names), _CELL * len(titles) + label_margin(names) + 12
    return Chart("suite-heatmap", "All changes at a glance", reading, height, plain(figure), width=width)


def _cost_columns(rows: Sequence[SuiteRow], candidate: str) -> Iterator[_HeatColumn]:
    for name, title in COSTS.items():
        of_rows = [next((cost for cost in row.costs if cost.name == name), None) for row in rows]
        compared = [cost.per_transaction.get(candidate) if cost else None for cost in of_rows]
        ratios = [figure.ratio if figure and figure.ratio and figure.ratio.mean > 0 else None for figure in compared]
        if any(ratios):
            yield _HeatColumn(title, [*ratios, None], higher_is_better=False)


def charts_by_threads(result: SuiteResult, style: Mapping[str, Style]) -> list[Chart]:
    """Return a chart for each workload with several numbers of threads, all on one scale: throughput against the baseline."""
    by_row = {row.name: points for row in result.rows if (points := _compared_points(row))}
    ratios = [point.to_baseline for points in by_row.values() for of in points.values() for point in of if point.to_baseline]
    if not ratios:
        return []
    low, high = min(1.0, *(one.mean for one in ratios)), max(1.0, *(one.mean for one in ratios))
    low, high = widened(low, high, ratios, max(high - low, 0.02))
    margin = 0.06 * (high - low)
    span = (100 * (low - margin - 1), 100 * (high + margin - 1))
    return [
        _by_threads(f"threads-{number}", name, points, style, span)
        for number, (name, points) in enumerate(by_row.items(), start=1)
    ]


def _compared_points(row: SuiteRow) -> dict[str, list[ScalingPoint]]:
    by_name = {one.candidate: [point for point in one.points if point.to_baseline] for one in row.scaling}
    return {name: points for name, points in by_name.items() if len(points) > 1}


def _by_threads(
    key: str, workload: str, points: Mapping[str, Sequence[ScalingPoint]], style: Mapping[str, Style], span: Span
) -> Chart:
    counts = sorted({point.threads for of in points.values() for point in of})
    ends = {name: change_in_percent(of[-1].to_baseline).mean for name, of in points.items() if of[-1].to_baseline}
    labels = dict(zip(ends, distinct([style[name].label for name in ends], _NAME), strict=True))
    names = [LineName(labels[name], style[name].colour, end) for name, end in ends.items()]
    figure = blank(
        margin={"l": 56, "r": label_margin(list(labels.values())), "t": 8, "b": 44},
        annotations=names_at_ends(names, span, _SMALL - 52),
        xaxis=threads_axis(counts),
        yaxis={**axis(""), "ticksuffix": " %", "range": list(span), "zeroline": False},
    )
    figure.add_hline(y=0, line={"color": "var(--base)", "width": 1.5})
    cut = []
    for name, of in points.items():
        look, ratios = style[name], [point.to_baseline for point in of if point.to_baseline]
        shown = [change_in_percent(ratio) for ratio in ratios]
        hovers = [
            f"{safe(look.label)}, {counted(point.threads, 'thread')}: {safe(change_with_interval(ratio))}"
            for point, ratio in zip(of, ratios, strict=True)
        ]
        bars = error_bars(shown, look.colour, 1.4, 4)
        figure.add_trace(marked_line([point.threads for point in of], [one.mean for one in shown], look, hovers, error_y=bars))
        cut += [(one, float(point.threads), look.colour) for one, point in zip(shown, of, strict=True)]
    figure.add_traces(cut_off(cut, span, upright=True))
    words = []
    for name, of in list(points.items())[:_IN_WORDS]:
        shown_ends = [f"{change(one.to_baseline.mean)} with {one.threads:,}" for one in (of[0], of[-1]) if one.to_baseline]
        words.append(f"{style[name].label}: {listed(shown_ends)}")
    return Chart(key, visible(workload), f"{'; '.join(words)} threads.", _SMALL, plain(figure))
