"""Which candidates are still in the race, from the trials alone, so that a resumed study gives the same answer."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from dialin.model.study import Goal, StudySpec
from dialin.model.trial import Block, Purpose, Trial, TrialState
from dialin.model.verdict import CandidateState, DecidedBy, Outcome
from dialin.stats.blocks import levels
from dialin.stats.decide import Decision, Rules, blocks_to_choose, decide, leaves
from dialin.stats.looks import FIRST_CUT
from dialin.stats.safety import Failures, unsafe
from dialin.stats.throughput import decide_throughput
from dialin.stats.trial_figures import FIGURE_OF, Figures, observations, trial_speeds
from dialin.verdict import effective_settings

GIVE_UP_AFTER = 2
"""A candidate whose first trials all failed is out after this many: the same boot would fail the same way again."""

_NO_CLAIM = 0.01
"""Leaving the race takes no interval; any error serves."""


def rules(spec: StudySpec) -> Rules:
    """Return what decides a study."""
    return Rules(worthwhile=spec.worthwhile, confidence=spec.confidence, choose=not spec.aa)


def racing(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials that decide, without those that confirm a decision afterwards."""
    return [trial for trial in trials if trial.purpose is Purpose.RACE]


def clean(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials that ran without costly instruments."""
    return [trial for trial in trials if trial.purpose is not Purpose.WAITS]


def block_of_waits(trials: Sequence[Trial]) -> int:
    """Return the number of the block for raw waits: the one already begun, else the next free number."""
    begun = [trial.block for trial in trials if trial.purpose is Purpose.WAITS]
    return max(begun) if begun else 1 + max((trial.block for trial in trials), default=0)


def given_up(name: str, trials: Sequence[Trial]) -> bool:
    """Return whether a candidate could never be measured and is not tried again."""
    states = [trial.state for trial in trials if trial.candidate == name]
    return TrialState.DONE not in states and states.count(TrialState.FAILED) >= GIVE_UP_AFTER


def same_in_force(spec: StudySpec, trials: Sequence[Trial]) -> list[frozenset[str]]:
    """Return the groups of candidates with identical effective settings from their first trials to their last.

    None in an A/A study, where they are identical by design.
    """
    if spec.aa:
        return []
    done = [trial for trial in trials if trial.state is TrialState.DONE]
    at_first, at_last = (effective_settings.same(spec, settings) for settings in effective_settings.first_and_last(done))
    return [group for group in at_last if group in at_first]


def server_failures(spec: StudySpec, trials: Sequence[Trial]) -> dict[str, Failures]:
    """Return how often each candidate's server failed, in trials without costly instruments.

    Trials that failed for another reason, such as the load, do not count.
    """
    ended = [trial for trial in clean(trials) if trial.state in (TrialState.DONE, TrialState.FAILED)]
    counts = {}
    for candidate in spec.candidates:
        of_candidate = [trial for trial in ended if trial.candidate == candidate.name]
        failed = sum(trial.failure is not None and trial.failure.fault == "server" for trial in of_candidate)
        completed = sum(trial.state is TrialState.DONE for trial in of_candidate)
        counts[candidate.name] = Failures(failed, failed + completed)
    return counts


def unsafe_candidates(spec: StudySpec, trials: Sequence[Trial]) -> frozenset[str]:
    """Return the candidates whose servers failed more often than the baseline's; none in an A/A study."""
    return frozenset() if spec.aa else unsafe(server_failures(spec, trials), spec.baseline)


def decide_by(
    spec: StudySpec,
    goal: Goal,
    trials: Sequence[Trial],
    figures: Mapping[int, Figures],
    *,
    alpha: float,
    left: Collection[str] = (),
) -> Decision:
    """Compare the candidates of a study by a goal; one that is unsafe is not compared with the others.

    `alpha` is the error that all intervals together may make at this look; `left` holds the candidates that left the race.
    Only completed trials of the race are compared.
    """
    raced, out = racing(trials), unsafe_candidates(spec, trials)
    names = [candidate.name for candidate in spec.candidates if candidate.name not in out]
    compared = [trial for trial in raced if trial.candidate not in out]
    inside = [name for name in names if name not in left]
    identical = same_in_force(spec, raced)
    if goal is Goal.THROUGHPUT:
        speeds = trial_speeds(compared, figures)
        decision = decide_throughput(speeds, names, spec.baseline, rules(spec), alpha=alpha, identical=identical, racing=inside)
    else:
        values = observations(compared, figures, FIGURE_OF[goal])
        decision = decide(values, names, spec.baseline, rules(spec), alpha=alpha, identical=identical, racing=inside)
        decision = replace(decision, decided_by=FIGURE_OF[goal])
    if not out:
        return decision
    if len(names) < 2:  # the baseline alone is left: nothing could be compared
        failed = CandidateState.FAILED
        states = {name: failed if state is failed else CandidateState.OPEN for name, state in decision.states.items()}
        decision = replace(decision, outcome=Outcome.UNRESOLVED, choice=None, winners=(), states=states)
    level = levels(observations(raced, figures, FIGURE_OF[goal]), sorted(out), alpha)
    return replace(
        decision,
        states=decision.states | dict.fromkeys(out, CandidateState.UNSAFE),
        ratios=decision.ratios | dict.fromkeys(out),
        levels=decision.levels | {name: level.get(name) for name in out},
    )


def left_after(
    spec: StudySpec, blocks: Sequence[Block], trials: Sequence[Trial], figures: Mapping[int, Figures]
) -> dict[str, int]:
    """Return the candidates that have left the race, each with the block after which it did."""
    left: dict[str, int] = {}
    for block in blocks:
        if block.purpose is Purpose.RACE:
            leaving = leaving_after(spec, block, trials, figures, left)
            if leaving is None:
                break
            left |= dict.fromkeys(leaving, block.number)
    return left


def leaving_after(
    spec: StudySpec, block: Block, trials: Sequence[Trial], figures: Mapping[int, Figures], left: Collection[str]
) -> list[str] | None:
    """Return the candidates that leave the race after a block; None where that block is not complete.

    Trials of later blocks do not count.
    """
    upto = [trial for trial in racing(trials) if trial.block <= block.number]
    ended = {t.candidate for t in upto if t.block == block.number and t.state in (TrialState.DONE, TrialState.FAILED)}
    if not ended.issuperset(block.order):
        return None
    leaving = sorted(unsafe_candidates(spec, upto) - set(left))
    if block.number >= FIRST_CUT:
        out = {*left, *leaving}
        decision = decide_by(spec, spec.goal, upto, figures, alpha=_NO_CLAIM, left=out)
        behind = leaves(decision, [name for name in block.order if name not in out], spec.baseline, rules(spec))
        # One that has just entered is not judged yet.
        blocks = {name: {trial.block for trial in upto if trial.candidate == name} for name in behind}
        leaving += sorted(name for name in behind if len(blocks[name]) >= FIRST_CUT)
    return leaving


def blocks_to_go(spec: StudySpec, trials: Sequence[Trial], figures: Mapping[int, Figures], decided_by: DecidedBy) -> int | None:
    """Return about how many more blocks it takes until a choice is safe; None where that is not known."""
    needed = blocks_needed(spec, trials, figures, decided_by)
    return None if needed is None else max(1, needed - max(trial.block for trial in racing(trials)))


def blocks_needed(
    spec: StudySpec, trials: Sequence[Trial], figures: Mapping[int, Figures], decided_by: DecidedBy
) -> int | None:
    """Return after about how many blocks in all a choice would be safe; None where that is not known."""
    raced, out = racing(trials), unsafe_candidates(spec, trials)
    names = [candidate.name for candidate in spec.candidates if candidate.name not in out]
    values = observations([trial for trial in raced if trial.candidate not in out], figures, decided_by)
    return blocks_to_choose(values, names, spec.baseline, rules(spec), identical=same_in_force(spec, raced))
