"""The document in the terminal: the verdict with its figures, its explanation, or the whole document."""

from __future__ import annotations

from rich.console import Console

from dialin.model.record import StudyRecord
from dialin.model.why import Why
from dialin.report.charts.style import headline_style
from dialin.report.document import profile_parts, why_sentences
from dialin.report.document.parts import Document, Paragraph, Reasons, SectionKey, Table, find
from dialin.report.document.study_document import study_document
from dialin.report.document.verdict_section import IN_BRIEF
from dialin.report.render.terminal_page import Page
from dialin.report.render.terminal_writer import Writer
from dialin.text import command_line, visible

_INDENT = "    "
_EXPLAINING = ("scaling", "scaling-table", "latency-of-transactions", "kinds")
"""The keys of those parts on the candidates that `print_why` shows and `print_verdict` leaves out."""


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
        page.copyable(f"{_INDENT}{visible(command_line('dialin explain', record.directory))}")
    page.gap()
