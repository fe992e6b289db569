"""Summaries of measured seconds: the geometric mean, percentiles as a box plot shows them, and rolling means."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import quantiles

import numpy as np


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean, exact where there is one value; 0 where a value is 0."""
    if len(values) == 1:
        return values[0]
    return statistics.geometric_mean(values) if min(values) > 0 else 0.0


_SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.9975, 0.999, 0.9995, 0.9999)


@dataclass(frozen=True, slots=True)
class BoxFigures:
    """What a box plot shows of seconds: the percentiles 5, 25, 50, 75 and 95, the lowest second, and how many there are."""

    low: float
    first: float
    median: float
    third: float
    high: float
    worst: float
    seconds: int


def box(values: Sequence[float]) -> BoxFigures | None:
    if not values:
        return None
    if len(values) == 1:
        only = values[0]
        return BoxFigures(only, only, only, only, only, only, 1)
    cuts = quantiles(values, n=20, method="inclusive")
    return BoxFigures(cuts[0], cuts[4], cuts[9], cuts[14], cuts[18], min(values), len(values))


def at_share(values: Sequence[float], share: float) -> float:
    """Return the value, of sorted values, that a share (0 to 1) of all is at or below."""
    return values[max(0, min(len(values), math.ceil(share * len(values))) - 1)]


def resolvable_shares(count: int) -> list[float]:
    """Return the shares (0 to 1) that `count` values can resolve."""
    return [share for share in _SHARES if share == 0 or (1 - share) * count >= 1 - 1e-9]


WINDOWS = (5, 10, 15, 30, 60)
"""Seconds that a rolling mean may be taken over; the longest is the usual one of published benchmarks."""

_WINDOWS_IN_A_TRIAL = 8
"""Windows that a trial must hold: a rolling mean over a larger share of it would hide what it is drawn to show."""


def window_of(lengths: Sequence[int]) -> int | None:
    """Return the window, in seconds, of the rolling mean of a study's trials; None where they are too short for one."""
    shortest = min((length for length in lengths if length), default=0)
    return max((window for window in WINDOWS if _WINDOWS_IN_A_TRIAL * window <= shortest), default=None)


def rolling(values: Sequence[float], window: int) -> list[float]:
    """Return the mean around each value: of those values within half a window on both sides that the series has."""
    total = np.concatenate(([0.0], np.cumsum(np.asarray(values, dtype=np.float64))))
    places = np.arange(len(values))
    begins = np.maximum(0, places - window // 2)
    ends = np.minimum(len(values), places + window // 2 + 1)
    return [float(mean) for mean in (total[ends] - total[begins]) / (ends - begins)]
