"""Readings of a trial that came at different times, brought to the same steps of time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]

_LENGTHS = (1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)


@dataclass(frozen=True, slots=True)
class TimeSteps:
    """Equal steps of time, the first of which begins at `begin`, seconds since the epoch; `length` is in seconds."""

    begin: float
    length: float
    count: int


def time_steps(begin: float, end: float, most: int) -> TimeSteps:
    """Return the shortest steps of a round length of which `most` or fewer cover the time from `begin` to `end`."""
    span = max(end - begin, 1.0)
    length = next((length for length in _LENGTHS if span <= most * length), _LENGTHS[-1])
    return TimeSteps(begin, length, max(1, math.ceil(span / length - 1e-6)))


def means(at: Sequence[float], values: Sequence[float], steps: TimeSteps) -> list[float | None]:
    """Return the mean of the values in each step; None for a step without any. A value on a border is the earlier step's."""
    return _plain(_means(at, values, steps))


def lowest(at: Sequence[float], values: Sequence[float], steps: TimeSteps) -> list[float | None]:
    """Return the lowest value in each step; None for a step without any."""
    place, inside = _places(at, steps)
    least = np.full(steps.count, np.inf)
    np.minimum.at(least, place[inside], np.asarray(values, dtype=float)[inside])
    return _plain(np.where(np.isfinite(least), least, np.nan))


def rates(at: Sequence[float], values: Sequence[float], steps: TimeSteps) -> list[float | None]:
    """Return the mean rate in each step. A reading is the rate since the one before, so a step without any takes the next."""
    return _plain(_filled(_means(at, values, steps), is_rate=True))


def gauges(at: Sequence[float], values: Sequence[float], steps: TimeSteps) -> list[float | None]:
    """Return the mean of a gauge in each step; a step without a reading takes the one before it."""
    return _plain(_filled(_means(at, values, steps), is_rate=False))


def _places(at: Sequence[float], steps: TimeSteps) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    place = np.ceil((np.asarray(at, dtype=float) - steps.begin) / steps.length - 1e-4).astype(np.int64) - 1
    place = np.where(place == -1, 0, place)  # read as the first step began
    inside: NDArray[np.bool_] = (place >= 0) & (place < steps.count)
    return place, inside


def _means(at: Sequence[float], values: Sequence[float], steps: TimeSteps) -> _Array:
    place, inside = _places(at, steps)
    count = np.bincount(place[inside], minlength=steps.count)
    total = np.bincount(place[inside], weights=np.asarray(values, dtype=float)[inside], minlength=steps.count)
    mean: _Array = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return mean


def _filled(values: _Array, *, is_rate: bool) -> _Array:
    """Return values with the gaps between the first and the last one filled; the first rate holds since the reading before."""
    known = np.flatnonzero(~np.isnan(values))
    filled = values.copy()
    if known.size:
        before = int(np.diff(known).min()) if is_rate and known.size > 1 else 0
        places = np.arange(max(0, known[0] - before), known[-1] + 1)
        source = np.searchsorted(known, places, side="left") if is_rate else np.searchsorted(known, places, side="right") - 1
        filled[places] = values[known[source]]
    return filled


def _plain(values: _Array) -> list[float | None]:
    return [None if math.isnan(value) else float(value) for value in values]
