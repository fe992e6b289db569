"""A Gaussian process on the logarithm of throughput, which predicts settings that were not tried from the trials so far.

    log throughput = f(setting) + lack of fit of the setting + drift of the machine + life of the server + noise

f has a kernel for each variable, weighted, and their products: S1 + c (S1^2 - S2) / 2, S1 = sum w k, S2 = sum w^2 k^2. A prior
with a heavy tail leaves most weights at a floor that all share and that is learnt, too. The direction from the baseline to the
rules of thumb has a part of its own. Predictions are of f alone, as differences between settings.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from dialin.model.dimension import CATEGORY
from dialin.search.space import Point, one_change_less

_Array = NDArray[np.float64]

_LENGTHS = (0.1, 0.3, 1.0)
"""Lengths of the Matern 5/2 kernels, the mean of which is the kernel of a range: some effects are over within a tenth of it."""
_SPECIAL = 0.2
"""Correlation of a special value with the values of the range."""
_WEIGHT, _TAIL, _UNIT = 0.002, 2.0, 0.01
"""Scale of the prior of each weight w, in squares of log throughput, the power of its tail, and the size of a learning step.

The density falls as (1 + w / scale) to the power of -tail: most weights are small, and a few may be very large.
"""
_RULES = 0.01
"""Variance of what all rules of thumb carry together, by the prior."""
_FLOOR, _FLOOR_SPREAD = math.log(0.0005), 1.0
"""Mean and standard deviation of the logarithm of the least weight, which all variables share, by its prior.

The most probable weight of a variable that little is known of would be 0, and it would never be tried again. How much many
variables carry that carry a little each is learnt from all of them together.
"""
_PRODUCTS, _PRODUCTS_SPREAD = math.log(5.0), 1.0
"""Mean and standard deviation of the logarithm of c, by its prior."""
_NOISE_SPREAD = 0.5
"""Standard deviation of the logarithm of the ratio of the noise's variance to the assumed one, by its prior."""
_LEVEL = 1.0
"""Standard deviation of the common level of all trials: hardly known."""
_LACK, _DRIFT, _DRIFT_MINUTES, LIFE = 0.01, 0.04, 40.0, 0.01
"""Standard deviations of lack of fit, of drift with its length, and of the server's life."""
_OUTLIER = 3.0
"""A trial this many standard deviations below what all others predict counts with more noise: something disturbed it."""
_SOFT = 0.1
"""Losses of more than this against the typical trial are compressed, on the log scale."""
_ITERATIONS = 30
_TABLE = 1024


def _matern_table() -> _Array:
    r = math.sqrt(5) * np.linspace(0, 1, _TABLE + 1)[:, None] / np.array(_LENGTHS)
    kernel: _Array = ((1 + r + r * r / 3) * np.exp(-r)).mean(axis=1)
    return kernel


_MATERN = _matern_table()


@dataclass(frozen=True)
class Guide:
    """The direction from the baseline to the rules of thumb: what many of them carry a little each shows together first."""

    default: Point
    rules: Point

    def along(self, points: _Array) -> _Array:
        """Return how far points are along the direction: 0 at the baseline, 1 at the rules."""
        ruled = np.flatnonzero(self.default != self.rules)
        total = np.zeros(len(points))
        for j in ruled:
            to_rule = correlations(np.append(points[:, j], self.default[j]), self.rules[j : j + 1])[:, 0]
            total += (to_rule[:-1] - to_rule[-1]) / (1 - to_rule[-1])
        return total / max(len(ruled), 1)


@dataclass(frozen=True)
class Observations:
    """Completed trials, a row each.

    Attributes:
        logs: logarithm of throughput.
        variances: of a trial's noise on the log scale, as assumed for its length.
        guide: the direction to the rules of thumb; None where there are none.
    """

    points: _Array
    logs: _Array
    variances: _Array
    minutes: _Array
    lives: NDArray[np.int64]
    guide: Guide | None = None

    def __len__(self) -> int:
        return len(self.logs)

    @cached_property
    def along(self) -> _Array:
        """How far each trial's setting is towards the rules of thumb."""
        return self.guide.along(self.points) if self.guide else np.zeros(len(self))


@dataclass(frozen=True)
class Weights:
    """What is learnt of the kernel.

    Attributes:
        variables: w, the weight of each variable.
        products: c, by which products count.
        noise: the variance of the noise as a ratio to the assumed one.
    """

    variables: _Array
    products: float
    noise: float


def soften(throughputs: Sequence[float], of_baseline: Sequence[bool]) -> _Array:
    """Return logarithms of throughput with losses compressed: how bad a bad setting is says little of good ones."""
    logs = np.log(throughputs)
    baseline = logs[np.asarray(of_baseline, dtype=bool)]
    floor = min(float(np.median(logs)), float(np.mean(baseline)) if len(baseline) else np.inf) - _SOFT
    return np.asarray(np.maximum(logs, floor) - _SOFT * np.log1p(np.maximum(floor - logs, 0.0) / _SOFT))


def correlations(a: _Array, b: _Array) -> _Array:
    """Return the kernel of one variable between coordinates: Matern in a range, identity between categories."""
    distance = np.abs(a[:, None] - b[None, :])
    if a.size and b.size and a.min() >= CATEGORY and b.min() >= CATEGORY:
        return np.asarray(distance == 0, dtype=float)
    table: _Array = _MATERN[np.minimum(distance * _TABLE + 0.5, _TABLE).astype(np.intp)]
    if (a.size and a.max() >= CATEGORY) or (b.size and b.max() >= CATEGORY):
        a_word, b_word = (a >= CATEGORY)[:, None], (b >= CATEGORY)[None, :]
        table = np.where(a_word & b_word, (distance == 0).astype(float), np.where(a_word ^ b_word, _SPECIAL, table))
    return table


def learn_weights(observed: Observations) -> Weights:
    """Find the most probable weights: L-BFGS on likelihood and priors, with the analytic gradient."""
    count, variables = observed.points.shape
    upper = np.triu_indices(count, 1)
    columns = [correlations(observed.points[:, j], observed.points[:, j])[upper] for j in range(variables)]
    k = np.array(columns).reshape(variables, -1)
    squares = k * k
    fixed, noise = _nuisance(observed) + _RULES * np.outer(observed.along, observed.along), observed.variances
    y = observed.logs - np.median(observed.logs)
    diagonal = np.diag_indices(count)
    middles, spreads = np.array([_FLOOR, _PRODUCTS, 0.0]), np.array([_FLOOR_SPREAD, _PRODUCTS_SPREAD, _NOISE_SPREAD])

    def objective(theta: _Array) -> tuple[float, _Array]:
        floor, c, s = np.exp(theta[-3:])
        w = theta[:-3] + floor
        s1, s2 = w @ k, (w * w) @ squares
        total, total_squares = float(w.sum()), float(w @ w)
        kernel = fixed.copy()
        part = np.zeros((count, count))
        part[upper] = s1 + c * (s1 * s1 - s2) / 2
        kernel += part + part.T
        kernel[diagonal] += total + c * (total**2 - total_squares) / 2 + s * noise
        try:
            factor = cho_factor(kernel, lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            return 1e10, np.zeros_like(theta)
        inverse = cho_solve(factor, np.eye(count), check_finite=False)
        alpha = inverse @ y
        value = 0.5 * float(y @ alpha) + float(np.log(np.diag(factor[0])).sum())
        g = inverse - np.outer(alpha, alpha)
        g_upper, g_diagonal = g[upper], g[diagonal]
        trace = float(g_diagonal.sum())
        by_w = k @ (g_upper * (1 + c * s1)) - c * w * (squares @ g_upper) + 0.5 * trace * (1 + c * (total - w))
        by_c = c * (float(g_upper @ (s1 * s1 - s2)) / 2 + 0.25 * trace * (total**2 - total_squares))
        by_s = 0.5 * s * float(g_diagonal @ noise)
        by_floor = floor * float(by_w.sum())
        off = (theta[-3:] - middles) / spreads
        value += _TAIL * float(np.log1p(theta[:-3] / _WEIGHT).sum()) + float(off @ off) / 2
        return value, np.concatenate([by_w + _TAIL / (_WEIGHT + theta[:-3]), np.array([by_floor, by_c, by_s]) + off / spreads])

    from scipy.optimize import minimize  # takes a while to import, which studies that search nothing need not wait for

    start = np.concatenate([np.full(variables, 0.5 * _UNIT), middles])
    bounds = [(0.0, 2.0)] * variables + [
        (_FLOOR - 6, _FLOOR + 2),
        (math.log(0.1), math.log(50.0)),
        (math.log(0.2), math.log(20.0)),
    ]
    # In units of a typical size, so that weights and logarithms take steps of one size.
    scale = np.concatenate([np.full(variables, _UNIT), np.ones(3)])

    def scaled(z: _Array) -> tuple[float, _Array]:
        value, gradient = objective(z * scale)
        return value, gradient * scale

    limits = [(low / unit, high / unit) for (low, high), unit in zip(bounds, scale, strict=True)]
    optimum = minimize(scaled, start / scale, jac=True, method="L-BFGS-B", bounds=limits, options={"maxiter": _ITERATIONS})
    theta = np.asarray(optimum.x) * scale
    return Weights(theta[:-3] + math.exp(theta[-3]), math.exp(theta[-2]), math.exp(theta[-1]))


def _nuisance(observed: Observations) -> _Array:
    """Return the covariance of all that is not f nor noise: level, lack of fit, drift and life."""
    apart = math.sqrt(3) * np.abs(observed.minutes[:, None] - observed.minutes[None, :]) / _DRIFT_MINUTES
    drift = _DRIFT**2 * (1 + apart) * np.exp(-apart)
    life = LIFE**2 * (observed.lives[:, None] == observed.lives[None, :])
    _, setting = np.unique(observed.points, axis=0, return_inverse=True)
    setting = np.asarray(setting).reshape(-1)
    lack = _LACK**2 * (setting[:, None] == setting[None, :])
    return np.asarray(_LEVEL**2 + drift + life + lack)


class Surrogate:
    """The process, given what was measured and the weights.

    Args:
        observed: completed trials; at least one.
        weights: of `learn_weights`, from these trials or most of them.

    Attributes:
        noise: the variance of each trial's noise; more than assumed for its length where the trial was disturbed.
    """

    def __init__(self, observed: Observations, weights: Weights) -> None:
        self.weights = weights
        self._observed = observed
        self._active = [int(j) for j in np.flatnonzero(weights.variables > 1e-7)]
        total, squares = float(weights.variables.sum()), float(weights.variables @ weights.variables)
        self._prior = total + weights.products * (total**2 - squares) / 2
        covariance = self.kernel(observed.points, observed.points) + _nuisance(observed)
        self.noise = weights.noise * observed.variances
        y = observed.logs - np.median(observed.logs)
        for _ in range(3):
            lower = np.linalg.cholesky(covariance + np.diag(self.noise))
            inverse = solve_triangular(lower, np.eye(len(observed)), lower=True, check_finite=False)
            precision = np.einsum("ij,ij->j", inverse, inverse)
            alpha = inverse.T @ (inverse @ y)
            left_out = alpha / np.sqrt(precision)  # leave-one-out residual in its own standard deviations
            disturbed = left_out < -_OUTLIER
            if not disturbed.any():
                break
            self.noise = np.where(disturbed, self.noise + (alpha / precision) ** 2, self.noise)
        self._inverse_lower, self._alpha = inverse, alpha

    @property
    def disturbed(self) -> NDArray[np.bool_]:
        """Which trials are far below what all others predict: something slowed them down."""
        return np.asarray(self.noise > self.weights.noise * self._observed.variances)

    def undisturbed_noise(self) -> float:
        """Return the noise as of `Weights`, learnt with more of it for disturbed trials: a few would pass for noise of all."""
        if not self.disturbed.any():
            return self.weights.noise
        return learn_weights(replace(self._observed, variances=self.noise / self.weights.noise)).noise

    @property
    def points(self) -> _Array:
        """The settings that were measured."""
        return self._observed.points

    def kernel(self, a: _Array, b: _Array) -> _Array:
        """Return the prior covariance of f between points."""
        return self._covariance(a, self._along(a), b, self._along(b))

    def _covariance(self, a: _Array, along_a: _Array, b: _Array, along_b: _Array) -> _Array:
        """Return the same, where it is known how far the points are along the direction of the guide."""
        return np.asarray(self._stationary(a, b) + _RULES * np.outer(along_a, along_b))

    def _along(self, points: _Array) -> _Array:
        if points is self._observed.points:
            return self._observed.along
        return self._observed.guide.along(points) if self._observed.guide else np.zeros(len(points))

    def _stationary(self, a: _Array, b: _Array) -> _Array:
        s1, s2 = np.zeros((len(a), len(b))), np.zeros((len(a), len(b)))
        for j in self._active:  # points that vary a setting share most of their coordinates
            values, which = np.unique(a[:, j], return_inverse=True)
            part = self.weights.variables[j] * correlations(values, b[:, j])
            s1 += part[which]
            s2 += (part * part)[which]
        return np.asarray(s1 + self.weights.products * (s1 * s1 - s2) / 2)

    def means(self, points: _Array) -> _Array:
        """Return the expected f of points, up to a constant that all points share."""
        return np.asarray(self.kernel(points, self._observed.points) @ self._alpha)

    def differences(self, points: _Array, reference: Point) -> tuple[_Array, _Array]:
        """Return by how much f of points is expected to exceed that of a reference, and the standard deviations."""
        rows = np.vstack([points, reference])
        along = self._along(rows)
        cross = self._covariance(rows, along, self._observed.points, self._observed.along)
        cross -= cross[-1]
        cross = cross[:-1]
        reduced = cross @ self._inverse_lower.T
        prior = 2 * (self._prior - self._stationary(points, reference[None, :])[:, 0]) + _RULES * (along[:-1] - along[-1]) ** 2
        variance = prior - np.einsum("ij,ij->i", reduced, reduced)
        return np.asarray(cross @ self._alpha), np.sqrt(np.maximum(variance, 1e-10))

    def joint(self, points: _Array, reference: Point) -> tuple[_Array, _Array]:
        """Return by how much f of points is expected to exceed that of a reference, and the covariance of these differences."""
        rows = np.vstack([points, reference])
        along = self._along(rows)
        cross = self._covariance(rows, along, self._observed.points, self._observed.along)
        cross = cross[:-1] - cross[-1]
        prior = self._covariance(rows, along, rows, along)
        reduced = cross @ self._inverse_lower.T
        covariance = prior[:-1, :-1] - prior[:-1, -1:] - prior[-1:, :-1] + prior[-1, -1] - reduced @ reduced.T
        return np.asarray(cross @ self._alpha), np.asarray(covariance)

    def contrast(self, points: _Array, coefficients: _Array) -> tuple[float, float]:
        """Return the expected sum of f times coefficients that add to 0, and its standard deviation."""
        cross = coefficients @ self.kernel(points, self._observed.points)
        reduced = self._inverse_lower @ cross
        variance = coefficients @ self.kernel(points, points) @ coefficients - reduced @ reduced
        return float(cross @ self._alpha), math.sqrt(max(float(variance), 1e-10))

    def change_error(self, setting: Point, default: Point) -> float:
        """Return the standard deviation of what one change of a setting carries: the median over its changes.

        The setting must differ from the default.
        """
        _, points = one_change_less(setting, default)
        return float(np.median(self.differences(points, setting)[1]))
