"""Compares the profiles of two candidates, function by function, per transaction: CPU time, waits and system calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dialin.evidence import measured
from dialin.evidence.measured import MeasuredTrial
from dialin.evidence.reasons.significance import choose_pair
from dialin.model.profile import Profile, Slice, Stack, ThreadKind
from dialin.model.record import StudyRecord
from dialin.model.trial import Purpose, Step
from dialin.model.verdict import Estimate
from dialin.model.why import ProfileComparison, ProfiledCall, ProfiledFunction, ProfileTrial
from dialin.stats import blocks
from dialin.stats.blocks import t_quantile
from dialin.stats.sliced_rates import Counts, RateChange, Scatter, rate_changes

MOST = 10
"""The most functions that are shown to have gained, and to have lost."""

_FEWEST_SAMPLES = 20
"""The samples in one of the trials below which a function is not compared."""

SMALLEST_SHARE = 0.005
"""The share of both profiles below which a frame is not drawn: it would be thinner than a line."""

_FEWEST_DRAWN = 5
"""The samples in one of the trials below which a frame is not drawn, and a system call not compared."""

_MOST_APART = 1.1
"""The ratio from which on two profiles that saw different shares of the server's CPU time are not compared."""

_MICROSECONDS = 1e6

_Path = tuple[str, ...]
"""A function, or a function with those that called it, the outermost first."""

PartOf = Callable[[Profile], Profile | None]
"""Returns the part of a profile that is compared: of CPU time, waits or system calls."""


def cpu(profile: Profile) -> Profile:
    return profile


def waits(profile: Profile) -> Profile | None:
    """Return the waits of connections: the server's own threads wait most of the time for work."""
    if profile.waits is None:
        return None
    return replace(profile.waits, stacks=[one for one in profile.waits.stacks if one.kind is ThreadKind.CONNECTIONS])


def calls(profile: Profile) -> Profile | None:
    return profile.calls


@dataclass(frozen=True, slots=True)
class Side:
    """The profiled trial of a candidate; `work` is the number of transactions in each slice."""

    one: MeasuredTrial
    profile: Profile
    work: Sequence[float]

    @property
    def candidate(self) -> str:
        return self.one.trial.candidate

    @property
    def seen(self) -> float | None:
        """The CPU time that the samples stand for, as a share of what the kernel counted; None where it counted none."""
        costs, wall = self.one.trial.costs, sum(part.ended - part.began for part in self.profile.slices)
        if costs is None or not costs.server_cpu or costs.seconds <= 0 or wall <= 0:
            return None
        return self.profile.samples * self.profile.per_sample / wall / (costs.server_cpu / costs.seconds)

    @property
    def rate(self) -> float:
        """Transactions per second of the slices."""
        return sum(self.work) / sum(part.ended - part.began for part in self.profile.slices)


@dataclass(frozen=True, slots=True)
class Sides:
    """The profiles that are compared.

    Attributes:
        scatter: how much the server's CPU time per transaction varies between trials; functions are assumed to vary as much.
            None where that is not known, and where `are_alike` is false: nothing is certain then.
        are_alike: whether both saw nearly the same share of the server's CPU time, as far as that is known.
    """

    baseline: Side
    other: Side
    scatter: Scatter | None
    are_alike: bool


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame of the two profiles: a function with those that called it, or a kind of thread.

    Attributes:
        parent: the place of the frame that called it, in the list of frames; None for a kind of thread.
        change: its time with all that it called, in microseconds of CPU per transaction.
    """

    name: str
    parent: int | None
    change: RateChange


def sides(record: StudyRecord, trials: Sequence[MeasuredTrial], part_of: PartOf = cpu, other: str = "") -> Sides | None:
    """Return the newest profiles of the baseline and another candidate; None where one of them has none.

    The other is the one that reasons compare, or the one named.
    """
    found = {
        one.trial.candidate: Side(one, part, _work(record, one, part.slices))
        for one in measured.of(record, Purpose.PROFILE)
        if (profile := record.profiles.get(one.trial.id)) is not None
        and (part := part_of(profile)) is not None
        and part.samples
    }
    pair = choose_pair(record, trials)
    if pair is None or not {pair.baseline, other or pair.other} <= found.keys():
        return None
    two = found[pair.baseline], found[other or pair.other]
    if any(sum(side.work) <= 0 for side in two):
        return None
    if part_of is not cpu:
        varies = [_switches] if part_of is calls else [_latency] if record.spec.workload.rate else []
        return Sides(*two, _scatter(record, trials, [*varies, _throughput]), are_alike=True)
    seen = [side.seen for side in two if side.seen is not None]
    are_alike = len(seen) < len(two) or max(seen) <= _MOST_APART * min(seen)
    return Sides(*two, _scatter(record, trials, [_cpu_per_transaction, _throughput]) if are_alike else None, are_alike)


def _work(record: StudyRecord, one: MeasuredTrial, slices: Sequence[Slice]) -> list[float]:
    """Return the transactions in each slice; a second that lies in two slices counts in both by its shares."""
    work = [0.0] * len(slices)
    for sample in record.samples[one.trial.id]:
        if sample.step is Step.MEASURE and sample.seconds > 0:
            for number, part in enumerate(slices):
                shared = min(sample.at, part.ended) - max(sample.at - sample.seconds, part.began)
                work[number] += sample.tps * max(0.0, shared)
    return work


def _scatter(record: StudyRecord, trials: Sequence[MeasuredTrial], figures: Sequence[measured.FigureOf]) -> Scatter | None:
    """Return how much the first of these figures that is known varies between the trials that decide."""
    for of in figures:
        observations = [one.observation(value) for one in trials if (value := of(one)) is not None and value > 0]
        fit = blocks.fit_connected(observations, measured.names(trials, record), {record.spec.baseline})
        if fit is not None and fit.sd is not None:
            return Scatter(fit.sd, fit.dof)
    return None


def _throughput(one: MeasuredTrial) -> float:
    return one.transactions


def _latency(one: MeasuredTrial) -> float | None:
    """Return what varies with waits where the load has a fixed rate, which throughput follows."""
    return one.figures.latency if one.figures else None


def _switches(one: MeasuredTrial) -> float | None:
    """Return how often the server's threads began to wait per transaction, which varies as their system calls do."""
    rate = one.rate("process", "voluntary_switches")
    return rate / one.transactions if rate is not None and one.transactions > 0 else None


def _cpu_per_transaction(one: MeasuredTrial) -> float | None:
    costs = one.trial.costs
    if costs is None or costs.server_cpu is None or costs.seconds <= 0 or one.transactions <= 0:
        return None
    return costs.server_cpu / costs.seconds / one.transactions


def _changes(
    both: Sides, counts: tuple[Sequence[Counts], Sequence[Counts]], alpha: float, unit: float = _MICROSECONDS
) -> list[RateChange]:
    """Return the changes of what `counts` have a row of for each side, in `unit`s per second or call, per transaction."""
    if not counts[0]:
        return []
    first, second = (
        (np.stack(rows), [units / (unit * side.profile.per_sample) for units in side.work])
        for rows, side in zip(counts, (both.baseline, both.other), strict=True)
    )
    return rate_changes(first, second, both.scatter, alpha)


def _counted(profile: Profile, name_of: Callable[[Stack], str]) -> dict[str, Counts]:
    counts: dict[str, Counts] = {}
    for stack in profile.stacks:
        row = counts.setdefault(name_of(stack), np.zeros(len(profile.slices)))
        row += stack.samples
    return counts


def _named(
    both: Sides | None, name_of: Callable[[Stack], str], fewest: float, alpha: float, unit: float = _MICROSECONDS
) -> list[tuple[str, RateChange]]:
    """Return the changes of everything that one side has that many samples of, by name."""
    if both is None:
        return []
    counts = [_counted(side.profile, name_of) for side in (both.baseline, both.other)]
    most = {name: max(float(one[name].sum()) for one in counts if name in one) for name in counts[0].keys() | counts[1].keys()}
    names = sorted(name for name, samples in most.items() if samples >= fewest)
    first, second = (
        [of_side.get(name, np.zeros(len(side.work))) for name in names]
        for of_side, side in zip(counts, (both.baseline, both.other), strict=True)
    )
    return list(zip(names, _changes(both, (first, second), alpha, unit), strict=True))


def compare_all(record: StudyRecord, trials: Sequence[MeasuredTrial]) -> list[ProfileComparison]:
    """Return the comparison of the two candidates that reasons compare, and of the baseline with all others profiled."""
    pair = choose_pair(record, trials)
    profiled = {trial.candidate for trial in record.trials if trial.id in record.profiles}
    others = [name for name in record.spec.names if pair and name in profiled - {pair.baseline, pair.other}]
    compared = [compare(record, trials, name) for name in ["", *others]]
    return [one for one in compared if one is not None]


def compare(record: StudyRecord, trials: Sequence[MeasuredTrial], other: str = "") -> ProfileComparison | None:
    """Return the functions that gained and lost most CPU time per transaction; None without two profiles.

    A function has its own time, without that of the functions it calls; time in the kernel belongs to the system call. Those
    whose change is certain come first. Waits and system calls are the longest and the most frequent.
    """
    both = sides(record, trials, cpu, other)
    if both is None:
        return None
    alpha = record.spec.alpha
    functions = [_function(*one) for one in _named(both, lambda stack: stack.function, _FEWEST_SAMPLES, alpha)]
    functions.sort(key=lambda one: (not one.is_certain, -abs(one.difference_us.mean)))
    traced, of_calls = (sides(record, trials, part_of, other) for part_of in (waits, calls))
    waited = [_function(*one) for one in _named(traced, lambda stack: stack.waits_in, 0, alpha)]
    called = [
        ProfiledCall(
            call=name, baseline=change.first, other=change.second, difference=change.difference, is_certain=change.is_certain
        )
        for name, change in _named(of_calls, lambda stack: stack.frames[0], _FEWEST_DRAWN, alpha, 1)
    ]
    two = (both.baseline, both.other)
    untraced = next((text for side in two if (text := record.profiles[side.one.trial.id].untraced)), "")
    return ProfileComparison(
        baseline=both.baseline.candidate,
        other=both.other.candidate,
        trials=[_trial(side, record, trials, traced) for side in two],
        gained=[one for one in functions if one.difference_us.mean > 0][:MOST],
        lost=[one for one in functions if one.difference_us.mean < 0][:MOST],
        functions=len(functions),
        are_alike=both.are_alike,
        waits=sorted(waited, key=lambda one: -max(one.baseline_us, one.other_us))[:MOST],
        calls=sorted(called, key=lambda one: -max(one.baseline, one.other))[:MOST],
        untraced=untraced,
    )


def _function(name: str, change: RateChange) -> ProfiledFunction:
    return ProfiledFunction(
        function=name,
        baseline_us=change.first,
        other_us=change.second,
        difference_us=change.difference,
        is_certain=change.is_certain,
    )


def _trial(side: Side, record: StudyRecord, trials: Sequence[MeasuredTrial], traced: Sides | None) -> ProfileTrial:
    profile = side.profile
    seconds = profile.samples * profile.per_sample
    of_trace = None
    if traced and not record.spec.workload.levels:  # else only one of several numbers of threads is traced
        of_trace = next((one for one in (traced.baseline, traced.other) if one.one.trial.id == side.one.trial.id), None)
    nameless = sum(sum(stack.samples) for stack in profile.stacks if stack.function.startswith("["))
    return ProfileTrial(
        candidate=side.candidate,
        samples=profile.samples,
        cpu_seconds=seconds,
        cpu_us=seconds * _MICROSECONDS / sum(side.work),
        tps=side.rate,
        throughput=_slowdown(side, record, trials),
        traced=of_trace.rate / side.rate if of_trace else None,
        nameless=nameless / profile.samples,
        seen=side.seen,
    )


def _slowdown(side: Side, record: StudyRecord, trials: Sequence[MeasuredTrial]) -> Estimate | None:
    """Return the throughput while stacks were sampled as a ratio to the candidate's other trials, with the interval of one."""
    others = [math.log(x.transactions) for x in trials if x.trial.candidate == side.candidate and x.transactions > 0]
    if not others:
        return None
    fit = blocks.fit_connected(
        [x.observation(x.transactions) for x in trials if x.transactions > 0],
        measured.names(trials, record),
        {record.spec.baseline},
    )
    reach = None
    if fit is not None and fit.sd is not None:
        reach = t_quantile(fit.dof, record.spec.alpha) * fit.sd * math.sqrt(1 + 1 / len(others))
    return blocks.estimate_of_logs(math.log(side.rate) - sum(others) / len(others), reach)


def frames(record: StudyRecord, part_of: PartOf = cpu, other: str = "") -> tuple[Sides, list[Frame]] | None:
    """Return the frames of both profiles, callers before what they call; None without two profiles.

    Frames with little time in both are left out.
    """
    both = sides(record, measured.of(record), part_of, other)
    if both is None:
        return None
    drawn = _drawn(both.baseline.profile, both.other.profile)
    order = sorted(drawn)
    places = {path: place for place, path in enumerate(order)}
    first, second = ([drawn[path][side] for path in order] for side in (0, 1))
    changes = _changes(both, (first, second), record.spec.alpha)
    return both, [
        Frame(path[-1], places[path[:-1]] if len(path) > 1 else None, change)
        for path, change in zip(order, changes, strict=True)
    ]


def _drawn(*profiles: Profile) -> dict[_Path, list[Counts]]:
    """Return the counts of each frame that is drawn, by profile.

    Only what such a frame calls is looked at: there may be millions of others, none of which is ever counted.
    """
    counts = [np.asarray([one.samples for one in each.stacks], dtype=float) for each in profiles]
    totals = [of_profile.sum(axis=1) for of_profile in counts]
    least = [max(SMALLEST_SHARE * each.samples, _FEWEST_DRAWN) for each in profiles]
    every: list[list[int]] = [list(range(len(each.stacks))) for each in profiles]
    drawn: dict[_Path, list[Counts]] = {}
    left: list[tuple[_Path, list[list[int]]]] = [((), every)]
    while left:
        path, stacks = left.pop()
        called: dict[str, list[list[int]]] = {}
        for number, profile in enumerate(profiles):
            for place in stacks[number]:
                stack = profile.stacks[place]
                if len(path) <= len(stack.frames):
                    name = stack.frames[len(path) - 1] if path else stack.kind.value
                    called.setdefault(name, [[] for _ in profiles])[number].append(place)
        for name, of_name in called.items():
            if any(total[each].sum() >= few for total, each, few in zip(totals, of_name, least, strict=True)):
                drawn[(*path, name)] = [rows[each].sum(axis=0) for rows, each in zip(counts, of_name, strict=True)]
                left.append(((*path, name), of_name))
    return drawn
