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
    verdict_sentences,
    wait_groups,
    why_sentences,
)
from dialin.report.load_units import units_in
from dialin.report.style import headline_style
from dialin.report.terminal_page import Column, Page
from dialin.text import listed, shorten, visible

_MOST_INSTRUMENTS = 5
_TIME_RANKS = (0, 7, 8, 0, 6, 1, 2)
"""Of mean, p50, p90, p99, p99.9, max and total: what is dropped first where there is little room."""
_STATEMENT_RANKS = (2, 0, 1, 4, 3, 5)
"""The same of what is told of a statement."""
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
    if not why_sentences.is_known(why):
        return
    names = [candidate.name for candidate in record.spec.candidates]
    labels = verdict_sentences.naming(record.spec).labels
    _print_reasons(record, why, names, page)
    _print_costs(record, why, names, page)
    _print_scaling(record, why, labels, page)
    _print_statements(why, names, labels, page)
    _print_semaphores(record, why, labels, page)
    _print_waits(why, names, labels, page)
    page.gap()
    page.text(why_sentences.watching(why), "dim")
    for note in why_sentences.unread(why):
        page.labelled("Not read:", note)


def _sentence(reason: Reason) -> str:
    return f"{visible(reason.text)} [{why_sentences.KINDS[reason.kind]}]"


def _print_reasons(record: StudyRecord, why: Why, names: Sequence[str], page: Page) -> None:
    numbers = iter(range(1, len(why.reasons) + 1))
    for kind, title in _TITLES.items():
        own = [reason for reason in why.reasons if reason.kind is kind]
        if not own:
            continue
        page.gap()
        page.text(title, "bold")
        if kind is ReasonKind.MOVED:
            page.text(why_sentences.MOVED_NOTE, "dim")
        for reason in own:
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


def _print_costs(record: StudyRecord, why: Why, names: Sequence[str], page: Page) -> None:
    own = costs.candidates(why, names)
    if not own:
        return
    first = _candidates(own, verdict_sentences.naming(record.spec).labels)
    per_query, per_transaction = [first], [first]
    for rank, (title, row) in enumerate(zip(costs.titles(why), why.costs, strict=True)):
        cells = [costs.per_query(row, name, record.spec.baseline) for name in own]
        per_query.append(Column(title, [cell.full for cell in cells], [cell.brief for cell in cells], rank))
        per_transaction.append(Column(title, [costs.per_transaction(row, name).figure for name in own], (), rank))
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
    counts, rows = scaling_section.threads(why), scaling_section.rows(why)
    points = [
        Column(scaling_section.title(count), [_point(row, place) for row in rows], [row.points[place][0] for row in rows], rank)
        for place, (count, rank) in enumerate(zip(counts, _ranks(len(counts)), strict=True))
    ]
    curve = [
        Column("contention", [row.contention for row in rows], (), 1),
        Column("coherency", [row.coherency for row in rows], (), 2),
        Column("peak", [row.peak for row in rows], (), 0),
        Column("off the curve", [row.error for row in rows], (), len(counts) + 3),
    ]
    page.gap()
    page.text("Throughput by threads", "bold")
    page.text(scaling_section.description(why, labels, units_in(record).rate))
    page.table(
        [_candidates([row.candidate for row in rows], labels), *points, *(curve if scaling_section.has_curve(why) else [])]
    )
    if reading := scaling_section.reading(why, record.spec.workload.rate):
        page.text(reading, "dim")


def _candidates(names: Sequence[str], labels: Mapping[str, str]) -> Column:
    return Column("candidate", [labels[name] for name in names], left=True)


def _ranks(count: int) -> list[int]:
    """Return the ranks of columns of which the last says most, then the first; the others are dropped before these."""
    return [0 if place == count - 1 else 3 if place == 0 else 3 + place for place in range(count)]


def _point(row: scaling_section.ScalingCells, place: int) -> str:
    figure, between = row.points[place]
    return f"{figure} ({between})" if between else figure


def _print_statements(why: Why, names: Sequence[str], labels: Mapping[str, str], page: Page) -> None:
    told, times = statements_section.statements(why, names), statements_section.times(why, names)
    if told:
        page.gap()
        page.text("Statements", "bold")
        page.text(statements_section.READING, "dim")
    for one in told:
        page.gap()
        page.text(one.digest)
        page.table(_columns(one.rows, statements_section.TITLES, _STATEMENT_RANKS, labels))
    if times:
        page.gap()
        page.text("How long statements took", "bold")
        page.text(statements_section.TIME_READING, "dim")
        page.table(_columns(times, statements_section.TIME_TITLES, (1, 0, 0, 0), labels))


def _columns(
    rows: Sequence[statements_section.StatementCells], titles: Sequence[str], ranks: Sequence[int], labels: Mapping[str, str]
) -> list[Column]:
    columns = [
        Column(title, [row.cells[place] for row in rows], (), rank)
        for place, (title, rank) in enumerate(zip(titles, ranks, strict=True))
    ]
    return [_candidates([row.candidate for row in rows], labels), *columns]


def _print_semaphores(record: StudyRecord, why: Why, labels: Mapping[str, str], page: Page) -> None:
    own = semaphores_section.candidates(why, [candidate.name for candidate in record.spec.candidates])
    tables = (
        ("place", semaphores_section.PLACES_READING, semaphores_section.places(why, own)),
        ("lock", semaphores_section.SPINS_READING, semaphores_section.spins(why, own)),
    )
    notes = semaphores_section.notes(why)
    if own or notes:
        page.gap()
        page.text("Semaphores of InnoDB", "bold")
    kept = {record.spec.baseline, record.verdict.recommended_candidate if record.verdict else None}
    titles = [shorten(labels[name], _WIDEST_NAME) for name in own]
    for of, reading, lines in tables:
        if lines:
            page.gap()
            page.text(reading, "dim")
            columns = [
                Column(title, [line.figures[place] for line in lines], (), 0 if name in kept else place + 1)
                for place, (name, title) in enumerate(zip(own, titles, strict=True))
            ]
            page.table([Column(of, [line.name for line in lines], left=True), *columns])
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
        _print_group([*group.rows, *group.operations], labels, page)
    if len(groups) > _MOST_INSTRUMENTS:
        page.text(
            f"{why_sentences.more(len(groups) - _MOST_INSTRUMENTS, 'instrument')}: report.html and --json have all.", "dim"
        )


def _print_collected(trials: Sequence[wait_groups.Collected], labels: Mapping[str, str], page: Page) -> None:
    asked, timers = (listed(list(dict.fromkeys(of))) for of in ([one.pattern for one in trials], [one.timer for one in trials]))
    page.text(f"Waits of {asked}; timer {timers}. The last column tells by how much collecting changed throughput.", "dim")
    page.table(
        [
            _candidates([one.candidate for one in trials], labels),
            Column("time", [one.time for one in trials], (), 3),
            Column("events", [one.events for one in trials], (), 1),
            Column("lost", [one.lost for one in trials], ()),
            Column("tps", [one.tps for one in trials], (), 2),
            Column("throughput", [one.change for one in trials], ()),
        ]
    )


def _print_group(rows: Sequence[wait_groups.WaitCells], labels: Mapping[str, str], page: Page) -> None:
    names = [", ".join(filter(None, (labels[row.candidate], row.operation))) for row in rows]
    first = Column("candidate", names, left=True)
    page.table(
        [
            first,
            Column("waits", [row.count for row in rows], (), 5),
            Column("a second", [row.per_second for row in rows], (), 4),
            *_times([row.times for row in rows], ""),
            Column("longest 1 %", [row.worst for row in rows], (), 2),
            Column("ten longest", [row.ten for row in rows], (), 3),
        ]
    )
    page.table([first, *_times([row.cycles for row in rows], " cycles")])


def _times(rows: Sequence[Sequence[str]], unit: str) -> list[Column]:
    return [
        Column(title + unit, [row[place] for row in rows], (), rank)
        for place, (title, rank) in enumerate(zip(wait_groups.TITLES, _TIME_RANKS, strict=True))
    ]
