"""Comparison of whole runs that were made elsewhere, in an order and a number that nobody planned.

Runs are compared within cells only: sets of runs that are alike in everything but the candidate. Noise from run to run is what
the runs of one candidate in one cell differ by, and nothing else. A study plans its repeats and restarts the server for each
trial. Here it is not known which runs shared one start of the server, with its state of caches and files. One start may have
served all cells of a candidate (each thread count in turn), so cells are never taken for repeats of each other: see
`Comparison.ratio`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

from dialin.model.verdict import AgainstBest, Estimate, Outcome
from dialin.stats.blocks import WIDEST, Observation, components, estimate_of_logs, fit, log_values, tukey_quantile
from dialin.stats.standings import ROUNDING, leader_of, outcome_of, state_against_best, state_of_best
from dialin.stats.window import Series

_Array = NDArray[np.float64]

START_SD = 0.015
"""How much the throughput of one server differs from start to start, a standard deviation on the log scale.

That is what published series of one setting differ by; it is allowed for where repeats may be runs of one start.
"""
_MANY = 1_000_000
"""Degrees of freedom of a standard deviation that is known."""
_INTERACTION = 0.05
"""The error at which cells are taken to differ in the ratio of two candidates."""

_Groups = Mapping[tuple[Hashable, str], _Array]
"""The logarithms of the runs of each candidate in each cell."""


@dataclass(frozen=True, slots=True)
class RunNoise:
    """How much the runs of one candidate in one cell differ.

    Attributes:
        variance: of one run, on the log scale.
        dof: its degrees of freedom: those of the cell with the most runs, because all cells may rest on the same starts.
    """

    variance: float
    dof: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of candidates by their runs, cell by cell and over all cells.

    Attributes:
        names: the candidates that can be compared: the largest set that common cells connect; empty where no two share a cell.
        repeated: those of `names` with two or more runs in one cell; only these have intervals.
        met: for each candidate, how many of its runs share a cell with another candidate.
        cells: the cells in which two or more candidates ran.
        ranks: for each of `names`, its figure on the log scale by least squares, less the mean of all.
        sd: standard deviation of one run among those of its candidate in its cell, on the log scale; None where nothing was
            repeated.
    """

    names: tuple[str, ...]
    repeated: tuple[str, ...]
    met: Mapping[str, int]
    cells: tuple[Hashable, ...]
    ranks: Mapping[str, float]
    sd: float | None
    _groups: _Groups
    _noise: Mapping[str, RunNoise]
    _start_sd: Mapping[str, float]

    @property
    def allows_for_starts(self) -> bool:
        """Whether any repeats may be runs of one start, for which intervals allow."""
        return any(name in self._start_sd for name in self.repeated)

    def shared(self, a: str, b: str) -> tuple[Hashable, ...]:
        """Return the cells in which both candidates ran."""
        return tuple(cell for cell in self.cells if (cell, a) in self._groups and (cell, b) in self._groups)

    def level(self, name: str, other: str) -> float:
        """Return the typical figure of a candidate over the cells that it shares with another one: a geometric mean.

        Cells have the weights that they have in `ratio`, so the quotient of two levels is the ratio.
        """
        return math.exp(sum(share * self._mean(cell, name) for cell, share in self._weights(name, other).items()))

    def ratio(self, a: str, b: str, alpha: float) -> Estimate | None:
        """Return one candidate's figure as a ratio to another's, over the cells in which both ran.

        It is the weighted geometric mean of the ratios within cells. Its standard error is at most the weighted mean of those
        within cells, however the errors of cells depend on each other (Minkowski's inequality), and that bound is what is
        used: more cells make no interval narrower. The interval is Tukey and Kramer's, widened to that of Games and Howell
        (Journal of Educational Statistics 1, 1976) where candidates are not equally steady. The intervals of all pairs hold
        together with probability 1 - alpha, as far as the differences from run to run are chance. Where the repeats of a
        candidate may be runs of one start of its server, the interval allows for what one start differs by from another.

        Returns:
            The ratio; without an interval where one of the two was not repeated; None where they share no cell.
        """
        if a == b:
            return Estimate(mean=1.0, low=1.0, high=1.0) if a in self.ranks else None
        weights = self._weights(a, b)
        if not weights:
            return None
        mean = sum(share * (self._mean(cell, a) - self._mean(cell, b)) for cell, share in weights.items())
        if a not in self.repeated or b not in self.repeated:
            return Estimate(mean=math.exp(mean), low=None, high=None)
        errors = {name: sum(share / math.sqrt(self._count(cell, name)) for cell, share in weights.items()) for name in (a, b)}
        return estimate_of_logs(mean, self._half_width(self._noise, (a, b), errors, alpha))

    def cell_ratio(self, cell: Hashable, a: str, b: str, alpha: float) -> Estimate | None:
        """Return the ratio within one cell, by the noise of that cell alone; `alpha` is that of the one cell."""
        if (cell, a) not in self._groups or (cell, b) not in self._groups:
            return None
        mean = self._mean(cell, a) - self._mean(cell, b)
        groups = {key: logs for key, logs in self._groups.items() if key[0] == cell}
        noise = _noise_of(groups)
        if a == b or a not in noise or b not in noise:
            return Estimate(mean=math.exp(mean), low=1.0 if a == b else None, high=1.0 if a == b else None)
        errors = {name: 1 / math.sqrt(self._count(cell, name)) for name in (a, b)}
        return estimate_of_logs(mean, self._half_width(noise, (a, b), errors, alpha))

    def repeated_cells(self) -> tuple[Hashable, ...]:
        """Return the cells in which two or more candidates were repeated."""
        repeated = Counter(cell for (cell, _), logs in self._groups.items() if logs.size > 1)
        return tuple(cell for cell in self.cells if repeated[cell] > 1)

    def interaction(self, a: str, b: str) -> float | None:
        """Return the probability that the ratios of two candidates differ at least so much between cells by chance.

        That is the F test of interaction in a two-way layout with repeats (Scheffé, The Analysis of Variance, 1959, section
        4.3), each cell's ratio weighted by the inverse of its variance.

        Returns:
            The probability; None where the two share fewer than two cells, or one was not repeated.
        """
        cells = self.shared(a, b)
        if len(cells) < 2 or a not in self.repeated or b not in self.repeated:
            return None
        noise_a, noise_b = self._noise[a], self._noise[b]
        pooled = _pooled(self._noise)
        starts = sum(self._start_sd.get(name, 0.0) ** 2 for name in (a, b))
        variances = np.array(
            [
                starts
                + max(
                    noise_a.variance / self._count(cell, a) + noise_b.variance / self._count(cell, b),
                    pooled.variance * (1 / self._count(cell, a) + 1 / self._count(cell, b)),
                )
                for cell in cells
            ]
        )
        ratios = np.array([self._mean(cell, a) - self._mean(cell, b) for cell in cells])
        precision = 1 / np.maximum(variances, ROUNDING**2)
        squares = precision @ (ratios - precision @ ratios / precision.sum()) ** 2
        return float(fdtrc(len(cells) - 1, noise_a.dof + noise_b.dof, squares / (len(cells) - 1)))

    def depends_on_cell(self, a: str, b: str) -> bool:
        """Return whether the ratio of two repeated candidates differs between cells by more than chance."""
        probability = self.interaction(a, b)
        return probability is not None and probability < _INTERACTION

    def agrees_in_sign(self, a: str, b: str) -> bool:
        """Return whether the same one of two candidates has the higher figure in every cell that they share."""
        return len({self._mean(cell, a) > self._mean(cell, b) for cell in self.shared(a, b)}) <= 1

    def _weights(self, a: str, b: str) -> dict[Hashable, float]:
        """Return the share of each common cell in the ratio of two candidates, by the harmonic mean of their runs there."""
        counts = {cell: (self._count(cell, a), self._count(cell, b)) for cell in self.shared(a, b)}
        weights = {cell: one * two / (one + two) for cell, (one, two) in counts.items()}
        total = sum(weights.values())
        return {cell: weight / total for cell, weight in weights.items()}

    def _half_width(
        self, noise: Mapping[str, RunNoise], pair: tuple[str, str], errors: Mapping[str, float], alpha: float
    ) -> float:
        of_starts = math.hypot(*(self._start_sd.get(name, 0.0) for name in pair))
        reach = tukey_quantile(len(noise), _MANY, alpha) * of_starts if of_starts else 0.0
        return min(math.hypot(_half_width(noise, pair, errors, alpha), reach), WIDEST)

    def _mean(self, cell: Hashable, name: str) -> float:
        return float(self._groups[cell, name].mean())

    def _count(self, cell: Hashable, name: str) -> int:
        return self._groups[cell, name].size


def compare(
    observations: Sequence[Observation], names: Sequence[str], start_sd: Mapping[str, float] | None = None
) -> Comparison:
    """Compare candidates by distinct runs; the stratum of a run is its cell: all that could matter except the candidate.

    `start_sd` has the candidates whose repeats may be runs of one start, with what one start differs by from another: a
    standard deviation on the log scale.
    """
    met = _met(observations, names)
    group = max(components(met, names), key=lambda one: (sum(run.candidate in one for run in met), len(one)))
    fitted = fit(met, group) if len(group) > 1 else None
    groups = _groups_of(met)
    noise = {name: one for name, one in _noise_of(groups).items() if fitted and name in group}
    repeated = tuple(name for name in group if name in noise)
    return Comparison(
        names=group if fitted else (),
        repeated=repeated,
        met={name: sum(run.candidate == name for run in met) for name in names},
        cells=tuple(dict.fromkeys(run.stratum for run in met)),
        ranks=dict(zip(fitted.names, fitted.effects, strict=True)) if fitted else {},
        sd=math.sqrt(_pooled(noise).variance) if noise else None,
        _groups=groups,
        _noise={name: noise[name] for name in repeated},
        _start_sd=start_sd or {},
    )


@dataclass(frozen=True, slots=True)
class Standings:
    """How candidates stand.

    Attributes:
        outcome: a winner only where every other candidate was repeated and is surely worse.
        winners: the best one, and those that tie with it; empty where the outcome is inconclusive.
    """

    outcome: Outcome
    winners: tuple[str, ...]
    states: Mapping[str, AgainstBest]


def rank_candidates(
    comparison: Comparison,
    names: Sequence[str],
    baseline: str,
    *,
    alpha: float,
    worthwhile: float,
    barred: Collection[frozenset[str]] = (),
) -> Standings:
    """Return which candidates are surely better; higher figures are better.

    Where the ratio of two candidates differs between cells, one is better only if it has the higher figure in every cell, and
    they are never equal. `barred` are pairs of candidates that are not compared.
    """
    states = dict.fromkeys(names, AgainstBest.INCONCLUSIVE)
    if not comparison.repeated:
        return Standings(Outcome.INCONCLUSIVE, (), states)
    best = leader_of(comparison.ranks, comparison.repeated, baseline)
    for name in comparison.repeated:
        ratio = comparison.ratio(name, best, alpha)
        if name == best or ratio is None or frozenset({name, best}) in barred:
            continue
        state = state_against_best(ratio, worthwhile)
        if not comparison.depends_on_cell(name, best) or (state is AgainstBest.LOSES and comparison.agrees_in_sign(name, best)):
            states[name] = state
    others = [state for name, state in states.items() if name != best]
    outcome = outcome_of(others)
    near = tuple(name for name in names if name == best or states[name] is AgainstBest.TIES)
    states[best] = state_of_best(outcome, others)
    return Standings(outcome, () if outcome is Outcome.INCONCLUSIVE else near, states)


def weighted_mean(values: Series, weights: Series) -> float | None:
    """Return the weighted mean; None where the weights add up to zero."""
    total = float(np.sum(weights))
    return float(np.asarray(values, dtype=float) @ np.asarray(weights, dtype=float)) / total if total > 0 else None


def all_below(a: Sequence[float], b: Sequence[float], by: float) -> bool:
    """Return whether all of one candidate's figures lie below another's, and their median by at least `by`, relative."""
    return bool(a) and bool(b) and max(a) < min(b) and float(np.median(a)) * (1 + by) <= float(np.median(b))


def spread(values: Sequence[float]) -> float:
    """Return by how much the highest of positive figures exceeds the lowest, relative; 0 for fewer than two."""
    return max(values) / min(values) - 1 if len(values) > 1 and min(values) > 0 else 0.0


def _met(observations: Sequence[Observation], names: Sequence[str]) -> list[Observation]:
    candidates: dict[Hashable, set[str]] = {}
    for run in observations:
        if run.candidate in names:
            candidates.setdefault(run.stratum, set()).add(run.candidate)
    return [run for run in observations if run.candidate in names and len(candidates[run.stratum]) > 1]


def _groups_of(observations: Sequence[Observation]) -> dict[tuple[Hashable, str], _Array]:
    logs = log_values(observations) if observations else None
    values: dict[tuple[Hashable, str], list[float]] = {}
    for index, one in enumerate(observations):
        values.setdefault((one.stratum, one.candidate), []).append(0.0 if logs is None else float(logs[index]))
    return {key: np.array(logs_of_group) for key, logs_of_group in values.items()}


def _noise_of(groups: _Groups) -> dict[str, RunNoise]:
    repeats: dict[str, list[_Array]] = {}
    for (_, name), logs in groups.items():
        if logs.size > 1:
            repeats.setdefault(name, []).append(logs)
    noise = {}
    for name, cells in repeats.items():
        squares = sum(float(((logs - logs.mean()) ** 2).sum()) for logs in cells)
        variance = squares / sum(logs.size - 1 for logs in cells)
        noise[name] = RunNoise(variance, max(logs.size for logs in cells) - 1)
    return noise


def _pooled(noise: Mapping[str, RunNoise]) -> RunNoise:
    dof = sum(one.dof for one in noise.values())
    return RunNoise(sum(one.dof * one.variance for one in noise.values()) / dof, dof)


def _half_width(noise: Mapping[str, RunNoise], pair: tuple[str, str], errors: Mapping[str, float], alpha: float) -> float:
    pooled = _pooled(noise)
    tukey_kramer = tukey_quantile(len(noise), pooled.dof, alpha) * math.sqrt(pooled.variance) * math.hypot(*errors.values())
    parts = [noise[name].variance * errors[name] ** 2 for name in pair]
    total = sum(parts)
    if total <= 0:
        return min(tukey_kramer, WIDEST)
    dof = total**2 / sum(part**2 / noise[name].dof for part, name in zip(parts, pair, strict=True))
    games_howell = tukey_quantile(len(noise), max(1, int(dof)), alpha) * math.sqrt(total)
    return min(max(tukey_kramer, games_howell), WIDEST)
