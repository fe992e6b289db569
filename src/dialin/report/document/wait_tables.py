"""Raw waits as tables: one for each instrument, a row for each candidate and operation, in time and in cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.model.why import WaitTrial
from dialin.report.document.parts import Cell, Column, Row, Table
from dialin.report.wait_groups import WAIT_TITLES, WaitCells, WaitGroup
from dialin.text import NOTHING, change, duration, number, percent, visible

_RANKS = (0, 7, 8, 0, 6, 1, 2)
"""Of each of `WAIT_TITLES`: the column with the highest rank is dropped first where there is little room."""

COLLECTED_READING = (
    "Trials that collected waits. Lost: events that the server counted and no longer held when it was read. Throughput: its "
    "change against the candidate's trials without collection."
)
"""How to read the table of trials that collected waits."""


def collected_table(trials: Sequence[WaitTrial], labels: Mapping[str, str], unit: str) -> Table:
    """Return the table of trials that collected waits; `unit` is that of throughput."""
    columns = [
        Column("candidate", "candidate"),
        Column("pattern", "waits of", 5, is_code=True),
        Column("time", "time", 3, is_figure=True),
        Column("events", "events", 1, is_figure=True),
        Column("lost", "lost", is_figure=True),
        Column("timer", "timer", 4),
        Column("rate", unit, 2, is_figure=True),
        Column("change", "throughput", is_figure=True),
    ]
    rows = [Row([Cell(labels[one.candidate], candidate=one.candidate), *map(Cell, _of(one))]) for one in trials]
    return Table("collected", COLLECTED_READING, columns, rows)


def _of(one: WaitTrial) -> tuple[str, ...]:
    return (
        visible(one.pattern),
        duration(one.seconds),
        f"{one.events:,}",
        f"{one.lost:,} ({percent(one.lost / (one.events + one.lost))})" if one.lost else "none",
        visible(one.timer) + (f" at {number(one.ticks_per_second / 1e6)} MHz" if one.ticks_per_second else ""),
        number(one.tps),
        NOTHING if one.slowdown is None else change(1 - one.slowdown),
    )


def table(group: WaitGroup, place: int, labels: Mapping[str, str], *, by_operation: bool) -> Table:
    """Return the table of an instrument, of all operations together or of each."""
    rows = group.operations if by_operation else group.rows
    operation = [Column("operation", "operation")] if by_operation else []
    columns = [
        Column("candidate", "candidate"),
        *operation,
        Column("waits", "waits", 5, is_figure=True),
        Column("per-second", "per second", 4, is_figure=True),
        *(Column(title, title, rank, is_figure=True) for title, rank in zip(WAIT_TITLES, _RANKS, strict=True)),
        Column("longest", "longest 1 %", 2, is_figure=True),
        Column("ten", "ten longest", 3, is_figure=True),
    ]
    return Table(
        f"waits-table-{place}{'-operations' if by_operation else ''}",
        f"{group.instrument}{' by operation' if by_operation else ''}: times, and beside each the same in cycles of the timer.",
        columns,
        [_cells(row, labels, by_operation=by_operation) for row in rows],
        is_wide=True,
    )


def _cells(row: WaitCells, labels: Mapping[str, str], *, by_operation: bool) -> Row:
    times = [Cell(time, [cycles]) for time, cycles in zip(row.times, row.cycles, strict=True)]
    first = [Cell(labels[row.candidate], candidate=row.candidate), *([Cell(row.operation)] if by_operation else [])]
    return Row([*first, Cell(row.count), Cell(row.per_second), *times, Cell(row.worst), Cell(row.ten)])
