"""How candidates compare with the best one; studies and logs made elsewhere share these rules."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dialin.model.verdict import AgainstBest, Estimate, Outcome

ROUNDING = 1e-9
"""Differences smaller than this are rounding errors of the arithmetic, not differences between servers."""


def leader_of(figures: Mapping[str, float], names: Collection[str], baseline: str) -> str:
    """Return the best of some candidates; higher figures are better, and the baseline goes before its equals.

    Raises:
        ValueError: there are no candidates.
    """
    return max(names, key=lambda name: (round(figures[name] / ROUNDING), name == baseline))


def state_against_best(ratio: Estimate, worthwhile: float) -> AgainstBest:
    """Return how a candidate stands, by the interval of the ratio of its figure to that of the best one.

    It ties when the interval lies within 1 / (1 + worthwhile) to 1 + worthwhile, loses when all of it lies below 1, and is
    inconclusive otherwise.
    """
    if ratio.low is None or ratio.high is None:
        return AgainstBest.INCONCLUSIVE
    band = (1 + worthwhile) * (1 + ROUNDING)
    if ratio.low >= 1 / band and ratio.high <= band:
        return AgainstBest.TIES
    return AgainstBest.LOSES if ratio.high < 1 else AgainstBest.INCONCLUSIVE


def outcome_of(others: Collection[AgainstBest]) -> Outcome:
    """Return the outcome, by the states of all candidates but the best one."""
    if AgainstBest.INCONCLUSIVE in others:
        return Outcome.INCONCLUSIVE
    if set(others) == {AgainstBest.TIES}:
        return Outcome.NO_WORTHWHILE_DIFFERENCE
    return Outcome.TIE if AgainstBest.TIES in others else Outcome.WINNER


def without_claims(states: Mapping[str, AgainstBest]) -> dict[str, AgainstBest]:
    """Return states in which every candidate that was compared is inconclusive."""
    not_compared = (AgainstBest.FAILED, AgainstBest.UNSAFE)
    return {name: state if state in not_compared else AgainstBest.INCONCLUSIVE for name, state in states.items()}


def state_of_best(outcome: Outcome, others: Collection[AgainstBest]) -> AgainstBest:
    """Return the state of the best candidate, by the outcome and the states of the others."""
    all_tie = set(others) == {AgainstBest.TIES}
    if outcome is Outcome.TIE or (outcome is Outcome.NO_WORTHWHILE_DIFFERENCE and all_tie):
        return AgainstBest.TIES
    return AgainstBest.WINS if outcome is Outcome.WINNER else AgainstBest.INCONCLUSIVE
