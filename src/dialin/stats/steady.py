"""The shape of measured seconds: where measurement may begin, and whether they were steady or what else they did."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dialin.model.course import Course
from dialin.stats.window import OUTLIER, Series, brief, relative

_Array = NDArray[np.float64]

_LEVELS_APART = 5.0
"""Ashman's D from which on two groups of smoothed seconds are two levels: the distance of their means in units of their mean
spread. Normal noise that is split in two at its best place has a D of 2.7, a straight line 3.5, a sine wave 4.1."""
_APART_IN_FEW = 7.0
"""The same for series of fewer than `_FEW_FOR_LEVELS` seconds, where chance splits autocorrelated noise into two groups."""
_FEW_FOR_LEVELS = 200
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
    least = math.ceil(max(short + 1, _LEAST_SHARE * x.size))
    if x.size < 4 * short or _are_close(x, least):
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
    if distance < (_APART_IN_FEW if x.size < _FEW_FOR_LEVELS else _LEVELS_APART):
        return None
    if min(low.size, high.size) < least:
        return None
    levels = float(np.median(x[~is_high])), float(np.median(x[is_high]))
    noise = float(np.sqrt((x[~is_high].var() + x[is_high].var()) / 2))
    if levels[0] > _LOWER * levels[1] or levels[1] - levels[0] < noise:
        return None
    begins = (0, *(int(place) for place in np.flatnonzero(np.diff(is_high)) + 1))
    if x.size <= short * len(begins):  # not stretches at a level, but seconds that alternate
        return None
    return Levels(*levels, begins, bool(is_high[0]), low.size / x.size)


def _are_close(x: _Array, least: int) -> bool:
    """Return whether no two groups of figures that hold `least` each are two levels, so that they need not be looked for."""
    ordered, below = np.sort(x), np.arange(least, x.size - least + 1)
    # Whichever are below, their median is at least that of as many lowest ones, and that of the others at most as here.
    low, high = ordered[(below + 1) // 2 - 1], ordered[below + (x.size - below) // 2]
    return bool((low > _LOWER * high).all())


def _best_split(ordered: _Array) -> float | None:
    """Return the value above which the upper group begins; None where all values are the same."""
    number = np.arange(1, ordered.size)
    sums = np.cumsum(ordered - ordered.mean())[:-1]
    between = sums**2 / (number * (ordered.size - number))
    between[ordered[:-1] == ordered[1:]] = 0.0
    best = int(np.argmax(between))
    return float(ordered[best]) if between[best] > 0 else None


_BATCH = 5
"""Seconds of a batch in MSER-5."""
_MATTERS = 0.02
"""The change of level, relative, below which a course is called steady whatever else it is: the change across half of the
window for a trend, its size for a shift, half its swing for an oscillation."""
_SHORTEST_PERIOD = 6.0
"""The shortest period of an oscillation, in seconds; faster swings are noise."""
_CYCLES_OF_TRANSFORM = 3
"""Cycles from which on a Fourier transform shows about what a fitted wave explains: its two parts are nearly independent."""
_LONG = 1000
"""Seconds from which on it pays to look first whether there is any wave."""
_OFF_GRID = 2 / (1 + math.cos(math.pi / 4))
"""What the strongest wave explains at most, relative to the nearest one of a grid that is four times as fine as the Fourier
frequencies: 1.17. The power of n seconds by frequency is a trigonometric polynomial of degree n - 1 that is never negative, so
that it falls from its highest value no faster than a cosine of that degree does (Bernstein), which is at most an eighth of a
cycle away from the grid.
"""
_FEWEST = 20
"""Seconds below which nothing but a plain trend is reported."""
_FEWEST_OF_ALL = 8
"""Seconds below which nothing is reported."""
_CERTAIN_OF_FEW = 60.0
"""As `_CERTAIN`, for a trend in fewer than `_FEWEST` seconds."""
_A_PARAMETER = 1.1
"""The factor by which a course must leave less unexplained than another one for each parameter that it has more."""
_CERTAIN = {"trend": 14.0, "shift": 20.0, "oscillation": 24.0}
"""How much better than a level each course must explain the seconds, in F ratios for their effective number. From simulation
(benchmarks/warmup_rates.py): so that seconds of a lag-1 correlation up to 0.9 are called anything but steady in few windows."""


_COLLAPSED = 0.5
"""The share of the speed before, below which speed that fell and stays has collapsed. A second below it would be a stall."""
_ERRATIC = 0.5
"""The coefficient of variation above which seconds without another pattern are called erratic, not steady. At 50 % even a
minute of independent seconds gives a mean that is known to ±13 % only (95 % confidence), and one second is often twice another
one. In published runs that keep a level, the seconds vary by 7 to 22 %. What counting adds where transactions are few is
subtracted first: 1 / mean, by Poisson."""
_OFTEN_CLIPPED = 0.1
"""The share of clipped seconds from which on the size of a trend is taken from the figures themselves."""
_ONE_WAY, _CORRELATED = 1.5, 0.8
"""A wave of fewer cycles is a trend when its seconds and their order have at least this rank correlation (Spearman)."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a window looked like.

    Attributes:
        begin: how many seconds at its start are left out, by MSER-5 or because a collapse came after a rise; 0 where the whole
            is steady, or never settled.
        settled: whether less than half of it is left out: else it never became steady, and more seconds are needed.
        course: what the seconds from `begin` on did.
        change: by how much, relative: of a trend from one end to the other, of a shift or collapse from before to after, of an
            oscillation from its mean to its crest, of two levels from the higher to the lower; signed but for an
            oscillation; 0 for the other courses.
        at: the second at which the level shifted or collapsed, counted from the window's start; None where it did not.
        period: seconds of one cycle of an oscillation; None where there is none.
        cycles: how many cycles there are from `begin` on; None where there is no oscillation.
        levels: the figures before and after a shift or a collapse; the first and the last of a trend; the higher and the lower
            of two levels; None otherwise.
        switches: how often it switched between two levels; 0 for the other courses.
        low_share: the share of the seconds at the lower of two levels; 0 for the other courses.
    """

    begin: int
    settled: bool
    course: Course
    change: float = 0.0
    at: int | None = None
    period: float | None = None
    cycles: float | None = None
    levels: tuple[float, float] | None = None
    switches: int = 0
    low_share: float = 0.0

    @property
    def steady(self) -> bool:
        """Whether the mean can stand for the candidate: it settled, and keeps its level or has two cycles of an oscillation."""
        return self.settled and (self.course is Course.STEADY or (self.cycles is not None and self.cycles >= 2))

    @property
    def too_short(self) -> bool:
        """Whether the window holds less than two cycles of an oscillation."""
        return self.cycles is not None and self.cycles < 2


_STEADY = Shape(begin=0, settled=True, course=Course.STEADY)


def examine(seconds: Series, *, latency: bool = False) -> Shape:
    """Return what a window of seconds after a warm-up looked like.

    First come courses that are plain to see: nothing was done, speed fell to less than half and stayed there, or it switched
    between two levels more than once. Then four courses are fitted by least squares: a level, a line, two levels, and a level
    with a wave. One of the last three is taken when it explains the seconds much better than a level does, by an F ratio for
    the effective number of seconds (by the lag-1 correlation of what it leaves unexplained), and its change matters (2 %).
    Otherwise the seconds are steady, or erratic where they vary too much (see `_ERRATIC`).

    Args:
        seconds: one figure for each second. Of fewer than twenty only a plain trend is reported; fewer than eight are taken
            for steady unless nothing was done in them.
        latency: whether the figures are latencies, at a rate that keeps throughput constant. Then no collapse, no two levels
            and no erratic course are looked for: a latency that falls is good, and latencies vary by far more than speeds.
    """
    x = np.asarray(seconds, dtype=float)
    if (plain := _plain(x, latency=latency)) is not None:
        return plain
    near = relative(x)
    whole = _finished(_course(near), x, latency=latency)
    if whole.course is Course.STEADY or x.size < 2 * _FEWEST:
        return whole
    begin = mser5(near)
    if begin >= x.size // 2 - _BATCH:
        return replace(whole, settled=whole.steady or whole.course is Course.ERRATIC)
    rest = _finished(_course(near[begin:]), x[begin:], latency=latency)
    if whole.steady and rest.course is not Course.STEADY:  # it swings all the time: there is nothing to leave out
        return whole
    return replace(rest, begin=begin, at=None if rest.at is None else rest.at + begin)


def examine_run(seconds: Series) -> Shape:
    """Return what a whole run did, as `examine` does, leaving nothing out at its start but before a collapse."""
    x = np.asarray(seconds, dtype=float)
    plain = _plain(x, latency=False)
    return plain if plain is not None else _finished(_course(relative(x)), x, latency=False)


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
    remaining = count - np.arange(count // 2 + 1)
    # Of two cuts that are as good, the one that keeps more.
    return int(np.argmin(error[remaining - 1] * (1 + 1e-9 * np.arange(remaining.size)))) * _BATCH


def _plain(x: _Array, *, latency: bool) -> Shape | None:
    """Return a course that needs no fit, or that of a series too short for one; None where a fit is needed."""
    if x.size and x.max() <= 0:
        return replace(_STEADY, course=Course.DEAD)
    if x.size < _FEWEST_OF_ALL:
        return _STEADY
    levels = None if latency else find_levels(x)
    if levels is not None and levels.switches <= 2 and levels.ends_low:
        begin, at = (0, *levels.begins)[-2:]
        before, after = float(np.median(x[begin:at])), float(np.median(x[at:]))
        if after < _COLLAPSED * before:
            change = after / before - 1
            return Shape(begin, settled=True, course=Course.COLLAPSE, change=change, at=at, levels=(before, after))
    if levels is not None and levels.switches > 1 and not _is_wave(x, levels):
        return replace(
            _STEADY,
            course=Course.TWO_LEVELS,
            change=levels.low / levels.high - 1,
            levels=(levels.high, levels.low),
            switches=levels.switches,
            low_share=levels.low_share,
        )
    if float(np.median(x)) <= 0:  # it rose late, or works only now and then
        late = levels is not None and not levels.ends_low
        return replace(_STEADY, settled=False) if late else _finished(_STEADY, x, latency=latency)
    return None


def _is_wave(x: _Array, levels: Levels) -> bool:
    """Return whether a wave explains the seconds better than two levels do; smoothed, its crests look like levels."""
    stretch = np.searchsorted(levels.begins, np.arange(x.size), side="right")
    is_high = (stretch % 2 == 1) == levels.high_first
    left = x - np.where(is_high, levels.high, levels.low)
    _, residuals, _, _ = _wave(x, _strongest_wave(x)[0])
    return float(residuals @ residuals) < float(left @ left)


def _finished(shape: Shape, x: _Array, *, latency: bool) -> Shape:
    """Return a course with its change in the figures themselves: the fitted ones are clipped at 40 % from the median."""
    if shape.course is Course.SHIFT and shape.at is not None:
        before, after = _levels_about(x, shape)
        return replace(shape, change=after / before - 1 if before > 0 else shape.change, levels=(before, after))
    if shape.course is Course.TREND or (shape.cycles is not None and shape.cycles < _ONE_WAY and _is_one_way(x)):
        return _trend(shape, x)
    if not latency and _is_erratic(x, shape.change):
        return replace(_STEADY, course=Course.ERRATIC)
    return shape


def _trend(shape: Shape, x: _Array) -> Shape:
    """Return a trend with its ends: the medians of the first and the last tenth of the seconds."""
    tenth = max(1, x.size // 10)
    first, last = float(np.median(x[:tenth])), float(np.median(x[-tenth:]))
    steep = shape.course is not Course.TREND or np.mean(np.abs(x / float(np.median(x)) - 1) > OUTLIER) > _OFTEN_CLIPPED
    change = last / first - 1 if steep and first > 0 else shape.change
    return replace(_STEADY, course=Course.TREND, change=change, levels=(first, last))


def _is_one_way(x: _Array) -> bool:
    """Return whether a series rises or falls nearly all the time: a steep one looks like part of a wave once clipped."""
    order = np.argsort(np.argsort(x)) - (x.size - 1) / 2
    time = np.arange(x.size) - (x.size - 1) / 2
    return abs(float(order @ time)) > _CORRELATED * float(time @ time)


def _levels_about(x: _Array, shape: Shape) -> tuple[float, float]:
    """Return the figures before and after a shift: medians, which stalls do not move, or means where stalls shifted."""
    sides = x[: shape.at], x[shape.at :]
    before, after = (float(np.median(side)) for side in sides)
    if before > 0 and (after / before - 1) / shape.change > 1 / 2:
        return before, after
    return float(sides[0].mean()), float(sides[1].mean())


def _is_erratic(x: _Array, crest: float) -> bool:
    """Return whether seconds vary about their level or wave by more than the counting of few transactions explains."""
    mean = float(x.mean())
    return float(x.var()) / mean**2 - crest**2 / 2 - 1 / mean > _ERRATIC**2


def _course(x: _Array) -> Shape:
    """Return the course of seconds relative to their median; `begin` is left at 0."""
    level = x - x.mean()
    best = _STEADY
    least = float("inf")
    few = x.size < _FEWEST
    for shape, residuals, matters, parameters in (_line(x),) if few else (_line(x), _step(x), *_certain_wave(x, level)):
        certain = _CERTAIN_OF_FEW if few else _CERTAIN[shape.course]
        left = float(residuals @ residuals) * _A_PARAMETER**parameters
        if matters >= _MATTERS and left < least and _f_ratio(level, residuals, parameters) >= certain:
            best, least = shape, left
    return best


def _f_ratio(level: _Array, residuals: _Array, parameters: int) -> float:
    """Return the F ratio of a course against a level, for the effective number of residuals."""
    left = float(residuals @ residuals)
    if left <= 0:
        return float("inf")
    gained = float(level @ level) - left
    lag = float(residuals[:-1] @ residuals[1:]) / left
    # Removing a course takes some of the correlation with it; about so much (Kendall, Biometrika 41, 1954).
    lag = min(max(lag + (1 + parameters + 3 * max(lag, 0)) / residuals.size, 0.0), 0.95)
    effective = residuals.size * (1 - lag) / (1 + lag)
    return gained / parameters / (left / residuals.size) * (effective / residuals.size)


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


def _certain_wave(x: _Array, level: _Array) -> tuple[tuple[Shape, _Array, float, int], ...]:
    """Return the fit of a wave; nothing where it would be far from certain, which spares most runs the fit.

    From three cycles on, the full fit explains less than twice the squares that the transform finds.
    """
    if x.size >= _LONG and _is_without_wave(level):
        return ()
    frequency, squares = _strongest_wave(x)
    is_hopeless = frequency * x.size >= _CYCLES_OF_TRANSFORM and _is_hopeless(level, squares)
    return () if is_hopeless else (_wave(x, frequency),)


def _is_hopeless(level: _Array, squares: float) -> bool:
    left = float(level @ level) - 2 * squares
    return 2 * squares * level.size < _CERTAIN["oscillation"] * 3 * left


def _is_without_wave(level: _Array) -> bool:
    """Return whether any wave would be hopeless, by a transform whose length is a power of two.

    That of `_strongest_wave` takes ten times as long where its length has a large factor.
    """
    size = 1 << (4 * level.size - 1).bit_length()
    padded = np.fft.rfft(level, size)
    power = padded.real**2 + padded.imag**2
    cycle = size / level.size
    begin, middle, end = int(cycle / 2), int((_CYCLES_OF_TRANSFORM + 1) * cycle), int(size / _SHORTEST_PERIOD) + 2
    slow, fast = float(power[begin:middle].max()), float(power[middle:end].max())
    return slow * _OFF_GRID < fast and _is_hopeless(level, _OFF_GRID * 2 * fast / level.size)


def _strongest_wave(x: _Array) -> tuple[float, float]:
    """Return the frequency of the strongest wave, and the squares that it explains, about.

    Its period is between `_SHORTEST_PERIOD` and four thirds of the window.
    """
    # A finer grid than the Fourier frequencies, so that a period between two of them is found.
    padded = np.fft.rfft(x - x.mean(), 4 * x.size)
    frequencies = np.arange(padded.size) / (4 * x.size)
    usable = (frequencies >= 0.75 / x.size) & (frequencies <= 1 / _SHORTEST_PERIOD)
    sizes = np.abs(padded[usable])
    best = int(np.argmax(sizes))
    return float(frequencies[usable][best]), 2 * float(sizes[best]) ** 2 / x.size


def _wave(x: _Array, frequency: float) -> tuple[Shape, _Array, float, int]:
    time = np.arange(x.size)
    angle = 2 * np.pi * frequency * time
    columns = np.stack([np.ones(x.size), np.cos(angle), np.sin(angle)], axis=1)
    weights = np.linalg.lstsq(columns, x, rcond=None)[0]
    crest = float(np.hypot(weights[1], weights[2]))
    shape = Shape(0, True, Course.OSCILLATION, change=crest, period=1 / frequency, cycles=x.size * frequency)  # noqa: FBT003
    return shape, x - columns @ weights, crest, 3
