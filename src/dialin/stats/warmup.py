"""Whether a warm-up is over, during the warm-up; `steady` examines what was measured after it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dialin.stats.window import OUTLIER

_RECENT = 3 / 4
"""The share of the series, counted from its end, that is judged: an early transient is forgotten as the series grows."""
_FEWEST = 6
"""The fewest seconds that are judged, once the series has as many."""
_TOLERANCE = 0.015
"""The relative change across half of the judged seconds that counts as none."""
_NOISE = 0.7
"""The change that is taken for noise, in standard errors; less than one, so that chance rarely hides a trend."""
_PRECISION = 0.02
"""The standard error, relative, above which too little is known yet to judge."""
_ENOUGH = 20
"""Seconds after which a noisy series is judged at whatever precision it has."""


def is_steady(tps: Sequence[float], *, minimum: int = 5) -> bool:
    """Return whether a warm-up has become steady, so that measurement may begin.

    The series is steady when, at this second and at the one before it, the straight line through its last three quarters
    changes by no more than 1.5 % or than its own noise. The first second, in which connections still open, is left out.
    """
    x = np.asarray(tps, dtype=float)
    return x.size > max(minimum, 3) and _is_flat(x) and _is_flat(x[:-1])


def _is_flat(tps: NDArray[np.float64]) -> bool:
    median = float(np.median(tps))
    if median <= 0:
        return False
    judged = min(max(_FEWEST, int(np.ceil(_RECENT * tps.size))), tps.size - 1)
    change, error = _trend(tps[-judged:] / median)
    if error > _PRECISION and tps.size < _ENOUGH:
        return False
    return change <= max(_TOLERANCE, _NOISE * error)


def _trend(relative: NDArray[np.float64]) -> tuple[float, float]:
    """Return the absolute change of the straight line across half of the seconds, and its standard error.

    The seconds are relative to their median.
    """
    x = np.clip(relative, 1 - OUTLIER, 1 + OUTLIER)
    time = np.arange(x.size) - (x.size - 1) / 2
    half = x.size / 2
    change = half * float(time @ x / (time @ time))
    noise = float(np.sqrt(np.mean(np.diff(x) ** 2) / 2))  # of successive seconds, so that a trend does not count as noise
    return abs(change), half * noise / float(np.sqrt(time @ time))
