"""How many independent seconds a series is worth: each second depends on the one before."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dialin.stats.window import Series

_Array = NDArray[np.float64]


def effective_seconds(tps: Series) -> float:
    """Return how many independent seconds a series is worth: its effective sample size, between 1 and its length.

    That is its length over the autocorrelation time 1 + 2 * (the sum of autocorrelations), summed as Geyer's initial monotone
    sequence does (Practical Markov chain Monte Carlo, 1992): pairs of successive autocorrelations as long as they are
    positive, each no more than the one before. It describes this series only: what moves a trial as a whole (a restart, drift,
    a checkpoint cycle longer than the trial) is not included.
    """
    x = np.asarray(tps, dtype=float)
    if x.size < 4 or float(np.ptp(x)) <= 1e-9 * abs(float(x.mean())):
        return float(max(1, x.size))
    rho = autocorrelation(x)
    even = rho.size - rho.size % 2
    pairs = rho[:even:2] + rho[1:even:2]
    positive = pairs[: int(np.argmax(pairs <= 0))] if (pairs <= 0).any() else pairs
    time = 2 * float(np.minimum.accumulate(positive).sum()) - 1 if positive.size else 1.0
    return float(np.clip(x.size / max(time, 1e-9), 1.0, x.size))


def autocorrelation(x: _Array) -> _Array:
    """Return the autocorrelations of a series that varies, from lag 0 to half of its length, by the biased estimator."""
    centred = x - x.mean()
    size = 1 << (2 * x.size - 1).bit_length()
    spectrum = np.fft.rfft(centred, size)
    products = np.fft.irfft(spectrum * spectrum.conj(), size)[: x.size // 2 + 1]
    correlations: _Array = products / products[0]
    return correlations
