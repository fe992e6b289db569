"""The probability that a candidate is as good as the best, for choosing; never for a claim."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from dialin.stats.trial_fit import TrialFit

_Array = NDArray[np.float64]

_DRAWS = 2000
_NOISES = 8
"""Levels of noise, of equal probability, by which draws are grouped."""
_SEED = 20_080_117
"""The seed of the draws, the same for every study, so that a verdict can be computed again."""
_SPREADS = np.geomspace(0.0005, 0.5, 25)
"""Standard deviations that candidates may have among each other, on the log scale."""
_USUAL_SPREAD = 0.03
"""The scale of the half-Cauchy prior of that standard deviation (Gelman, Bayesian Analysis 1, 2006): what a variable may do."""


@dataclass(frozen=True, slots=True)
class Chances:
    """Probabilities of candidates.

    Attributes:
        near: per candidate, the probability of being within what is worthwhile of the best.
        all_near: the probability that all of them are.
        shortfall: per candidate, how far it is behind the best on average, as a share of the best.
    """

    near: Mapping[str, float]
    all_near: float
    shortfall: Mapping[str, float]


@lru_cache(maxsize=8)
def chances(fit: TrialFit, worthwhile: float) -> Chances:
    """Return how probable it is for each candidate of a fit to be within what is worthwhile of the best.

    The candidates' true effects are taken to scatter about a common one, with a standard deviation that the data inform. That
    draws the estimates together (a leader is partly lucky). The noise of a trial is as uncertain as its degrees of freedom
    say. The draws are the same each time and are assigned by rank, so that names and order change nothing.
    """
    order = np.argsort(fit.effects, kind="stable")
    drawn = _draw(fit.effects[order], fit.covariance[np.ix_(order, order)], fit.total_dof)
    behind = drawn.max(axis=1, keepdims=True) - drawn
    near = behind <= math.log1p(worthwhile)

    def by_name(values: _Array) -> dict[str, float]:
        return {fit.names[index]: float(value) for index, value in zip(order, values, strict=True)}

    return Chances(by_name(near.mean(axis=0)), float(near.all(axis=1).mean()), by_name(-np.expm1(-behind).mean(axis=0)))


def _draw(effects: _Array, covariance: _Array, dof: float) -> _Array:
    """Return draws of the candidates' true effects about their common one, draws x candidates."""
    normal, even, groups = _standard(effects.size)
    count = effects.size
    about_mean = np.eye(count) - 1 / count
    # Effects about their mean sum to zero: their covariance has one direction less than candidates.
    values, vectors = np.linalg.eigh(about_mean @ covariance @ about_mean)
    values, vectors = np.maximum(values[1:], 1e-18), vectors[:, 1:]
    projected = vectors.T @ effects
    drawn = np.empty((_DRAWS, count))
    middles = (np.arange(_NOISES) + 0.5) / _NOISES
    for group, noise in zip(groups, dof / np.asarray(chdtri(dof, middles), dtype=float), strict=True):
        error = values * noise
        total = error + _SPREADS[:, None] ** 2
        weight = -0.5 * (np.log(total) + projected**2 / total).sum(axis=1)
        # Even on the log scale, so the prior's density is multiplied by the spread.
        weight += np.log(_SPREADS / (1 + (_SPREADS / _USUAL_SPREAD) ** 2))
        upto = np.cumsum(np.exp(weight - weight.max()))
        spread = _SPREADS[np.minimum(np.searchsorted(upto, even[group] * upto[-1]), len(_SPREADS) - 1)][:, None] ** 2
        share = spread / (spread + error)
        # Drawn per candidate: directions of one eigenvalue come in any rotation, candidates do not.
        drawn[group] = (share * projected + np.sqrt(share * error) * (normal[group] @ vectors)) @ vectors.T
    return drawn


@lru_cache(maxsize=64)
def _standard(candidates: int) -> tuple[_Array, _Array, tuple[NDArray[np.int64], ...]]:
    """Return standard normal draws, evenly spread probabilities in a random order, and the draws of each noise."""
    random = np.random.default_rng(_SEED)
    normal = random.standard_normal((_DRAWS // 2, candidates))
    even = (np.arange(_DRAWS) + 0.5) / _DRAWS
    groups = np.array_split(random.permutation(_DRAWS), _NOISES)
    return np.concatenate([normal, -normal]), random.permutation(even), tuple(groups)
