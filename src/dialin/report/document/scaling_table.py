"""How throughput grows with threads, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.model.why import Scaling, Usl, Why
from dialin.report.document.parts import Cell, Column, Row, Table
from dialin.report.scaling import has_curve, peak, reading, threads, title
from dialin.report.verdict_sentences import interval
from dialin.text import NOTHING, number, percent


def table(why: Why, labels: Mapping[str, str], rate: str, asked_rate: int) -> Table:
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
                *_points(one, counts),
                *(map(Cell, _curve(one.usl, counts)) if has_curve(why) else ()),
            ]
        )
        for one in why.scaling
    ]
    caption = f"Throughput by threads, {rate}, with intervals. {reading(why, asked_rate)}".rstrip()
    return Table("scaling-table", caption, columns, rows)


def _points(one: Scaling, counts: Sequence[int]) -> list[Cell]:
    """Return a candidate's throughput at each number of threads; an empty cell where it was not measured."""
    by_count = {point.threads: point.tps for point in one.points}
    cells = []
    for tps in map(by_count.get, counts):
        ends = interval(tps, number)
        cells.append(Cell(number(tps.mean) if tps else "", [ends] if ends else ()))
    return cells


def _curve(usl: Usl | None, counts: Sequence[int]) -> list[str]:
    if usl is None:
        return [NOTHING] * 4
    return [percent(usl.contention), f"{usl.coherency:.2g}", peak(usl, counts), percent(usl.relative_error)]
