"""Prints, as Markdown tables, how soon a warm-up is taken for steady, how biased what follows is, and what windows are called.

    python benchmarks/warmup_rates.py [--series 400] [--seed 1]

Simulated seconds: a known shape times noise. In the first table their lag-1 correlation is 0.4, and "MSER" stops as soon as
White's marginal standard error rule cuts less than half of what there is so far, for comparison. The second table says how
many measured windows are called anything but steady though nothing changes (of ten times as many series), and how many are
told for what they are: a trend, a shift of level, an oscillation of three cycles, one that is too short, and a warm-up
that is left out. The third table is about seconds that vary much: how many windows are called two levels, a collapse or
erratic though nothing changes, and how many are called what they are. The last one says in how many runs a dip that comes
back with the clock is found though there is none, and how many dips are found.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from dialin.model.course import Course
from dialin.stats.dips import find_dip
from dialin.stats.steady import Shape, examine
from dialin.stats.warm_up import is_steady

Series = NDArray[np.float64]
LIMIT = 60
MEASURED = 15
SECONDS = np.arange(LIMIT + MEASURED) + 0.5
CORRELATION = 0.4
CORRELATIONS = (0.0, 0.5, 0.7, 0.9)
WINDOWS = (20, 60, 300)
SHAPES: dict[str, Series] = {
    "stationary": np.ones(SECONDS.size),
    "from -30 %, time constant 5 s": 1 - 0.3 * np.exp(-SECONDS / 5),
    "from -30 %, time constant 20 s": 1 - 0.3 * np.exp(-SECONDS / 20),
    "from +30 %, time constant 20 s": 1 + 0.3 * np.exp(-SECONDS / 20),
    "grows 60 % to 100 % in 40 s": np.minimum(1, 0.6 + 0.01 * SECONDS),
}


Changing = tuple[str, Callable[[Series], Series], Callable[[Shape], bool]]
"""What happens, the shape of a window as a function of its seconds from 0 to 1, and whether it was told for that."""

COURSES: tuple[Changing, ...] = (
    ("trend of 10 %", lambda part: 1 + 0.1 * part, lambda found: found.course is Course.TREND),
    ("shift by -10 % at two thirds", lambda part: 1 - 0.1 * (part > 2 / 3), lambda found: found.course is Course.SHIFT),
    (
        "oscillation of 10 %, three cycles",
        lambda part: 1 + 0.1 * np.sin(6 * np.pi * part),
        lambda found: found.course is Course.OSCILLATION and not found.too_short,
    ),
    ("the same, 1.3 cycles: too short", lambda part: 1 + 0.1 * np.sin(2.6 * np.pi * part), lambda found: found.too_short),
    ("a quarter at 70 %: left out", lambda part: 1 - 0.3 * (part < 0.25), lambda found: found.begin > 0 and found.steady),
)


def _is_two_levels(found: Shape) -> bool:
    return found.course is Course.TWO_LEVELS


PLAIN: tuple[Changing, ...] = (
    ("dead from two thirds on", lambda part: 1.0 * (part < 2 / 3), lambda found: found.course is Course.COLLAPSE),
    ("falls to 36 % at a half", lambda part: np.where(part < 0.5, 1, 0.36), lambda found: found.course is Course.COLLAPSE),
    (
        "100 % and 25 % in turn, twice",
        lambda part: np.where(part % 0.5 < 0.25, 1, 0.25),
        _is_two_levels,
    ),
    (
        "100 % and 60 % in turn, twice",
        lambda part: np.where(part % 0.5 < 0.25, 1, 0.6),
        _is_two_levels,
    ),
)
CALLED = (Course.TWO_LEVELS, Course.COLLAPSE, Course.ERRATIC)
DIPS = ((60, (46, 47), 0.7), (10, (3,), 0.7), (300, (7, 8, 9), 0.5))
"""Seconds of a period, which of them are low, and their speed relative to the others."""
RUNS = (300, 1000, 5000)


def mser(tps: Sequence[float]) -> bool:
    """Tell whether the minimum of the marginal standard error lies before the middle of the series."""
    x = np.asarray(tps)
    if x.size < 5:
        return False
    cuts = range(x.size // 2 + 1)
    error = [x[cut:].var() / (x.size - cut) for cut in cuts]
    return int(np.argmin(error)) < cuts[-1]


def simulate(shape: Series, cv: float, series: int, seed: int, correlation: float = CORRELATION) -> Series:
    shocks = np.random.default_rng(seed).normal(size=(series, 50 + shape.size)) * np.sqrt(1 - correlation**2)
    noise = lfilter([1], [1, -correlation], shocks, axis=1)[:, 50:]
    return np.asarray(1000 * shape * (1 + cv * noise))


def begin(series: Series, rule: Callable[[Sequence[float]], bool]) -> int:
    return next((second for second in range(1, LIMIT) if rule(series[:second])), LIMIT)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print_warm_ups(options.series, options.seed)
    print()
    print_courses(options.series, options.seed)
    print()
    print_plain_courses(options.series, options.seed)
    print()
    print_dips(options.series, options.seed)


def print_warm_ups(series: int, seed: int) -> None:
    print("| shape | CV of seconds | begins at, median / P90 s | by 8 s | bias left, P50 / P90 | above 3 % | same, MSER |")
    print("|---|---|---|---|---|---|---|")
    for name, shape in SHAPES.items():
        for cv in (0.01, 0.02, 0.05):
            simulated = simulate(shape, cv, series, seed)
            found = np.array([begin(one, is_steady) for one in simulated])
            bias = np.array([abs(shape[at : at + MEASURED].mean() - 1) for at in found])
            other = np.array([begin(one, mser) for one in simulated])
            other_bias = np.array([abs(shape[at : at + MEASURED].mean() - 1) for at in other])
            print(
                f"| {name} | {cv:.0%} | {np.median(found):.0f} / {np.percentile(found, 90):.0f} | {np.mean(found <= 8):.0%} "
                f"| {np.median(bias):.1%} / {np.percentile(bias, 90):.1%} | {np.mean(bias > 0.03):.0%} "
                f"| {np.mean(other_bias > 0.03):.0%} |"
            )


def print_courses(series: int, seed: int) -> None:
    titles = ["nothing changes: not steady", *(title for title, _, _ in COURSES)]
    print(f"| window | CV of seconds | correlation | {' | '.join(titles)} |\n|---|---|---|{'---|' * len(titles)}")
    for seconds in WINDOWS:
        part = (np.arange(seconds) + 0.5) / seconds
        for cv in (0.02, 0.05):
            for correlation in CORRELATIONS:
                still = simulate(np.ones(seconds), cv, 10 * series, seed, correlation)
                shares = [f"{np.mean([not examine(one).steady for one in still]):.1%}"]
                for _, shape, told in COURSES:
                    moving = simulate(shape(part), cv, series, seed, correlation)
                    shares.append(f"{np.mean([told(examine(one)) for one in moving]):.0%}")
                print(f"| {seconds} s | {cv:.0%} | {correlation:g} | {' | '.join(shares)} |")


def print_plain_courses(series: int, seed: int) -> None:
    titles = [*(f"nothing changes: {course}" for course in CALLED), *(title for title, _, _ in PLAIN)]
    print(f"| window | CV of seconds | correlation | {' | '.join(titles)} |\n|---|---|---|{'---|' * len(titles)}")
    for seconds in WINDOWS:
        part = (np.arange(seconds) + 0.5) / seconds
        for cv in (0.1, 0.2, 0.3):
            for correlation in (0.0, 0.5, 0.9):
                still = [examine(one).course for one in _speeds(np.ones(seconds), cv, 10 * series, seed, correlation)]
                shares = [f"{np.mean([one is course for one in still]):.1%}" for course in CALLED]
                for _, shape, told in PLAIN:
                    moving = _speeds(shape(part), cv, series, seed, correlation)
                    shares.append(f"{np.mean([told(examine(one)) for one in moving]):.0%}")
                print(f"| {seconds} s | {cv:.0%} | {correlation:g} | {' | '.join(shares)} |")


def print_dips(series: int, seed: int) -> None:
    titles = [f"to {speed:.0%} in {len(low)} of {period} s" for period, low, speed in DIPS]
    print(f"| run | CV of seconds | correlation | no dip: found one | {' | '.join(titles)} |")
    print(f"|---|---|---|---|{'---|' * len(titles)}")
    for seconds in RUNS:
        time = np.arange(seconds)
        for cv in (0.05, 0.1, 0.2):
            for correlation in (0.0, 0.5, 0.9):
                still = _speeds(np.ones(seconds), cv, series, seed, correlation)
                shares = [f"{np.mean([find_dip(one) is not None for one in still]):.1%}"]
                for period, low, speed in DIPS:
                    moving = still * np.where(np.isin(time % period, low), speed, 1)
                    found = [(dip.period, set(dip.phases) <= set(low)) if (dip := find_dip(one)) else None for one in moving]
                    shares.append(f"{np.mean([one == (period, True) for one in found]):.0%}")
                print(f"| {seconds:,} s | {cv:.0%} | {correlation:g} | {' | '.join(shares)} |")


def _speeds(shape: Series, cv: float, series: int, seed: int, correlation: float) -> Series:
    return np.asarray(np.maximum(simulate(shape, cv, series, seed, correlation), 0.0))


if __name__ == "__main__":
    main()
