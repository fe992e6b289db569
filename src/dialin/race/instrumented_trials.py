"""The trials with costly instruments that follow a verdict: which candidates have them, and the time kept for them."""

from __future__ import annotations

from dialin.evidence import measured
from dialin.evidence.reasons.significance import choose_pair
from dialin.model.trial import Purpose, TrialState
from dialin.question.plan import PROFILED, WAIT_TRIALS, wait_trial_seconds
from dialin.race.state import RaceState
from dialin.verdict import comparison


def without_waits(state: RaceState) -> list[str]:
    """Return the candidates that lack a trial for raw waits; none where the study collects no waits."""
    if not state.spec.waits:
        return []
    raced = state.race_trials
    return [name for name in _lacking(state, Purpose.WAITS, state.spec.names) if not comparison.is_given_up(name, raced)]


def to_run(state: RaceState, purpose: Purpose) -> list[str]:
    """Return the candidates that lack their trial of a purpose, once there is a verdict; those that were measured at all.

    Raw waits are of every candidate, profiles of the baseline and the choice. Where the baseline is the choice, the candidate
    that differs most from it is profiled.
    """
    measured_names = {trial.candidate for trial in state.race_trials if trial.state is TrialState.DONE}
    if purpose is Purpose.WAITS:
        return [name for name in without_waits(state) if name in measured_names]
    if not state.spec.profile:
        return []
    record = state.record
    pair = choose_pair(record, measured.of(record))
    return _lacking(state, purpose, [pair.baseline, pair.other]) if pair else []


def reserved_seconds(state: RaceState, trial_seconds: float) -> float:
    """Return the seconds of the budget that the trials to come take; `trial_seconds` is the time of any other trial."""
    waits = len(without_waits(state)) * WAIT_TRIALS * wait_trial_seconds(state.spec, trial_seconds)
    if not state.spec.profile:
        return waits
    profiled = sum(trial.purpose is Purpose.PROFILE and trial.has_ended for trial in state.trials)
    return waits + max(0, PROFILED - profiled) * trial_seconds


def _lacking(state: RaceState, purpose: Purpose, names: list[str]) -> list[str]:
    ended = {trial.candidate for trial in state.trials if trial.purpose is purpose and trial.has_ended}
    return [name for name in names if name not in ended]
