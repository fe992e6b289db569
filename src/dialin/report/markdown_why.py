"""Why a verdict came out as it did, in Markdown: the strongest reasons in the open, the others and all tables folded away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.model.record import StudyRecord
from dialin.model.why import Why
from dialin.report import costs, scaling_section, semaphores_section, statements_section, wait_groups, why_sentences
from dialin.report.load_units import units_in
from dialin.report.markdown_text import folded, prose, table
from dialin.report.table_column import Column
from dialin.report.verdict_sentences import naming


def render(record: StudyRecord, why: Why | None) -> str:
    """Return the part of the report that tells why."""
    parts = [f"**Why:** {prose(why_sentences.summary(why))}"]
    if why is None or not why_sentences.is_known(why):
        return parts[0]
    reasons = [
        f"{place}. {prose(f'{one.text} ({why_sentences.KINDS[one.kind]}) {why_sentences.remark(one, record)}')}"
        for place, one in enumerate(why.reasons, start=1)
    ]
    parts.append("\n".join(reasons[: why_sentences.SHOWN]))
    if others := reasons[why_sentences.SHOWN :]:
        parts.append(folded(f"More: {why_sentences.kinds_of(why.reasons[why_sentences.SHOWN :])}", "\n".join(others)))
    names, labels = [candidate.name for candidate in record.spec.candidates], naming(record.spec).labels
    for title, section in (
        ("Cost per query and transaction", _costs(record, why, names, labels)),
        ("Throughput by threads", _scaling(record, why, labels)),
        ("Statements", _statements(why, names, labels)),
        ("Semaphores of InnoDB", _semaphores(why, names, labels)),
        ("Raw waits, collected in trials of their own", _waits(why, names, labels)),
    ):
        if section:
            parts.append(folded(title, "\n\n".join(section)))
    notes = "".join(f"\n- Not read: {prose(note)}" for note in why_sentences.unread(why))
    parts.append(prose(why_sentences.watching(why)) + ("\n" + notes if notes else ""))
    return "\n\n".join(part for part in parts if part)


def _costs(record: StudyRecord, why: Why, names: Sequence[str], labels: Mapping[str, str]) -> list[str]:
    candidates = costs.candidates(why, names)
    if not candidates:
        return []
    per_query, per_transaction = costs.tables(why, candidates, labels, record.spec.baseline)
    return [prose(costs.READING), _table(per_query, "cost per query"), _table(per_transaction, "per transaction")]


def _scaling(record: StudyRecord, why: Why, labels: Mapping[str, str]) -> list[str]:
    if not why.scaling:
        return []
    points = _table(scaling_section.table(why, labels, ("contention σ", "coherency κ", "peak", "off the curve")))
    reading = scaling_section.reading(why, record.spec.workload.rate)
    return [
        prose(scaling_section.description(why, labels, units_in(record).rate)),
        points,
        *([prose(reading)] if reading else []),
    ]


def _statements(why: Why, names: Sequence[str], labels: Mapping[str, str]) -> list[str]:
    parts = [prose(statements_section.READING)] if why.statements else []
    for one in statements_section.statements(why, names):
        parts += [prose(one.digest), _table(statements_section.table(one, labels))]
    if times := statements_section.times(why, names):
        parts += [prose(statements_section.TIME_READING), _table(statements_section.times_table(times, labels))]
    return parts


def _semaphores(why: Why, names: Sequence[str], labels: Mapping[str, str]) -> list[str]:
    candidates = semaphores_section.candidates(why, names)
    parts = []
    for reading, columns in semaphores_section.tables(why, candidates, labels, ()):
        parts += [prose(reading), _table(columns)]
    return parts + [prose(note) for note in semaphores_section.notes(why)]


def _waits(why: Why, names: Sequence[str], labels: Mapping[str, str]) -> list[str]:
    trials = [wait_groups.collected(one) for one in why.wait_trials]
    parts = [_table(wait_groups.collected_table(trials, labels))] if trials else []
    parts += [prose(note) for note in wait_groups.notes(why, labels)]
    for group in wait_groups.groups(why, names):
        times, cycles = wait_groups.tables(group, labels)
        parts += [prose(group.instrument), _table([*times, *cycles[1:]])]
    return parts


def _table(columns: Sequence[Column], first_title: str = "") -> str:
    titles = [first_title or columns[0].title, *(column.title for column in columns[1:])]
    rows = [[prose(cell) for cell in row] for row in zip(*(column.cells for column in columns), strict=True)]
    return table([prose(title) for title in titles], rows, f"l{'r' * (len(columns) - 1)}")
