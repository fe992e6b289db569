"""Prints, as Markdown tables, how soon a warm-up is taken for steady, how biased the measured window then is, and what drifts.

    python benchmarks/warmup_rates.py [--series 400] [--seed 1]

Simulated seconds: a known shape times noise with a lag-1 correlation of 0.4. "MSER" stops as soon as White's marginal
standard error rule cuts less than half of what there is so far, for comparison. The second table says how many measured
windows are taken for drifting, by the correlation of their seconds and by how much the speed changes from their beginning to
their end; ten times as many series.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from dialin.stats.warmup import drifts, is_steady

Series = NDArray[np.float64]
LIMIT = 60
MEASURED = 15
SECONDS = np.arange(LIMIT + MEASURED) + 0.5
CORRELATION = 0.4
CORRELATIONS = (0.0, 0.4, 0.7)
SHAPES: dict[str, Series] = {
    "stationary": np.ones(SECONDS.size),
    "from -30 %, time constant 5 s": 1 - 0.3 * np.exp(-SECONDS / 5),
    "from -30 %, time constant 20 s": 1 - 0.3 * np.exp(-SECONDS / 20),
    "from +30 %, time constant 20 s": 1 + 0.3 * np.exp(-SECONDS / 20),
    "grows 60 % to 100 % in 40 s": np.minimum(1, 0.6 + 0.01 * SECONDS),
}


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
    print_drifts(10 * options.series, options.seed)


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


def print_drifts(series: int, seed: int) -> None:
    kinds = [(change, correlation) for change in (0.0, 0.1) for correlation in CORRELATIONS]
    titles = [f"{change:.0%} change, correlation {correlation:g}" for change, correlation in kinds]
    print(f"| window | CV of seconds | {' | '.join(titles)} |\n|---|---|{'---|' * len(kinds)}")
    for seconds in (10, 20, 30, 60):
        for cv in (0.01, 0.02, 0.05, 0.10):
            shares = []
            for change, correlation in kinds:
                simulated = simulate(1 + change * SECONDS[:seconds] / seconds, cv, series, seed, correlation)
                shares.append(f"{np.mean([drifts(one) for one in simulated]):.1%}")
            print(f"| {seconds} s | {cv:.0%} | {' | '.join(shares)} |")


if __name__ == "__main__":
    main()
