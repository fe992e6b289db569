"""Why a verdict came out as it did, in the terminal: the strongest reasons beside the verdict, and all of it for `explain`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from rich.console import Console

from dialin.model.record import StudyRecord
from dialin.model.why import Reason, ReasonKind, Why
from dialin.report import (
    costs,
    dots,
    scaling_section,
    semaphores_section,
    statements_section,
    transactions_section,
    verdict_sentences,
    wait_groups,
    why_sentences,
)
from dialin.report.load_units import units_in
from dialin.report.style import headline_style
from dialin.report.terminal_page import Page
from dialin.text import listed, shorten, visible

_MOST_INSTRUMENTS = 5
_WIDEST_NAME = 20
"""Characters of a candidate's name above a column."""
_INDENT = "    "

_TITLES = {
    ReasonKind.MOVED: "What moved with the verdict",
    ReasonKind.RAW: "What raw waits say",
    ReasonKind.UNUSED: "Room hardly used",
    ReasonKind.LIMIT: "Limits that were hit",
}


def print_strongest(record: StudyRecord, why: Why | None, page: Page) -> None:
    """Print the few strongest reasons beside a verdict, and where the others are."""
    if why is None or not why_sentences.is_known(why):
        page.fact("Why:", why_sentences.summary(why))
        return
    page.labelled("Why:", why_sentences.summary(why))
    for number, reason in enumerate(why.reasons[: why_sentences.SHOWN], start=1):
        page.numbered(number, _sentence(reason))
    page.text("Costs, charts and all reasons:", "dim", _INDENT)
    page.copyable(f"{_INDENT}{visible(shlex.join(['dialin', 'explain', record.directory]))}")
    page.gap()


def print_why(record: StudyRecord, why: Why, console: Console) -> None:
    """Print all that explains a verdict; text from servers is shown, never obeyed."""
    page = Page(console)
    page.text(verdict_sentences.headline(record), headline_style(record.verdict))
    page.gap()
    page.labelled("Why:", why_sentences.summary(why))
    labels = verdict_sentences.naming(record.spec).labels
    _print_transactions(record, labels, page)
    if not why_sentences.is_known(why):
        return
    names = [candidate.name for candidate in record.spec.candidates]
    _print_reasons(record, why, names, page)
    _print_costs(record, why, names, labels, page)
    _print_scaling(record, why, labels, page)
    _print_statements(why, names, labels, page)
    _print_semaphores(record, why, names, labels, page)
    _print_waits(why, names, labels, page)
    page.gap()
    page.text(why_sentences.watching(why), "dim")
    for note in why_sentences.unread(why):
        page.labelled("Not read:", note)


def _print_transactions(record: StudyRecord, labels: Mapping[str, str], page: Page) -> None:
    columns = transactions_section.table(record.verdict, labels) if record.verdict else []
    if columns:
        page.gap()
        page.text(transactions_section.TITLE, "bold")
        page.text(transactions_section.READING, "dim")
        page.table(columns)


def _sentence(reason: Reason) -> str:
    return f"{visible(reason.text)} [{why_sentences.KINDS[reason.kind]}]"


def _print_reasons(record: StudyRecord, why: Why, names: Sequence[str], page: Page) -> None:
    numbers = iter(range(1, len(why.reasons) + 1))
    for kind, title in _TITLES.items():
        reasons = [reason for reason in why.reasons if reason.kind is kind]
        if not reasons:
            continue
        page.gap()
        page.text(title, "bold")
        if kind is ReasonKind.MOVED:
            page.text(why_sentences.MOVED_NOTE, "dim")
        for reason in reasons:
            page.numbered(next(numbers), visible(reason.text))
            if reason.chart:
                _print_dots(reason, record, names, page)
            page.text(why_sentences.remark(reason, record), "dim", _INDENT)


def _print_dots(reason: Reason, record: StudyRecord, names: Sequence[str], page: Page) -> None:
    if reason.chart is None:
        return
    chart = dots.dots(reason.chart, names, record.spec.baseline)
    if not chart.rows:
        return
    room = page.width - len(_INDENT)
    labels = {name: shorten(label, max(8, room // 3)) for name, label in verdict_sentences.naming(record.spec).labels.items()}
    page.line([(_INDENT, ""), (chart.title, "dim")])
    for line in dots.lines(chart, labels, record.spec.baseline, room, plain=page.is_ascii):
        page.line([(_INDENT, ""), (line, "")])
    if chart.left_out:
        page.line([(_INDENT, ""), (f"{chart.left_out} more candidates lie between these.", "dim")])


def _print_costs(record: StudyRecord, why: Why, names: Sequence[str], labels: Mapping[str, str], page: Page) -> None:
    candidates = costs.candidates(why, names)
    if not candidates:
        return
    per_query, per_transaction = costs.tables(why, candidates, labels, record.spec.baseline)
    page.gap()
    page.text("Cost per query", "bold")
    page.text(
        "Beside a figure stands its change against the baseline; a star marks one whose interval does not hold 0 %.", "dim"
    )
    page.table(per_query)
    page.gap()
    page.text("Cost per transaction", "bold")
    page.table(per_transaction)


def _print_scaling(record: StudyRecord, why: Why, labels: Mapping[str, str], page: Page) -> None:
    if not why.scaling:
        return
    page.gap()
    page.text("Throughput by threads", "bold")
    page.text(scaling_section.description(why, labels, units_in(record).rate))
    page.table(scaling_section.table(why, labels, ("contention", "coherency", "peak", "off the curve")))
    if reading := scaling_section.reading(why, record.spec.workload.rate):
        page.text(reading, "dim")


def _print_statements(why: Why, names: Sequence[str], labels: Mapping[str, str], page: Page) -> None:
    if statements := statements_section.statements(why, names):
        page.gap()
        page.text("Statements", "bold")
        page.text(statements_section.READING, "dim")
    for one in statements:
        page.gap()
        page.text(one.digest)
        page.table(statements_section.table(one, labels))
    if times := statements_section.times(why, names):
        page.gap()
        page.text("How long statements took", "bold")
        page.text(statements_section.TIME_READING, "dim")
        page.table(statements_section.times_table(times, labels))


def _print_semaphores(record: StudyRecord, why: Why, names: Sequence[str], labels: Mapping[str, str], page: Page) -> None:
    candidates, notes = semaphores_section.candidates(why, names), semaphores_section.notes(why)
    if candidates or notes:
        page.gap()
        page.text("Semaphores of InnoDB", "bold")
    important = {record.spec.baseline, record.verdict.recommended_candidate if record.verdict else None}
    short = {name: shorten(label, _WIDEST_NAME) for name, label in labels.items()}
    for reading, columns in semaphores_section.tables(why, candidates, short, important):
        page.gap()
        page.text(reading, "dim")
        page.table(columns)
    for note in notes:
        page.text(note)


def _print_waits(why: Why, names: Sequence[str], labels: Mapping[str, str], page: Page) -> None:
    groups = wait_groups.groups(why, names)
    if not groups and not why.wait_trials:
        return
    page.gap()
    page.text("Raw waits, collected one by one in trials of their own", "bold")
    if why.wait_trials:
        _print_collected([wait_groups.collected(one) for one in why.wait_trials], labels, page)
        for note in wait_groups.notes(why, labels):
            page.text(note, "dim")
    for group in groups[:_MOST_INSTRUMENTS]:
        page.gap()
        page.text(group.instrument)
        for columns in wait_groups.tables(group, labels):
            page.table(columns)
    if len(groups) > _MOST_INSTRUMENTS:
        page.text(
            f"{why_sentences.more(len(groups) - _MOST_INSTRUMENTS, 'instrument')}: report.html and --json have all.", "dim"
        )


def _print_collected(trials: Sequence[wait_groups.Collected], labels: Mapping[str, str], page: Page) -> None:
    patterns, timers = (
        listed(list(dict.fromkeys(texts))) for texts in zip(*((one.pattern, one.timer) for one in trials), strict=True)
    )
    page.text(f"Waits of {patterns}; timer {timers}. The last column tells by how much collecting changed throughput.", "dim")
    page.table([column for column in wait_groups.collected_table(trials, labels) if column.title not in ("waits of", "timer")])
