"""Compares the profiles of two candidates, function by function, per transaction."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dialin.evidence import measured
from dialin.evidence.measured import MeasuredTrial
from dialin.evidence.reasons.significance import choose_pair
from dialin.model.profile import Profile, Slice, Stack
from dialin.model.record import StudyRecord
from dialin.model.trial import Purpose, Step
from dialin.model.verdict import Estimate
from dialin.model.why import ProfileComparison, ProfiledFunction, ProfileTrial
from dialin.stats import blocks
from dialin.stats.quantiles import t_quantile
from dialin.stats.sliced_rates import Counts, RateChange, Scatter, rate_changes

MOST = 10
"""The most functions that are shown to have gained, and to have lost."""

_FEWEST_SAMPLES = 20
"""The samples in one of the trials below which a function is not compared."""

SMALLEST_SHARE = 0.005
"""The share of both profiles below which a frame is not drawn: it would be thinner than a line."""

_FEWEST_DRAWN = 5
"""The samples in one of the trials below which a frame is not drawn."""

_MOST_APART = 1.1
"""The ratio from which on two profiles that saw different shares of the server's CPU time are not compared."""

_MICROSECONDS = 1e6

_Path = tuple[str, ...]
"""A function, or a function with those that called it, the outermost first."""


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
        return self.profile.samples * self.profile.seconds_per_sample / wall / (costs.server_cpu / costs.seconds)


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


def sides(record: StudyRecord, trials: Sequence[MeasuredTrial]) -> Sides | None:
    """Return the newest profiles of the two candidates that reasons compare; None where one of them has none."""
    found = {
        one.trial.candidate: Side(one, profile, _work(record, one, profile.slices))
        for one in measured.of(record, Purpose.PROFILE)
        if (profile := record.profiles.get(one.trial.id)) is not None and profile.samples
    }
    pair = choose_pair(record, trials)
    if pair is None or not {pair.baseline, pair.other} <= found.keys():
        return None
    two = found[pair.baseline], found[pair.other]
    if any(sum(side.work) <= 0 for side in two):
        return None
    seen = [side.seen for side in two if side.seen is not None]
    are_alike = len(seen) < len(two) or max(seen) <= _MOST_APART * min(seen)
    return Sides(*two, _scatter(record, trials) if are_alike else None, are_alike)


def _work(record: StudyRecord, one: MeasuredTrial, slices: Sequence[Slice]) -> list[float]:
    """Return the transactions in each slice; a second that lies in two slices counts in both by its shares."""
    work = [0.0] * len(slices)
    for sample in record.samples[one.trial.id]:
        if sample.step is Step.MEASURE and sample.seconds > 0:
            for number, part in enumerate(slices):
                shared = min(sample.at, part.ended) - max(sample.at - sample.seconds, part.began)
                work[number] += sample.tps * max(0.0, shared)
    return work


def _scatter(record: StudyRecord, trials: Sequence[MeasuredTrial]) -> Scatter | None:
    """Return how much CPU time per transaction varies between the trials that decide; where it is unknown, throughput."""
    for of in (_cpu_per_transaction, lambda one: one.transactions):
        observations = [one.observation(value) for one in trials if (value := of(one)) is not None and value > 0]
        fit = blocks.fit_connected(observations, measured.names(trials, record), {record.spec.baseline})
        if fit is not None and fit.sd is not None:
            return Scatter(fit.sd, fit.dof)
    return None


def _cpu_per_transaction(one: MeasuredTrial) -> float | None:
    costs = one.trial.costs
    if costs is None or costs.server_cpu is None or costs.seconds <= 0 or one.transactions <= 0:
        return None
    return costs.server_cpu / costs.seconds / one.transactions


def _changes(
    both: Sides, keys: Sequence[_Path], counts: tuple[Mapping[_Path, Counts], Mapping[_Path, Counts]], alpha: float
) -> list[RateChange]:
    """Return the changes of what `keys` name, in microseconds of CPU per transaction."""
    rows = [
        np.asarray([of_side.get(key, np.zeros(len(side.work))) for key in keys]).reshape(len(keys), len(side.work))
        for of_side, side in zip(counts, (both.baseline, both.other), strict=True)
    ]
    work = [
        [units / (_MICROSECONDS * side.profile.seconds_per_sample) for units in side.work]
        for side in (both.baseline, both.other)
    ]
    return rate_changes((rows[0], work[0]), (rows[1], work[1]), both.scatter, alpha) if keys else []


def _counted(profile: Profile, keys_of: Callable[[Stack], Sequence[_Path]]) -> dict[_Path, Counts]:
    counts: dict[_Path, Counts] = {}
    for stack in profile.stacks:
        for key in keys_of(stack):
            if key in counts:
                counts[key] += np.asarray(stack.samples)
            else:
                counts[key] = np.asarray(stack.samples, dtype=float)
    return counts


def compare(record: StudyRecord, trials: Sequence[MeasuredTrial]) -> ProfileComparison | None:
    """Return the functions that gained and lost most CPU time per transaction; None without two profiles.

    A function has its own time, without that of the functions it calls; time in the kernel belongs to the system call. Those
    whose change is certain come first.
    """
    both = sides(record, trials)
    if both is None:
        return None
    counts = (
        _counted(both.baseline.profile, lambda stack: [(stack.function,)]),
        _counted(both.other.profile, lambda stack: [(stack.function,)]),
    )
    sums = [Counter({key: float(row.sum()) for key, row in of_side.items()}) for of_side in counts]
    keys = sorted(key for key in sums[0].keys() | sums[1].keys() if max(sums[0][key], sums[1][key]) >= _FEWEST_SAMPLES)
    changes = _changes(both, keys, counts, record.spec.alpha)
    functions = [
        ProfiledFunction(
            function=key[0],
            baseline_us=change.first,
            other_us=change.second,
            difference_us=change.difference,
            is_certain=change.is_certain,
        )
        for key, change in zip(keys, changes, strict=True)
    ]
    functions.sort(key=lambda one: (not one.is_certain, -abs(one.difference_us.mean)))
    return ProfileComparison(
        baseline=both.baseline.candidate,
        other=both.other.candidate,
        trials=[_trial(side, record, trials) for side in (both.baseline, both.other)],
        gained=[one for one in functions if one.difference_us.mean > 0][:MOST],
        lost=[one for one in functions if one.difference_us.mean < 0][:MOST],
        functions=len(functions),
        are_alike=both.are_alike,
    )


def _trial(side: Side, record: StudyRecord, trials: Sequence[MeasuredTrial]) -> ProfileTrial:
    profile = side.profile
    seconds = profile.samples * profile.seconds_per_sample
    nameless = sum(sum(stack.samples) for stack in profile.stacks if stack.function.startswith("["))
    return ProfileTrial(
        candidate=side.candidate,
        samples=profile.samples,
        cpu_seconds=seconds,
        cpu_us=seconds * _MICROSECONDS / sum(side.work),
        tps=side.one.transactions,
        throughput=_slowdown(side.one, record, trials),
        nameless=nameless / profile.samples,
        seen=side.seen,
    )


def _slowdown(one: MeasuredTrial, record: StudyRecord, trials: Sequence[MeasuredTrial]) -> Estimate | None:
    """Return the throughput of a profiled trial as a ratio to the candidate's others; its interval is that of one trial."""
    others = [math.log(x.transactions) for x in trials if x.trial.candidate == one.trial.candidate and x.transactions > 0]
    if not others or one.transactions <= 0:
        return None
    fit = blocks.fit_connected(
        [x.observation(x.transactions) for x in trials if x.transactions > 0],
        measured.names(trials, record),
        {record.spec.baseline},
    )
    reach = None
    if fit is not None and fit.sd is not None:
        reach = t_quantile(fit.dof, record.spec.alpha) * fit.sd * math.sqrt(1 + 1 / len(others))
    return blocks.estimate_of_logs(math.log(one.transactions) - sum(others) / len(others), reach)


def frames(record: StudyRecord) -> tuple[Sides, list[Frame]] | None:
    """Return the frames of both profiles, callers before what they call; None without two profiles.

    Frames with little time in both are left out.
    """
    both = sides(record, measured.of(record))
    if both is None:
        return None
    counts = _counted(both.baseline.profile, _paths), _counted(both.other.profile, _paths)
    totals = both.baseline.profile.samples, both.other.profile.samples
    order: list[tuple[str, ...]] = sorted(
        {
            key
            for of_side, total in zip(counts, totals, strict=True)
            for key, row in of_side.items()
            if row.sum() >= max(SMALLEST_SHARE * total, _FEWEST_DRAWN)
        }
    )
    places = {path: place for place, path in enumerate(order)}
    changes = _changes(both, order, counts, record.spec.alpha)
    return both, [
        Frame(path[-1], places[path[:-1]] if len(path) > 1 else None, change)
        for path, change in zip(order, changes, strict=True)
    ]


def _paths(stack: Stack) -> list[_Path]:
    path = (stack.kind.value, *stack.frames)
    return [path[:depth] for depth in range(1, len(path) + 1)]
