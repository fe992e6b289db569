"""The race: which candidates are still in it, from the trials alone, so that a study that is resumed finds where it stood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from dialin.model.study import StudySpec
from dialin.model.trial import Purpose, Trial, TrialState
from dialin.stats.decide import Rules, blocks_to_choose, decide, leaves
from dialin.stats.figures import Figures, observations
from dialin.stats.looks import FIRST_CUT
from dialin.study import comparison
from dialin.study.comparison import Seen

GIVE_UP_AFTER = 2
"""A candidate whose first trials all failed is out after this many: the same boot would fail the same way again."""

_NO_CLAIM = 0.01
"""Leaving the race takes no interval; any error serves."""


def rules(spec: StudySpec) -> Rules:
    """Return what decides a study."""
    return Rules(worthwhile=spec.worthwhile, confidence=spec.confidence, choose=not spec.aa)


def racing(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials that decide: those that confirm a decision come after it."""
    return [trial for trial in trials if trial.purpose is Purpose.RACE]


def clean(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials that ran without costly instruments: what they show of a candidate is its own."""
    return [trial for trial in trials if trial.purpose is not Purpose.WAITS]


def block_of_waits(trials: Sequence[Trial]) -> int:
    """Return the number of the block of the trials for raw waits: that which was begun, else the one after all others."""
    begun = [trial.block for trial in trials if trial.purpose is Purpose.WAITS]
    return max(begun) if begun else 1 + max((trial.block for trial in trials), default=0)


def given_up(name: str, trials: Sequence[Trial]) -> bool:
    """Tell whether a candidate could never be measured, and is not tried again."""
    states = [trial.state for trial in trials if trial.candidate == name]
    return TrialState.DONE not in states and states.count(TrialState.FAILED) >= GIVE_UP_AFTER


def same_in_force(spec: StudySpec, trials: Sequence[Trial]) -> list[frozenset[str]]:
    """Return the groups of candidates that were one setting in force from their first trials to their last.

    In an A/A study they are one by design, and are compared as if they were not.
    """
    if spec.aa:
        return []
    done = [trial for trial in trials if trial.state is TrialState.DONE]
    first = {trial.candidate: Seen(trial.in_force, trial.real) for trial in reversed(done)}
    last = {trial.candidate: Seen(trial.in_force, trial.real) for trial in done}
    at_first = comparison.same(spec, first)
    return [group for group in comparison.same(spec, last) if group in at_first]


def left_after(spec: StudySpec, trials: Sequence[Trial], found: Mapping[int, Figures]) -> dict[str, int]:
    """Return the candidates that have left the race, each with the block after which it did.

    Args:
        spec: the study.
        trials: all of them.
        found: figures of those that ended well, by trial id.
    """
    names = [candidate.name for candidate in spec.candidates]
    raced = racing(trials)
    left: dict[str, int] = {}
    for block in count(1):
        before = [trial for trial in raced if trial.block < block]
        upto = [trial for trial in raced if trial.block <= block]
        inside = [name for name in names if name not in left and not given_up(name, before)]
        ended = {t.candidate for t in upto if t.block == block and t.state in (TrialState.DONE, TrialState.FAILED)}
        if not inside or not ended.issuperset(inside):
            return left
        if block >= FIRST_CUT:
            seen = observations(upto, found, spec.goal)
            decision = decide(seen, names, spec.baseline, rules(spec), alpha=_NO_CLAIM, one=same_in_force(spec, upto))
            left |= dict.fromkeys(leaves(decision, inside, spec.baseline, rules(spec)), block)
    return left


def blocks_to_go(spec: StudySpec, trials: Sequence[Trial], found: Mapping[int, Figures]) -> int | None:
    """Return about how many more blocks it takes until a choice is safe; None where that cannot be told.

    Args:
        spec: the study.
        trials: all of them.
        found: figures of those that ended well, by trial id.
    """
    raced = racing(trials)
    seen = observations(raced, found, spec.goal)
    names = [candidate.name for candidate in spec.candidates]
    needed = blocks_to_choose(seen, names, spec.baseline, rules(spec), one=same_in_force(spec, raced))
    return None if needed is None else max(1, needed - max(trial.block for trial in raced))
