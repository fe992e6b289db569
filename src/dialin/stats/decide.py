"""From trials to a decision: which candidates win, tie or lose, and what the study could have told apart."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low

from scipy.special import stdtrit

from dialin.model.verdict import CandidateState, Estimate, Outcome
from dialin.stats.blocks import WIDEST, Fit, Observation, components, fit, t_quantile, throughput, tukey_quantile

_POWER = 0.8
_MOST_BLOCKS = 1_000_000
_PLENTY = 100_000
"""Degrees of freedom that are as good as any number."""
_ROUNDING = 1e-9
"""Differences smaller than this are the arithmetic's, not the server's."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the trials say so far.

    Attributes:
        outcome: what was found.
        winners: the leader, and those that tie with it; empty unless the outcome is a winner or a tie.
        states: how each candidate came out.
        ratios: throughput of each candidate as a ratio to the baseline's; None where the two cannot be compared.
        throughput: of each candidate, in the unit of the observations; None where it has no trial.
        sd: standard deviation of one trial within its stratum, on the log scale, or None while it is unknown.
        dof: degrees of freedom of `sd`.
        blocks: how many trials the typical candidate has.
        detectable: the smallest relative difference between two candidates that so many blocks would tell apart at this
            noise four times out of five, or None while the noise is unknown.
        blocks_needed: after how many complete blocks in all, about, every pair of candidates would be decided at this noise,
            a million at most; None while the noise is unknown.
    """

    outcome: Outcome
    winners: tuple[str, ...]
    states: dict[str, CandidateState]
    ratios: dict[str, Estimate | None]
    throughput: dict[str, Estimate | None]
    sd: float | None
    dof: int
    blocks: int
    detectable: float | None
    blocks_needed: int | None


def decide(
    observations: Sequence[Observation],
    names: Sequence[str],
    baseline: str,
    *,
    alpha: float,
    worthwhile: float,
    one: Sequence[frozenset[str]] = (),
) -> Decision:
    """Judge all candidates at once.

    The leader is the candidate of the highest estimate. Another one is close to it when the interval of their ratio lies
    within 1 / (1 + worthwhile) to 1 + worthwhile, or when both are known to be the same; it loses when its interval lies
    wholly below 1; else it is open. Nothing depends on the order or the names of candidates, or on the unit of throughput.

    Args:
        observations: the trials that ended well.
        names: every candidate of the study. One without an observation has failed and is not compared.
        baseline: the candidate that ratios are taken to.
        alpha: the error that all intervals together may make at this look.
        worthwhile: the smallest relative difference that matters.
        one: groups of candidates that are known, before any statistics, to be the same setting in force.
    """
    present = [name for name in names if any(seen.candidate == name for seen in observations)]
    fitted = _widest_fit(observations, present, baseline)
    states = dict.fromkeys(names, CandidateState.FAILED) | dict.fromkeys(present, CandidateState.OPEN)
    group = _groups(names, one)
    outcome, winners = Outcome.UNRESOLVED, tuple[str, ...]()
    if _all_one(names, present, group):
        outcome = Outcome.NO_WORTHWHILE_DIFFERENCE
        states |= dict.fromkeys(present, CandidateState.TIES)
    elif fitted is not None and fitted.dof > 0:
        leader = _leader(fitted, baseline)
        states |= _standings(fitted, leader, group, alpha, worthwhile)
        outcome, winners, states = _outcome(states, leader)
    level = throughput(observations, present, alpha)
    return Decision(
        outcome=outcome,
        winners=winners,
        states=states,
        ratios={name: _ratio(fitted, name, baseline, alpha) if name in present else None for name in names},
        throughput={name: level.get(name) for name in names},
        sd=fitted.sd if fitted else None,
        dof=fitted.dof if fitted else 0,
        blocks=median_low([sum(seen.candidate == name for seen in observations) for name in present]) if present else 0,
        detectable=_detectable(fitted, alpha),
        blocks_needed=_blocks_needed(fitted, alpha, worthwhile),
    )


def _widest_fit(observations: Sequence[Observation], present: Sequence[str], baseline: str) -> Fit | None:
    """Fit all candidates that have trials or, where they fall apart, those connected to each other by most trials."""
    if not present:
        return None
    trials = {name: sum(seen.candidate == name for seen in observations) for name in present}
    widest = max(components(observations, present), key=lambda group: (sum(trials[name] for name in group), baseline in group))
    return fit(observations, widest)


def _groups(names: Sequence[str], one: Sequence[frozenset[str]]) -> dict[str, frozenset[str]]:
    group = {name: frozenset({name}) for name in names}
    for same in one:
        merged = frozenset().union(*(group[name] for name in names if name in same))
        group |= dict.fromkeys(merged, merged)
    return group


def _all_one(names: Sequence[str], present: Sequence[str], group: Mapping[str, frozenset[str]]) -> bool:
    """Tell whether there is nothing to compare: all candidates are one setting, or all of several that have trials."""
    compared = present if len(present) > 1 else names
    return bool(present) and len({group[name] for name in compared}) == 1


def _leader(fitted: Fit, baseline: str) -> str:
    """Return the candidate of the highest estimate; among equal ones the baseline."""

    def rank(index: int) -> tuple[float, bool]:
        return round(fitted.effects[index], 9), fitted.names[index] == baseline

    return fitted.names[max(range(len(fitted.names)), key=rank)]


def _standings(
    fitted: Fit, leader: str, group: Mapping[str, frozenset[str]], alpha: float, worthwhile: float
) -> dict[str, CandidateState]:
    """Return how each other candidate of the fit stands to the leader.

    What is found of a candidate holds for every other one that is known to be the same.
    """
    states = {}
    for name in fitted.names:
        pairs = [(a, b) for a in group[name] for b in group[leader] if a in fitted.names and b in fitted.names]
        ratios = [fitted.ratio(a, b, alpha) for a, b in pairs]
        if group[name] == group[leader] or any(_within(ratio, worthwhile) for ratio in ratios):
            states[name] = CandidateState.TIES
        elif any(ratio.high is not None and ratio.high < 1 for ratio in ratios):
            states[name] = CandidateState.LOSES
        else:
            states[name] = CandidateState.OPEN
    return states


def _within(ratio: Estimate, worthwhile: float) -> bool:
    if ratio.low is None or ratio.high is None:
        return False
    band = (1 + worthwhile) * (1 + _ROUNDING)
    return ratio.low >= 1 / band and ratio.high <= band


def _outcome(states: Mapping[str, CandidateState], leader: str) -> tuple[Outcome, tuple[str, ...], dict[str, CandidateState]]:
    """Return the outcome, the winners, and the states with the leader's own; here the leader ties with itself."""
    found = set(states.values()) - {CandidateState.FAILED}
    if CandidateState.OPEN in found:
        return Outcome.UNRESOLVED, (), {**states, leader: CandidateState.OPEN}
    if found == {CandidateState.TIES}:
        return Outcome.NO_WORTHWHILE_DIFFERENCE, (), dict(states)
    winners = tuple(name for name, state in states.items() if state is CandidateState.TIES)
    if len(winners) == 1:
        return Outcome.WINNER, winners, {**states, leader: CandidateState.WINS}
    return Outcome.TIE, winners, dict(states)


def _ratio(fitted: Fit | None, name: str, baseline: str, alpha: float) -> Estimate | None:
    if name == baseline:
        return Estimate(mean=1.0, low=1.0, high=1.0)
    if fitted is None or name not in fitted.names or baseline not in fitted.names:
        return None
    return fitted.ratio(name, baseline, alpha)


def _detectable(fitted: Fit | None, alpha: float) -> float | None:
    if fitted is None or fitted.sd is None:
        return None
    strata = median_low([dof for i, row in enumerate(fitted.paired_dof) for dof in row[:i]])
    reach = max(tukey_quantile(len(fitted.names), fitted.dof, alpha), t_quantile(strata, alpha) if strata else 0.0)
    reach += t_quantile(fitted.dof, 2 * (1 - _POWER))
    return math.expm1(min(reach * fitted.sd * math.sqrt(fitted.typical_variance), WIDEST))


def _blocks_needed(fitted: Fit | None, alpha: float, worthwhile: float) -> int | None:
    """Return after how many complete blocks an interval reaches half of what is worthwhile to each side.

    From there on every pair is decided: a difference larger than that half excludes 1, any other one keeps its interval
    within the band. Tukey's quantile is taken to follow Bonferroni's from one number of blocks to another, which is quick
    and right to about a hundredth.
    """
    if fitted is None or fitted.sd is None:
        return None
    k, sd = len(fitted.names), fitted.sd

    def bonferroni(dof: int) -> float:
        return float(stdtrit(dof, 1 - alpha / (k * (k - 1))))

    ratio = tukey_quantile(k, _PLENTY, alpha) / bonferroni(_PLENTY)

    def reach(blocks: int) -> float:
        quantile = max(ratio * bonferroni((blocks - 1) * (k - 1)), float(stdtrit(blocks - 1, 1 - alpha / 2)))
        return quantile * sd * math.sqrt(2 / blocks)

    counts = range(2, _MOST_BLOCKS)
    return counts[bisect_left(counts[:-1], -math.log1p(worthwhile) / 2, key=lambda blocks: -reach(blocks))]
