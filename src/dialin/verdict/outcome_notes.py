"""The notes on the outcome of a study: failures, durability, builds, and what could make a study conclusive."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from dialin.model.cause import Fault
from dialin.model.durability import DurabilityLoss
from dialin.model.record import StudyRecord
from dialin.model.study import StudySpec
from dialin.model.trial import Trial, TrialState, VariableChange, seconds_of
from dialin.model.verdict import AgainstBest
from dialin.sentences.result_notes import DifferentBuilds, FailedTrials, Inconclusive, SmallestMemory, Unsafe, WeakerDurability
from dialin.sentences.setting_notes import ChangedDuringTrial
from dialin.stats.decide import Decision
from dialin.stats.standings import Failures


def durability_notes(weaker: Mapping[str, Sequence[DurabilityLoss]], winners: Sequence[str]) -> list[WeakerDurability]:
    """Return a warning for each candidate that weakens durability, winners first."""
    order = sorted((name for name in weaker if weaker[name]), key=lambda name: name not in winners)
    return [WeakerDurability(candidate=name, losses=tuple(weaker[name])) for name in order]


def build_notes(spec: StudySpec) -> Iterator[DifferentBuilds]:
    if spec.compares_builds:
        yield DifferentBuilds(builds=tuple(sorted({c.server for c in spec.candidates})))


def smallest_memory_notes(spec: StudySpec, decision: Decision) -> list[SmallestMemory]:
    """Return the smallest memory limit that is shown to be as good as the largest, where the study compares limits."""
    baseline = spec.candidate(spec.baseline)
    limits = {one.name: one.memory for one in spec.candidates if one.memory and one.server == baseline.server}
    if limits.get(spec.baseline, 0) < max(limits.values(), default=1):
        return []
    lows = {name: ratio.low for name, ratio in decision.ratios.items() if name != spec.baseline and ratio is not None}
    unsafe = {name for name, state in decision.states.items() if state in (AgainstBest.UNSAFE, AgainstBest.FAILED)}
    enough = [name for name in limits.keys() - unsafe if (lows.get(name) or 0.0) >= 1 / (1 + spec.worthwhile)]
    return [SmallestMemory(candidate=min(enough, key=limits.__getitem__))] if enough else []


def unsafe_notes(spec: StudySpec, decision: Decision, failures: Mapping[str, Failures]) -> list[Unsafe]:
    """Return a warning for each candidate whose server failed more often than the baseline's."""
    base = failures[spec.baseline]
    return [
        Unsafe(
            candidate=name,
            failed=failures[name].failed,
            trials=failures[name].trials,
            baseline_failed=base.failed,
            baseline_trials=base.trials,
        )
        for name, state in decision.states.items()
        if state is AgainstBest.UNSAFE
    ]


def failure_notes(record: StudyRecord) -> Iterator[FailedTrials]:
    """Yield a warning for each candidate with failed trials, with the newest failure."""
    for candidate in record.spec.candidates:
        failed = [
            t
            for t in record.trials
            if t.candidate == candidate.name
            and t.state is TrialState.FAILED
            and not t.purpose.is_instrumented
            and (t.failure is None or t.failure.fault is not Fault.GUARD)  # the note `guard_tripped` reports these
        ]
        if failed:
            last = failed[-1].failure
            yield FailedTrials(candidate=candidate.name, failed=len(failed), cause=last.cause if last else None)


def inconclusive_note(record: StudyRecord, decision: Decision, needed: int | None) -> Inconclusive:
    """Return the note that a study is inconclusive, with the time that it took and the time that it may need.

    `needed` is about how many trials a safe choice needs in all; None where that is unknown.
    """
    spec, minutes = record.spec, None
    if needed and decision.trials:
        minutes = math.ceil(spec.minutes * max(1.2, needed / decision.trials))
    return Inconclusive(
        seconds=seconds_of(record.trials),
        budget=60 * spec.minutes,
        trials=decision.trials,
        detectable=decision.detectable,
        trials_needed=needed if minutes else None,
        minutes=minutes,
    )


def changed_during_trials(trials: Sequence[Trial]) -> list[ChangedDuringTrial]:
    """Return a warning for each variable that changed while trials ran, those under test first."""
    changes = [(trial, change) for trial in trials for change in trial.changes]
    variables = dict.fromkeys((change.variable, change.under_test) for _, change in changes)
    return [
        _changed_note(name, [(trial, change) for trial, change in changes if change.variable == name], under_test=under_test)
        for name, under_test in sorted(variables, key=lambda each: not each[1])
    ]


def _changed_note(name: str, changes: Sequence[tuple[Trial, VariableChange]], *, under_test: bool) -> ChangedDuringTrial:
    trials = {trial.id: trial for trial, _ in changes}
    return ChangedDuringTrial(
        variable=name,
        under_test=under_test,
        trials=tuple(sorted(trials)),
        candidates=tuple(dict.fromkeys(trial.candidate for trial in trials.values())),
        values=tuple((change.before, change.after) for _, change in changes),
    )
