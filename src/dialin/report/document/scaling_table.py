"""How throughput grows with threads, as a table."""

from __future__ import annotations

from collections.abc import Mapping

from dialin.model.why import Why
from dialin.report.document.parts import Cell, Column, Row, Table
from dialin.report.scaling import has_curve, reading, rows, threads, title


def table(why: Why, labels: Mapping[str, str], rate: str, asked_rate: int) -> Table:
    """Return the table; the last column of points says most, then the first, and the others are dropped first."""
    counts, cells = threads(why), rows(why)
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
    lines = []
    for row in cells:
        points = [Cell(figure, [between] if between else ()) for figure, between in row.points]
        curve = [row.contention, row.coherency, row.peak, row.error] if has_curve(why) else []
        lines.append(Row([Cell(labels[row.candidate], candidate=row.candidate), *points, *map(Cell, curve)]))
    caption = f"Throughput by threads, {rate}, with intervals. {reading(why, asked_rate)}".rstrip()
    return Table("scaling-table", caption, columns, lines)
