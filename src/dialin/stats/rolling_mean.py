"""Rolling means of a series of seconds, over windows that are short compared with a trial."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
