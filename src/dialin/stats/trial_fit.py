"""Trials on the time axis: differences between candidates on a machine that drifts, each candidate with its own noise.

The model is log(value) = candidate + drift(time) + noise. Drift is a smooth curve for each unbroken run of trials, not a step
for each block: it takes two or three degrees of freedom where blocks take one each, and all trials inform each other.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtri, stdtr, stdtrit

from dialin.model.verdict import Estimate
from dialin.stats.blocks import Observation, estimate_of_logs, log_values

_Array = NDArray[np.float64]

_MOST_WAVES = 12
"""Half waves that a run's drift is made of at most, beside a straight line: the fastest has six periods in the run."""
_TRIALS_OF_A_WAVE = 3
"""The fewest trials of a half wave: a faster one could take two candidates that alternate for drift."""
_AMPLITUDES = (0.5, 1.5, 5.0, 15.0, 50.0)
"""Standard deviations that the drift of a run may have, in units of one trial's noise."""
_SHAPES = (2.0, 4.0)
"""Powers by which the variance of a half wave falls with its number: a wandering curve (Brownian motion), and a smooth one."""
_NO_DRIFT = 1e12
"""The precision of a half wave where there is no drift at all."""
_SHIFT = 100.0
"""The standard deviation of a run's level about that of all runs, in units of one trial's noise: nothing is known of it."""

_LIKENESS = np.array([3.0, 6.0, 12.0, 24.0, 1e5])
"""Degrees of freedom by which each candidate's variance may be drawn towards the common one: from little to completely."""
_KNOWN = np.array([0.3, 4.0, 16.0])
"""Degrees of freedom that the noise expected of a trial may be worth."""
_OVER_SECONDS = 1.4
"""The variance of a trial that is expected before any is repeated, as a multiple of what its own seconds show."""
_OF_STARTS = 0.007
"""What is expected beside it: the standard deviation from one start to the next, low for published repeats (0.4 to 3.5 %)."""
_MUCH_NOISIER = 3.0
"""The ratio to the usual variance within trials from which on a candidate's seconds are noisier beyond doubt."""
_AT_THE_STOP = 1.25
"""The least half-width of an interval, in normal deviates of its confidence. A study stops when its figures look settled, and
are then further off than at a number of trials that was fixed beforehand; Student's quantile alone covers 89 to 96 %
(benchmarks/decide.py)."""
_ROUNDS = 3
"""Times that drift and variances are estimated from each other; the third changes intervals by less than a hundredth."""


@dataclass(frozen=True, slots=True)
class TimedTrial:
    """A completed trial.

    Attributes:
        run: the unbroken run of trials on one machine that it belongs to, e.g. (session, host): each has its own drift.
        at: the middle of its measured window, seconds on any clock of that machine.
        value: what it measured, in any unit that is the same for all trials, the higher the better; zero or more.
        error: relative standard error of the value by the trial's own seconds; 0 where it is not known.
    """

    run: Hashable
    candidate: str
    at: float
    value: float
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class FittedDifference:
    """The difference of two candidates on the log scale.

    Attributes:
        mean: the first one's effect minus the second one's.
        error: its standard error.
        dof: degrees of freedom of the error.
    """

    mean: float
    error: float
    dof: float

    def z(self, margin: float = 0.0) -> float:
        """Return by how many standard errors the difference exceeds -margin, as a standard normal variable.

        It is Student's t turned into the normal deviate of the same probability, so that thresholds do not depend on `dof`.
        """
        t = (self.mean + margin) / self.error
        return math.copysign(-float(ndtri(max(float(stdtr(self.dof, -abs(t))), 1e-300))), t)

    def ratio(self, alpha: float) -> Estimate:
        """Return it as a ratio, with the interval of this one ratio at 1 - alpha."""
        return estimate_of_logs(self.mean, _reach(self.dof, alpha) * self.error)


@dataclass(frozen=True, slots=True)
class TrialFit:
    """What trials say of the candidates that have any.

    Attributes:
        names: the candidates, in the order of all that follows.
        effects: the level of each on the log scale, at the machine's mean state over all trials.
        covariance: of the effects; what is not known of the drift is in it.
        variances: of one trial of each candidate about the drift.
        dof: degrees of freedom of each variance.
        total_dof: degrees of freedom of all of them together.
        trials: of each candidate.
        residual_sd: standard deviation of one trial about the drift, of all candidates together and by these trials alone.
        residual_dof: degrees of freedom of that.
    """

    names: tuple[str, ...]
    effects: _Array
    covariance: _Array
    variances: _Array
    dof: _Array
    total_dof: float
    trials: NDArray[np.int64]
    residual_sd: float
    residual_dof: float

    @property
    def sd(self) -> float:
        """Standard deviation of one trial about the drift, on the log scale: the typical candidate's."""
        return float(np.sqrt(np.median(self.variances)))

    def difference(self, a: str, b: str) -> FittedDifference:
        """Return the difference of two candidates; degrees of freedom are Satterthwaite's (Biometrics Bulletin 2, 1946).

        Raises:
            ValueError: a name is not one of the fit's.
        """
        i, j = self.names.index(a), self.names.index(b)
        squared = self.covariance[i, i] + self.covariance[j, j] - 2 * self.covariance[i, j]
        parts = self.variances[[i, j]] / self.trials[[i, j]]
        dof = parts.sum() ** 2 / (parts**2 / self.dof[[i, j]]).sum()
        return FittedDifference(
            float(self.effects[i] - self.effects[j]),
            math.sqrt(max(float(squared), 1e-24)),
            float(min(max(dof, 1.0), self.total_dof)),
        )

    def ratio(self, a: str, b: str, alpha: float) -> Estimate:
        """Return the value of one candidate as a ratio to another's, with the interval of this one ratio at 1 - alpha.

        Raises:
            ValueError: a name is not one of the fit's.
        """
        if a == b:
            return Estimate(mean=1.0, low=1.0, high=1.0)
        return self.difference(a, b).ratio(alpha)

    def effect(self, name: str) -> FittedDifference:
        """Return the logarithm of a candidate's level at the machine's mean state over all trials: its difference from 1.

        Raises:
            ValueError: the name is not one of the fit's.
        """
        index = self.names.index(name)
        error = math.sqrt(float(self.covariance[index, index]))
        return FittedDifference(float(self.effects[index]), error, float(self.dof[index]))

    def level(self, name: str, alpha: float) -> Estimate:
        """Return a candidate's level at the machine's mean state over all trials, in the unit of the values.

        Its ratio to another level is the ratio of the two candidates. The interval is that of this one level at 1 - alpha.
        """
        return self.effect(name).ratio(alpha)


def _reach(dof: float, alpha: float) -> float:
    return max(float(stdtrit(dof, 1 - alpha / 2)), _AT_THE_STOP * float(ndtri(1 - alpha / 2)))


def fit_trials(trials: Iterable[TimedTrial], names: Sequence[str]) -> TrialFit | None:
    """Estimate the levels of the named candidates that have trials.

    A run's drift is a straight line and half waves with normal priors; their sizes, from none to fifty times the noise, in a
    wandering and in a smooth shape, are averaged by their marginal likelihood, so that what is not known of the drift is in the
    intervals. The variances of candidates have a scaled inverse chi-squared prior about a common one, its weight averaged
    likewise (Smyth, Statistical Applications in Genetics 3, 2004, there with an estimated weight). A candidate whose seconds
    are noisier beyond doubt starts with a higher variance. No variance is lower than what a candidate's own seconds show.

    Returns:
        The fit; None where fewer than two candidates have trials, no candidate has two, or no trial has a value above zero.

    Raises:
        ValueError: a value is negative or not a number.
    """
    compared = frozenset(names)
    used = [trial for trial in trials if trial.candidate in compared]
    measured = {trial.candidate for trial in used}
    present = tuple(name for name in names if name in measured)
    logs = log_values([Observation(None, trial.candidate, trial.value) for trial in used])
    if logs is None or len(present) < 2 or len(used) == len(present):
        return None
    index_of = {name: index for index, name in enumerate(present)}
    candidates = np.array([index_of[trial.candidate] for trial in used])
    counts = np.bincount(candidates)
    within = np.bincount(candidates, weights=[trial.error**2 for trial in used]) / counts
    drift, precisions, prior = _drift(used)
    centre = float(logs.mean())
    design = np.hstack([np.eye(len(present))[candidates], drift])
    data = _Data(candidates, counts, design, logs - centre, within)
    return _fit(present, data, precisions, prior, centre)


def _drift(trials: Sequence[TimedTrial]) -> tuple[_Array, _Array, _Array]:
    """Return the columns of drift, and for each assumption about it the precisions of their coefficients and its log prior.

    Precisions are in units of one trial's. Columns are centred: an effect is the level at the mean state of the machine.
    """
    runs = list(dict.fromkeys(trial.run for trial in trials))
    of_run = np.array([runs.index(trial.run) for trial in trials])
    at = np.array([trial.at for trial in trials])
    columns: list[_Array] = []
    waves: list[_Array] = []
    for number in range(len(runs)):
        inside = of_run == number
        most = max(1, min(_MOST_WAVES, int(inside.sum()) // _TRIALS_OF_A_WAVE))
        waves.append(np.arange(1.0, most + 1))
        begin = float(at[inside].min())
        span = max(float(at[inside].max()) - begin, 1e-9)
        place = (at - begin) / span
        columns.append(inside[:, None] * np.column_stack([place - 0.5, np.cos(np.pi * np.outer(place, waves[-1]))]))
    shift = [1 / _SHIFT**2] * len(runs) if len(runs) > 1 else []
    if shift:
        columns.append((of_run[:, None] == np.arange(len(runs))).astype(float))
    rows = []
    for shape in _SHAPES:
        # The mean square of a straight line from -1/2 to 1/2 is a twelfth, that of a half wave one half.
        variances = np.concatenate([[12.0, *(2 * numbers**-shape / (numbers**-shape).sum())] for numbers in waves])
        rows += [[*(1 / (variances * amplitude**2)), *shift] for amplitude in _AMPLITUDES]
    log_priors = [math.log(0.5 / len(rows))] * len(rows)
    rows.append([*np.full(sum(1 + len(numbers) for numbers in waves), _NO_DRIFT), *shift])
    log_priors.append(math.log(0.5))
    together = np.hstack(columns)
    return together - together.mean(axis=0), np.array(rows), np.array(log_priors)


@dataclass(frozen=True, slots=True)
class _Data:
    """Trials as arrays: `within` is the variance of each candidate's trials that their own seconds show."""

    candidates: NDArray[np.int64]
    counts: NDArray[np.int64]
    design: _Array
    logs: _Array
    within: _Array

    @property
    def usual(self) -> float:
        return max(float(np.median(self.within)), 1e-12)

    def by_candidate(self) -> tuple[_Array, _Array, _Array]:
        """Return the sums of squares and products of each candidate's rows: design by design, design by logs, logs by logs."""
        rows = [self.candidates == index for index in range(len(self.counts))]
        squares = np.array([self.design[row].T @ self.design[row] for row in rows])
        products = np.array([self.design[row].T @ self.logs[row] for row in rows])
        totals = np.array([self.logs[row] @ self.logs[row] for row in rows])
        return squares, products, totals


def _fit(names: tuple[str, ...], data: _Data, precisions: _Array, prior: _Array, centre: float) -> TrialFit:
    squares, products, totals = data.by_candidate()
    count, width = len(names), data.design.shape[1]
    drift = np.arange(count, width)
    noisier = np.where(data.within > _MUCH_NOISIER * data.usual, data.within / data.usual, 1.0)
    variances, scale = noisier, 1.0
    for _ in range(_ROUNDS):
        relative = variances / math.exp(float(np.log(variances).mean()))
        information = np.repeat(np.tensordot(1 / relative, squares, 1)[None], len(precisions), axis=0)
        information[:, drift, drift] += precisions
        score = (products / relative[:, None]).sum(axis=0)
        inverse = np.linalg.inv(information)
        coefficients = inverse @ score
        left_over = np.maximum((totals / relative).sum() - coefficients @ score, 1e-12)
        evidence = prior + np.log(precisions).sum(axis=1) / 2 - np.linalg.slogdet(information)[1] / 2
        # With two degrees of freedom of the usual noise: where nothing is left over, no assumption is infinitely likely.
        evidence -= (len(data.logs) - count + 2) / 2 * np.log(left_over + 2 * data.usual)
        weights = _shares(evidence)
        mean = weights @ coefficients
        residuals = np.bincount(data.candidates, weights=(data.logs - data.design @ mean) ** 2)
        leverage = np.einsum("cij,ij->c", squares, np.tensordot(weights, inverse, 1)) / relative
        own_dof = np.maximum(data.counts - leverage, 1e-3)
        common = _common_variance(residuals / noisier, own_dof, _OVER_SECONDS * data.usual + _OF_STARTS**2)
        variances = np.maximum(common.variances * noisier, np.maximum(data.within, 1e-14))
        scale = math.exp(float(np.log(variances).mean()))
    apart = coefficients[:, :count] - mean[:count]
    return TrialFit(
        names=names,
        effects=mean[:count] + centre,
        covariance=scale * np.tensordot(weights, inverse[:, :count, :count], 1)
        + np.einsum("m,mi,mj->ij", weights, apart, apart),
        variances=variances,
        dof=np.maximum(np.minimum(own_dof + common.likeness, common.dof), 1.0),
        total_dof=max(common.dof, 1.0),
        trials=data.counts,
        residual_sd=math.sqrt(max(float(residuals.sum() / own_dof.sum()), 1e-14)),
        residual_dof=max(float(own_dof.sum()), 1.0),
    )


@dataclass(frozen=True, slots=True)
class _Variances:
    """Candidates' variances, how many degrees of freedom the common one lends to each, and those of all together."""

    variances: _Array
    likeness: float
    dof: float


def _common_variance(squares: _Array, dof: _Array, expected: float) -> _Variances:
    """Draw candidates' variances towards a common one, and that towards the expected one, as far as the data agree with it.

    Args:
        squares: each candidate's sum of squared residuals.
        dof: its degrees of freedom.
        expected: the variance that is expected before any trial is repeated.
    """
    total, total_dof = float(squares.sum()), float(dof.sum())
    agreement = gammaln((_KNOWN + total_dof) / 2) - gammaln(_KNOWN / 2) + _KNOWN / 2 * np.log(_KNOWN * expected)
    agreement -= (_KNOWN + total_dof) / 2 * np.log(_KNOWN * expected + total)
    known = math.exp(float(_shares(agreement) @ np.log(_KNOWN)))
    likeness = _LIKENESS[:, None]
    common = np.full(len(_LIKENESS), (total + known * expected) / (total_dof + known))
    for _ in range(6):  # the likeliest common variance for each likeness, by its own fixed point
        pull = likeness / (likeness * common[:, None] + squares)
        common = ((pull * squares).sum(axis=1) + known * expected / common) / ((pull * dof).sum(axis=1) + known / common)
    summed = likeness * common[:, None] + squares
    evidence = likeness / 2 * np.log(likeness * common[:, None] / 2) - gammaln(likeness / 2)
    evidence = evidence + gammaln((likeness + dof) / 2) - (likeness + dof) / 2 * np.log(summed / 2)
    weights = _shares(evidence.sum(axis=1))
    return _Variances(
        variances=np.exp(weights @ np.log(summed / (likeness + dof))),
        likeness=math.exp(float(weights @ np.log(np.minimum(_LIKENESS, 100.0)))),
        dof=total_dof + known,
    )


def _shares(log_likelihoods: _Array) -> _Array:
    weights = np.exp(log_likelihoods - log_likelihoods.max())
    shares: _Array = weights / weights.sum()
    return shares
