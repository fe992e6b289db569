"""Prints how far the deviate of each false claim goes in a study, over all looks: what thresholds must exceed.

    python benchmarks/calibrate.py [--studies 300] [--seed 7] [--jobs 2]

Each study runs on for all of its budget and claims nothing; at each look the deviates of claims that would be false are noted.
The 95th percentile of a study's largest is the threshold at which one study of twenty claims falsely, at whichever look. What
ends a study that runs until the best is shown is the first look at which any candidate passes: there the threshold is the one
at which one study of twenty ends with a false claim. The worlds are not those of benchmarks/decide.py, by which the thresholds
(src/dialin/stats/thresholds.py) are judged.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from world import World, observe, truth

from dialin.stats.allocation import next_block
from dialin.stats.decide import FEWEST_REPEATS, Rules
from dialin.stats.standings import is_due
from dialin.stats.throughput import TrialSpeed, by_typical_speed
from dialin.stats.trial_fit import fit_trials

RULES = Rules(worthwhile=0.01, confidence=0.95)
BUDGET = 240 * 60
CLAIMS = ("best", "better", "worse")
RATES = (0.05, 0.025)
WORLDS = (
    World("starts that vary", switch=45.0, cv=0.04, restart=0.015, drift=0.08, stalls=3.0),
    World("seconds that vary", switch=30.0, cv=0.08, restart=0.004, drift=0.03, stalls=10.0),
    World("a dynamic variable", switch=12.0, measured=30, cv=0.06, restart=0.004, drift=0.10),
    World("one four times noisier", switch=45.0, cv=0.04, restart=0.008, uneven=4.0),
    World("jumps and heavy tails", switch=45.0, cv=0.04, restart=0.01, heavy=0.03, jumps=0.7, step=0.03),
)
TRUTHS = {
    "five equal": (0.0,) * 5,
    "one better by 1.1 %": (0.0, 0.0, 0.0, math.log(1.011), 0.0),
    "two better by 4 %": (0.0, 0.0, math.log(1.04), math.log(1.04), 0.0),
    "three, one worse by 2 %": (0.0, 0.0, -0.02),
    "two equal": (0.0, 0.0),
}


@dataclass(frozen=True, slots=True)
class Case:
    """A world and the levels of its candidates, log scale."""

    world: World
    levels: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Course:
    """What one study came to.

    Attributes:
        records: each deviate for `best` that was higher than all before it, and whether the claim would have been false.
        better: the largest deviate of a false claim that a candidate is better than the baseline; minus infinity where there
            was none.
        worse: the same of false claims that a candidate is worse than the best.
    """

    records: tuple[tuple[float, bool], ...]
    better: float
    worse: float


def course(case: Case, seed: int, number: int) -> Course:
    """Run one study to the end of its budget."""
    rng = np.random.default_rng([seed, number])
    machine = case.world.begin(rng)
    names = [f"c{index}" for index in range(len(case.levels))]
    costs = [truth(case.world, machine.correlation, case.world.habits(index)).cost for index in range(len(names))]
    true = {name: level + cost for name, level, cost in zip(names, case.levels, costs, strict=True)}
    top = max(true.values())
    trials: list[TrialSpeed] = []
    records: list[tuple[float, bool]] = []
    better = worse = -math.inf
    block, looked = list(names), 0
    while machine.clock + len(block) * case.world.trial_seconds <= BUDGET:
        rng.shuffle(block)
        trials += [observe(rng, machine, names.index(name), case.levels[names.index(name)]) for name in block]
        values = by_typical_speed(trials)
        block = list(next_block(values, names, names[0], RULES))
        fitted = fit_trials(values, names)
        if fitted is None or len(trials) < len(names) + FEWEST_REPEATS or not is_due(len(trials), looked):
            continue
        looked = len(trials)
        leader = fitted.names[int(np.argmax(fitted.effects))]
        others = [name for name in fitted.names if name != leader]
        near = min(fitted.difference(leader, name).z(RULES.margin) for name in others)
        if not records or near > records[-1][0]:
            records.append((near, true[leader] < top - RULES.margin - 1e-9))
        for name in fitted.names[1:]:
            if true[name] <= true[names[0]] + 1e-9:
                better = max(better, fitted.difference(name, names[0]).z())
        for name in others:
            if true[name] >= top - 1e-9:
                worse = max(worse, fitted.difference(leader, name).z())
    return Course(tuple(records), better, worse)


def of_best(courses: Sequence[Course], rate: float) -> float:
    """Return the least threshold at which no more than a share of studies ends with a false claim of the best."""
    for threshold in np.arange(1.5, 5.0, 0.01):
        first = (next((false for z, false in one.records if z >= threshold), False) for one in courses)
        if sum(first) <= rate * len(courses):
            return float(threshold)
    return math.inf


def quantile(values: Sequence[float], rate: float) -> float:
    return float(np.quantile(values, 1 - rate, method="higher"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=300, help="studies a row")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    print(f"{options.studies} studies a row; thresholds at which 5 % and 2.5 % of them claim falsely.\n")
    print(f"| world | truth | {' | '.join(CLAIMS)} |\n|{'---|' * (2 + len(CLAIMS))}")
    with ProcessPoolExecutor(options.jobs) as pool:
        for world in WORLDS:
            for name, levels in TRUTHS.items():
                case = Case(world, levels)
                tasks = [pool.submit(course, case, options.seed, number) for number in range(options.studies)]
                courses = [task.result() for task in tasks]
                cells = [
                    " and ".join(f"{value:.2f}" if value > 1.5 else "-" for value in values)
                    for values in (
                        [of_best(courses, rate) for rate in RATES],
                        [quantile([one.better for one in courses], rate) for rate in RATES],
                        [quantile([one.worse for one in courses], rate) for rate in RATES],
                    )
                ]
                print(f"| {world.name} | {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
