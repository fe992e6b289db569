"""The state of each candidate: the one function that gives it, for studies, tunes and logs made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialin.model.verdict import AgainstBest, CandidateState, Estimate, Outcome


@dataclass(frozen=True, slots=True)
class Compared:
    """What is known of a candidate.

    Attributes:
        ratio: its figure as a ratio to the baseline's, the higher the better, with the interval that reports show; None where
            the two cannot be compared.
        is_better: whether it is shown to be better than the baseline, for all candidates and looks together.
        is_identical: whether its effective setting is the baseline's.
    """

    name: str
    against_best: AgainstBest
    ratio: Estimate | None
    is_better: bool = False
    is_identical: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """What a study ends with; states never contradict it.

    Attributes:
        choice: the candidate that it chose; None where it is inconclusive.
        is_withheld: whether nothing is claimed of any candidate, because something else could explain a difference.
    """

    outcome: Outcome
    choice: str | None
    baseline: str
    worthwhile: float
    is_withheld: bool = False


_NOT_COMPARED = {AgainstBest.UNSAFE: CandidateState.UNSAFE, AgainstBest.FAILED: CandidateState.NOT_MEASURED}


def candidate_states(compared: Sequence[Compared], claim: Claim) -> dict[str, CandidateState]:
    """Return the state of each candidate, by what a study claims and by the intervals that it shows.

    A state never contradicts the interval beside it: what is better or worse has none that lies wholly on the other side, and
    what is equal has one that lies within what is worthwhile, unless both settings are identical.
    """
    others = {one.name: _state(one, claim) for one in compared if one.name != claim.baseline}
    return {one.name: others[one.name] if one.name in others else _of_baseline(one, others, claim) for one in compared}


def _state(one: Compared, claim: Claim) -> CandidateState:
    if one.against_best in _NOT_COMPARED:
        return _NOT_COMPARED[one.against_best]
    if one.is_identical:
        return CandidateState.EQUAL
    if claim.is_withheld:
        return CandidateState.NO_CLAIM
    low, high = (one.ratio.low, one.ratio.high) if one.ratio else (None, None)
    if low is None or high is None:  # too few trials, or the baseline could not be measured
        return _without_interval(one, claim)
    equal = claim.choice == claim.baseline and claim.outcome is not Outcome.WINNER
    is_within = 1 / (1 + claim.worthwhile) <= low and high <= 1 + claim.worthwhile
    if is_within and equal:
        return CandidateState.EQUAL
    if one.is_better and low > 1:
        return CandidateState.BETTER
    if claim.choice == one.name:
        return CandidateState.SAFE_CHOICE
    if one.against_best is AgainstBest.LOSES and low <= 1:
        return CandidateState.WORSE
    if is_within:
        return CandidateState.EQUAL
    if low > 1:
        return CandidateState.LIKELY_BETTER
    if high < 1 or one.against_best is AgainstBest.BEHIND:
        return CandidateState.LIKELY_WORSE
    return CandidateState.TOO_CLOSE


def _without_interval(one: Compared, claim: Claim) -> CandidateState:
    """Return the state where there is no ratio to the baseline: only how it compares with the best one is known."""
    if claim.choice == one.name:
        return CandidateState.BETTER if claim.outcome is Outcome.WINNER else CandidateState.SAFE_CHOICE
    match one.against_best:
        case AgainstBest.LOSES:
            return CandidateState.WORSE
        case AgainstBest.BEHIND:
            return CandidateState.LIKELY_WORSE
        case AgainstBest.TIES:
            return CandidateState.EQUAL
        case _:
            return CandidateState.NO_CLAIM


def _of_baseline(one: Compared, others: Mapping[str, CandidateState], claim: Claim) -> CandidateState:
    if one.against_best in _NOT_COMPARED:
        return _NOT_COMPARED[one.against_best]
    measured = {state for state in others.values() if state not in _NOT_COMPARED.values()}
    if claim.is_withheld or measured <= {CandidateState.NO_CLAIM}:
        return CandidateState.NO_CLAIM
    if claim.choice == one.name:
        if claim.outcome is Outcome.WINNER:
            return CandidateState.BETTER
        return CandidateState.EQUAL if measured == {CandidateState.EQUAL} else CandidateState.SAFE_CHOICE
    if CandidateState.BETTER in measured or one.against_best is AgainstBest.LOSES:
        return CandidateState.WORSE
    if CandidateState.LIKELY_BETTER in measured or one.against_best is AgainstBest.BEHIND:
        return CandidateState.LIKELY_WORSE
    return CandidateState.EQUAL if measured == {CandidateState.EQUAL} else CandidateState.TOO_CLOSE
