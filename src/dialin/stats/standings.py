"""How candidates compare with the best one, which are safe, and when to look; logs made elsewhere share these rules."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import comb

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
    all_tie = set(others) == {AgainstBest.TIES}
    if outcome is Outcome.TIE or (outcome is Outcome.NO_WORTHWHILE_DIFFERENCE and all_tie):
        return AgainstBest.TIES
    return AgainstBest.WINS if outcome is Outcome.WINNER else AgainstBest.INCONCLUSIVE


FEWEST_COMPARED = 2
"""The trials of a candidate from which on its steadiness is compared: a single one may have been lucky."""


def pareto_front(points: Mapping[str, Sequence[float]]) -> frozenset[str]:
    """Return the candidates that no other one dominates, by being better in one figure and worse in none; higher is better."""
    return frozenset(
        name
        for name, figures in points.items()
        if not any(
            tuple(other) != tuple(figures) and all(theirs >= mine for theirs, mine in zip(other, figures, strict=True))
            for other in points.values()
        )
    )


_CHANCE_OF_FAILURES = 0.2
"""The p value above which an excess of failures is attributed to the machine, where the baseline's server failed as well. It is
high, because passing over a safe candidate costs less than recommending one that crashes."""


@dataclass(frozen=True, slots=True)
class Failures:
    """How often a candidate's server failed: it died, hung, ran out of memory or refused to start."""

    failed: int
    trials: int


def unsafe(failures: Mapping[str, Failures], baseline: str) -> frozenset[str]:
    """Return the candidates whose servers failed more often than the baseline's.

    Where the baseline's server never failed, one failure is enough. Where it did, the machine or the load may make every server
    fail, so a candidate is unsafe only if its excess is unlikely to be chance (Fisher's exact test, one-sided, p value below
    0.2).
    """
    reference = failures.get(baseline, Failures(0, 0))
    return frozenset(
        name
        for name, one in failures.items()
        if name != baseline
        and one.failed > reference.failed
        and (not reference.failed or _chance_of_as_many(one, reference) < _CHANCE_OF_FAILURES)
    )


def _chance_of_as_many(one: Failures, reference: Failures) -> float:
    """Return the probability of at least this many failures, were both equally likely to fail (hypergeometric tail)."""
    failed = one.failed + reference.failed
    ways = [comb(one.trials, k) * comb(reference.trials, failed - k) for k in range(one.failed, min(failed, one.trials) + 1)]
    return sum(ways) / comb(one.trials + reference.trials, failed)


_LOOKS_APART = 1.05
"""The next look is due at this multiple of the trials of the last one: a decision is at most a twentieth late, and looks cost
little."""


def is_due(trials: int, looked: int) -> bool:
    """Return whether a look is due after `trials` trials, if the last look was after `looked`; 0 if there was none."""
    return trials >= _LOOKS_APART * looked
