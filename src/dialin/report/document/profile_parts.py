"""The profiles of the baseline and other candidates: their sentences, flame graphs and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dialin.cause_sentences import with_advice
from dialin.evidence import profiles
from dialin.model.build import Vendor
from dialin.model.record import StudyRecord
from dialin.model.trial import Purpose, Trial, TrialState
from dialin.model.verdict import Estimate
from dialin.model.why import ProfileComparison, ProfiledFunction, ProfileTrial, Why
from dialin.report.document.parts import Cell, Column, FlameFrame, FlameGraph, Fold, Group, Paragraph, Part, Role, Row, Table
from dialin.sentences.load_units import units_of_record
from dialin.text import NOTHING, change, counted, listed, number, percent, visible

_NAMED = 3
"""The functions that the sentence names."""

_MUCH_NAMELESS = 0.1
"""The share of samples without the name of a function from which on the report says how to get names."""

_LEAST_SEEN, _MOST_SEEN = 0.9, 1.1
"""The shares of the server's CPU time beyond which the report says what the samples stand for."""

KEY = "cpu-profile"


def parts(record: StudyRecord, why: Why, labels: Mapping[str, str]) -> list[Part]:
    """Return what is shown of the profiles, or why there are none; nothing where none was asked for."""
    absent = [Paragraph(text, Role.SMALL) for text in missing(record)]
    every = [one for one in (why.profile, *why.other_profiles) if one is not None]
    if not every:
        if record.profiles and not absent:
            absent = [Paragraph("No transaction was completed in the seconds in which stacks were sampled.", Role.SMALL)]
        return [Group(KEY, "CPU profile", absent)] if absent else []
    unit = record.spec.workload.traits.unit
    first, *others = every
    lead = Paragraph(f"{sentence(first, unit)} Profiles do not decide.", Role.LEAD)
    shown: list[Part] = [lead, *_compared(record, first, labels)]
    shown += [
        Fold(f"profile-{place}", f"{labels[one.other]}: {sentence(one, unit)}", _compared(record, one, labels, f"-{place}"))
        for place, one in enumerate(others, start=2)
    ]
    notes = [Paragraph(note, Role.SMALL) for note in _notes(record, every)]
    trials = {trial.candidate: trial for one in every for trial in one.trials}
    table = _trials(list(trials.values()), labels, units_of_record(record).title, unit)
    shown.append(Fold("profiled", "How the server was profiled, and what that cost", [table, *notes]))
    return [Group(KEY, "CPU profile", [*shown, *absent])]


def _compared(record: StudyRecord, compared: ProfileComparison, labels: Mapping[str, str], suffix: str = "") -> list[Part]:
    """Return the graphs and tables of two candidates; `suffix` ends the keys of those that are not the first two."""
    unit = record.spec.workload.traits.unit
    shown: list[Part] = []
    if compared.are_alike and (missed := coverage(compared)):  # the sentence says it where they are not
        shown.append(Paragraph(missed, Role.SMALL))
    shown += _graph(record, compared, labels, profiles.cpu, f"flame{suffix}")
    shown.append(_functions(compared, labels, unit, suffix))
    if compared.untraced:
        return [*shown, Paragraph(f"Waits and system calls were not traced: {visible(compared.untraced)}.", Role.SMALL)]
    if not compared.waits:
        return shown
    load = record.spec.workload
    only = f", with {load.threads} threads" if load.levels else ""
    where = Table(
        f"profiled-waits{suffix}",
        f"Where the threads of connections waited longest{only}, µs per {unit}, with the system call. A wait for the client's "
        "next statement is one of them, and one for a CPU is part of each.",
        _columns(compared, labels, "function"),
        list(map(_row_of_function, compared.waits)),
    )
    calls = Table(
        f"profiled-calls{suffix}",
        f"System calls of all threads per {unit}{only}, the most frequent ones.",
        _columns(compared, labels, "system call"),
        [_row(one.call, one.baseline, one.other, one.difference, is_certain=one.is_certain) for one in compared.calls],
        "Too few were made to be compared.",
    )
    graph = _graph(record, compared, labels, profiles.waits, f"flame-waits{suffix}")
    return [*shown, Fold(f"waiting{suffix}", "Where threads waited, and their system calls", [*graph, where, calls])]


def missing(record: StudyRecord) -> list[str]:
    """Return why candidates have no profile, in sentences; nothing where none was asked for."""
    if not record.spec.is_profiled:
        return []
    last = {one.candidate: one for one in record.trials if one.purpose is Purpose.PROFILE}
    if not last:
        return ["The study has not profiled its candidates: it does so after its verdict."]
    lacking = [one for one in last.values() if one.id not in record.profiles]
    if len(last) == 1 and not lacking:
        return [f"Only {visible(*last)} was profiled: the study ended before the trial of another candidate."]
    return [f"{visible(one.candidate)} has no profile: {visible(_why_without(one)).rstrip('.')}." for one in lacking]


def _why_without(trial: Trial) -> str:
    if trial.failure is not None:
        return with_advice(trial.failure.cause)
    if trial.state is TrialState.DONE:
        return "its file is missing or damaged"
    return "its trial was interrupted; dialin resume repeats it"


def sentence(compared: ProfileComparison, unit: str) -> str:
    """Return how the CPU time changed, and the functions that changed most."""
    first, second = compared.trials
    total = (
        f"CPU time of the server per {unit}: {number(first.cpu_us)} µs with {visible(compared.baseline)}, "
        f"{number(second.cpu_us)} µs with {visible(compared.other)}."
    )
    certain = sorted(
        (one for one in [*compared.gained, *compared.lost] if one.is_certain), key=lambda one: -abs(one.difference_us.mean)
    )
    if not compared.are_alike:
        return f"{total} {coverage(compared)}"
    if not certain:
        return f"{total} None of {counted(compared.functions, 'function')} changed by more than chance."
    named = [f"{visible(one.function)} {_signed(one.difference_us.mean)} µs" for one in certain[:_NAMED]]
    return f"{total} Most changed: {listed(named)}."


def coverage(compared: ProfileComparison) -> str:
    """Return that the samples stand for other CPU time than the kernel counted; empty where both agree, or are not known."""
    seen = [one.seen for one in compared.trials if one.seen is not None]
    if compared.are_alike and all(_LEAST_SEEN <= one <= _MOST_SEEN for one in seen):
        return ""
    shares = listed([f"{percent(one.seen)} with {visible(one.candidate)}" for one in compared.trials if one.seen is not None])
    end = "" if compared.are_alike else " These differ too much to mark a change as certain."
    return f"The samples are {shares} of the CPU time that the kernel counted for the server.{end}"


def _signed(value: float) -> str:
    return f"+{number(value)}" if value > 0 else number(value)


def _interval(one: Estimate) -> str:
    return "no interval" if one.low is None or one.high is None else f"{_signed(one.low)} to {_signed(one.high)}"


def _graph(
    record: StudyRecord, compared: ProfileComparison, labels: Mapping[str, str], part_of: profiles.PartOf, key: str
) -> list[FlameGraph]:
    known = profiles.frames(record, part_of, compared.other)
    if known is None or not known[1]:
        return []
    drawn = [
        FlameFrame(
            visible(one.name),
            one.parent,
            one.change.first,
            one.change.second,
            _interval(one.change.difference),
            one.change.difference.mean if one.change.is_certain else None,
        )
        for one in known[1]
    ]
    unit = record.spec.workload.traits.unit
    time = "CPU time" if part_of is profiles.cpu else "time of waiting"
    text = (
        f"A bar is a function, as wide as its {time} per {unit} with all that it calls, which is below it. In the "
        "difference the width is the larger of the two, and a colour with a sign marks a change whose interval excludes zero, "
        "with stripes for the part that is gone; the interval comes from slices of the two trials and from how trials vary. "
        f"Arrow keys move, Enter magnifies, Escape shows all. Bars of less than {percent(profiles.SMALLEST_SHARE)} in both are "
        "left out."
    )
    title = f"{time[0].upper()}{time[1:]} by function, µs per {unit}"
    return [FlameGraph(key, title, text, labels[compared.baseline], labels[compared.other], unit, drawn)]


def _columns(compared: ProfileComparison, labels: Mapping[str, str], first: str) -> list[Column]:
    return [
        Column("function", first, is_code=True),
        Column("baseline", labels[compared.baseline], is_figure=True, candidate=compared.baseline),
        Column("other", labels[compared.other], is_figure=True, candidate=compared.other),
        Column("change", "change", is_figure=True),
    ]


def _functions(compared: ProfileComparison, labels: Mapping[str, str], unit: str, suffix: str) -> Table:
    caption = (
        f"CPU time of the functions that changed most, µs per {unit}, without what they call; time in the kernel belongs to "
        f"the system call. Of {counted(compared.functions, 'function')}, a star marks those whose interval excludes zero."
    )
    rows = list(map(_row_of_function, sorted([*compared.lost, *compared.gained], key=lambda one: one.difference_us.mean)))
    columns = _columns(compared, labels, "function")
    return Table(f"profiled-functions{suffix}", caption, columns, rows, "No function has enough samples to be compared.")


def _row_of_function(one: ProfiledFunction) -> Row:
    return _row(one.function, one.baseline_us, one.other_us, one.difference_us, is_certain=one.is_certain)


def _row(name: str, first: float, second: float, difference: Estimate, *, is_certain: bool) -> Row:
    star = "*" if is_certain else ""
    changed = Cell(f"{_signed(difference.mean)}{star}", [_interval(difference)], order=difference.mean, is_marked=is_certain)
    return Row([Cell(visible(name)), Cell(number(first)), Cell(number(second)), changed])


def _trials(trials: Sequence[ProfileTrial], labels: Mapping[str, str], tps: str, unit: str) -> Table:
    columns = [
        Column("candidate", "candidate"),
        Column("samples", "samples", 2, is_figure=True),
        Column("cpu", f"CPU, µs per {unit}", is_figure=True),
        Column("nameless", "without a name", 3, is_figure=True),
        Column("rate", tps, 1, is_figure=True),
        Column("cost", "throughput against other trials", is_figure=True),
        Column("traced", "while waits were traced", 4, is_figure=True),
    ]
    rows = [
        Row(
            [
                Cell(labels[one.candidate], candidate=one.candidate),
                Cell(f"{one.samples:,}"),
                Cell(number(one.cpu_us)),
                Cell(percent(one.nameless)),
                Cell(number(one.tps)),
                _cost(one.throughput),
                Cell(NOTHING if one.traced is None else change(one.traced)),
            ]
        )
        for one in trials
    ]
    caption = (
        "Profiled trials. perf took samples while they were measured, with the probes of every trial beside it. In the first "
        "eighth it traced waits and system calls instead, which costs more and counts in no other figure."
    )
    return Table("profiled-trials", caption, columns, rows)


def _cost(throughput: Estimate | None) -> Cell:
    if throughput is None:
        return Cell(NOTHING)
    ends = (throughput.low, throughput.high)
    return Cell(change(throughput.mean), [" to ".join(map(change, ends)) if None not in ends else "no interval"])


def _notes(record: StudyRecord, every: Sequence[ProfileComparison]) -> list[str]:
    notes = [
        "Samples show the CPU that functions use, not the time that they wait. Inlined functions count as part of their caller."
    ]
    if max(trial.nameless for one in every for trial in one.trials) > _MUCH_NAMELESS:
        notes += dict.fromkeys(map(symbols_of, record.servers.values()))
    return notes


_SYMBOLS = {
    Vendor.ORACLE: "the archive whose name does not end in -minimal has them; packages: mysql-community-server-debuginfo "
    "(RPM), mysql-server-core-dbgsym (Ubuntu, with the version in its name)",
    Vendor.PERCONA: "the archive whose name does not end in -minimal has them; packages: percona-server-debuginfo (RPM), "
    "percona-server-dbg (Debian)",
    Vendor.MARIADB: "packages: MariaDB-server-debuginfo (RPM), mariadb-server-core-dbgsym (Debian)",
}
"""Where the names of functions are, by vendor."""


def symbols_of(server: Mapping[str, Any]) -> str:
    """Return how to get the names of functions of a build, from what the study stores of it."""
    vendor = next((one for one in Vendor if one.value == server.get("vendor")), None)
    version = f" ({visible(server['version'])})" if server.get("version") else ""
    inside = " into its image" if server.get("image") else ""
    where = f": {_SYMBOLS[vendor]}" if vendor in _SYMBOLS else ""
    return (
        "Functions in square brackets have no name in the program file. Install the debug symbols of exactly this build"
        f"{version}{inside}{where}. Then profile again."
    )
