"""An estimate, from watching a server before anything is changed, of the differences that periods on it can detect."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dialin.stats.forecast import detectable

_Array = NDArray[np.float64]

FEWEST_SECONDS = 120
"""An observation of fewer seconds is not evaluated."""
_LAGS = 60
"""The longest lag, in seconds, to which the autocorrelation is fitted; no more than a tenth of the observation."""
_DECAYS = np.concatenate([[0.0], 1 - np.geomspace(1.0, 1 / 300, 40)[1:]])
"""Autocorrelations from one second to the next that are tried; the slowest falls to a third in five minutes."""


@dataclass(frozen=True, slots=True)
class BaselineObservation:
    """A server's latency while nothing was changed, summed up.

    Attributes:
        seconds: how many seconds were evaluated.
        level: latency, geometric mean of the seconds, ms.
        noise: standard deviation of one period as it enters a comparison: on the log scale, trend and load removed.
        memory: seconds in which the correlation of lasting noise falls to a third; 0 where there is no lasting noise.
        lasting: the share of the seconds' variance that lasts longer than one second.
        trend: relative change of the level in an hour, by the fitted straight line.
        trend_error: standard error of the trend, autocorrelation included.
    """

    seconds: int
    level: float
    noise: float
    memory: float
    lasting: float
    trend: float
    trend_error: float


def observe(latency: Sequence[float], load: Sequence[float], *, period: int, washout: int) -> BaselineObservation | None:
    """Sum up the seconds of a baseline.

    The model is log(latency) = line + coefficient * log(load) + noise. The noise has a part that is new in each second and a
    part that fades (first-order autoregression), fitted to the autocovariances. They determine how much the difference of two
    candidates varies in a quad of periods (ABBA), washouts left out.

    Args:
        latency: latency of each second, in any unit; the caller leaves out seconds without a statement.
        load: number of statements in each second.
        period: seconds of a period that count.
        washout: seconds before them that do not count.

    Returns:
        None where there are too few seconds.
    """
    values, loads = np.array(latency, dtype=float), np.array(load, dtype=float)
    good = (values > 0) & (loads > 0)
    logs, at = np.log(values[good]), np.flatnonzero(good).astype(float)
    if logs.size < FEWEST_SECONDS:
        return None
    design = np.column_stack([np.ones_like(at), at - at.mean(), np.log(loads[good]) - np.log(loads[good]).mean()])
    coefficients = np.linalg.lstsq(design, logs, rcond=None)[0]
    residuals = logs - design @ coefficients
    most = max(2, min(_LAGS, logs.size // 10))
    covariances = np.array([float((residuals[: residuals.size - lag] * residuals[lag:]).mean()) for lag in range(most + 1)])
    decay, lasting = _fit(covariances)
    white = max(covariances[0] - lasting, 0.0)
    contrast = _variance(_quad(period, washout), decay, lasting, white)
    trend_weights = (at - at.mean()) / float(((at - at.mean()) ** 2).sum())
    trend_error = math.sqrt(_variance(trend_weights, decay, lasting, white))
    return BaselineObservation(
        seconds=int(logs.size),
        level=float(np.exp(logs.mean())),
        noise=math.sqrt(contrast),
        memory=-1 / math.log(decay) if 0 < decay < 1 and lasting > 0 else 0.0,
        lasting=lasting / covariances[0] if covariances[0] > 0 else 0.0,
        trend=math.expm1(min(float(coefficients[1]) * 3600, 50.0)),
        trend_error=trend_error * 3600,
    )


def detectable_in(observed: BaselineObservation, hours: float, slot: float, candidates: int, *, confidence: float) -> float:
    """Return the smallest relative difference that `hours` of periods of `slot` seconds each detect four times out of five."""
    periods = max(int(hours * 3600 / slot), candidates + 1)
    return detectable(observed.noise, candidates, periods, confidence=confidence)


def _fit(covariances: _Array) -> tuple[float, float]:
    """Return decay and size of the lasting noise: the least squares fit of size * decay ** lag to the lags from 1 on."""
    lags = np.arange(1, covariances.size)
    best = (math.inf, 0.0, 0.0)
    for decay in _DECAYS[1:]:
        shape = decay**lags
        size = min(max(float(shape @ covariances[1:] / (shape @ shape)), 0.0), float(covariances[0]))
        best = min(best, (float(((covariances[1:] - size * shape) ** 2).sum()), float(decay), size))
    return best[1], best[2]


def _quad(period: int, washout: int) -> _Array:
    """Return the weight of each second of a quad (ABBA) in the difference of two candidates; washouts weigh zero."""
    slot = np.concatenate([np.zeros(washout), np.ones(period)])
    return np.concatenate([slot, -slot, -slot, slot]) / (2 * period)


def _variance(weights: _Array, decay: float, lasting: float, white: float) -> float:
    """Return the variance of a weighted sum of seconds."""
    faded = np.zeros_like(weights)  # for each second, the decayed sum of the weights before it
    for index in range(1, weights.size):
        faded[index] = decay * (faded[index - 1] + weights[index - 1])
    together = float(weights @ weights + 2 * (weights @ faded))
    return max(lasting * together + white * float(weights @ weights), 1e-12)
