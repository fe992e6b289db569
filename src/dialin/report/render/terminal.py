"""The document in the terminal: the verdict, its explanation, the whole document, its summary, or an analysis."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import assert_never

from rich.cells import cell_len
from rich.console import Console

from dialin.model.analysis import Analysis
from dialin.model.record import StudyRecord
from dialin.model.verdict import Outcome
from dialin.model.why import Why
from dialin.report.charts import dots, forest
from dialin.report.charts.chart import Chart
from dialin.report.charts.style import headline_style
from dialin.report.document import profile_parts, why_sentences
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
    SectionKey,
    Table,
    Terms,
    find,
    flat,
)
from dialin.report.document.study_document import study_document, summary_document
from dialin.report.document.verdict_section import IN_BRIEF
from dialin.report.render.terminal_page import Page
from dialin.report.render.terminal_table import columns_of, row_styles
from dialin.text import distinct, visible

_GAP = 2
_INDENT = "    "
_IN_PLOT = 72
"""The terminal width in columns from which the forest plot shows intervals in figures."""

_WIDEST_PLOT = 80
_EXPLAINING = ("scaling", "scaling-table", "latency-of-transactions", "kinds")
"""The keys of those parts on the candidates that `print_why` shows and `print_verdict` leaves out."""
_CAVEAT_STYLES = {"confound": "yellow", "warning": "yellow"}


def print_verdict(record: StudyRecord, console: Console, why: Why | None = None) -> None:
    """Print a study's verdict with all that qualifies it; control characters in text from servers and files are escaped."""
    document, page = study_document(record, why), Page(console)
    writer = Writer(page, document, is_whole=False)
    page.text(document.headline, headline_style(record.verdict))
    if document.circumstances:
        page.text(f"{document.outcome} · {document.circumstances}", "dim")
    writer.show(document.section(SectionKey.REPLAY).parts[:1])
    verdict = document.section(SectionKey.VERDICT)
    writer.show([part for part in verdict.parts if getattr(part, "key", "") not in (IN_BRIEF, "caveats")])
    if search := find(document.section(SectionKey.SEARCH).parts, "tune-variables"):
        writer.show([search])
    if effect := find(document.section(SectionKey.LIVE).parts, "live-effect"):
        writer.show([effect])
    if record.verdict is None:
        return
    page.gap()
    writer.show([part for part in document.section(SectionKey.CANDIDATES).parts if getattr(part, "key", "") not in _EXPLAINING])
    page.gap()
    _print_strongest(record, document, why, writer)
    if caveats := find(verdict.parts, "caveats"):
        writer.show([caveats])


def print_why(record: StudyRecord, why: Why, console: Console, only: str = "") -> None:
    """Print all that explains a verdict, or the part of that key; control characters in text from servers are escaped."""
    document, page = study_document(record, why), Page(console)
    writer = Writer(page, document, is_whole=True)
    page.text(document.headline, headline_style(record.verdict))
    if only:
        part = find(document.section(SectionKey.WHY).parts, only)
        writer.show([part] if part else [])
        return
    writer.show(document.section(SectionKey.LIVE).parts)
    writer.show(document.section(SectionKey.REPLAY).parts)
    candidates = document.section(SectionKey.CANDIDATES).parts
    writer.show([part for part in candidates if getattr(part, "key", "") in _EXPLAINING])
    page.gap()
    writer.show(document.section(SectionKey.WHY).parts)


def print_document(document: Document, console: Console) -> None:
    page = Page(console)
    writer = Writer(page, document, is_whole=True)
    page.text(document.headline, "bold")
    page.text(document.outcome, "dim")
    for section in document.sections:
        if section.parts:
            page.gap()
            page.text(section.title, "bold")
            writer.show(section.parts)
    page.gap()
    page.text(document.colophon, "dim")


def print_suite(document: Document, console: Console, *, is_whole: bool) -> None:
    """Print the result of a suite: the table of its workloads, or the whole document."""
    if is_whole:
        print_document(document, console)
        return
    page = Page(console)
    page.text(document.headline, "bold")
    parts = document.section(SectionKey.VERDICT).parts
    Writer(page, document, is_whole=False).show([part for part in parts if isinstance(part, (Table, Paragraph))])


def _print_strongest(record: StudyRecord, document: Document, why: Why | None, writer: Writer) -> None:
    """Print the few strongest reasons beside a verdict, and where the others are."""
    parts, page = document.section(SectionKey.WHY).parts, writer.page
    page.fact("Why:", why_sentences.summary(why, record))
    if why is not None and why.profile is not None:
        page.fact("Profile:", profile_parts.sentence(why.profile, record.spec.workload.traits.unit))
    if why_sentences.is_known(why):
        writer.show([part for part in parts if isinstance(part, Reasons)])
        page.text("Costs, charts and all reasons:", "dim", _INDENT)
        page.copyable(f"{_INDENT}{visible(shlex.join(['dialin', 'explain', record.directory]))}")
    page.gap()


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
            self._forest(part.forest)
        if self._is_whole:
            page.gap()
            page.text(part.title, "bold")
            page.text(part.text)

    def _forest(self, plot: forest.ForestPlot) -> None:
        page, rows = self.page, plot.rows
        figures = [row.figure for row in rows]
        if page.width < _IN_PLOT:
            figures = [figure.partition(" (")[0] for figure in figures]
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


def print_summary(record: StudyRecord, console: Console, why: Why) -> None:
    """Print the summary, and where more is; control characters in text from servers and files are escaped."""
    document, page = summary_document(record, why), Page(console)
    writer = Writer(page, document, is_whole=False)
    if record.verdict is not None:
        page.text(document.circumstances, "dim")
        page.gap()
    page.text(document.headline, headline_style(record.verdict))
    for part in document.section(SectionKey.VERDICT).parts:
        match part:
            case Table() | Chart():
                page.gap()
                writer.show([part])
            case Pairs():
                page.gap()
                for label, text in part.pairs:
                    page.fact(f"{label}:", text)
            case _:
                writer.show([part])
    if record.verdict is not None:
        directory = visible(shlex.quote(record.directory))
        page.fact("More:", f"dialin report {directory} --full; dialin explain {directory}")
