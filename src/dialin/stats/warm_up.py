"""Warm-ups: whether one is over while it runs, and how much is left out at the start of a run that began cold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dialin.model.course import Course
from dialin.stats.steady import Shape, examine_run, mser5
from dialin.stats.window import OUTLIER, Series, relative

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


_MARGIN = 5
"""A warm-up that ends this many figures before the half of a run, or later, counts as one that does not end."""
_LONGEST_FALL = 0.2
"""The share of a run up to which a start that ran faster than the rest is left out. A longer one is no start: it is a level
that the run lost, and to leave it out would call the lower level the truth."""


@dataclass(frozen=True, slots=True)
class Start:
    """What is left out at the start of a run.

    Attributes:
        length: how many figures are left out.
        settled: whether the run settled before half of it was over.
        change: by how much the figures left out were faster (above 0) or slower than the rest, relative; 0 where none are.
    """

    length: int
    settled: bool
    change: float = 0.0


def find_start(tps: Series, whole: Shape | None = None) -> Start:
    """Find what is to be left out at the start of a run, by MSER-5; `whole` is what the whole run did, if that is known.

    A slow start is a warm-up. Where it is not over before half of the run, half of the run is taken for it, unless the whole
    run is steady: in a short and noisy one the least error may lie anywhere. A fast start is left out where it is short. Of a
    run that collapsed, only a slow start before the collapse is left out; of one at two levels, only a start slower than both.
    """
    x = np.asarray(tps, dtype=float)
    whole = whole or examine_run(tps)
    if whole.course is Course.COLLAPSE and whole.at is not None:
        return _start_of(x[: whole.at], _settled_part(x[: whole.at]))
    length = _cut(x)
    is_fall = length > 0 and float(x[:length].mean()) > float(x[length:].mean())
    if whole.course is Course.TWO_LEVELS:
        return _start_of(x, length if _is_below(x[:length], whole) else 0)
    if length < x.size // 2 - _MARGIN:
        return _start_of(x, 0 if is_fall and length > _LONGEST_FALL * x.size else length)
    if whole.settled and whole.course is Course.STEADY:
        return Start(0, settled=True)
    return Start(0, settled=False) if is_fall else _start_of(x, length, settled=False)


def _start_of(x: NDArray[np.float64], length: int, *, settled: bool = True) -> Start:
    rest = float(x[length:].mean()) if length else 0.0
    change = float(x[:length].mean()) / rest - 1 if rest > 0 else 0.0
    return Start(length, settled, change)


def _cut(x: NDArray[np.float64]) -> int:
    median = float(np.median(x)) if x.size else 0.0
    return mser5(relative(x)) if median > 0 else 0


def _settled_part(before: NDArray[np.float64]) -> int:
    length = _cut(before)
    return length if length < before.size // 2 - _MARGIN and before[:length].sum() < length * before[length:].mean() else 0


def _is_below(start: NDArray[np.float64], whole: Shape) -> bool:
    return whole.levels is not None and start.size > 0 and float(start.mean()) < whole.levels[1]
