"""One trial's measured seconds, summed up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Series = Sequence[float] | NDArray[np.float64]
"""Figures in the order of time. A log of weeks is an array: as a list of numbers it would take four times its memory."""
OUTLIER = 0.4
"""Seconds further than this from the median, relative to it, count as lying at that distance."""
_FLOOR = 0.6
"""The share of the median to which seconds of a brief stretch are lifted for the typical speed."""
_STALL = 0.5
"""The share of the median below which a second is a stall."""
_DEAD = 0.1
"""The share of the window's high level below which a second is a stall."""
_HIGH = 90
"""The percentile of the seconds that is the window's high level: a speed that it had for a tenth of the time."""
_LONGEST_BRIEF, _SHORTEST_BRIEF = 10, 3


@dataclass(frozen=True, slots=True)
class Window:
    """The measured seconds of one trial in figures; rates are transactions per second.

    Attributes:
        mean: their plain mean, transactions / seconds: the throughput.
        typical: the typical speed: the mean after seconds below 60 % of the median were lifted to it, so that a few stalled
            seconds do not hide what the server does otherwise. Only brief stretches are lifted (see `brief`). It is not
            throughput; `stalls` and `worst` show the stalls.
        typical_cv: coefficient of variation of the seconds so lifted.
        cv: coefficient of variation: the standard deviation over the mean; 0 for a single second or a mean of zero.
        kurtosis: the fourth moment of the seconds about their mean over the squared second one: 3 for normal ones.
        stalls: seconds below half the median, below a tenth of the high level, or in which nothing was done (see `window`).
        stall_lengths: the same, as the length of each stall in seconds.
    """

    seconds: int
    mean: float
    typical: float
    typical_cv: float
    median: float
    cv: float
    worst: float
    kurtosis: float
    stalls: int
    stall_lengths: tuple[int, ...]


def relative(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return figures over their median, those further than 40 % from it as lying at that distance: a stall is no trend."""
    clipped: NDArray[np.float64] = np.clip(x / float(np.median(x)), 1 - OUTLIER, 1 + OUTLIER)
    return clipped


def window(tps: Series, seconds: Series | None = None) -> Window:
    """Sum up the measured seconds of one trial.

    A second is a stall when it is below half the median. That alone finds no stall in a window which is dead for most of its
    length: there the median itself is the speed of a dead server. So a second is a stall too when it is below a tenth of the
    90th percentile, a speed that the window kept for a tenth of its time. On published logs of healthy runs the second rule
    adds nothing, because their 90th percentile is at most 1.2 times their median: half the median is always higher than a
    tenth of it. It begins to count once the median is below a fifth of the 90th percentile.

    The typical speed lifts brief stretches only. A stretch that is longer is part of what the server did, not an interruption
    of it: lifted to 60 % of the median, a server that is dead for the last third of a run would seem to work there.

    Args:
        tps: transactions per second, one figure for each second.
        seconds: the length of each figure's interval, where figures are those of runs or parts of a recording: each counts for
            as long as it took, so that the mean is transactions / seconds. None where each is one second.

    Raises:
        ValueError: there is no second, or a figure is negative or not a number.
    """
    x = np.asarray(tps, dtype=float)
    if x.size == 0:
        raise ValueError("a window needs at least one measured second")
    if not np.isfinite(x).all() or (x < 0).any():
        raise ValueError("transactions per second must be numbers, zero or more")
    mean = float(x.mean()) if seconds is None else float(np.average(x, weights=np.asarray(seconds, dtype=float)))
    median = float(np.median(x))
    varies = x.size > 1 and mean > 0
    high = float(np.percentile(x, _HIGH, method="lower"))
    begins, ends = stretches((x < _STALL * median) | (x < _DEAD * high) | (x == 0))
    lengths = tuple((ends - begins).tolist())
    lifted = _lifted(x, _FLOOR * median)
    return Window(
        seconds=x.size,
        mean=mean,
        typical=float(lifted.mean()),
        typical_cv=float(lifted.std(ddof=1) / lifted.mean()) if varies else 0.0,
        median=median,
        cv=float(x.std(ddof=1)) / mean if varies else 0.0,
        worst=float(x.min()),
        kurtosis=_kurtosis(x),
        stalls=sum(lengths),
        stall_lengths=lengths,
    )


def brief(seconds: int) -> int:
    """Return the length up to which a stretch of slow seconds interrupts a window; a longer one is a level of its own.

    A sixth of the window, between 3 and 10 seconds. In the published logs of healthy runs every stretch below 60 % of the
    median lasts 1 to 3 s. What lasts longer than 10 s is no interruption to those who wait for an answer.
    """
    return min(_LONGEST_BRIEF, max(_SHORTEST_BRIEF, seconds // 6))


def stretches(low: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where each unbroken stretch of true values begins, and where it ends (the first index after it)."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], low, [False]]).astype(np.int8)))
    return edges[::2], edges[1::2]


def _kurtosis(x: NDArray[np.float64]) -> float:
    centred = x - x.mean()
    square = float((centred**2).mean())
    return float((centred**4).mean()) / square**2 if square > 0 else 3.0


def _lifted(x: NDArray[np.float64], floor: float) -> NDArray[np.float64]:
    """Return the seconds with those of brief stretches below the floor lifted to it."""
    lifted = np.maximum(x, floor)
    for begin, end in zip(*stretches(x < floor), strict=True):
        if end - begin > brief(x.size):
            lifted[begin:end] = x[begin:end]
    return lifted


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
