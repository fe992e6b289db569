"""What a query and a transaction cost, candidate by candidate: the cells of a table, alike in every form of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialin.model.why import CostRow, Why
from dialin.report.table_column import Column, candidate_column
from dialin.report.verdict_sentences import interval
from dialin.text import NOTHING, change, number, visible

READING = (
    "Below a figure is the change of what a transaction costs against the baseline's, with its interval in per cent. A star "
    "marks one whose interval does not hold 0 %; columns are not corrected for each other."
)
"""How to read the table."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one candidate's query costs of one thing.

    Attributes:
        figure: per query or per transaction.
        change: against the baseline's; nothing for the baseline itself, and where it is not known.
        interval: of the change, in per cent.
        differs: whether the interval does not hold 0 %.
    """

    figure: str
    change: str = ""
    interval: str = ""
    differs: bool = False

    @property
    def marked(self) -> str:
        """The change, with a star where it is one beyond its interval."""
        return self.change + ("*" if self.differs else "")

    @property
    def full(self) -> str:
        """The figure with its change and interval: `412 (+25.1 %*, +20.0 to +30.2)`."""
        beside = ", ".join(part for part in (self.marked, self.interval) if part)
        return f"{self.figure} ({beside})" if beside else self.figure

    @property
    def brief(self) -> str:
        """The figure with its change alone: `412 +25.1 %*`."""
        return f"{self.figure} {self.marked}".rstrip()


def titles(why: Why) -> list[str]:
    """Return the titles of the table's columns: what it is of, with its unit."""
    return [visible(f"{row.name} {row.unit}".rstrip()) for row in why.costs]


def candidates(why: Why, names: Sequence[str]) -> list[str]:
    """Return the candidates that have a cost, in the order of every table."""
    return [name for name in names if any(name in row.per_query or name in row.per_transaction for row in why.costs)]


def per_query(row: CostRow, candidate: str, baseline: str) -> Cost:
    """Return what a query costs, with its change against the baseline."""
    figure = number(row.per_query.get(candidate)) if candidate in row.per_query else NOTHING
    ratio = row.ratio.get(candidate)
    if candidate == baseline or ratio is None:
        return Cost(figure)
    return Cost(figure, change(ratio.mean), interval(ratio, change).replace(" %", ""), ratio.excludes_one)


def per_transaction(row: CostRow, candidate: str) -> Cost:
    """Return what a transaction costs."""
    return Cost(number(row.per_transaction.get(candidate)))


def tables(why: Why, names: Sequence[str], labels: Mapping[str, str], baseline: str) -> tuple[list[Column], list[Column]]:
    """Return the columns of the table per query and of that per transaction; what comes last is dropped first."""
    first = candidate_column(names, labels)
    query, transaction = [first], [first]
    for rank, (title, row) in enumerate(zip(titles(why), why.costs, strict=True)):
        cells = [per_query(row, name, baseline) for name in names]
        query.append(Column(title, [cell.full for cell in cells], [cell.brief for cell in cells], rank))
        transaction.append(Column(title, [per_transaction(row, name).figure for name in names], rank=rank))
    return query, transaction
