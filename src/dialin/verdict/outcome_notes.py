"""The notes on the outcome of a study: failures, durability, builds, and what could make a study conclusive."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from dialin.model.cause import Fault
from dialin.model.durability import DurabilityLoss, as_data
from dialin.model.record import StudyRecord
from dialin.model.study import StudySpec
from dialin.model.trial import TrialState, seconds_of
from dialin.model.verdict import AgainstBest, Note
from dialin.stats.decide import Decision
from dialin.stats.standings import Failures


def durability_notes(weaker: Mapping[str, Sequence[DurabilityLoss]], winners: Sequence[str]) -> list[Note]:
    """Return a warning for each candidate that weakens durability, winners first."""
    order = sorted((name for name in weaker if weaker[name]), key=lambda name: name not in winners)
    return [Note(code="weaker_durability", data={"candidate": name, "losses": as_data(weaker[name])}) for name in order]


def build_notes(spec: StudySpec) -> list[Note]:
    if not spec.compares_builds:
        return []
    return [Note(code="different_builds", data={"builds": sorted({c.server for c in spec.candidates})})]


def unsafe_notes(spec: StudySpec, decision: Decision, failures: Mapping[str, Failures]) -> list[Note]:
    """Return a warning for each candidate whose server failed more often than the baseline's."""
    base = failures[spec.baseline]
    return [
        Note(
            code="unsafe",
            data={
                "candidate": name,
                "failed": failures[name].failed,
                "trials": failures[name].trials,
                "baseline_failed": base.failed,
                "baseline_trials": base.trials,
            },
        )
        for name, state in decision.states.items()
        if state is AgainstBest.UNSAFE
    ]


def failure_notes(record: StudyRecord) -> list[Note]:
    """Return a warning for each candidate with failed trials, with the newest failure."""
    notes = []
    for candidate in record.spec.candidates:
        failed = [
            t
            for t in record.trials
            if t.candidate == candidate.name
            and t.state is TrialState.FAILED
            and not t.purpose.is_instrumented
            and (t.failure is None or t.failure.fault is not Fault.GUARD)  # the note `guard_tripped` reports these
        ]
        if not failed:
            continue
        last = failed[-1].failure
        newest = last.cause.as_stored() if last else {}
        notes.append(Note(code="failed_trials", data={"candidate": candidate.name, "failed": len(failed), "cause": newest}))
    return notes


def inconclusive_notes(record: StudyRecord, decision: Decision, needed: int | None) -> list[Note]:
    """Return the note that a study is inconclusive, with the time that it took and the time that it may need.

    `needed` is about how many trials a safe choice needs in all; None where that is unknown.
    """
    spec = record.spec
    data: dict[str, float | int] = {
        "seconds": seconds_of(record.trials),
        "budget": 60 * spec.minutes,
        "trials": decision.trials,
    }
    if decision.detectable is not None:
        data["detectable"] = decision.detectable
    if needed and decision.trials:
        minutes = math.ceil(spec.minutes * max(1.2, needed / decision.trials))
        data |= {"trials_needed": needed, "minutes": minutes}
    return [Note(code="inconclusive", data=data)]
