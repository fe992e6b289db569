"""How long transactions took, from histograms, as a table by kind of transaction and candidate."""

from __future__ import annotations

from collections.abc import Mapping

from dialin.model.load_driver import ALL_KINDS
from dialin.model.study import StudySpec
from dialin.model.verdict import Estimate
from dialin.model.why import TransactionLatency, Why
from dialin.report.charts.transaction_latency import PERCENTILES, percentiles
from dialin.report.document.parts import Cell, Column, Row, Table
from dialin.report.verdict_sentences import interval
from dialin.text import NOTHING, exact_percent, number, span, visible

TITLE = "Latency of transactions"

_RANKS = (4, 3, 0, 2)
"""The rank of each percentile's column: the column with the highest rank is dropped first where there is little room."""


def table(why: Why, spec: StudySpec, labels: Mapping[str, str]) -> Table:
    """Return the table; kinds of transaction are named where there are several."""
    several = any(one.transaction != ALL_KINDS for one in why.latencies)
    columns = [
        *([Column("transaction", "transaction")] if several else []),
        Column("candidate", "candidate"),
        Column("rate", "per second", 5, is_figure=True),
        *(Column(name, f"{name} ms", rank, is_figure=True) for name, rank in zip(PERCENTILES, _RANKS, strict=True)),
        Column("longest", "longest ms", 1, is_figure=True),
    ]
    rows = [_row(one, labels, several=several) for one in why.latencies]
    caption = (
        "Percentiles of the measured transactions of a trial, in milliseconds, to within 1 %, each with its "
        f"{exact_percent(1 - spec.alpha)} confidence interval; beside the longest is that of each trial. A percentile is "
        "missing where trials have too few transactions for it."
    )
    return Table("latency-table", caption, columns, rows)


def _row(one: TransactionLatency, labels: Mapping[str, str], *, several: bool) -> Row:
    kind = [Cell(visible(one.transaction) or "all")] if several else []
    each = span(one.longest_ms, number)
    longest = Cell(number(max(one.longest_ms)), [f"each trial: {each}"] if len(one.longest_ms) > 1 else [])
    figures = [_figure(estimate) for estimate in percentiles(one)]
    return Row([*kind, Cell(labels[one.candidate], candidate=one.candidate), Cell(number(one.per_second)), *figures, longest])


def _figure(estimate: Estimate | None) -> Cell:
    if estimate is None:
        return Cell(NOTHING)
    ends = interval(estimate, number)
    return Cell(number(estimate.mean), [ends] if ends else [], interval(estimate, number, between="–"))
