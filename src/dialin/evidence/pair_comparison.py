"""Compares two candidates in throughput and in coefficient of variation, by their trials alone."""

from __future__ import annotations

from dataclasses import dataclass

from dialin.model.record import StudyRecord
from dialin.model.study import Goal
from dialin.model.trial import Purpose, TrialState
from dialin.model.verdict import DecidedBy, Estimate
from dialin.stats.trial_figures import figures, goal_ratio, timed_trials
from dialin.stats.trial_fit import fit_trials


@dataclass(frozen=True, slots=True)
class PairComparison:
    """One candidate's figures as ratios to another's; None where the two cannot be compared."""

    throughput: Estimate | None = None
    cv: Estimate | None = None


def compare_pair(record: StudyRecord, one: str, other: str) -> PairComparison:
    """Return how the throughput and the coefficient of variation of one candidate compare with those of another."""
    names = (one, other)
    trials = [
        trial
        for trial in record.trials
        if trial.candidate in names and trial.purpose is Purpose.RACE and trial.state is TrialState.DONE
    ]
    rate = record.spec.workload.rate
    known = {trial.id: summed for trial in trials if (summed := figures(record.samples.get(trial.id, ()), rate=rate))}

    def ratio(decided_by: DecidedBy) -> Estimate | None:
        fitted = fit_trials(timed_trials(trials, known, decided_by), names)
        if fitted is None or set(fitted.names) != set(names):
            return None
        return fitted.ratio(one, other, record.spec.alpha)

    return PairComparison(ratio(DecidedBy.THROUGHPUT), goal_ratio(ratio(DecidedBy.VARIATION), Goal.STABILITY))
