"""Throughput and latency of each kind of transaction."""

from __future__ import annotations

from collections.abc import Mapping

from dialin.model.verdict import Verdict
from dialin.report.document.parts import Cell, Column, Row, Table
from dialin.text import number, visible

TITLE = "Kinds of transaction"

READING = (
    "Transactions per second of each kind, and the 95th and 99th percentile of their latency in the measured seconds of a "
    "trial. Each figure is the median of the candidate's trials."
)
"""How to read the table."""

_FIGURES = {"per second": 1, "p95 ms": 2, "p99 ms": 0}
"""The columns of figures, with their ranks: the highest is dropped first where there is little room."""


def table(verdict: Verdict, labels: Mapping[str, str]) -> Table | None:
    """Return the table, by kind, so that candidates stand below each other; None where there is one kind only."""
    kinds = dict.fromkeys(one.name for candidate in verdict.candidates for one in candidate.transactions)
    if not kinds:
        return None
    columns = [Column("transaction", "transaction"), Column("candidate", "candidate")]
    columns += [Column(title, title, rank, is_figure=True) for title, rank in _FIGURES.items()]
    rows = [
        Row(
            [
                Cell(visible(kind)),
                Cell(labels[candidate.name], candidate=candidate.name),
                *(Cell(number(figure)) for figure in (one.per_second, one.p95_ms, one.p99_ms)),
            ]
        )
        for kind in kinds
        for candidate in verdict.candidates
        for one in candidate.transactions
        if one.name == kind
    ]
    return Table("transactions", READING, columns, rows)
