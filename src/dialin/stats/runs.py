"""Whole runs compared with each other: runs that somebody else made, in an order and a number that nobody planned."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dialin.model.verdict import CandidateState, Estimate, Outcome
from dialin.stats.blocks import WIDEST, Fit, Observation, components, fit
from dialin.stats.quantiles import tukey_quantile

_Array = NDArray[np.float64]

_STANDSTILL = 0.01
"""A run counts as at least this share of the median of all: a server that stood still has no logarithm."""
_ROUNDING = 1e-9
"""Differences smaller than this are the arithmetic's, not the server's."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What runs say of candidates that ran with all else alike.

    Attributes:
        names: the candidates that can be compared, by chains of others where need be; none where no two met.
        repeated: those of them with two runs and more to compare; for no other one is there an interval.
        met: of each candidate, how many runs have one of another candidate to be compared with.
        sd: standard deviation of one run among those of its candidate, all else alike, on the log scale; None where nothing was
            repeated.
    """

    names: tuple[str, ...]
    repeated: tuple[str, ...]
    met: Mapping[str, int]
    sd: float | None
    _effects: Mapping[str, float]
    _fit: Fit | None
    _own: Mapping[tuple[str, str], tuple[float, int]]

    def ratio(self, a: str, b: str, alpha: float) -> Estimate | None:
        """Return one candidate's figure as a ratio to another's.

        The interval is that of `Fit.ratio` for the candidates that were repeated. It is widened to that of Games and Howell
        (Journal of Educational Statistics 1, 1976), by the spread of each candidate's own runs, where that is the wider one,
        since candidates are not equally steady. All of them hold together with probability 1 - alpha, as far as what differs
        from run to run is chance.

        Returns:
            The ratio; without an interval where one of the two was not repeated; None where they cannot be compared.
        """
        if a not in self._effects or b not in self._effects:
            return None
        if a == b:
            return Estimate(mean=1.0, low=1.0, high=1.0)
        if self._fit is None or a not in self.repeated or b not in self.repeated:
            return Estimate(mean=math.exp(self._effects[a] - self._effects[b]), low=None, high=None)
        found = self._fit.ratio(a, b, alpha)
        if found.high is None:
            return found
        error, dof = self._own[a, b]
        half = max(math.log(found.high / found.mean), tukey_quantile(len(self.repeated), dof, alpha) * error)
        half = min(half, WIDEST)
        return Estimate(mean=found.mean, low=found.mean * math.exp(-half), high=found.mean * math.exp(half))


def compare(observations: Sequence[Observation], names: Sequence[str]) -> Comparison:
    """Compare candidates by whole runs.

    Args:
        observations: one for each distinct run; its stratum is all that could matter beside the candidate.
        names: every candidate.

    Raises:
        ValueError: a figure is negative or not a number.
    """
    group = max(
        components(observations, names), key=lambda one: (sum(seen.candidate in one for seen in observations), len(one))
    )
    met = _met(observations, names)
    if len(group) < 2:
        return Comparison((), (), _counts(met, names), None, {}, None, {})
    fitted = fit(observations, group)
    again = _repeated([seen for seen in met if seen.candidate in group])
    repeated = tuple(name for name in group if any(seen.candidate == name for seen in again))
    proven = fit(again, repeated) if repeated else None
    if proven is not None and proven.dof == 0:
        proven = None
    return Comparison(
        names=group if fitted else (),
        repeated=repeated if proven else (),
        met=_counts(met, names),
        sd=proven.sd if proven else None,
        _effects=dict(zip(fitted.names, fitted.effects, strict=True)) if fitted else {},
        _fit=proven,
        _own=_own_errors(again, proven) if proven else {},
    )


@dataclass(frozen=True, slots=True)
class Standings:
    """How candidates came out.

    Attributes:
        outcome: what was found; a winner only where every other candidate was repeated and is surely worse.
        winners: the best one, and those that tie with it; empty where nothing was found.
        states: of each candidate.
        leader: the best of those that can be compared, whether that is sure or not; None where none can.
    """

    outcome: Outcome
    winners: tuple[str, ...]
    states: Mapping[str, CandidateState]
    leader: str | None


def judge(
    comparison: Comparison,
    names: Sequence[str],
    baseline: str,
    *,
    alpha: float,
    worthwhile: float,
    barred: Collection[frozenset[str]] = (),
) -> Standings:
    """Tell which candidates are surely better, by figures of which more is better.

    Args:
        comparison: of the figures.
        names: every candidate.
        baseline: the leader among equal ones.
        alpha: the error that all intervals together may make.
        worthwhile: the smallest relative difference that matters.
        barred: pairs that something else could tell apart as well, so that nothing is claimed of them.
    """
    states = dict.fromkeys(names, CandidateState.OPEN)
    leader = _leader(comparison, comparison.names, baseline)
    best = _leader(comparison, comparison.repeated, baseline)
    if best is None:
        return Standings(Outcome.UNRESOLVED, (), states, leader)
    for name in comparison.repeated:
        ratio = comparison.ratio(name, best, alpha)
        if name == best or ratio is None or ratio.low is None or ratio.high is None or frozenset({name, best}) in barred:
            continue
        band = (1 + worthwhile) * (1 + _ROUNDING)
        if ratio.low >= 1 / band and ratio.high <= band:
            states[name] = CandidateState.TIES
        elif ratio.high < 1:
            states[name] = CandidateState.LOSES
    others = {state for name, state in states.items() if name != best}
    if CandidateState.OPEN in others:
        return Standings(Outcome.UNRESOLVED, (), states, leader)
    if others == {CandidateState.LOSES}:
        return Standings(Outcome.WINNER, (best,), {**states, best: CandidateState.WINS}, leader)
    states[best] = CandidateState.TIES
    winners = tuple(name for name in names if states[name] is CandidateState.TIES)
    if len(winners) < len(names):
        return Standings(Outcome.TIE, winners, states, leader)
    return Standings(Outcome.NO_WORTHWHILE_DIFFERENCE, winners, states, leader)


def weighed(values: Sequence[float], weights: Sequence[float]) -> float | None:
    """Return the weighted mean; None where nothing weighs."""
    total = float(np.sum(weights))
    return float(np.asarray(values, dtype=float) @ np.asarray(weights, dtype=float)) / total if total > 0 else None


def all_below(a: Sequence[float], b: Sequence[float], by: float) -> bool:
    """Tell whether one candidate's figures all lie below another's, and their middle by at least so much, relative."""
    return bool(a) and bool(b) and max(a) < min(b) and float(np.median(a)) * (1 + by) <= float(np.median(b))


def spread(values: Sequence[float]) -> float:
    """Return by how much the highest of positive figures exceeds the lowest, relative; 0 for fewer than two."""
    return max(values) / min(values) - 1 if len(values) > 1 and min(values) > 0 else 0.0


def _met(observations: Sequence[Observation], names: Sequence[str]) -> list[Observation]:
    """Return the observations in strata that hold another candidate's as well."""
    candidates: dict[Hashable, set[str]] = {}
    for seen in observations:
        if seen.candidate in names:
            candidates.setdefault(seen.stratum, set()).add(seen.candidate)
    return [seen for seen in observations if len(candidates.get(seen.stratum, ())) > 1]


def _counts(observations: Sequence[Observation], names: Sequence[str]) -> dict[str, int]:
    return {name: sum(seen.candidate == name for seen in observations) for name in names}


def _repeated(observations: Sequence[Observation]) -> list[Observation]:
    """Return what remains once candidates with fewer than two runs to compare are left out, and who met only those."""
    while True:
        names = list(dict.fromkeys(seen.candidate for seen in observations))
        counts = _counts(observations, names)
        often = [seen for seen in observations if counts[seen.candidate] > 1]
        left = _met(often, names)
        if left and len(groups := components(left, list(dict.fromkeys(seen.candidate for seen in left)))) > 1:
            widest = max(groups, key=len)
            left = [seen for seen in left if seen.candidate in widest]
        if len(left) == len(observations):
            return left
        observations = left


def _leader(comparison: Comparison, names: Sequence[str], baseline: str) -> str | None:
    def rank(name: str) -> tuple[float, bool]:
        ratio = comparison.ratio(name, names[0], 0.5)
        return round(math.log(ratio.mean), 9) if ratio else -math.inf, name == baseline

    return max(names, key=rank) if names else None


def _own_errors(observations: Sequence[Observation], fitted: Fit) -> dict[tuple[str, str], tuple[float, int]]:
    """Return the standard error of each difference from the spread of the two candidates' own runs, and its degrees of freedom.

    Each candidate's variance comes from its own residuals, divided by the degrees of freedom that they have left (one less the
    leverage of each); the degrees of freedom of the sum are Satterthwaite's.
    """
    values = np.array([seen.value for seen in observations])
    y = np.log(np.maximum(values, _STANDSTILL * float(np.median(values[values > 0]))))
    strata = list(dict.fromkeys(seen.stratum for seen in observations))
    number = np.array([fitted.names.index(seen.candidate) for seen in observations])
    design = np.zeros((y.size, len(strata) + len(fitted.names)))
    design[np.arange(y.size), [strata.index(seen.stratum) for seen in observations]] = 1
    design[np.arange(y.size), len(strata) + number] = 1
    solve = np.linalg.pinv(design)
    residuals = y - design @ (solve @ y)
    left = 1 - np.einsum("ij,ji->i", design, solve)
    dof = np.bincount(number, weights=left)
    variance = np.bincount(number, weights=residuals**2) / np.maximum(dof, 1e-9)
    found = {}
    for i, a in enumerate(fitted.names):
        for j, b in enumerate(fitted.names):
            weights = (solve[len(strata) + i] - solve[len(strata) + j]) ** 2
            parts = np.bincount(number, weights=weights, minlength=dof.size) * variance
            total = float(parts.sum())
            worth = total**2 / float((parts**2 / np.maximum(dof, 1e-9)).sum()) if total > 0 else 1.0
            found[a, b] = math.sqrt(total), max(1, int(worth))
    return found
