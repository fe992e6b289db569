"""What a study answers, on one screen."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rich.console import Console

from dialin.model.record import StudyRecord
from dialin.model.verdict import CandidateState, CandidateVerdict, Verdict
from dialin.model.why import ReasonKind, Why
from dialin.report import headline, verdict_sentences
from dialin.report.charts.chart import Chart
from dialin.report.charts.style import headline_style
from dialin.report.document import why_sentences
from dialin.report.document.before_after import main_figures
from dialin.report.document.parts import (
    Caveats,
    Code,
    Document,
    Group,
    Pairs,
    Paragraph,
    Part,
    Reasons,
    SectionKey,
    every_part,
    find,
)
from dialin.report.document.study_document import study_document
from dialin.report.document.verdict_section import consequences
from dialin.report.render.terminal import CAVEAT_STYLES, Writer, print_verdict
from dialin.report.render.terminal_page import Page
from dialin.report.render.terminal_table import TerminalColumn
from dialin.text import counted, exact_percent, visible

_MOST_ROWS = 9
"""A forest plot of more candidates has no room."""

_MOST_CAVEATS = 2

_WITH_ALL_FIGURES = ("queries", "p50", "p95", "p99", "memory")
"""Main figures that one screen leaves out; the percentile that the study reports has a key of its own."""


def print_summary(record: StudyRecord, console: Console, why: Why) -> None:
    """Print what to set, what it changes, why, and what keeps that from being taken at face value.

    Control characters in text from servers and files are escaped. A study without a verdict prints its state.
    """
    verdict = record.verdict
    if verdict is None:
        print_verdict(record, console, why)
        return
    document, page = study_document(record, why), Page(console)
    writer, parts = Writer(page, document, is_whole=False), document.section(SectionKey.VERDICT).parts
    page.text(verdict_sentences.circumstances(record, verdict), "dim")
    page.gap()
    page.text(document.headline, headline_style(verdict))
    writer.show([part for part in parts if isinstance(part, Paragraph)])
    writer.show(_to_set(parts))
    if any(isinstance(part, Pairs) for part in _group(parts, "apply")):
        page.text("; ".join(f"{label} {text}" for label, text in consequences(record)), "dim", "    ")
    page.gap()
    _print_figures(record, verdict, document, why, page)
    page.gap()
    writer.show(_plot(document))
    page.gap()
    page.fact("Why", _strongest(record, document, why))
    _print_caveats(parts, page)
    directory = visible(shlex.quote(record.directory))
    page.fact("More", f"dialin report {directory} --full; dialin explain {directory}")


def _group(parts: Sequence[Part], key: str) -> Sequence[Part]:
    found = find(parts, key)
    return found.parts if isinstance(found, Group) else ()


def _to_set(parts: Sequence[Part]) -> list[Part]:
    return [part for part in _group(parts, "apply") if isinstance(part, (Code, Paragraph))]


def _print_figures(record: StudyRecord, verdict: Verdict, document: Document, why: Why, page: Page) -> None:
    """Print the main figures of the baseline and, beside it, of the candidate that the verdict is about."""
    other, baseline = _beside(verdict), document.candidates[verdict.baseline]
    every = main_figures(record, verdict, why)
    figures = [one for one in every if one.key not in _WITH_ALL_FIGURES and verdict.baseline in one.of]
    columns = [
        TerminalColumn("", [f"{one.title} {one.unit}".rstrip() for one in figures], left=True),
        TerminalColumn(
            baseline if baseline == "baseline" else f"{baseline} (baseline)",
            [one.show(one.of[verdict.baseline].level.mean) for one in figures],
        ),
    ]
    if other is not None:
        compared = [one.of.get(other.name) for one in figures]
        name = (
            "recommended"
            if record.spec.tune and other.name == verdict.recommended_candidate
            else document.candidates[other.name]
        )
        levels = [one.show(each.level.mean) if each else "" for one, each in zip(figures, compared, strict=True)]
        changes = [
            verdict_sentences.change_with_interval(each.ratio, other.trials) if each and each.ratio else "" for each in compared
        ]
        columns.append(TerminalColumn(name, levels))
        columns.append(TerminalColumn(f"change ({exact_percent(verdict.confidence)} CI)", changes, left=True))
    if figures:
        page.table(columns)


def _beside(verdict: Verdict) -> CandidateVerdict | None:
    """Return the candidate to show beside the baseline: that of the headline, else the one that comes next."""
    named = headline.subject(verdict)
    if named is not None and named.name != verdict.baseline:
        return named
    others = [
        one for one in verdict.candidates if one.name != verdict.baseline and one.tps and one.state is not CandidateState.UNSAFE
    ]
    return max(others, key=lambda one: one.probability or 0.0, default=None)


def _plot(document: Document) -> Sequence[Part]:
    charts = [part for part in every_part(document.section(SectionKey.CANDIDATES).parts) if isinstance(part, Chart)]
    return [one for one in charts if one.forest and len(one.forest.rows) <= _MOST_ROWS][:1]


def _strongest(record: StudyRecord, document: Document, why: Why) -> str:
    parts = document.section(SectionKey.WHY).parts
    cards = [card for part in every_part(parts) if isinstance(part, Reasons) for card in part.cards]
    # That something was never used explains no difference.
    return next((card.text for card in cards if card.kind is not ReasonKind.UNUSED), why_sentences.summary(why, record))


def _print_caveats(parts: Sequence[Part], page: Page) -> None:
    """Print the first caveats that concern this study alone, and how many others there are."""
    every = [one for part in _group(parts, "caveats") if isinstance(part, Caveats) for one in part.caveats]
    serious = [one for one in every if one.kind in CAVEAT_STYLES]
    for one in serious[:_MOST_CAVEATS]:
        page.fact(one.kind.capitalize(), one.text, CAVEAT_STYLES[one.kind])
    if len(serious) > _MOST_CAVEATS:
        page.fact("", f"And {counted(len(serious) - _MOST_CAVEATS, 'more caveat')}, with --full.")
