"""Raw waits as tables: one for each instrument, a row for each candidate and operation, in time and in cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.model.why import WaitSummary, WaitTrial
from dialin.report.document.parts import Cell, Column, Row, Table
from dialin.report.wait_groups import WaitGroup, nanoseconds
from dialin.text import NOTHING, change, duration, number, percent, visible

_TIMES = {"mean": 0, "p50": 7, "p90": 8, "p99": 0, "p99.9": 6, "max": 1, "total": 2}
"""The times of each row, with the rank of their columns: the highest is dropped first where there is little room."""
_MILLI = 1e6
"""Nanoseconds in a millisecond."""

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
    rows = [Row([Cell(labels[one.candidate], candidate=one.candidate), *map(Cell, _trial_cells(one))]) for one in trials]
    return Table("collected", COLLECTED_READING, columns, rows)


def _trial_cells(one: WaitTrial) -> tuple[str, ...]:
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
    rows = group.operations if by_operation else group.every
    operation = [Column("operation", "operation")] if by_operation else []
    columns = [
        Column("candidate", "candidate"),
        *operation,
        Column("waits", "waits", 5, is_figure=True),
        Column("per-second", "per second", 4, is_figure=True),
        *(Column(title, title, rank, is_figure=True) for title, rank in _TIMES.items()),
        Column("longest", "longest 1 %", 2, is_figure=True),
        Column("ten", "ten longest", 3, is_figure=True),
    ]
    return Table(
        f"waits-table-{place}{'-operations' if by_operation else ''}",
        f"{group.instrument}{' by operation' if by_operation else ''}: times, and beside each the same in cycles of the timer.",
        columns,
        [_row(one, labels, by_operation=by_operation) for one in rows],
        is_wide=True,
    )


def _row(one: WaitSummary, labels: Mapping[str, str], *, by_operation: bool) -> Row:
    times = (one.mean_ns, one.p50_ns, one.p90_ns, one.p99_ns, one.p999_ns, one.max_ns, one.total_ms * _MILLI)
    cycles = (
        *(one.mean_cycles, one.p50_cycles, one.p90_cycles, one.p99_cycles, one.p999_cycles),
        *(one.max_cycles, one.total_cycles),
    )
    in_cycles = [number(value) if any(cycles) else NOTHING for value in cycles]
    return Row(
        [
            Cell(labels[one.candidate], candidate=one.candidate),
            *([Cell(visible(one.operation))] if by_operation else []),
            Cell(f"{one.count:,}"),
            Cell(number(one.per_second)),
            *(Cell(nanoseconds(time), [shown]) for time, shown in zip(times, in_cycles, strict=True)),
            Cell(percent(one.worst_share)),
            Cell(percent(one.ten_share)),
        ]
    )
