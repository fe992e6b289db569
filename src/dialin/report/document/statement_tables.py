"""The tables of the statements that took most time, and of the percentiles of statement latency, by candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.model.why import StatementFigures, StatementTimes, Why
from dialin.report.document.parts import Cell, Column, Row, Table
from dialin.report.wait_groups import nanoseconds
from dialin.text import NOTHING, number, visible

STATEMENT_TITLES = ("executions/s", "mean", "rows examined", "rows sent", "lock wait", "disk tables")
"""The columns of a statement; all but the first are means per execution."""

READING = (
    "The statements that took most of the servers' time, all candidates together, from the performance schema, without their "
    "values. Rows, table lock waits and temporary tables on disk are means per execution."
)
"""How to read the tables of statements."""

TIME_TITLES = ("statements", "p50", "p95", "p99")
"""The columns of the percentiles."""

TIME_READING = (
    "Percentiles of statement latency, from the server's histogram. Its buckets are about 5 % wide: a figure is the upper end "
    "of its bucket, and smaller differences are not visible. The statements of the probes are included."
)
"""How to read the percentiles."""

_RANKS = (2, 0, 1, 4, 3, 5)
_TIME_RANKS = (1, 0, 0, 0)
_NANO = 1e3
"""Nanoseconds in a microsecond."""


def statements(why: Why, names: Sequence[str], labels: Mapping[str, str]) -> list[Table]:
    """Return a table for each statement that took much time; its candidates are in the order of `names`."""
    return [
        _table(
            f"statement-{place}",
            visible(one.digest),
            STATEMENT_TITLES,
            _RANKS,
            [(name, _figures(one.candidates[name])) for name in names if name in one.candidates],
            labels,
        )
        for place, one in enumerate(why.statements, start=1)
    ]


def times(why: Why, names: Sequence[str], labels: Mapping[str, str]) -> list[Table]:
    """Return the table of the percentiles of statements' times; none where no server has them."""
    by_candidate = {one.candidate: one for one in why.statement_times}
    rows = [(name, _percentiles(by_candidate[name])) for name in names if name in by_candidate]
    return [_table("statement-times", TIME_READING, TIME_TITLES, _TIME_RANKS, rows, labels)] if rows else []


def _table(
    key: str,
    caption: str,
    titles: Sequence[str],
    ranks: Sequence[int],
    rows: Sequence[tuple[str, Sequence[str]]],
    labels: Mapping[str, str],
) -> Table:
    columns = [Column("candidate", "candidate")]
    columns += [Column(title, title, rank, is_figure=True) for title, rank in zip(titles, ranks, strict=True)]
    return Table(
        key, caption, columns, [Row([Cell(labels[name], candidate=name), *map(Cell, figures)]) for name, figures in rows]
    )


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
