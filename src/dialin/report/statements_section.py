"""What statements took most time, and how long statements were: the cells of tables, alike in every form of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialin.model.why import StatementFigures, StatementRow, StatementTimes, Why
from dialin.report.table_column import Column, candidate_column, columns_of
from dialin.report.wait_groups import nanoseconds
from dialin.text import NOTHING, number, visible

TITLES = ("executions/s", "mean", "rows examined", "rows sent", "lock wait", "disk tables")
"""What is told of a statement; all but the first by the execution."""

READING = (
    "The statements that took most of the servers' time, all candidates together, by the performance schema; their values are "
    "left out. Rows, the wait for table locks and temporary tables on disk are means of an execution."
)
"""How to read the tables of statements."""

TIME_TITLES = ("statements", "p50", "p95", "p99")
"""What is told of the histogram."""

TIME_READING = (
    "Percentiles of how long statements took, by the server's own histogram. It knows whole buckets only, about 5 % wide: a "
    "figure is the upper end of its bucket, and smaller differences cannot be seen. The probes' own statements count, too."
)
"""How to read the percentiles."""

_RANKS = (2, 0, 1, 4, 3, 5)
_TIME_RANKS = (1, 0, 0, 0)
_NANO = 1e3
"""Nanoseconds in a microsecond."""


@dataclass(frozen=True, slots=True)
class StatementCells:
    """One candidate's figures."""

    candidate: str
    cells: Sequence[str]


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement."""

    digest: str
    rows: Sequence[StatementCells]


def statements(why: Why, names: Sequence[str]) -> list[Statement]:
    """Return the statements that took most time, with their candidates in the order of every table."""
    return [Statement(visible(one.digest), _rows(one, names)) for one in why.statements]


def times(why: Why, names: Sequence[str]) -> list[StatementCells]:
    """Return the percentiles of statements' times, a row for each candidate that has them."""
    by_candidate = {one.candidate: one for one in why.statement_times}
    return [StatementCells(name, _percentiles(by_candidate[name])) for name in names if name in by_candidate]


def table(one: Statement, labels: Mapping[str, str]) -> list[Column]:
    """Return the columns of a statement's table."""
    return _table(one.rows, TITLES, _RANKS, labels)


def times_table(rows: Sequence[StatementCells], labels: Mapping[str, str]) -> list[Column]:
    """Return the columns of the table of percentiles."""
    return _table(rows, TIME_TITLES, _TIME_RANKS, labels)


def _table(
    rows: Sequence[StatementCells], titles: Sequence[str], ranks: Sequence[int], labels: Mapping[str, str]
) -> list[Column]:
    names = [row.candidate for row in rows]
    return [candidate_column(names, labels), *columns_of(titles, [row.cells for row in rows], ranks)]


def _rows(one: StatementRow, names: Sequence[str]) -> list[StatementCells]:
    return [StatementCells(name, _figures(one.candidates[name])) for name in names if name in one.candidates]


def _figures(one: StatementFigures) -> list[str]:
    return [
        number(one.per_second),
        nanoseconds(_NANO * one.mean_us),
        number(one.rows_examined),
        number(one.rows_sent),
        nanoseconds(_NANO * one.lock_us),
        number(one.disk_tables),
    ]


def _percentiles(one: StatementTimes) -> list[str]:
    ends = (one.p50_us, one.p95_us, one.p99_us)
    return [f"{one.statements:,}", *(NOTHING if end is None else nanoseconds(_NANO * end) for end in ends)]
