"""Trials in blocks: the differences between candidates, with intervals that hold for all pairs together, by their quantiles."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, gammaln, ndtr, stdtrit

from dialin.model.verdict import Estimate

_Array = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(96)
_FAR = 8.5
"""Standard deviations, to each side, over which a normal density is integrated."""


@lru_cache(maxsize=65_536)
def t_quantile(dof: int, alpha: float) -> float:
    """Return how many standard errors the interval of a single difference reaches to each side."""
    return float(stdtrit(dof, 1 - alpha / 2))


def summed_dof(parts: _Array, dof: _Array) -> _Array:
    """Return the degrees of freedom of sums of variances down the first axis (Satterthwaite, Biometrics Bulletin 2, 1946).

    They are at least one. `dof` are those of each part, in a shape that broadcasts to that of `parts`.
    """
    summed: _Array = np.maximum(parts.sum(axis=0) ** 2 / (parts**2 / dof).sum(axis=0), 1.0)
    return summed


@lru_cache(maxsize=65_536)
def tukey_quantile(candidates: int, dof: int, alpha: float) -> float:
    """Return how many standard errors of a difference Tukey's simultaneous interval reaches to each side.

    That is the quantile of the studentized range over the square root of two. SciPy has it as well, and takes a quarter of a
    second for each; this takes a millisecond, by Gauss's quadrature of the same two integrals, and agrees to 1e-6.

    Args:
        candidates: how many, two at least.
        dof: degrees of freedom of the standard deviation, one at least.
        alpha: the error that all intervals together may make; 1e-9 at least.
    """
    if candidates == 2:  # one difference
        return t_quantile(dof, alpha)
    from scipy.optimize import brentq  # takes a while to import, which other studies need not wait for

    scales, masses = _scales(dof)

    def beyond(reach: float) -> float:
        return float(masses @ _range_survival(reach * math.sqrt(2) * scales, candidates)) - alpha

    # No less than for one difference, no more than Bonferroni allows for all of them.
    least, most = 0.9 * t_quantile(dof, alpha), 1.1 * t_quantile(dof, alpha / (candidates * (candidates - 1) / 2))
    if beyond(most) >= 0:  # with sixty candidates the quadrature is coarser than an error of 1e-8
        return most
    return float(brentq(beyond, least, most, xtol=1e-8))


@lru_cache(maxsize=4096)
def _scales(dof: int) -> tuple[_Array, _Array]:
    """Return nodes for the ratio of an estimated standard deviation to the true one, and the probability of each."""
    low = math.sqrt(chdtri(dof, 1 - 1e-14) / dof)
    high = math.sqrt(chdtri(dof, 1e-14) / dof)
    # Even on the log scale: with few degrees of freedom the mass near zero decides.
    logs = math.log(low) + (math.log(high) - math.log(low)) * (_NODES + 1) / 2
    scales = np.exp(logs)
    density = math.log(2) + dof / 2 * math.log(dof / 2) - float(gammaln(dof / 2)) + dof * logs - dof * scales**2 / 2
    masses = np.exp(density) * _WEIGHTS * (math.log(high) - math.log(low)) / 2
    return scales, masses / masses.sum()


def _range_survival(width: _Array, count: int) -> _Array:
    """Return the probability that the range of `count` standard normal variables is wider than each width."""
    place = _FAR * _NODES
    density = np.exp(-(place**2) / 2) / math.sqrt(2 * math.pi) * _WEIGHTS * _FAR
    upper = ndtr(place)[:, None] - ndtr(place[:, None] - width)
    inside: _Array = count * density @ upper ** (count - 1)
    return np.asarray(np.clip(1 - inside, 0.0, 1.0))


_PRIOR_DOF = 4.0
"""Degrees of freedom by which the variance of a pair's own differences is drawn towards that of all."""
_STANDSTILL = 0.01
"""A trial counts as at least this share of its stratum's median: zero, from a server that stood still, has no logarithm."""
WIDEST = math.log(1e6)
"""Intervals are cut at a factor of a million, beyond which they are meaningless, so that every figure stays finite."""


@dataclass(frozen=True, slots=True)
class Observation:
    """A completed trial.

    Attributes:
        stratum: identifies the trials that ran close together in time and are compared with each other only, e.g. (block,
            session, host).
        value: what the trial measured, in any unit that is the same for all trials, the higher the better; zero or more.
    """

    stratum: Hashable
    candidate: str
    value: float


@dataclass(frozen=True, slots=True)
class Fit:
    """Least squares of log(value) = stratum + candidate.

    Attributes:
        names: the candidates, in the order of all that follows.
        effects: of each candidate on the log scale; they sum to zero.
        covariance: of the effects, for a residual variance of one.
        sd: standard deviation of one trial within its stratum, on the log scale; None where `dof` is 0.
        dof: degrees of freedom of `sd`; 0 where nothing was repeated.
        paired_errors: standard error of each difference judged by that pair's own differences within strata alone.
        paired_dof: degrees of freedom of `paired_errors`; 0 where a pair met in fewer than two strata.
        centre: the mean of the strata over all trials, on the log scale.
    """

    names: tuple[str, ...]
    effects: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]
    sd: float | None
    dof: int
    paired_errors: tuple[tuple[float, ...], ...]
    paired_dof: tuple[tuple[int, ...], ...]
    centre: float

    def level(self, name: str) -> float:
        """Return a candidate's level in the mean state of all trials; one level divided by another is the ratio of the two."""
        return math.exp(self.centre + self.effects[self.names.index(name)])

    def ratio(self, a: str, b: str, alpha: float) -> Estimate:
        """Return the value of one candidate as a ratio to another's.

        The interval is Tukey and Kramer's: those of all pairs of candidates hold together with probability 1 - alpha. It is
        widened where the pair's own differences vary more than those of all pairs, their variance drawn towards that of all by
        four degrees of freedom: candidates are not equally steady. Without degrees of freedom there is no interval.

        Raises:
            ValueError: a name is not one of the fit's.
        """
        i, j = self.names.index(a), self.names.index(b)
        difference = self.effects[i] - self.effects[j]
        if i == j:
            return Estimate(mean=1.0, low=1.0, high=1.0)
        if self.sd is None:
            return estimate_of_logs(difference, None)
        variance = self.covariance[i][i] + self.covariance[j][j] - 2 * self.covariance[i][j]
        squared = self.sd**2 * variance
        if dof := self.paired_dof[i][j]:
            squared = max(squared, (_PRIOR_DOF * squared + dof * self.paired_errors[i][j] ** 2) / (_PRIOR_DOF + dof))
        half = tukey_quantile(len(self.names), self.dof, alpha) * math.sqrt(squared)
        return estimate_of_logs(difference, half)


def fit(observations: Iterable[Observation], names: Sequence[str]) -> Fit | None:
    """Estimate the differences between the named candidates from trials in strata, which need not be complete.

    A trial of less than a hundredth of its stratum's median, zeros left out, counts as that hundredth.

    Returns:
        The fit, or None where the differences cannot be estimated: fewer than two candidates, a candidate that has no trial or
        that no chain of common strata connects to the others, or no trial with any value above zero.
    """
    used = _of(observations, names)
    logs = log_values(used)
    if logs is None or len(names) < 2 or len(components(used, names)) != 1:
        return None
    strata, candidates, counts = _incidence(used, names)
    per_stratum, per_candidate = counts.sum(axis=1), counts.sum(axis=0)
    k = len(names)

    def within(values: _Array) -> _Array:
        means = np.bincount(strata, weights=values) / per_stratum
        centred: _Array = values - means[strata]
        return centred

    information = np.diag(per_candidate) - counts.T @ (counts / per_stratum[:, None])
    covariance = np.linalg.inv(information + 1 / k) - 1 / k  # the inverse among effects that sum to zero
    effects = covariance @ np.bincount(candidates, weights=within(logs))
    residuals = within(logs - effects[candidates])
    dof = len(used) - len(per_stratum) - (k - 1)
    variance = float(residuals @ residuals) / dof if dof > 0 else 0.0
    errors, paired_dof = _paired(strata, candidates, counts, within(logs))
    return Fit(
        names=tuple(names),
        effects=tuple(effects.tolist()),
        covariance=_rows(covariance),
        sd=math.sqrt(variance) if dof > 0 else None,
        dof=dof,
        paired_errors=_rows(errors),
        paired_dof=_rows(paired_dof),
        centre=float((logs - effects[candidates]).mean()),
    )


def fit_connected(observations: Sequence[Observation], names: Sequence[str], to: Collection[str]) -> Fit | None:
    """Return the fit of the candidates that chains of common strata connect to those in `to`; None where these are apart."""
    groups = components(observations, names)
    return fit(observations, next((group for group in groups if set(to) <= set(group)), ()))


def _rows(matrix: NDArray[Any]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(row) for row in matrix.tolist())


def components(observations: Iterable[Observation], names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the candidates in groups that chains of common strata connect; only within a group can they be compared.

    A candidate without a trial is a group of its own. Groups and their members keep the order of `names`.
    """
    met: dict[Hashable, set[str]] = {}
    for one in _of(observations, names):
        met.setdefault(one.stratum, set()).add(one.candidate)
    groups = [{name} for name in names]
    for together in met.values():
        joined = [group for group in groups if group & together]
        groups = [group for group in groups if not group & together] + [set().union(*joined)]
    ordered = [tuple(name for name in names if name in group) for group in groups]
    return sorted(ordered, key=lambda group: names.index(group[0]))


def levels(observations: Iterable[Observation], names: Sequence[str], alpha: float) -> dict[str, Estimate]:
    """Return the level of each candidate that has trials, in the unit of the observations.

    The mean is the geometric mean of its trials. The interval counts drift from block to block as noise, as it must for a
    figure that is not a comparison; that is why it is wider than that of `Fit.ratio`. All intervals hold together with
    probability 1 - alpha (Bonferroni, one standard deviation for all candidates); there are none while no candidate has two
    trials.
    """
    used = _of(observations, names)
    present = [name for name in names if any(one.candidate == name for one in used)]
    logs = log_values(used)
    if logs is None:
        return {name: Estimate(mean=0.0, low=None, high=None) for name in present}
    _, candidates, counts = _incidence(used, present)
    number = counts.sum(axis=0)
    means = np.bincount(candidates, weights=logs) / number
    residuals = logs - means[candidates]
    dof = len(used) - len(present)
    if dof == 0:
        return {name: estimate_of_logs(float(mean), None) for name, mean in zip(present, means, strict=True)}
    sd = math.sqrt(float(residuals @ residuals) / dof)
    halves = t_quantile(dof, alpha / len(present)) * sd / np.sqrt(number)
    return {name: estimate_of_logs(float(m), float(half)) for name, m, half in zip(present, means, halves, strict=True)}


def _of(observations: Iterable[Observation], names: Sequence[str]) -> list[Observation]:
    candidates = frozenset(names)
    return [one for one in observations if one.candidate in candidates]


def log_values(observations: Sequence[Observation]) -> _Array | None:
    """Return the logarithms of values; None where all are zero.

    A value counts as at least a hundredth of the median of its stratum, zeros left out, because zero has no logarithm.

    Raises:
        ValueError: a value is negative or not a number.
    """
    values = np.array([one.value for one in observations], dtype=float)
    if not np.isfinite(values).all() or (values < 0).any():
        raise ValueError("values must be a number, zero or more")
    floors = _floors(observations)
    if floors is None:
        return None
    logs: _Array = np.log(np.maximum(values, floors))
    return logs


def has_standstill(observations: Sequence[Observation]) -> bool:
    """Return whether some value counts as more than it is, because it is zero or close to it."""
    floors = _floors(observations)
    return floors is None or any(one.value < floor for one, floor in zip(observations, floors, strict=True))


def _floors(observations: Sequence[Observation]) -> list[float] | None:
    """Return what each value counts as at least; None where all are zero."""
    by_stratum: dict[Hashable, list[float]] = {one.stratum: [] for one in observations}
    for one in observations:
        if one.value > 0:
            by_stratum[one.stratum].append(one.value)
    positive = [value for inside in by_stratum.values() for value in inside]
    if not positive:
        return None
    overall = median(positive)
    typical = {stratum: median(inside) if inside else overall for stratum, inside in by_stratum.items()}
    return [_STANDSTILL * typical[one.stratum] for one in observations]


def _incidence(observations: Sequence[Observation], names: Sequence[str]) -> tuple[NDArray[np.intp], NDArray[np.intp], _Array]:
    number_of = {stratum: number for number, stratum in enumerate(dict.fromkeys(one.stratum for one in observations))}
    index_of = {name: index for index, name in enumerate(names)}
    strata = np.array([number_of[one.stratum] for one in observations], dtype=np.intp)
    candidates = np.array([index_of[one.candidate] for one in observations], dtype=np.intp)
    counts = np.zeros((len(number_of), len(names)))
    np.add.at(counts, (strata, candidates), 1.0)
    return strata, candidates, counts


def _paired(
    strata: NDArray[np.intp], candidates: NDArray[np.intp], counts: _Array, values: _Array
) -> tuple[_Array, NDArray[np.int64]]:
    """Return the standard error of each pair's mean difference within strata, and its degrees of freedom."""
    sums = np.zeros_like(counts)
    np.add.at(sums, (strata, candidates), values)
    means = sums / np.maximum(counts, 1)
    both = (counts[:, :, None] > 0) & (counts[:, None, :] > 0)
    number = np.maximum(both.sum(axis=0), 1)
    differences = np.where(both, means[:, :, None] - means[:, None, :], 0.0)
    deviations = np.where(both, differences - differences.sum(axis=0) / number, 0.0)
    dof = number - 1
    errors: _Array = np.sqrt((deviations**2).sum(axis=0) / np.maximum(dof, 1) / number)
    return errors, dof


def estimate_of_logs(log_mean: float, half: float | None) -> Estimate:
    """Return an estimate from the log scale, its interval cut at `WIDEST` to each side; None for no interval."""
    if half is None:
        return Estimate(mean=math.exp(log_mean), low=None, high=None)
    half = min(half, WIDEST)
    return Estimate(mean=math.exp(log_mean), low=math.exp(log_mean - half), high=math.exp(log_mean + half))
