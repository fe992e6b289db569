"""The columns of a table, alike for a terminal, which fits them into its width, and for Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, with one cell for each row.

    Attributes:
        title: what stands above it.
        brief: the same where there is little room; empty where it cannot be shorter.
        rank: what is dropped first where there is little room: the highest; 0 always stays.
        left: whether it is set to the left, as words are.
    """

    title: str
    cells: Sequence[str]
    brief: Sequence[str] = ()
    rank: int = 0
    left: bool = False


def candidate_column(names: Sequence[str], labels: Mapping[str, str]) -> Column:
    """Return the first column of a table with one row for each candidate."""
    return Column("candidate", [labels[name] for name in names], left=True)


def columns_of(titles: Sequence[str], rows: Sequence[Sequence[str]], ranks: Sequence[int]) -> list[Column]:
    """Return a column for each title, from rows that have a cell for each."""
    return [
        Column(title, [row[place] for row in rows], rank=rank)
        for place, (title, rank) in enumerate(zip(titles, ranks, strict=True))
    ]
