"""Dips that recur with the clock, such as those of a monitoring agent that slows a server for seconds of each minute."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dialin.stats.window import OUTLIER

_Array = NDArray[np.float64]

_PERIODS = (5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600)
"""Seconds: the periods at which programs on a host are usually made to run."""
_FEWEST_PHASES = 5
"""Figures in a period below which a dip cannot be distinguished from a wave."""
_FEWEST_CYCLES = 5
"""Periods that a series must hold."""
_CHANCE = 0.01
"""The probability that one dip is found in a series without any, all periods and phases together."""
_DEPTH = 0.05
"""The least depth of a dip."""
_AS_DEEP = 1 / 3
"""The share of the greatest depth from which on other seconds of the period belong to the dip."""
_WIDEST = 0.2
"""The share of a period up to which low seconds are a dip. What is wider is a wave or a second level."""
_EVERY = 0.7
"""The share of the periods in which a second of the dip must be low."""
_AS_GOOD = 0.8
"""The share of the best period's explained squares from which on a shorter period is taken: its multiples explain as much."""
_LEAST_LEVEL = 0.01
"""The least level, as a share of the median: relative to a level near zero, any second is far away."""


@dataclass(frozen=True, slots=True)
class Dip:
    """Speed that falls at the same place of each period.

    Attributes:
        period: figures from one dip to the next.
        phases: the places in the period at which speed is low; 0 is the series' first figure.
        depth: by how much speed falls there, relative to the typical speed.
    """

    period: int
    phases: tuple[int, ...]
    depth: float


def find_dip(x: _Array, interval: float = 1.0) -> Dip | None:
    """Find seconds that are low in each period; None where there are none. The interval is the seconds between two figures.

    The series is folded at each of the usual periods of a clock, after its level (the median of each period, joined by straight
    lines) is removed. The mean of the figures at one place of the period is compared with what chance alone gives for as many
    figures. The error is shared among all places of all periods that are tried (Bonferroni). Of the periods that show a dip,
    the one that explains most is taken, or a shorter one that explains nearly as much.
    """
    periods = [round(one / interval) for one in _PERIODS if math.isclose(one / interval, round(one / interval))]
    periods = [one for one in periods if one >= _FEWEST_PHASES and x.size >= _FEWEST_CYCLES * one]
    if not periods or (middle := float(np.median(x))) <= 0:
        return None
    limit, least = -float(ndtri(_CHANCE / sum(periods))), _LEAST_LEVEL * middle
    dips = [dip for period in periods if (dip := _fold(_deviations(x, period, least), limit))]
    if not dips:
        return None
    best = max(explained for _, explained in dips)
    return next(dip for dip, explained in dips if explained >= _AS_GOOD * best)


def without_dip(x: _Array, dip: Dip) -> _Array:
    """Return the series with the figures of a dip raised to the level beside them."""
    flat = x.copy()
    low = np.isin(np.arange(x.size) % dip.period, dip.phases)
    places = np.arange(x.size)
    flat[low] = np.interp(places[low], places[~low], x[~low])
    return flat


def _fold(deviations: _Array, limit: float) -> tuple[Dip, float] | None:
    """Return the dip at a period and the sum of squares that it explains; None where no place of the period is low."""
    cycles, period = deviations.shape
    table = np.clip(deviations, -OUTLIER, OUTLIER)
    means = table.mean(axis=0)
    deepest = float(-means.min())
    low = means <= -max(_DEPTH, _AS_DEEP * deepest)
    if not 0 < low.sum() <= max(1, _WIDEST * period):
        return None
    low &= means <= -limit * float(table.std()) / math.sqrt(cycles)
    low &= (table <= means / 2).mean(axis=0) >= _EVERY
    if not low.any():
        return None
    dip = Dip(period, tuple(int(place) for place in np.flatnonzero(low)), depth=float(-deviations[:, low].mean()))
    return dip, float(low.sum() * cycles * means[low].mean() ** 2)


def _deviations(x: _Array, period: int, least: float) -> _Array:
    """Return each figure's distance from the level of its surroundings, relative to it: a row for each whole period.

    No level is below `least`.
    The levels between the centres of two periods are those of `np.interp`, in a quarter of its time.
    """
    cycles = x.size // period
    table = x[: cycles * period].reshape(cycles, period)
    levels = np.median(table, axis=1)
    first = period // 2  # the first figure at or after the centre of its period
    between = (cycles - 1) * period
    level = np.empty(table.size)
    level[:first], level[first + between :] = levels[0], levels[-1]
    offsets = np.arange(period) + first - (period - 1) / 2
    slopes = np.diff(levels) / period
    level[first : first + between] = (slopes[:, np.newaxis] * offsets + levels[:-1, np.newaxis]).ravel()
    return table / np.maximum(level, least).reshape(cycles, period) - 1
