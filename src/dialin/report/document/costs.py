"""What a query and a transaction cost, candidate by candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.model.why import CostRow, Why
from dialin.report.document.parts import Cell, Column, Row, Table
from dialin.report.verdict_sentences import interval
from dialin.text import NOTHING, change, number, visible

READING = (
    "Beside a figure is the change of the cost per transaction against the baseline, with its interval in percent. A star "
    "marks a change whose interval excludes 0 %; the columns are not corrected for each other."
)
"""How to read the table."""


def titles(why: Why) -> list[str]:
    """Return the titles of the table's columns: the cost and its unit."""
    return [visible(f"{row.name} {row.unit}".rstrip()) for row in why.costs]


def candidates(why: Why, names: Sequence[str]) -> list[str]:
    """Return the candidates that have a cost, in the order of every table."""
    return [name for name in names if any(name in row.per_query or name in row.per_transaction for row in why.costs)]


def per_query(row: CostRow, candidate: str, baseline: str) -> Cell:
    """Return what a query costs, with its change against the baseline; a star where its interval excludes 0 %."""
    figure = number(row.per_query.get(candidate)) if candidate in row.per_query else NOTHING
    ratio = row.ratio.get(candidate)
    if candidate == baseline or ratio is None:
        return Cell(figure)
    starred = change(ratio.mean) + ("*" if ratio.excludes_one else "")
    ends = interval(ratio, change).replace(" %", "")
    return Cell(figure, [starred, *([ends] if ends else [])], starred, is_marked=ratio.excludes_one)


def tables(why: Why, names: Sequence[str], labels: Mapping[str, str], baseline: str) -> tuple[Table, Table]:
    """Return the table per query and the one per transaction; their last columns are dropped first."""
    columns = [Column("candidate", "candidate")]
    columns += [Column(f"cost-{rank}", title, rank, is_figure=True) for rank, title in enumerate(titles(why))]
    first = {name: Cell(labels[name], candidate=name) for name in names}
    query = [Row([first[name], *(per_query(row, name, baseline) for row in why.costs)]) for name in names]
    transaction = [Row([first[name], *(Cell(number(row.per_transaction.get(name))) for row in why.costs)]) for name in names]
    return (
        Table("cost-per-query", f"Cost of a query. {READING}", columns, query, is_wide=True),
        Table("cost-per-transaction", "Cost of a transaction. The changes are those per query.", columns, transaction),
    )
