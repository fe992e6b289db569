"""Whole runs compared with each other: runs that somebody else made, in an order and a number that nobody planned."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from dialin.model.verdict import CandidateState, Estimate, Outcome
from dialin.stats.blocks import WIDEST, Observation, components, fit
from dialin.stats.quantiles import tukey_quantile

_Array = NDArray[np.float64]

_STANDSTILL = 0.01
"""A run counts as at least this share of the median of all: a server that stood still has no logarithm."""
_INTERACTION, _FACTOR = 0.05, 0.01
"""The p values below which a ratio is said to depend on the cell, and on one factor of it."""
_FEWEST_CELLS, _APART = 4, 5.0
"""Cells, and how many times as far apart as wide two groups of them lie, where a factor has one cell for each value."""
_ROUNDING = 1e-9
"""Differences smaller than this are the arithmetic's, not the server's."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What runs say of candidates, compared within cells: runs in which all else was alike.

    Attributes:
        names: the candidates that can be compared, by chains of others where need be; none where no two met in a cell.
        repeated: those of them that were run again inside a cell; for no other one is there an interval.
        met: of each candidate, how many runs have one of another candidate in their cell.
        again: of each candidate, how many of these are repeats inside a cell: runs beyond the first.
        sd: standard deviation of one run among those of its candidate in its cell, on the log scale; None without repeats.
        cells: by pair of candidates, the log ratio of the first to the second in each cell where both ran.
    """

    names: tuple[str, ...]
    repeated: tuple[str, ...]
    met: Mapping[str, int]
    again: Mapping[str, int]
    sd: float | None
    cells: Mapping[tuple[str, str], Mapping[Hashable, float]]
    _effects: Mapping[str, float]
    _errors: Mapping[tuple[str, str], float]
    _own: Mapping[tuple[str, str], tuple[float, int]]
    _dof: int
    _depends: frozenset[frozenset[str]]

    def ratio(self, a: str, b: str, alpha: float) -> Estimate | None:
        """Return one candidate's figure as a ratio to another's.

        The interval is Tukey and Kramer's, by the spread of runs inside a cell, or that of Games and Howell (Journal of
        Educational Statistics 1, 1976), by the spread of the two candidates' own runs, where that is wider. What differs from
        one start or one cell to another is no part of that spread, so a run in another cell is no repeat. Where candidates
        differ from cell to cell by more than runs in a cell do, that larger spread is taken. All intervals hold together with
        probability 1 - alpha, as far as what differs from run to run is chance.

        Returns:
            The ratio; without an interval where one of the two was not repeated in a cell, or where the ratio depends on the
            cell; None where they cannot be compared.
        """
        if a not in self._effects or b not in self._effects:
            return None
        if a == b:
            return Estimate(mean=1.0, low=1.0, high=1.0)
        mean = math.exp(self._effects[a] - self._effects[b])
        if not {a, b} <= set(self.repeated) or self.depends(a, b):
            return Estimate(mean=mean, low=None, high=None)
        error, dof = self._own[a, b]
        count = len(self.names)
        half = max(tukey_quantile(count, self._dof, alpha) * self._errors[a, b], tukey_quantile(count, dof, alpha) * error)
        half = min(half, WIDEST)
        return Estimate(mean=mean, low=mean * math.exp(-half), high=mean * math.exp(half))

    def depends(self, a: str, b: str) -> bool:
        """Return whether the ratio of two candidates differs between cells by more than chance, and changes its sign."""
        return frozenset({a, b}) in self._depends


def compare(observations: Sequence[Observation], names: Sequence[str]) -> Comparison:
    """Compare candidates by whole runs.

    Args:
        observations: one for each distinct run; its stratum is the cell, all that could matter beside the candidate.
        names: every candidate.

    Raises:
        ValueError: a figure is negative or not a number.
    """
    group = max(
        components(observations, names), key=lambda one: (sum(seen.candidate in one for seen in observations), len(one))
    )
    met = _met(observations, names)
    fitted = fit(observations, group) if len(group) > 1 else None
    if fitted is None:
        return Comparison((), (), _counts(met, names), _again(met, names), None, {}, {}, {}, {}, 0, frozenset())
    own = [seen for seen in met if seen.candidate in group]
    logs = _log_means(own)
    cells = {(a, b): _per_cell(logs, a, b) for a in group for b in group if a != b}
    again = _again(own, names)
    dof = sum(again.values())
    variance = sum(_squares(own).values()) / dof if dof else 0.0
    spread = max(variance, fitted.sd**2 if fitted.sd is not None else 0.0)
    covariance = np.array(fitted.covariance)
    errors = {
        (a, b): math.sqrt(spread * float(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]))
        for i, a in enumerate(fitted.names)
        for j, b in enumerate(fitted.names)
        if i != j
    }
    return Comparison(
        names=group,
        repeated=_with_intervals(group, again, cells) if dof else (),
        met=_counts(met, names),
        again=again,
        sd=math.sqrt(variance) if dof else None,
        cells=cells,
        _effects=dict(zip(fitted.names, fitted.effects, strict=True)),
        _errors=errors,
        _own=_own_errors(own, fitted.names, again),
        _dof=dof,
        _depends=frozenset(frozenset(pair) for pair in cells if _depends(own, pair, cells[pair], variance, dof)),
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


def _again(observations: Sequence[Observation], names: Sequence[str]) -> dict[str, int]:
    """Return how many runs of each candidate are repeats: in the cell of an earlier one."""
    in_cells = Counter((seen.stratum, seen.candidate) for seen in observations)
    return {name: sum(count - 1 for (_, candidate), count in in_cells.items() if candidate == name) for name in names}


def _with_intervals(
    group: Sequence[str], again: Mapping[str, int], cells: Mapping[tuple[str, str], Mapping[Hashable, float]]
) -> tuple[str, ...]:
    """Return the candidates that were repeated in a cell; one that was not has nothing to tell its luck from its merit."""
    return tuple(name for name in group if again[name] and any(cells[name, other] for other in group if other != name))


def _logs(observations: Sequence[Observation]) -> list[float]:
    values = np.array([seen.value for seen in observations])
    moving = values[values > 0]
    least = _STANDSTILL * float(np.median(moving)) if moving.size else 1.0
    return [float(one) for one in np.log(np.maximum(values, least))]


def _log_means(observations: Sequence[Observation]) -> dict[tuple[Hashable, str], float]:
    """Return the mean logarithm of each candidate in each cell."""
    grouped: dict[tuple[Hashable, str], list[float]] = {}
    for seen, log in zip(observations, _logs(observations), strict=True):
        grouped.setdefault((seen.stratum, seen.candidate), []).append(log)
    return {key: fmean(logs) for key, logs in grouped.items()}


def _squares(observations: Sequence[Observation]) -> dict[str, float]:
    """Return the sum of squares of each candidate's runs about their mean in the cell."""
    means = _log_means(observations)
    squares: dict[str, float] = {}
    for seen, log in zip(observations, _logs(observations), strict=True):
        squares[seen.candidate] = squares.get(seen.candidate, 0.0) + (log - means[seen.stratum, seen.candidate]) ** 2
    return squares


def _own_errors(
    observations: Sequence[Observation], names: Sequence[str], again: Mapping[str, int]
) -> dict[tuple[str, str], tuple[float, int]]:
    """Return the standard error of each difference from the spread of the two candidates' own runs, and its degrees of freedom.

    The variance of each candidate is that of its runs inside a cell; the degrees of freedom of the sum are Satterthwaite's.
    """
    squares = _squares(observations)
    variance = np.array([squares[name] / again[name] if again[name] else 0.0 for name in names])
    free = np.array([max(again[name], 1) for name in names])
    strata = list(dict.fromkeys(seen.stratum for seen in observations))
    number = np.array([names.index(seen.candidate) for seen in observations])
    design = np.zeros((len(observations), len(strata) + len(names)))
    design[np.arange(len(observations)), [strata.index(seen.stratum) for seen in observations]] = 1
    design[np.arange(len(observations)), len(strata) + number] = 1
    solve = np.linalg.pinv(design)
    found = {}
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            weights = (solve[len(strata) + i] - solve[len(strata) + j]) ** 2
            parts = np.bincount(number, weights=weights, minlength=len(names)) * variance
            total = float(parts.sum())
            found[a, b] = math.sqrt(total), max(1, int(total**2 / float((parts**2 / free).sum()))) if total > 0 else 1
    return found


def _per_cell(logs: Mapping[tuple[Hashable, str], float], a: str, b: str) -> dict[Hashable, float]:
    return {cell: log - logs[cell, b] for (cell, name), log in logs.items() if name == a and (cell, b) in logs}


def _depends(
    observations: Sequence[Observation], pair: tuple[str, str], cells: Mapping[Hashable, float], variance: float, dof: int
) -> bool:
    """Return whether a pair's ratio changes its sign between cells by more than runs in a cell vary (F test, p < 0.05)."""
    ratios = list(cells.values())
    if len(ratios) < 2 or dof == 0 or min(ratios) >= 0 or max(ratios) <= 0:
        return False
    if variance == 0:
        return True
    counts = Counter((seen.stratum, seen.candidate) for seen in observations)
    weights = [1 / (1 / counts[cell, pair[0]] + 1 / counts[cell, pair[1]]) for cell in cells]
    mean = sum(w * r for w, r in zip(weights, ratios, strict=True)) / sum(weights)
    between = sum(w * (r - mean) ** 2 for w, r in zip(weights, ratios, strict=True)) / (len(ratios) - 1)
    return float(fdtrc(len(ratios) - 1, dof, between / variance)) < _INTERACTION


def factor_of(cells: Mapping[Hashable, float], values: Mapping[Hashable, str]) -> bool:
    """Return whether the ratios of a pair in its cells depend on one factor of the cells.

    That is an F test between the values of the factor within which cells repeat (p < 0.01). Where no value has two cells, the
    ratios must fall into two groups of different sign, five times as far apart as either is wide: four normal figures do so in
    3.5 % of cases, five and more in 1 %.

    Args:
        cells: log ratios by cell.
        values: the factor's value in each cell.
    """
    groups: dict[str, list[float]] = {}
    for cell, ratio in cells.items():
        groups.setdefault(values[cell], []).append(ratio)
    if len(groups) < 2 or min(cells.values()) >= 0 or max(cells.values()) <= 0:
        return False
    dof = sum(len(own) - 1 for own in groups.values())
    if dof:
        means = {value: fmean(own) for value, own in groups.items()}
        within = sum((ratio - means[value]) ** 2 for value, own in groups.items() for ratio in own) / dof
        overall = fmean(cells.values())
        between = sum(len(own) * (means[value] - overall) ** 2 for value, own in groups.items()) / (len(groups) - 1)
        return within == 0 or float(fdtrc(len(groups) - 1, dof, between / within)) < _FACTOR
    if len(cells) < _FEWEST_CELLS:
        return False
    low, high = sorted(r for r in cells.values() if r < 0), sorted(r for r in cells.values() if r > 0)
    return high[0] - low[-1] > _APART * max(low[-1] - low[0], high[-1] - high[0])


def _leader(comparison: Comparison, names: Sequence[str], baseline: str) -> str | None:
    def rank(name: str) -> tuple[float, bool]:
        ratio = comparison.ratio(name, names[0], 0.5)
        return round(math.log(ratio.mean), 9) if ratio else -math.inf, name == baseline

    return max(names, key=rank) if names else None
