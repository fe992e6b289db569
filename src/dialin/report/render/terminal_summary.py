"""What a study answers, in some sixteen lines of a terminal."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console

from dialin.model.record import StudyRecord
from dialin.model.study import Goal
from dialin.model.verdict import Verdict
from dialin.model.why import Why
from dialin.report.charts.chart import Chart
from dialin.report.charts.style import headline_style
from dialin.report.document.parts import Caveats, Document, Pairs, SectionKey, Table
from dialin.report.document.summary_document import answer, summary_document
from dialin.report.render.terminal_page import Page
from dialin.report.render.terminal_writer import Writer
from dialin.sentences.verdict_sentences import circumstances
from dialin.text import command_line, counted, visible

_LINES = 16
"""The lines that a summary takes, unless its sentences are long."""
_FEWEST = 3
"""The candidates that the forest plot shows at least."""
_LABEL = 9
"""Columns of the labels."""


def print_summary(record: StudyRecord, console: Console, why: Why) -> None:
    """Print the summary, and where more is; control characters in text from servers and files are escaped."""
    document, page = summary_document(record, why), Page(console)
    if record.verdict is None:
        page.text(document.headline, headline_style(None))
        Writer(page, document, is_whole=False).show(document.section(SectionKey.VERDICT).parts)
        return
    with console.capture() as shortest:
        _print(record, record.verdict, document, page, _FEWEST)
    _print(record, record.verdict, document, page, _FEWEST + max(0, _LINES - shortest.get().count("\n")))


def _print(record: StudyRecord, verdict: Verdict, document: Document, page: Page, rows: int) -> None:
    """Print the summary with a forest plot of so many candidates at most."""
    writer, left_out = Writer(page, document, is_whole=False), ""
    page.text(circumstances(record, verdict, is_brief=True), "dim")
    page.gap()
    to_set, claim = answer(record, verdict)
    for line in to_set:
        page.copyable(line, headline_style(verdict))
    page.text(claim)
    page.gap()
    parts = document.section(SectionKey.VERDICT).parts
    figures = next(place for place, part in enumerate(parts) if isinstance(part, Table))
    for part in parts[figures:]:
        match part:
            case Chart():
                left_out = _forest(part, verdict, writer, rows)
            case Pairs():
                for label, text in part.pairs:
                    page.fact(label, text, columns=_LABEL, most=2)
            case Caveats():
                for one in part.caveats:
                    page.fact(one.kind.capitalize(), one.text, "yellow", _LABEL)
            case _:
                writer.show([part])
    command = command_line("dialin report", record.directory, "--full")
    page.copyable(visible(f"{command}{left_out} · {record.directory}/report.html"), "", f"{'More':<{_LABEL}}")


def _forest(chart: Chart, verdict: Verdict, writer: Writer, most: int) -> str:
    """Draw the forest plot of the candidates that matter most; return how many are left out, in words."""
    if chart.forest is None:
        return ""
    first = (verdict.baseline, verdict.recommended_candidate)
    ranked = sorted(verdict.candidates, key=lambda one: (one.name not in first, -(one.probability or 0.0)))
    shown = {one.name for one in ranked[:most]}
    plot = replace(chart.forest, rows=[row for row in chart.forest.rows if row.candidate in shown])
    if verdict.goal is not Goal.THROUGHPUT:
        writer.page.text(chart.title, "dim")
    writer.forest(plot, has_axis=False, has_figures=len(plot.rows) > 2)
    more = len(chart.forest.rows) - len(plot.rows)
    return f" ({counted(more, 'more candidate')})" if more else ""
