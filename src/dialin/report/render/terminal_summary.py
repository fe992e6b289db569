"""What a study answers, on one screen of a terminal."""

from __future__ import annotations

import shlex

from rich.console import Console

from dialin.model.record import StudyRecord
from dialin.model.why import Why
from dialin.report.charts.chart import Chart
from dialin.report.charts.style import headline_style
from dialin.report.document.parts import Pairs, SectionKey, Table
from dialin.report.document.summary_document import summary_document
from dialin.report.render.terminal import Writer
from dialin.report.render.terminal_page import Page
from dialin.text import visible


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
