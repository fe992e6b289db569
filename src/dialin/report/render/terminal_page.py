"""Finished text on a terminal: sentences are wrapped, tables fitted to its width, and no text is read as markup."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from dialin.report.render.terminal_table import GAP, TerminalColumn, fitted
from dialin.text import ascii_only, wrapped

_LONGEST_LINE = 100
"""Columns that a paragraph fills at most: longer lines are hard to read."""

_LABEL = 15
"""Columns that labels take where their paragraphs are indented after them."""

_SET_IN = 64
"""The terminal width in columns from which there is room for that indent."""


class Page:
    """A console for finished text only: no markup is interpreted, and no character is printed that its encoding lacks."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.is_ascii = console.options.ascii_only
        self.width = max(20, console.width)
        self._table_width = None if console.soft_wrap else self.width
        self._prose = min(self.width, _LONGEST_LINE)

    def gap(self) -> None:
        self._console.print()

    def text(self, text: str, style: str = "", indent: str = "", hanging: str = "") -> None:
        """Print a paragraph, all lines indented by `indent`, or the first by `indent` and the others by `hanging`."""
        for line in wrapped(self._fit(text), self._prose, indent=indent, hanging=hanging or indent):
            self._console.print(Text(line, style=style), soft_wrap=True)

    def labelled(self, label: str, text: str, style: str = "dim") -> None:
        self._labelled(label, f"{label} ", "", text, style)

    def fact(self, label: str, text: str, style: str = "dim", columns: int = _LABEL, most: int | None = None) -> None:
        """Print a paragraph that begins with a label; where there is room, all such paragraphs are indented by `columns`.

        `most` are the lines after which it is cut off.
        """
        if self.width < _SET_IN:
            self.labelled(label, text, style)
        else:
            self._labelled(label, f"{label:<{columns - 1}} ", " " * columns, text, style, most)

    def _labelled(self, label: str, head: str, hanging: str, text: str, style: str, most: int | None = None) -> None:
        first, *rest = wrapped(self._fit(text), self._prose, indent=head, hanging=hanging) or [head]
        if most is not None and len(rest) >= most:
            cut = self._fit("…")
            rest = [*rest[: most - 2], f"{rest[most - 2][: self._prose - len(cut)].rstrip(' ,;:(')}{cut}"]
        self._console.print(Text.assemble((label, style), first[len(label) :]), soft_wrap=True)
        for line in rest:
            self._console.print(Text(line), soft_wrap=True)

    def numbered(self, number: int, text: str) -> None:
        """Print a paragraph after its number, all lines with the same indent."""
        head = f"{number:>2}. "
        for line in wrapped(self._fit(text), self._prose, indent=head, hanging=" " * len(head)):
            self._console.print(Text(line), soft_wrap=True)

    def copyable(self, text: str, style: str = "bold", label: str = "") -> None:
        """Print a line as it is, however long, so that it can be copied; it may begin with a label."""
        self._console.print(Text.assemble((label, "dim"), (self._fit(text), style)), soft_wrap=True)

    def line(self, parts: Sequence[tuple[str, str]]) -> None:
        """Print one line of parts with their styles, cut off where the terminal ends."""
        line = Text.assemble(*((self._fit(text), style) for text, style in parts))
        line.rstrip()
        self._console.print(line, no_wrap=True, overflow="crop" if self.is_ascii else "ellipsis", crop=True)

    def table(self, columns: Sequence[TerminalColumn], *, styles: Sequence[str] = ()) -> None:
        """Print a table, each row in its style; what does not fit is shortened, then left out, and the page says so.

        On a console that wraps nothing (`soft_wrap`), as where there is no terminal, everything fits.
        """
        shown, dropped = fitted(columns, self._table_width)
        widths = [max(cell_len(cell) for cell in (column.title, *column.cells)) for column in shown]
        for row in range(-1, len(columns[0].cells)):
            cells = [column.title if row < 0 else column.cells[row] for column in shown]
            padded = [
                cell + " " * (width - cell_len(cell)) if column.left else " " * (width - cell_len(cell)) + cell
                for cell, width, column in zip(cells, widths, shown, strict=True)
            ]
            style = "dim" if row < 0 else styles[row] if styles else ""
            line = Text(self._fit((" " * GAP).join(padded)).rstrip(), style=style)
            if self._table_width is None:
                self._console.print(line)
            else:
                self._console.print(line, no_wrap=True, overflow="crop", crop=True)
        if dropped:
            self.text(f"Left out at this width: {', '.join(dropped)}.", "dim")

    def _fit(self, text: str) -> str:
        return ascii_only(text) if self.is_ascii else text
