"""Why a verdict came out as it did, in Markdown: the strongest reasons in the open, the others and all tables folded away."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dialin.model.record import StudyRecord
from dialin.model.why import Reason, Why
from dialin.report import costs, scaling_section, semaphores_section, statements_section, wait_groups, why_sentences
from dialin.report.load_units import units_in
from dialin.report.verdict_sentences import naming

Prose = Callable[[str], str]
"""Makes text of which no character is markup."""

Rows = Sequence[Sequence[str]]


def render(record: StudyRecord, why: Why | None, prose: Prose) -> str:
    """Return the part of the report that tells why."""
    parts = [f"**Why:** {prose(why_sentences.summary(why))}"]
    if why is None or not why_sentences.is_known(why):
        return parts[0]
    strongest, others = why.reasons[: why_sentences.SHOWN], why.reasons[why_sentences.SHOWN :]
    if strongest:
        parts.append("\n".join(f"{place}. {_paragraph(one, record, prose)}" for place, one in enumerate(strongest, start=1)))
    if others:
        first = len(strongest) + 1
        told = "\n".join(f"{place}. {_paragraph(one, record, prose)}" for place, one in enumerate(others, start=first))
        parts.append(_folded(f"More: {why_sentences.kinds_of(others)}", told))
    parts += [part(record, why, prose) for part in (_costs, _scaling, _statements, _semaphores, _waits)]
    notes = "".join(f"\n- Not read: {prose(note)}" for note in why_sentences.unread(why))
    parts.append(prose(why_sentences.watching(why)) + ("\n" + notes if notes else ""))
    return "\n\n".join(part for part in parts if part)


def _paragraph(reason: Reason, record: StudyRecord, prose: Prose) -> str:
    return prose(f"{reason.text} ({why_sentences.KINDS[reason.kind]}) {why_sentences.remark(reason, record)}")


def _costs(record: StudyRecord, why: Why, prose: Prose) -> str:
    names = [candidate.name for candidate in record.spec.candidates]
    own, labels = costs.candidates(why, names), naming(record.spec).labels
    if not own:
        return ""
    titles = ["cost per query", *costs.titles(why)]
    query = [[labels[name], *(costs.per_query(row, name, record.spec.baseline).full for row in why.costs)] for name in own]
    transaction = [[labels[name], *(costs.per_transaction(row, name).figure for row in why.costs)] for name in own]
    told = [prose(costs.READING), _table(titles, query, prose), _table(["per transaction", *titles[1:]], transaction, prose)]
    return _folded("Cost per query and transaction", "\n\n".join(told))


def _scaling(record: StudyRecord, why: Why, prose: Prose) -> str:
    if not why.scaling:
        return ""
    labels = naming(record.spec).labels
    curved = scaling_section.has_curve(why)
    curve = ["contention σ", "coherency κ", "peak", "off the curve"] if curved else []
    titles = ["candidate", *map(scaling_section.title, scaling_section.threads(why)), *curve]
    rows = [
        [
            labels[row.candidate],
            *(f"{figure} ({between})" if between else figure for figure, between in row.points),
            *((row.contention, row.coherency, row.peak, row.error) if curved else ()),
        ]
        for row in scaling_section.rows(why)
    ]
    reading = scaling_section.reading(why, record.spec.workload.rate)
    told = [prose(scaling_section.description(why, labels, units_in(record).rate)), _table(titles, rows, prose), prose(reading)]
    return _folded("Throughput by threads", "\n\n".join(filter(None, told)))


def _statements(record: StudyRecord, why: Why, prose: Prose) -> str:
    names, labels = [candidate.name for candidate in record.spec.candidates], naming(record.spec).labels
    told = [prose(statements_section.READING)] if why.statements else []
    for one in statements_section.statements(why, names):
        rows = [[labels[row.candidate], *row.cells] for row in one.rows]
        told += [prose(one.digest), _table(["candidate", *statements_section.TITLES], rows, prose)]
    times = [[labels[row.candidate], *row.cells] for row in statements_section.times(why, names)]
    if times:
        told += [prose(statements_section.TIME_READING), _table(["candidate", *statements_section.TIME_TITLES], times, prose)]
    return _folded("Statements", "\n\n".join(told)) if told else ""


def _semaphores(record: StudyRecord, why: Why, prose: Prose) -> str:
    own = semaphores_section.candidates(why, [candidate.name for candidate in record.spec.candidates])
    labels = [naming(record.spec).labels[name] for name in own]
    told = []
    for of, reading, lines in (
        ("place", semaphores_section.PLACES_READING, semaphores_section.places(why, own)),
        ("lock", semaphores_section.SPINS_READING, semaphores_section.spins(why, own)),
    ):
        if lines:
            told += [prose(reading), _table([of, *labels], [[line.name, *line.figures] for line in lines], prose)]
    told += [prose(note) for note in semaphores_section.notes(why)]
    return _folded("Semaphores of InnoDB", "\n\n".join(told)) if told else ""


def _waits(record: StudyRecord, why: Why, prose: Prose) -> str:
    labels = naming(record.spec).labels
    trials = [wait_groups.collected(one) for one in why.wait_trials]
    cells = [
        [labels[one.candidate], one.pattern, one.time, one.events, one.lost, one.timer, one.tps, one.change] for one in trials
    ]
    told = (
        [_table(["candidate", "waits of", "time", "events", "lost", "timer", "tps", "throughput"], cells, prose)]
        if cells
        else []
    )
    told += [prose(note) for note in wait_groups.notes(why, labels)]
    shares = ("longest 1 %", "ten longest")
    titles = [
        "candidate",
        "waits",
        "a second",
        *wait_groups.TITLES,
        *shares,
        *(f"{title} cycles" for title in wait_groups.TITLES),
    ]
    for group in wait_groups.groups(why, [candidate.name for candidate in record.spec.candidates]):
        rows = [
            [
                ", ".join(filter(None, (labels[row.candidate], row.operation))),
                *(row.count, row.per_second, *row.times, row.worst, row.ten, *row.cycles),
            ]
            for row in (*group.rows, *group.operations)
        ]
        told += [prose(group.instrument), _table(titles, rows, prose)]
    return _folded("Raw waits, collected in trials of their own", "\n\n".join(told)) if told else ""


def _table(titles: Sequence[str], rows: Rows, prose: Prose) -> str:
    lines = [titles, *rows]
    told = [f"| {' | '.join(map(prose, line))} |" for line in lines]
    return "\n".join([told[0], "|---|" + "---:|" * (len(titles) - 1), *told[1:]])


def _folded(summary: str, body: str) -> str:
    return f"<details><summary>{summary}</summary>\n\n{body}\n\n</details>"
