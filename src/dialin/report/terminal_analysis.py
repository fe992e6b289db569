"""The analysis of logs in the terminal: first the verdict, the candidates and what matters most; below it everything else."""

from __future__ import annotations

from rich.console import Console

from dialin.model.analysis import Analysis
from dialin.model.verdict import Outcome
from dialin.report.charts.chart import Chart
from dialin.report.document.analysis_document import analysis_document
from dialin.report.document.parts import Group, Table
from dialin.report.render.terminal import Writer
from dialin.report.render.terminal_page import Page
from dialin.report.render.terminal_table import columns_of, row_styles

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
