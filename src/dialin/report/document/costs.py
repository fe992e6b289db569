"""What a query and a transaction cost, candidate by candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.model.verdict import ComparedFigure
from dialin.model.why import Why
from dialin.report.document.parts import Cell, Column, Row, Table
from dialin.sentences.changes import interval
from dialin.text import NOTHING, change, number, visible

READING = (
    "Beside a figure is its change against the baseline, with its interval in percent. A star marks a change whose interval "
    "excludes 0 %; the columns are not corrected for each other."
)
"""How to read the table."""

STAR = "*"
"""Marks a change whose interval excludes 0 %."""


def titles(why: Why) -> list[str]:
    """Return the titles of the table's columns: the cost and its unit."""
    return [visible(f"{row.name} {row.unit}".rstrip()) for row in why.costs]


def candidates(why: Why, names: Sequence[str]) -> list[str]:
    """Return the candidates that have a cost, in the order of every table."""
    return [name for name in names if any(name in row.per_query or name in row.per_transaction for row in why.costs)]


def cost_cell(cost: ComparedFigure | None) -> Cell:
    """Return a cost with its change against the baseline; a star where the interval of the change excludes 0 %."""
    if cost is None:
        return Cell(NOTHING)
    figure, ratio = number(cost.level.mean), cost.ratio
    if ratio is None:
        return Cell(figure)
    starred = change(ratio.mean) + (STAR if ratio.excludes_one else "")
    ends = interval(ratio, change, is_bare=True) or "no interval"
    return Cell(figure, [starred, ends], starred, is_marked=ratio.excludes_one)


def tables(why: Why, names: Sequence[str], labels: Mapping[str, str]) -> tuple[Table, Table]:
    """Return the table per query and the one per transaction; their last columns are dropped first."""
    columns = [Column("candidate", "candidate")]
    columns += [Column(f"cost-{rank}", title, rank, is_figure=True) for rank, title in enumerate(titles(why))]
    first = {name: Cell(labels[name], candidate=name) for name in names}
    query = [Row([first[name], *(cost_cell(row.per_query.get(name)) for row in why.costs)]) for name in names]
    transaction = [Row([first[name], *(cost_cell(row.per_transaction.get(name)) for row in why.costs)]) for name in names]
    return (
        Table("cost-per-query", f"Cost of a query. {READING}", columns, query, is_wide=True),
        Table("cost-per-transaction", f"Cost per transaction. {READING}", columns, transaction, is_wide=True),
    )
