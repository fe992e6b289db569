"""One trial's measured seconds, summed up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_FLOOR = 0.6
_STALL = 0.5


@dataclass(frozen=True, slots=True)
class Window:
    """The measured seconds of one trial in figures; rates are transactions a second.

    Attributes:
        seconds: how many seconds were measured.
        mean: their plain mean, transactions / seconds: the throughput.
        typical: the typical speed: the mean after seconds below 60 % of the median were lifted to it, so that a few stalled
            seconds do not hide what the server does otherwise. It is not throughput; `stalls` and `worst` show the stalls.
        median: their median.
        cv: coefficient of variation: the standard deviation over the mean; 0 for a single second or a mean of zero.
        worst: the lowest second.
        stalls: seconds below half the median, and seconds in which nothing was done at all.
        stall_lengths: the same, as the length of each stall in seconds.
    """

    seconds: int
    mean: float
    typical: float
    median: float
    cv: float
    worst: float
    stalls: int
    stall_lengths: tuple[int, ...]


def window(tps: Sequence[float]) -> Window:
    """Sum up the measured seconds of one trial.

    Args:
        tps: transactions a second, one figure for each second.

    Raises:
        ValueError: there is no second, or a figure is negative or not a number.
    """
    x = np.asarray(tps, dtype=float)
    if x.size == 0:
        raise ValueError("a window needs at least one measured second")
    if not np.isfinite(x).all() or (x < 0).any():
        raise ValueError("transactions a second must be numbers, zero or more")
    mean, median = float(x.mean()), float(np.median(x))
    varies = x.size > 1 and mean > 0
    stalled = np.concatenate([[False], (x < _STALL * median) | (x == 0), [False]])
    edges = np.flatnonzero(np.diff(stalled.astype(np.int8)))
    lengths = tuple((edges[1::2] - edges[::2]).tolist())
    return Window(
        seconds=x.size,
        mean=mean,
        typical=float(np.maximum(x, _FLOOR * median).mean()),
        median=median,
        cv=float(x.std(ddof=1)) / mean if varies else 0.0,
        worst=float(x.min()),
        stalls=sum(lengths),
        stall_lengths=lengths,
    )
