"""Throughput and latency of each kind of transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.model.verdict import TransactionFigures, Verdict
from dialin.report.document.parts import Cell, Column, Row, Table
from dialin.text import number, visible

TITLE = "Kinds of transaction"

READING = (
    "Transactions per second of each kind, and the 95th and 99th percentile of their latency in the measured seconds of a "
    "trial. Each figure is the median of the candidate's trials."
)
"""How to read the table."""

KIND_TITLES = ("per second", "p95 ms", "p99 ms")
"""What stands above the figures."""

_RANKS = (1, 2, 0)

KindRow = tuple[str, str, Sequence[str]]
"""A kind of transaction, a candidate, and its figures."""


def rows(verdict: Verdict) -> list[KindRow]:
    """Return the table's rows: by kind, so that candidates stand below each other; none where there is one kind only."""
    names = dict.fromkeys(one.name for candidate in verdict.candidates for one in candidate.transactions)
    return [
        (visible(name), candidate.name, _figures(one))
        for name in names
        for candidate in verdict.candidates
        for one in candidate.transactions
        if one.name == name
    ]


def table(verdict: Verdict, labels: Mapping[str, str]) -> Table | None:
    """Return the table; None where there is one kind only."""
    every = rows(verdict)
    if not every:
        return None
    columns = [Column("transaction", "transaction"), Column("candidate", "candidate")]
    columns += [Column(title, title, rank, is_figure=True) for title, rank in zip(KIND_TITLES, _RANKS, strict=True)]
    cells = [
        Row([Cell(name), Cell(labels[candidate], candidate=candidate), *map(Cell, figures)])
        for name, candidate, figures in every
    ]
    return Table("transactions", READING, columns, cells)


def _figures(one: TransactionFigures) -> list[str]:
    return [number(one.per_second), number(one.p95_ms), number(one.p99_ms)]
