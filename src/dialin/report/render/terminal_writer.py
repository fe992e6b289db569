"""Writes the parts of a document to a terminal, each in full or in brief, and an analysis, which needs nothing of studies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from rich.cells import cell_len
from rich.console import Console

from dialin.model.analysis import Analysis
from dialin.model.verdict import Outcome
from dialin.report.charts import dots, forest
from dialin.report.charts.chart import Chart
from dialin.report.document.analysis_document import analysis_document
from dialin.report.document.parts import (
    Caveats,
    Code,
    Document,
    Fold,
    Group,
    Log,
    Pairs,
    Paragraph,
    Part,
    PlainPart,
    Reasons,
    Role,
    Table,
    Terms,
    flat,
)
from dialin.report.render.terminal_page import Page
from dialin.report.render.terminal_table import columns_of, row_styles
from dialin.text import distinct

_GAP = 2
_INDENT = "    "
_IN_PLOT = 72
"""The terminal width in columns from which the forest plot shows intervals in figures."""

_WIDEST_PLOT = 80
_CAVEAT_STYLES = {"confound": "yellow", "warning": "yellow"}


class Writer:
    """Writes parts to a page: each in full, or in brief."""

    def __init__(self, page: Page, document: Document, *, is_whole: bool) -> None:
        self.page = page
        self._document = document
        self._is_whole = is_whole

    def show(self, parts: Sequence[Part]) -> None:
        for part in flat(parts):
            self._show(part)

    def _show(self, part: PlainPart) -> None:
        match part:
            case Paragraph():
                self.page.text(part.text, "dim" if part.role in (Role.LEAD, Role.SMALL) else "")
            case Group():
                self._heading(part.title)
                self.show(part.parts)
            case Fold():
                if self._is_whole:
                    self._heading(part.summary)
                    self.show(part.parts)
            case Pairs():
                for label, value in part.pairs:
                    self.page.labelled(f"{label}:", value)
            case Terms():
                for term in part.terms:
                    self.page.labelled(f"{term.word}:", term.meaning)
            case Log():
                for at, text in part.lines:
                    self.page.text(f"{at} {text}")
            case Code():
                self._code(part)
            case Table():
                self._table(part)
            case Chart():
                self._chart(part)
            case Caveats():
                self._caveats(part)
            case Reasons():
                self._reasons(part)
            case _:
                assert_never(part)

    def _heading(self, title: str) -> None:
        self.page.gap()
        self.page.text(title, "bold" if self._is_whole else "dim")

    def _code(self, part: Code) -> None:
        for line in part.text.split("\n"):
            if part.is_copied:
                self.page.copyable(f"{_INDENT}{line}")
            else:
                self.page.text(line, indent=_INDENT)

    def _table(self, part: Table) -> None:
        if not part.rows:
            self.page.text(part.empty)
            return
        if self._is_whole:
            self.page.gap()
            self.page.text(part.caption, "dim")
        self.page.table(columns_of(part), styles=row_styles(part))

    def _chart(self, part: Chart) -> None:
        page = self.page
        if part.forest:
            page.text(f"{part.title} (shaded: too small to matter)", "dim")
            self.forest(part.forest)
        if self._is_whole:
            page.gap()
            page.text(part.title, "bold")
            page.text(part.text)

    def forest(self, plot: forest.ForestPlot, *, has_axis: bool = True, has_figures: bool = True) -> None:
        """Draw a forest plot, a line for each candidate."""
        page, rows = self.page, plot.rows
        figures = [(row.figure if page.width >= _IN_PLOT else row.brief) if has_figures else "" for row in rows]
        labels = distinct([self._document.candidates[row.candidate] for row in rows], max(8, page.width // 3))
        right, left = max(map(len, figures)), max(map(cell_len, labels))
        room = page.width - left - right - 2 * _GAP
        if room < forest.SMALLEST:
            for label, figure in zip(labels, figures, strict=True):
                page.line([(f"{label}  {figure}", "")])
            return
        *lines, axis = forest.lines(plot, min(room, _WIDEST_PLOT), forest.ASCII if page.is_ascii else forest.UNICODE)
        for row, label, line, figure in zip(rows, labels, lines, figures, strict=True):
            style = "bold" if row.is_recommended else ""
            gap = " " * (left - cell_len(label) + _GAP)
            page.line([(label + gap, style), (line, style or "default"), (" " * _GAP, ""), (figure, style)])
        if has_axis:
            page.line([(" " * (left + _GAP), ""), (axis, "dim")])

    def _caveats(self, part: Caveats) -> None:
        for one in part.caveats:
            self.page.fact(f"{one.kind.capitalize()}:", one.text, _CAVEAT_STYLES.get(one.kind, "dim"))
            for label, value in one.data if self._is_whole else ():
                self.page.text(f"{label}: {value}", "dim", _INDENT)

    def _reasons(self, part: Reasons) -> None:
        page = self.page
        for number, one in enumerate(part.cards, part.start):
            page.numbered(number, f"{one.text} ({one.label})")
            if not self._is_whole:
                continue
            source = ", ".join(part for part in (one.source, one.address.removeprefix("https://")) if part)
            page.text(f"{one.remark} Source: {source}.".lstrip(), "dim", _INDENT)
            if one.dots:
                page.line([(_INDENT, ""), (one.dots.title, "dim")])
                room = page.width - len(_INDENT)
                for line in dots.lines(one.dots, self._document.baseline, room, plain=page.is_ascii):
                    page.line([(_INDENT, ""), (line, "")])
                if one.dots.left_out:
                    page.line([(_INDENT, ""), (f"{one.dots.left_out} more candidates lie between these.", "dim")])


_STYLES = {Outcome.WINNER: "bold green", Outcome.INCONCLUSIVE: "bold yellow"}


def print_analysis(analysis: Analysis, console: Console) -> None:
    """Print an analysis for people; control characters in file names and in text from files are escaped."""
    document, page = analysis_document(analysis), Page(console)
    writer = Writer(page, document, is_whole=False)
    page.text(document.headline, _STYLES.get(analysis.verdict, "bold cyan") if analysis.verdict else "bold cyan")
    is_after_table = False
    for section in document.sections:
        for part in section.parts:
            if isinstance(part, Table):
                page.gap()
                if part.caption:
                    page.text(part.caption, "dim")
                page.table(columns_of(part), styles=row_styles(part))
                is_after_table = True
            else:
                if is_after_table and not isinstance(part, Group | Chart):
                    page.gap()
                    is_after_table = False
                writer.show([part])
