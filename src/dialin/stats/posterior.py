"""The probability that a candidate is as good as the best, for choosing and for leaving the race; never for a claim."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from dialin.stats.blocks import Fit

_Array = NDArray[np.float64]

_DRAWS = 4000
_SEED = 20_080_117
"""Of the draws: the same for every study, so that a verdict can be computed again."""
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
    """

    near: Mapping[str, float]
    all_near: float


def chances(fit: Fit, worthwhile: float, *, more: float = 1.0) -> Chances:
    """Return how probable it is for each candidate of a fit to be within what is worthwhile of the best.

    The candidates' true effects are taken to scatter about a common one, by a standard deviation that the data tells about;
    estimates are drawn together by that (a leader is partly lucky). The noise of a trial is as uncertain as its degrees of
    freedom say. The draws are the same each time and go by rank, so that names and order change nothing.

    Args:
        fit: of the trials so far; without degrees of freedom every chance is unknown.
        worthwhile: the smallest relative difference that matters.
        more: as if there were this many times as many trials with the same results.

    Raises:
        ValueError: the fit has no degrees of freedom.
    """
    if fit.sd is None:
        raise ValueError("chances need repeated trials")
    order = sorted(range(len(fit.names)), key=lambda index: fit.effects[index])
    effects = tuple(fit.effects[index] for index in order)
    covariance = tuple(tuple(fit.uneven[row][column] / more for column in order) for row in order)
    shares, all_near = _near(effects, covariance, fit.sd, round(fit.dof * more), worthwhile)
    return Chances(near={fit.names[index]: share for index, share in zip(order, shares, strict=True)}, all_near=all_near)


@lru_cache(maxsize=1024)  # a race is evaluated again after each trial, block by block from its first
def _near(
    effects: tuple[float, ...], covariance: tuple[tuple[float, ...], ...], sd: float, dof: int, worthwhile: float
) -> tuple[tuple[float, ...], float]:
    """Return for each candidate the share of draws in which it is near the best, and the share in which all are."""
    drawn = _draw(np.array(effects), np.array(covariance), sd, dof)
    near = drawn.max(axis=1, keepdims=True) - drawn <= math.log1p(worthwhile)
    return tuple(near.mean(axis=0).tolist()), float(near.all(axis=1).mean())


def _draw(effects: _Array, covariance: _Array, sd: float, dof: int) -> _Array:
    normal, spread_at, noise_at = _standard(effects.size)
    # Effects sum to zero: their covariance has one direction less than candidates.
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[1:], vectors[:, 1:]
    projected = vectors.T @ effects
    normal = normal @ vectors  # drawn per candidate: directions of one eigenvalue come in any rotation, candidates do not
    variance = dof * sd**2 / np.asarray(chdtri(dof, noise_at), dtype=float)
    error = variance[:, None] * values  # draws x directions
    total = error[:, None, :] + _SPREADS[None, :, None] ** 2  # draws x spreads x directions
    weight = -0.5 * (np.log(total) + projected**2 / total).sum(axis=2)
    # Even on the log scale, so the prior's density is multiplied by the spread.
    weight += np.log(_SPREADS / (1 + (_SPREADS / _USUAL_SPREAD) ** 2))
    weight = np.exp(weight - weight.max(axis=1, keepdims=True))
    upto = np.cumsum(weight, axis=1)
    chosen = (upto < spread_at[:, None] * upto[:, -1:]).sum(axis=1)
    spread = _SPREADS[chosen][:, None] ** 2
    share = spread / (spread + error)
    drawn: _Array = (share * projected + np.sqrt(share * error) * normal) @ vectors.T
    return drawn


@lru_cache(maxsize=64)
def _standard(candidates: int) -> tuple[_Array, _Array, _Array]:
    """Return standard normal draws, and evenly spread probabilities in two random orders."""
    random = np.random.default_rng(_SEED)
    normal = random.standard_normal((_DRAWS // 2, candidates))
    even = (np.arange(_DRAWS) + 0.5) / _DRAWS
    return np.concatenate([normal, -normal]), random.permutation(even), random.permutation(even)
