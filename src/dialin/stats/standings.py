"""How candidates stand to the best one, by intervals of ratios; the rules of studies and of logs made elsewhere alike."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from dialin.model.verdict import CandidateState, Estimate, Outcome

ROUNDING = 1e-9
"""Differences smaller than this are the arithmetic's, not the server's."""


def leader_of(figures: Mapping[str, float], names: Collection[str], baseline: str) -> str:
    """Return the best of some candidates by figures of which more is better; the baseline goes before its equals.

    Raises:
        ValueError: there are no candidates.
    """
    return max(names, key=lambda name: (round(figures[name] / ROUNDING), name == baseline))


def state_of(ratio: Estimate, worthwhile: float) -> CandidateState:
    """Return how a candidate stands, by the ratio of its figure to that of the best one.

    It ties when the interval lies within 1 / (1 + worthwhile) to 1 + worthwhile, loses when all of it lies below 1, and is open
    else.
    """
    if ratio.low is None or ratio.high is None:
        return CandidateState.INCONCLUSIVE
    band = (1 + worthwhile) * (1 + ROUNDING)
    if ratio.low >= 1 / band and ratio.high <= band:
        return CandidateState.TIES
    return CandidateState.LOSES if ratio.high < 1 else CandidateState.INCONCLUSIVE


def outcome_of(states: Mapping[str, CandidateState], leader: str) -> tuple[Outcome, tuple[str, ...], dict[str, CandidateState]]:
    """Return the outcome, the winners, and the states with the leader's own."""
    results = set(states.values()) - {CandidateState.FAILED}
    if CandidateState.INCONCLUSIVE in results:
        return Outcome.INCONCLUSIVE, (), {**states, leader: CandidateState.INCONCLUSIVE}
    if results == {CandidateState.TIES}:
        return Outcome.NO_WORTHWHILE_DIFFERENCE, (), dict(states)
    winners = tuple(name for name, state in states.items() if state is CandidateState.TIES)
    if len(winners) == 1:
        return Outcome.WINNER, winners, {**states, leader: CandidateState.WINS}
    return Outcome.TIE, winners, dict(states)
