"""What measured seconds looked like: where measurement may begin, and whether they were steady, moved, jumped or swung."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]

_BATCH = 5
"""Seconds of a batch in MSER-5."""
_OUTLIER = 0.4
"""Seconds further than this from the median, relative to it, count as lying at that distance: a stall is no change of level."""
_MATTERS = 0.02
"""The change of level, relative, below which a course is called steady whatever else it is: the change across half of the
window for a trend, its size for a shift, half its swing for an oscillation."""
_SHORTEST_PERIOD = 6.0
"""Seconds: what swings faster is noise to a window."""
_FEWEST = 20
"""Seconds below which nothing but a plain trend is told."""
_FEWEST_OF_ALL = 8
"""Seconds below which nothing is told."""
_CERTAIN_OF_FEW = 60.0
"""As `_CERTAIN`, for a trend in fewer than `_FEWEST` seconds."""
_A_PARAMETER = 1.1
"""By how much a course must leave less unexplained than another one for each parameter that it has more."""
_CERTAIN = {"trend": 14.0, "shift": 20.0, "oscillation": 24.0}
"""How much better than a level each course must explain the seconds, in F ratios for their effective number. From simulation
(benchmarks/warmup_rates.py): so that seconds of a lag-1 correlation up to 0.9 are called anything but steady in few windows."""


class Course(StrEnum):
    """What measured seconds did."""

    STEADY = "steady"
    TREND = "trend"
    SHIFT = "shift"
    OSCILLATION = "oscillation"


@dataclass(frozen=True, slots=True)
class Shape:
    """What a window looked like.

    Attributes:
        begin: how many seconds at its start are warm-up, by MSER-5; 0 where the whole is steady, or never settled.
        settled: whether the warm-up is less than half of it: else it never became steady, and more seconds are needed.
        course: what the seconds from `begin` on did.
        change: by how much, relative: of a trend from one end to the other, of a shift from before to after, of an oscillation
            from its mean to its crest; signed but for the last; 0 when steady.
        at: the second at which the level shifted, counted from the window's start; None where it did not.
        period: seconds of one cycle of an oscillation; None where there is none.
        cycles: how many cycles there are from `begin` on; None where there is no oscillation.
    """

    begin: int
    settled: bool
    course: Course
    change: float = 0.0
    at: int | None = None
    period: float | None = None
    cycles: float | None = None

    @property
    def steady(self) -> bool:
        """Whether its mean can stand for the candidate: it settled, and keeps its level or swings about it twice at least."""
        return self.settled and (self.course is Course.STEADY or (self.cycles is not None and self.cycles >= 2))

    @property
    def too_short(self) -> bool:
        """Whether it holds less than two cycles of an oscillation."""
        return self.cycles is not None and self.cycles < 2


def examine(seconds: Sequence[float]) -> Shape:
    """Tell what a window of seconds looked like.

    Four courses are fitted by least squares: a level, a line, two levels, and a level with a wave. One of the last three is
    taken when it explains the seconds much better than a level does, by an F ratio in which the seconds count as many as they
    are worth after it is taken away (their lag-1 correlation allowed for), and its change matters (2 %).

    Args:
        seconds: one figure for each second: transactions, or latency where a rate keeps these still. Of fewer than twenty only
            a plain trend is told; fewer than eight, and those that are zero half of the time, are taken for steady: nothing can
            be told of them.
    """
    x = np.asarray(seconds, dtype=float)
    median = float(np.median(x)) if x.size else 0.0
    if x.size < _FEWEST_OF_ALL or median <= 0:
        return Shape(begin=0, settled=True, course=Course.STEADY)
    relative = np.clip(x / median, 1 - _OUTLIER, 1 + _OUTLIER)
    whole = _course(relative)
    if whole.course is Course.STEADY or x.size < 2 * _FEWEST:
        return whole
    begin = mser5(relative)
    if begin >= x.size // 2 - _BATCH:
        return replace(whole, settled=whole.steady)
    rest = _course(relative[begin:])
    if whole.steady and rest.course is not Course.STEADY:  # it swings all the time: there is nothing to leave out
        return whole
    return replace(rest, begin=begin, at=None if rest.at is None else rest.at + begin)


def mser5(x: _Array) -> int:
    """Return how many seconds to leave out at the start, by MSER-5; at most half of the series.

    Batches of 5 s are left out one by one; the cut is where the squared standard error of the mean of those left is least
    (White, An effective truncation heuristic for bias reduction, Simulation 69, 1997).
    """
    count = x.size // _BATCH
    if count < 4:
        return 0
    means = x[: count * _BATCH].reshape(count, _BATCH).mean(axis=1)[::-1]
    number = np.arange(1, count + 1)
    sums, squares = np.cumsum(means), np.cumsum((means - means.mean()) ** 2)
    centred = sums - number * means.mean()
    error = (squares - centred**2 / number) / number**2
    kept = count - np.arange(count // 2 + 1)
    # Of two cuts that are as good, the one that keeps more.
    return int(np.argmin(error[kept - 1] * (1 + 1e-9 * np.arange(kept.size)))) * _BATCH


def _course(x: _Array) -> Shape:
    """Return the course of seconds relative to their median; `begin` is left at 0."""
    level = x - x.mean()
    found = Shape(begin=0, settled=True, course=Course.STEADY)
    least = float("inf")
    few = x.size < _FEWEST
    for shape, residuals, matters, parameters in (_line(x),) if few else (_line(x), _step(x), _wave(x)):
        certain = _CERTAIN_OF_FEW if few else _CERTAIN[shape.course]
        left = float(residuals @ residuals) * _A_PARAMETER**parameters
        if matters >= _MATTERS and left < least and _f_ratio(level, residuals, parameters) >= certain:
            found, least = shape, left
    return found


def _f_ratio(level: _Array, residuals: _Array, parameters: int) -> float:
    """Return by how much a course explains more than a level does, were its residuals as many as they are worth."""
    left = float(residuals @ residuals)
    if left <= 0:
        return float("inf")
    gained = float(level @ level) - left
    lag = float(residuals[:-1] @ residuals[1:]) / left
    # Removing a course takes some of the correlation with it; about so much (Kendall, Biometrika 41, 1954).
    lag = min(max(lag + (1 + parameters + 3 * max(lag, 0)) / residuals.size, 0.0), 0.95)
    worth = residuals.size * (1 - lag) / (1 + lag)
    return gained / parameters / (left / residuals.size) * (worth / residuals.size)


def _line(x: _Array) -> tuple[Shape, _Array, float, int]:
    time = np.arange(x.size) - (x.size - 1) / 2
    slope = float(time @ x / (time @ time))
    change = slope * x.size
    return Shape(0, True, Course.TREND, change=change), x - x.mean() - slope * time, abs(change) / 2, 1  # noqa: FBT003


def _step(x: _Array) -> tuple[Shape, _Array, float, int]:
    edge = max(5, x.size // 10)
    number = np.arange(1, x.size)
    sums = np.cumsum(x - x.mean())[:-1]
    gained = sums**2 * x.size / (number * (x.size - number))
    at = edge + int(np.argmax(gained[edge - 1 : x.size - edge]))
    before, after = float(x[:at].mean()), float(x[at:].mean())
    residuals = x - np.where(np.arange(x.size) < at, before, after)
    return Shape(0, True, Course.SHIFT, change=after / before - 1, at=at), residuals, abs(after - before), 2  # noqa: FBT003


def _wave(x: _Array) -> tuple[Shape, _Array, float, int]:
    """Fit a wave of any period from `_SHORTEST_PERIOD` to four thirds of the window."""
    time = np.arange(x.size)
    centred = x - x.mean()
    # A finer grid than the Fourier frequencies, so that a period between two of them is found; then the full fit at the best.
    padded = np.fft.rfft(centred, 4 * x.size)
    frequencies = np.arange(padded.size) / (4 * x.size)
    usable = (frequencies >= 0.75 / x.size) & (frequencies <= 1 / _SHORTEST_PERIOD)
    frequency = float(frequencies[usable][np.argmax(np.abs(padded[usable]))])
    angle = 2 * np.pi * frequency * time
    columns = np.stack([np.ones(x.size), np.cos(angle), np.sin(angle)], axis=1)
    weights = np.linalg.lstsq(columns, x, rcond=None)[0]
    crest = float(np.hypot(weights[1], weights[2]))
    shape = Shape(0, True, Course.OSCILLATION, change=crest, period=1 / frequency, cycles=x.size * frequency)  # noqa: FBT003
    return shape, x - columns @ weights, crest, 3
