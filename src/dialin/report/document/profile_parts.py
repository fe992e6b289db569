"""The CPU profiles of the baseline and the choice: their sentence, their flame graphs and their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.cause_sentences import with_advice
from dialin.evidence import profiles
from dialin.model.record import StudyRecord
from dialin.model.trial import Purpose
from dialin.model.verdict import Estimate
from dialin.model.why import ProfileComparison, ProfiledFunction, ProfileTrial
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


def parts(record: StudyRecord, compared: ProfileComparison | None, labels: Mapping[str, str]) -> list[Part]:
    """Return what is shown of the profiles, or why there are none; nothing where none was asked for."""
    if compared is None:
        absent = [Paragraph(text, Role.SMALL) for text in missing(record)]
        return [Group(KEY, "CPU profile", absent)] if absent else []
    unit = record.spec.workload.traits.unit
    shown: list[Part] = [Paragraph(f"{sentence(compared, unit)} Profiles do not decide.", Role.LEAD)]
    if compared.are_alike and (missed := coverage(compared)):  # the sentence says it where they are not
        shown.append(Paragraph(missed, Role.SMALL))
    if graph := _graph(record, labels, unit):
        shown.append(graph)
    shown.append(_functions(compared, labels, unit))
    notes = [Paragraph(note, Role.SMALL) for note in _notes(compared)]
    trials = _trials(compared.trials, labels, units_of_record(record).title, unit)
    shown.append(Fold("profiled", "How the server was profiled, and what that cost", [trials, *notes]))
    return [Group(KEY, "CPU profile", shown)]


def missing(record: StudyRecord) -> list[str]:
    """Return why candidates have no profile, in sentences; nothing where none was asked for."""
    if not record.spec.profile:
        return []
    last = {one.candidate: one for one in record.trials if one.purpose is Purpose.PROFILE}
    if not last:
        return ["The study has not profiled its candidates: it does so after its verdict."]
    lacking = [one for one in last.values() if one.id not in record.profiles]
    reasons = [with_advice(one.failure.cause) if one.failure else "its trial was interrupted" for one in lacking]
    return [
        f"{visible(one.candidate)} has no profile: {visible(reason).rstrip('.')}."
        for one, reason in zip(lacking, reasons, strict=True)
    ]


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


def _graph(record: StudyRecord, labels: Mapping[str, str], unit: str) -> FlameGraph | None:
    known = profiles.frames(record)
    if known is None:
        return None
    both, frames = known
    if not frames:
        return None
    drawn = [
        FlameFrame(
            visible(one.name),
            one.parent,
            one.change.first,
            one.change.second,
            _interval(one.change.difference),
            one.change.difference.mean if one.change.is_certain else None,
        )
        for one in frames
    ]
    text = (
        f"A bar is a function, as wide as its CPU time per {unit} with all that it calls, which is below it. In the "
        "difference the width is the larger of the two, and a colour with a sign marks a change whose interval excludes zero; "
        "the interval comes from slices of the two trials and from how trials vary. Arrow keys move, Enter magnifies, Escape "
        f"shows all. Bars of less than {percent(profiles.SMALLEST_SHARE)} in both are left out."
    )
    return FlameGraph(
        "flame",
        f"CPU time by function, µs per {unit}",
        text,
        labels[both.baseline.candidate],
        labels[both.other.candidate],
        unit,
        drawn,
    )


def _functions(compared: ProfileComparison, labels: Mapping[str, str], unit: str) -> Table:
    columns = [
        Column("function", "function", is_code=True),
        Column("baseline", labels[compared.baseline], is_figure=True, candidate=compared.baseline),
        Column("other", labels[compared.other], is_figure=True, candidate=compared.other),
        Column("change", "change", is_figure=True),
    ]
    caption = (
        f"CPU time of the functions that changed most, µs per {unit}, without what they call; time in the kernel belongs to "
        f"the system call. Of {counted(compared.functions, 'function')}, a star marks those whose interval excludes zero."
    )
    rows = [_row(one) for one in sorted([*compared.lost, *compared.gained], key=lambda one: one.difference_us.mean)]
    return Table("profiled-functions", caption, columns, rows, "No function has enough samples to be compared.")


def _row(one: ProfiledFunction) -> Row:
    star = "*" if one.is_certain else ""
    changed = Cell(
        f"{_signed(one.difference_us.mean)}{star}",
        [_interval(one.difference_us)],
        order=one.difference_us.mean,
        is_marked=one.is_certain,
    )
    return Row([Cell(visible(one.function)), Cell(number(one.baseline_us)), Cell(number(one.other_us)), changed])


def _trials(trials: Sequence[ProfileTrial], labels: Mapping[str, str], tps: str, unit: str) -> Table:
    columns = [
        Column("candidate", "candidate"),
        Column("samples", "samples", 2, is_figure=True),
        Column("cpu", f"CPU, µs per {unit}", is_figure=True),
        Column("nameless", "without a name", 3, is_figure=True),
        Column("rate", tps, 1, is_figure=True),
        Column("cost", "throughput against other trials", is_figure=True),
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
            ]
        )
        for one in trials
    ]
    caption = "Profiled trials. perf took samples while they were measured, with the probes of every trial beside it."
    return Table("profiled-trials", caption, columns, rows)


def _cost(throughput: Estimate | None) -> Cell:
    if throughput is None:
        return Cell(NOTHING)
    ends = (throughput.low, throughput.high)
    return Cell(change(throughput.mean), [" to ".join(map(change, ends)) if None not in ends else "no interval"])


def _notes(compared: ProfileComparison) -> list[str]:
    notes = [
        "Samples show the CPU that functions use, not the time that they wait. Inlined functions count as part of their caller."
    ]
    if max(one.nameless for one in compared.trials) > _MUCH_NAMELESS:
        notes.append(
            "Functions in square brackets have no name in the program file. Install the debug symbols of this build, such as "
            "mariadb-server-core-dbgsym, mysql-community-server-core-dbgsym or mysql-server-debuginfo, and profile again."
        )
    return notes
