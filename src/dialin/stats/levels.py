"""Two levels in a series of seconds: where a server switched between two speeds, or fell and did not recover."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dialin.stats.window import brief

_Array = NDArray[np.float64]

_APART = 5.0
"""Ashman's D from which on two groups of smoothed seconds are two levels: the distance of their means in units of their mean
spread. Normal noise that is split in two at its best place has a D of 2.7, a straight line 3.5, a sine wave 4.1."""
_APART_IN_FEW = 7.0
"""The same for series of fewer than `_FEW` seconds, where chance splits autocorrelated noise into two groups."""
_FEW = 200
_LOWER = 0.8
"""The share of the higher level below which the lower one must lie. Closer levels are left to finer fits."""
_LEAST_SHARE = 0.05
"""The share of the seconds that each of the two levels must hold."""
_SPREAD = 0.01
"""The least spread of a level, as a share of the higher one: series without any noise have a D too."""


@dataclass(frozen=True, slots=True)
class Levels:
    """Two levels, and which seconds ran at which.

    Attributes:
        low: the median of the seconds at the lower level.
        begins: the first second of each stretch at one level; the first is 0.
        high_first: whether the first stretch ran at the higher level.
        low_share: the share of all seconds that ran at the lower level.
    """

    low: float
    high: float
    begins: tuple[int, ...]
    high_first: bool
    low_share: float

    @property
    def switches(self) -> int:
        return len(self.begins) - 1

    @property
    def ends_low(self) -> bool:
        return self.high_first == (len(self.begins) % 2 == 0)


def find_levels(x: _Array) -> Levels | None:
    """Find two levels that are far apart, each held for longer than a stall lasts; None where there are none.

    A running median removes what is brief (see `window.brief`). The smoothed seconds are split in two where the two groups
    spread least about their means (Otsu, IEEE Transactions on Systems, Man and Cybernetics 9, 1979). The groups are two levels
    when their means are far apart for their spread (Ashman's D), and the lower one is below 80 % of the higher one,
    by more than single seconds vary about their level.
    """
    short = brief(x.size)
    if x.size < 4 * short:
        return None
    from scipy.ndimage import median_filter  # takes a while to import, which --help need not wait for

    smooth = median_filter(x, size=2 * short + 1, mode="nearest")
    threshold = _best_split(np.sort(smooth))
    if threshold is None:
        return None
    is_high = smooth > threshold
    low, high = smooth[~is_high], smooth[is_high]
    top = float(high.mean())
    spread = float(np.sqrt((low.var() + high.var()) / 2))
    distance = (top - float(low.mean())) / max(spread, _SPREAD * top)
    if distance < (_APART_IN_FEW if x.size < _FEW else _APART):
        return None
    if min(low.size, high.size) < max(short + 1, _LEAST_SHARE * x.size):
        return None
    levels = float(np.median(x[~is_high])), float(np.median(x[is_high]))
    noise = float(np.sqrt((x[~is_high].var() + x[is_high].var()) / 2))
    if levels[0] > _LOWER * levels[1] or levels[1] - levels[0] < noise:
        return None
    begins = _begins(is_high)
    if x.size <= short * len(begins):  # not stretches at a level, but seconds that alternate
        return None
    return Levels(*levels, begins, bool(is_high[0]), low.size / x.size)


def _best_split(ordered: _Array) -> float | None:
    """Return the value above which the upper group begins; None where all values are the same."""
    number = np.arange(1, ordered.size)
    sums = np.cumsum(ordered - ordered.mean())[:-1]
    between = sums**2 / (number * (ordered.size - number))
    between[ordered[:-1] == ordered[1:]] = 0.0
    best = int(np.argmax(between))
    return float(ordered[best]) if between[best] > 0 else None


def _begins(is_high: NDArray[np.bool_]) -> tuple[int, ...]:
    return (0, *(int(place) for place in np.flatnonzero(np.diff(is_high)) + 1))
