"""The section that explains the verdict: reasons, costs, statements, semaphores and raw waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.model.record import StudyRecord
from dialin.model.why import Reason, ReasonKind, Why
from dialin.report import wait_groups
from dialin.report.charts import dots, explaining
from dialin.report.charts.style import Style
from dialin.report.document import costs, profile_parts, semaphore_tables, statement_tables, wait_tables, why_sentences
from dialin.report.document.parts import Fold, Group, Paragraph, Part, ReasonCard, Reasons, Role, Section, SectionKey
from dialin.sentences.load_units import units_of_record
from dialin.text import visible

_CHARTED = 2
"""Instruments whose waits have a chart and a table that is not folded away."""


def why_section(record: StudyRecord, why: Why, labels: Mapping[str, str], style: Mapping[str, Style]) -> Section:
    """Return the section; where no probe ran it says so."""
    names = record.spec.names
    parts: list[Part] = [Paragraph(why_sentences.summary(why, record), Role.REASON)]
    if why_sentences.is_known(why):
        parts += _reasons(record, why, labels)
        parts += _costs(why, names, labels)
    parts += profile_parts.parts(record, why, labels)  # perf needs none of the probes
    if why_sentences.is_known(why):
        parts += _statements(why, names, labels)
        parts += _semaphores(record, why, names, labels)
        parts += _waits(record, why, names, labels, style)
        parts.append(Paragraph(why_sentences.watching(why), Role.SMALL))
        if unread := why_sentences.unread(why):
            parts.append(Fold("unread", "What could not be read", [Paragraph(note, Role.SMALL) for note in unread]))
    return Section(SectionKey.WHY, "Why", parts)


def _reasons(record: StudyRecord, why: Why, labels: Mapping[str, str]) -> list[Part]:
    # That something was never used explains no difference, so it is never among the strongest.
    explaining_ones = [reason for reason in why.reasons if reason.kind is not ReasonKind.UNUSED]
    strongest = explaining_ones[: why_sentences.SHOWN]
    others = [reason for reason in why.reasons if reason not in strongest]
    parts: list[Part] = []
    if strongest:
        parts.append(Reasons([_card(reason, record, labels) for reason in strongest]))
    if others:
        cards = [_card(reason, record, labels) for reason in others]
        parts.append(Fold("reasons", f"More: {why_sentences.kinds_of(others)}", [Reasons(cards, len(strongest) + 1)]))
    return parts


def _card(reason: Reason, record: StudyRecord, labels: Mapping[str, str]) -> ReasonCard:
    drawn = dots.dots(reason.chart, labels, record.spec.baseline) if reason.chart else None
    return ReasonCard(
        reason.kind,
        why_sentences.REASON_KINDS[reason.kind],
        visible(reason.text),
        why_sentences.remark(reason, record),
        *why_sentences.source(reason),
        drawn if drawn and drawn.rows else None,
    )


def _costs(why: Why, names: Sequence[str], labels: Mapping[str, str]) -> list[Part]:
    priced = costs.candidates(why, names)
    if not priced:
        return []
    per_query, per_transaction = costs.tables(why, priced, labels)
    return [Group("costs", "Cost per query", [per_query, Fold("transactions", "Cost per transaction", [per_transaction])])]


def _statements(why: Why, names: Sequence[str], labels: Mapping[str, str]) -> list[Part]:
    tables = statement_tables.statements(why, names, labels)
    times = statement_tables.times(why, names, labels)
    reading: list[Part] = [Paragraph(statement_tables.READING, Role.LEAD)] if tables else []
    return [Fold("statement-costs", "Statements", [*reading, *tables, *times])] if tables or times else []


def _semaphores(record: StudyRecord, why: Why, names: Sequence[str], labels: Mapping[str, str]) -> list[Part]:
    important = {record.spec.baseline, record.verdict.recommended_candidate if record.verdict else None}
    tables = semaphore_tables.tables(why, semaphore_tables.candidates(why, names), labels, important)
    notes = [Paragraph(note, Role.SMALL) for note in semaphore_tables.notes(why)]
    return [Fold("semaphores", "InnoDB semaphores", [*tables, *notes])] if tables or notes else []


def _waits(
    record: StudyRecord, why: Why, names: Sequence[str], labels: Mapping[str, str], style: Mapping[str, Style]
) -> list[Part]:
    groups = wait_groups.groups(why, names)
    if not groups and not why.wait_trials:
        return []
    parts: list[Part] = [Paragraph("Collected one by one in separate trials, which do not decide.", Role.LEAD)]
    for place, group in enumerate(groups[:_CHARTED], start=1):
        if any(any(one.histogram) for one in group.every):
            parts.append(explaining.waits(group, place, style))
        parts += _instrument(group, place, labels)
    if others := groups[_CHARTED:]:
        tables = [one for place, group in enumerate(others, _CHARTED + 1) for one in _instrument(group, place, labels)]
        parts.append(Fold("waits", f"Waits: {why_sentences.more(len(others), 'instrument')}", tables))
    if why.wait_trials:
        notes = [Paragraph(note, Role.SMALL) for note in wait_groups.notes(why, labels)]
        table = wait_tables.collected_table(why.wait_trials, labels, units_of_record(record).title)
        parts.append(Fold("collected", "How they were collected, and what that cost", [table, *notes]))
    return [Group("raw-waits", "Raw waits", parts)]


def _instrument(group: wait_groups.WaitGroup, place: int, labels: Mapping[str, str]) -> list[Part]:
    parts: list[Part] = [wait_tables.table(group, place, labels, by_operation=False)]
    if group.operations:
        table = wait_tables.table(group, place, labels, by_operation=True)
        parts.append(Fold(f"operations {group.instrument}", "By operation", [table]))
    return parts
