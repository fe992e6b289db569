"""Tables for terminals: which columns fit into a width, and at which length of their cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len

from dialin.report.document.parts import RowRole, Table
from dialin.text import distinct

GAP = 2
"""Spaces between columns."""

_FEWEST = 2
"""Columns that are shown in any case."""
_NARROWEST = 10
_LEAST_OF_LONG = 30
_INTERVALS = 5
"""Where a chart shows the deciding figure, columns above this rank are dropped before the intervals of the others."""


@dataclass(frozen=True, slots=True)
class TerminalColumn:
    """A column, with one cell for each row.

    Attributes:
        brief: the cells where there is little room; empty where they cannot be shorter.
        bare: the cells as figures alone; empty where they are the same as `brief`.
        rank: where there is little room the column with the highest rank is dropped first; 0 is never dropped.
        left: whether its cells are left-aligned, as words are.
        is_charted: whether a chart above the table shows it with its intervals.
        bare_first: whether its cells are shown bare before those of other columns.
    """

    title: str
    cells: Sequence[str]
    brief: Sequence[str] = ()
    bare: Sequence[str] = ()
    rank: int = 0
    left: bool = False
    is_charted: bool = False
    bare_first: bool = False


def long_texts(title: str, texts: Sequence[str], room: int) -> TerminalColumn:
    """Return a column of long texts, which are cut at their end where there is little room: to `room` columns, 30 at least."""
    length = max(_LEAST_OF_LONG, room)
    brief = [text if len(text) <= length else f"{text[: length - 1]}…" for text in texts]
    return TerminalColumn(title, texts, brief, left=True)


def columns_of(table: Table) -> list[TerminalColumn]:
    return [
        TerminalColumn(
            column.title,
            [row.cells[place].full for row in table.rows],
            [row.cells[place].compact for row in table.rows],
            [row.cells[place].text for row in table.rows],
            column.rank,
            not column.is_figure,
            column.is_charted,
            column.bare_first,
        )
        for place, column in enumerate(table.columns)
    ]


def row_styles(table: Table) -> list[str]:
    styles = {RowRole.RECOMMENDED: "bold", RowRole.DIMMED: "dim", RowRole.BAD: "red", RowRole.PLAIN: ""}
    return [styles[row.role] for row in table.rows]


def fitted(columns: Sequence[TerminalColumn], width: int | None) -> tuple[list[TerminalColumn], list[str]]:
    """Return the columns of a table as they fit a width, and the titles of those left out that no chart shows.

    Without a width, all columns are shown in full.
    """
    shown = list(columns)
    if width is None:
        return shown, []
    for attempt in _attempts(columns, width):
        shown = attempt
        if _fits(attempt, width):
            break
    while len(shown) > _FEWEST and not _fits(shown, width) and not shown[-1].left:  # a figure that is cut off is a wrong one
        shown = shown[:-1]
    titles = {column.title for column in shown}
    return shown, [column.title for column in columns if column.title not in titles and not column.is_charted]


def _fits(columns: Sequence[TerminalColumn], width: int) -> bool:
    return sum(map(_width, columns)) + GAP * (len(columns) - 1) <= width


def _attempts(columns: Sequence[TerminalColumn], width: int) -> Iterator[list[TerminalColumn]]:
    """Yield the ways to show a table, the best first.

    Below a chart, the least important columns are dropped first; then names are shortened, and only then intervals left out.
    Without a chart names are shortened first, then come the intervals that are left out before others, then columns.
    """
    yield list(columns)
    brief = [_brief(column, bare=column.is_charted) for column in columns]
    yield brief
    ranks = sorted({column.rank for column in columns if column.rank}, reverse=True)
    is_charted = any(column.is_charted for column in columns)
    if is_charted:
        for name_width in (None, width):
            for limit in [None, *(rank for rank in ranks if rank > _INTERVALS)]:
                ranked = [one for one in columns if limit is None or one.rank < limit]
                shortened = [_brief(one, bare=one.is_charted or one.bare_first) for one in ranked]
                yield _named(shortened, name_width)
                yield _named([one for one in shortened if not one.is_charted], name_width)
    yield _named([_brief(one, bare=is_charted) for one in columns], width)
    for limit in [None, *ranks]:
        shortened = [_brief(one, bare=is_charted or one.bare_first) for one in columns if limit is None or one.rank < limit]
        yield _named(shortened, width)


def _named(columns: Sequence[TerminalColumn], width: int | None) -> list[TerminalColumn]:
    """Return columns with the names in the first one shortened where a width is given."""
    if width is None:
        return list(columns)
    first, *others = columns
    room = max(_NARROWEST, width // 3)
    return [replace(first, cells=distinct(first.cells, room)), *others]


def _brief(column: TerminalColumn, *, bare: bool) -> TerminalColumn:
    cells = (column.bare if bare else ()) or column.brief or column.cells
    return replace(column, cells=cells)


def _width(column: TerminalColumn) -> int:
    return max(map(cell_len, (column.title, *column.cells)))
