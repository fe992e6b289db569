"""Transactions as tables: throughput by threads, latency from histograms, and kinds of transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dialin.model.load_driver import ALL_KINDS
from dialin.model.study import StudySpec
from dialin.model.verdict import ComparedFigure
from dialin.model.why import Scaling, TransactionLatency, Usl, Why
from dialin.model.workload import latency_name
from dialin.report.charts.transaction_latency import PERCENTILES, percentiles
from dialin.report.document.costs import READING, cost_cell
from dialin.report.document.figure_columns import interval_cell
from dialin.report.document.parts import Cell, Column, Row, Table
from dialin.report.scaling import has_curve, peak, reading, threads, title
from dialin.text import NOTHING, exact_percent, number, percent, span, visible


def scaling_table(why: Why, labels: Mapping[str, str], rate: str, asked_rate: int) -> Table:
    """Return the table. The column of the most threads is never dropped, and that of the fewest only after all between."""
    counts = threads(why)
    last = len(counts) - 1
    columns = [Column("candidate", "candidate")]
    columns += [
        Column(f"threads-{count}", title(count), 0 if place == last else 3 + place, is_figure=True)
        for place, count in enumerate(counts)
    ]
    if has_curve(why):
        names = (("contention", "contention σ", 1), ("coherency", "coherency κ", 2), ("peak", "peak, threads", 0))
        every = (*names, ("error", "off the curve", 99))
        columns += [Column(key, heading, rank, is_figure=True) for key, heading, rank in every]
    rows = [
        Row(
            [
                Cell(labels[one.candidate], candidate=one.candidate),
                *_throughputs(one, counts),
                *(map(Cell, _curve_cells(one.usl, counts)) if has_curve(why) else ()),
            ]
        )
        for one in why.scaling
    ]
    caption = f"Throughput by threads, {rate}, with intervals. {reading(why, asked_rate)}".rstrip()
    return Table("scaling-table", caption, columns, rows)


def _throughputs(one: Scaling, counts: Sequence[int]) -> list[Cell]:
    by_count = {point.threads: point.tps for point in one.points}
    return [replace(interval_cell(tps, number), brief="") if (tps := by_count.get(count)) else Cell("") for count in counts]


def _curve_cells(usl: Usl | None, counts: Sequence[int]) -> list[str]:
    if usl is None:
        return [NOTHING] * 4
    return [percent(usl.contention), f"{usl.coherency:.2g}", peak(usl, counts), percent(usl.relative_error)]


LATENCY_TITLE = "Latency of transactions"

_RANKS = (4, 3, 0, 2)
"""The rank of each percentile's column: the column with the highest rank is dropped first where there is little room."""


def latency_table(why: Why, spec: StudySpec, labels: Mapping[str, str]) -> Table:
    """Return the table; kinds of transaction are named where there are several."""
    several = any(one.transaction != ALL_KINDS for one in why.latencies)
    columns = [
        *([Column("transaction", "transaction")] if several else []),
        Column("candidate", "candidate"),
        Column("rate", "per second", 5, is_figure=True),
        *(Column(name, f"{name} ms", rank, is_figure=True) for name, rank in zip(PERCENTILES, _RANKS, strict=True)),
        Column("longest", "longest ms", 1, is_figure=True),
    ]
    rows = [_latency_row(one, labels, several=several) for one in why.latencies]
    caption = (
        "Percentiles of the measured transactions of a trial, in milliseconds, to within 1 %, each with its "
        f"{exact_percent(1 - spec.alpha)} confidence interval; beside the longest is that of each trial. A percentile is "
        "missing where trials have too few transactions for it."
    )
    return Table("latency-table", caption, columns, rows)


def _latency_row(one: TransactionLatency, labels: Mapping[str, str], *, several: bool) -> Row:
    kind = [Cell(visible(one.transaction) or "all")] if several else []
    each = span(one.longest_ms, number)
    longest = Cell(number(max(one.longest_ms)), [f"each trial: {each}"] if len(one.longest_ms) > 1 else [])
    figures = [interval_cell(estimate, number) for estimate in percentiles(one)]
    return Row([*kind, Cell(labels[one.candidate], candidate=one.candidate), Cell(number(one.per_second)), *figures, longest])


KINDS_TITLE = "Kinds of transaction"


def kinds_table(why: Why, spec: StudySpec, labels: Mapping[str, str]) -> Table:
    """Return the table; a figure that no kind has is no column."""
    every: list[tuple[Column, list[ComparedFigure | None]]] = [
        (Column("rate", "per second", is_figure=True), [one.per_second for one in why.kinds]),
        (
            Column("percentile", f"{latency_name(spec.workload.percentile)} ms", 1, is_figure=True),
            [one.percentile_ms for one in why.kinds],
        ),
        (Column("mean", "mean ms", 2, is_figure=True), [one.mean_ms for one in why.kinds]),
        (Column("errors", "errors per second", 3, is_figure=True), [_known(one.errors) for one in why.kinds]),
    ]
    shown = [(column, figures) for column, figures in every if any(figures)]
    columns = [Column("transaction", "transaction"), Column("candidate", "candidate"), *(column for column, _ in shown)]
    names = [(Cell(visible(one.transaction)), Cell(labels[one.candidate], candidate=one.candidate)) for one in why.kinds]
    rows = [Row([*named, *(cost_cell(figures[place]) for _, figures in shown)]) for place, named in enumerate(names)]
    caption = f"As the load's program reports them; a percentile is the mean of those of its samples. {READING}"
    return Table("kinds-table", caption, columns, rows)


def _known(errors: ComparedFigure | None) -> ComparedFigure | None:
    return errors if errors is not None and errors.level.mean > 0 else None
