"""Intervals for what is not a comparison of means: the typical trial, and how often the server stalled."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import bdtr, gammaincinv

from dialin.model.verdict import Estimate
from dialin.stats.blocks import WIDEST, t_quantile

_LONGEST_STALL = 5.0
"""The least length, in seconds, that the upper end of an interval assumes for a stall that was not observed."""


def typical(values: Sequence[float], alpha: float) -> Estimate:
    """Return the median of trials' figures, each zero or more, with an interval for this candidate's median trial.

    From six trials on the interval is that of the order statistics, which assumes no distribution (a variation is skewed: one
    trial in ten has a stall in it). Fewer trials are not enough for it; then the interval is Student's on the logarithms.
    A single trial has no interval. `alpha` is the error that the interval may make.

    Raises:
        ValueError: there is no trial.
    """
    if not values:
        raise ValueError("a typical trial needs at least one")
    x = np.sort(np.asarray(values, dtype=float))
    middle = float(np.median(x))
    outside = _outside(x.size, alpha)
    if outside is not None:
        return Estimate(mean=middle, low=float(x[outside]), high=float(x[x.size - 1 - outside]))
    if x.size < 2:
        return Estimate.alone(middle)
    logs = np.log(np.maximum(x, 1e-9 * max(float(x[-1]), 1e-9)))
    half = min(t_quantile(x.size - 1, alpha) * float(logs.std(ddof=1)) / math.sqrt(x.size), WIDEST)
    centre = float(np.exp(logs.mean()))
    return Estimate(mean=middle, low=min(middle, centre * math.exp(-half)), high=max(middle, centre * math.exp(half)))


def _outside(count: int, alpha: float) -> int | None:
    """Return how many sorted values lie outside the median's interval on each side; None where no interval reaches that far."""
    within = [k for k in range(count // 2) if 2 * float(bdtr(k, count, 0.5)) <= alpha]
    return max(within) if within else None


def stall_seconds_per_1000(stalls: Sequence[float], seconds: float, longest: float, alpha: float) -> Estimate:
    """Return in how many of 1000 seconds a server stalled, with an interval; with none where it would be from 0 to 1000.

    Stalls come at random, and each has a length: a compound Poisson process. The interval is that of Fay and Feuer for a
    weighted sum of Poisson counts (Statistics in Medicine 16, 1997), conservative, with the length of a stall as its weight.

    Args:
        stalls: the length of each stall, seconds.
        seconds: how many seconds were measured.
        longest: the longest stall of any candidate, seconds; less than five counts as five.
        alpha: the error that the interval may make.

    Raises:
        ValueError: nothing was measured.
    """
    if seconds <= 0:
        raise ValueError("a share needs measured seconds")
    lengths = np.asarray(stalls, dtype=float)
    total, squares = float(lengths.sum()), float((lengths**2).sum())
    most = max(longest, _LONGEST_STALL)
    low = squares / (2 * total) * _chi2(alpha / 2, 2 * total**2 / squares) if total else 0.0
    spread = squares + most**2
    high = spread / (2 * (total + most)) * _chi2(1 - alpha / 2, 2 * (total + most) ** 2 / spread)
    if not total and high >= seconds:
        return Estimate(mean=1000 * total / seconds, low=None, high=None)
    return Estimate(mean=1000 * total / seconds, low=1000 * low / seconds, high=min(1000 * high / seconds, 1000.0))


def _chi2(probability: float, dof: float) -> float:
    return 2 * float(gammaincinv(dof / 2, probability))
