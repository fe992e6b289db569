"""Compares the candidates of a study by its trials alone, so that a resumed study gives the same answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from dialin.evidence import effective_settings
from dialin.measures.of_trials import deciding_trials, level_trials
from dialin.model.cause import Fault
from dialin.model.study import Goal, StudySpec
from dialin.model.trial import Purpose, Trial, TrialState
from dialin.model.verdict import AgainstBest, DecidedBy, Estimate, Outcome
from dialin.stats.decide import Decision, Rules, decide, trials_to_choose
from dialin.stats.standings import Failures, unsafe
from dialin.stats.throughput import decide_throughput
from dialin.stats.trial_figures import Figures, trial_speeds
from dialin.stats.trial_fit import CandidateFigures, candidate_figures
from dialin.verdict.live_periods import decide_live

GIVE_UP_AFTER = 2
"""The number of failed trials after which a candidate without a completed trial is given up: it would fail the same way again.
On a live server, the number of periods in which the guard restored the baseline."""


def racing(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials of the race, which alone decide a study."""
    return [trial for trial in trials if trial.purpose is Purpose.RACE]


def clean(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials that ran without costly instruments, except the observation of a live server."""
    return [trial for trial in trials if trial.purpose.is_clean]


def first_instrumented_block(trials: Sequence[Trial], purpose: Purpose) -> int:
    """Return the number of the first block for a costly instrument: that of a block already begun, else the next free one."""
    begun = [trial.block for trial in trials if trial.purpose is purpose]
    return min(begun) if begun else 1 + max((trial.block for trial in trials), default=0)


def is_given_up(name: str, trials: Sequence[Trial]) -> bool:
    """Return whether a candidate is not tried again: it failed without a completed trial, or tripped the guard too often."""
    if count_guard_trips(name, trials) >= GIVE_UP_AFTER:
        return True
    states = [trial.state for trial in trials if trial.candidate == name]
    return TrialState.DONE not in states and states.count(TrialState.FAILED) >= GIVE_UP_AFTER


def count_guard_trips(name: str, trials: Sequence[Trial]) -> int:
    """Return the number of a candidate's periods in which the guard of a live server restored the baseline."""
    return sum(trial.candidate == name and trial.failure is not None and trial.failure.fault is Fault.GUARD for trial in trials)


def identical_candidates(spec: StudySpec, trials: Sequence[Trial]) -> list[frozenset[str]]:
    """Return the groups of candidates whose effective settings were identical both in their first and in their last trials.

    The list is empty in an A/A study, where candidates are identical by design.
    """
    if spec.is_aa:
        return []
    done = [trial for trial in trials if trial.state is TrialState.DONE]
    at_first, at_last = (effective_settings.same(spec, settings) for settings in effective_settings.first_and_last(done))
    return [group for group in at_last if group in at_first]


def server_failures(spec: StudySpec, trials: Sequence[Trial]) -> dict[str, Failures]:
    """Return how often each candidate's server failed, in trials without costly instruments.

    Trials that failed for another reason, such as a failed load driver, do not count.
    """
    ended = [trial for trial in clean(trials) if trial.state in (TrialState.DONE, TrialState.FAILED)]
    counts = {}
    for candidate in spec.candidates:
        of_candidate = [trial for trial in ended if trial.candidate == candidate.name]
        failed = sum(trial.failure is not None and trial.failure.is_evidence for trial in of_candidate)
        completed = sum(trial.state is TrialState.DONE for trial in of_candidate)
        counts[candidate.name] = Failures(failed, failed + completed)
    return counts


def unsafe_candidates(spec: StudySpec, trials: Sequence[Trial]) -> frozenset[str]:
    """Return the candidates whose servers failed more often than the baseline's; none in an A/A study.

    On a live server, return the candidates that tripped the guard twice: any other failure there, such as a lost connection,
    cannot be attributed to a candidate.
    """
    if spec.is_aa:
        return frozenset()
    if spec.is_live:
        return frozenset(one.name for one in spec.candidates if count_guard_trips(one.name, trials) >= GIVE_UP_AFTER)
    return unsafe(server_failures(spec, trials), spec.baseline)


def decide_by(spec: StudySpec, goal: Goal, trials: Sequence[Trial], figures: Mapping[int, Figures]) -> Decision:
    """Compare the candidates of a study by a goal; unsafe candidates are not compared with the others.

    Only completed trials of the race are compared.
    """
    raced, excluded = racing(trials), unsafe_candidates(spec, trials)
    names = [candidate.name for candidate in spec.candidates if candidate.name not in excluded]
    compared = [trial for trial in raced if trial.candidate not in excluded]
    identical = identical_candidates(spec, raced)
    if spec.is_live:
        decision = decide_live(spec, goal, compared, figures, names, Rules.of(spec), identical)
    elif goal is Goal.THROUGHPUT:
        decision = decide_throughput(trial_speeds(compared, figures), names, spec.baseline, Rules.of(spec), identical=identical)
    else:
        decision = decide(level_trials(compared, figures, goal), names, spec.baseline, Rules.of(spec), identical=identical)
    if not excluded:
        return decision
    if len(names) < 2:  # only the baseline is left: nothing can be compared
        failed = AgainstBest.FAILED
        states = {name: failed if state is failed else AgainstBest.INCONCLUSIVE for name, state in decision.states.items()}
        decision = replace(decision, outcome=Outcome.INCONCLUSIVE, choice=None, winners=(), states=states)
    return replace(
        decision,
        states=decision.states | dict.fromkeys(excluded, AgainstBest.UNSAFE),
        ratios=decision.ratios | dict.fromkeys(excluded),
        levels=decision.levels | _levels_of(excluded, spec, goal, raced, figures),
    )


def figures_by(spec: StudySpec, goal: Goal, trials: Sequence[Trial], figures: Mapping[int, Figures]) -> CandidateFigures:
    """Return the measure of a goal under each candidate, the higher the better, as a decision by that goal has it."""
    if spec.is_live and goal is not Goal.STABILITY:
        decision = decide_by(spec, goal, trials, figures)
        return CandidateFigures(decision.levels, decision.ratios)
    raced, excluded = racing(trials), unsafe_candidates(spec, trials)
    names = [name for name in spec.names if name not in excluded]
    compared = candidate_figures(level_trials(raced, figures, goal), names, spec.baseline, Rules.of(spec).alpha)
    return CandidateFigures(
        levels=compared.levels | _levels_of(excluded, spec, goal, raced, figures),
        ratios=compared.ratios | dict.fromkeys(excluded),
    )


def _levels_of(
    excluded: Collection[str], spec: StudySpec, goal: Goal, raced: Sequence[Trial], figures: Mapping[int, Figures]
) -> dict[str, Estimate | None]:
    """Return the levels of candidates that are not compared, by a fit of all candidates."""
    if not excluded:
        return {}
    levels = candidate_figures(level_trials(raced, figures, goal), spec.names, spec.baseline, Rules.of(spec).alpha).levels
    return {name: levels[name] for name in excluded}


def trials_needed(
    spec: StudySpec, trials: Sequence[Trial], figures: Mapping[int, Figures], decided_by: DecidedBy
) -> int | None:
    """Return about how many trials in all a safe choice would need; None where that is unknown."""
    raced, excluded = racing(trials), unsafe_candidates(spec, trials)
    names = [candidate.name for candidate in spec.candidates if candidate.name not in excluded]
    if spec.is_live:
        return None  # the traffic of the hours to come cannot be predicted from the hours so far
    values = deciding_trials([trial for trial in raced if trial.candidate not in excluded], figures, spec.goal, decided_by)
    return trials_to_choose(values, names, spec.baseline, Rules.of(spec), identical=identical_candidates(spec, raced))
