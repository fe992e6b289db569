"""Prints how far the deviate of each false claim goes in a study, over all looks: what thresholds must exceed.

    python benchmarks/calibrate.py [--studies 200] [--seed 7] [--jobs 2] [--candidates 2 4 8 16 30]

Each study runs on for all of its budget and claims nothing; at each look the deviates of claims that would be false are noted.
The 95th percentile of a study's largest is the threshold at which one study of twenty claims falsely, at whichever look; the
last column is the share of studies that claim anything falsely by the thresholds in use. The worlds are not those of
benchmarks/decide.py and benchmarks/foreign_worlds.py, by which the thresholds (src/dialin/stats/thresholds.py) are judged.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from world import World, observe

from dialin.model.study import Until
from dialin.question.plan import block_order
from dialin.stats.allocation import SIZE, contenders
from dialin.stats.decide import Rules
from dialin.stats.forecast import fewest_trials
from dialin.stats.standings import is_due
from dialin.stats.thresholds import thresholds_of
from dialin.stats.throughput import TrialSpeed, by_typical_speed
from dialin.stats.trial_fit import FEWEST_TO_CLAIM, TrialFit, fit_trials

RULES = Rules(worthwhile=0.01, confidence=0.95)
BUDGET = 240 * 60
CLAIMS = ("best", "better", "worse")
WORLDS = (
    World("starts that vary", switch=45.0, cv=0.04, restart=0.015, drift=0.08, stalls=3.0),
    World("a dynamic variable", switch=12.0, measured=30, cv=0.06, restart=0.004, drift=0.10),
    World("jumps and heavy tails", switch=45.0, cv=0.04, restart=0.01, heavy=0.03, jumps=0.7, step=0.03),
)
TRUTHS = {"all equal": 0.0, "one better by 1.1 %": math.log(1.011)}


@dataclass(frozen=True, slots=True)
class Case:
    """A world, the number of candidates, and by how much the last one is better than the others, log scale."""

    world: World
    candidates: int
    gain: float

    @property
    def names(self) -> list[str]:
        return [f"c{index}" for index in range(self.candidates)]

    @property
    def levels(self) -> dict[str, float]:
        return {name: self.gain * (name == self.names[-1]) for name in self.names}


def false_deviates(fitted: TrialFit, true: dict[str, float], baseline: str) -> tuple[float, float, float]:
    """Return the largest deviate of each kind of claim that would be false, in the order of `CLAIMS`."""
    leader, top = fitted.names[int(np.argmax(fitted.effects))], max(true.values())
    trials = dict(zip(fitted.names, fitted.trials.tolist(), strict=True))

    def z(a: str, b: str, margin: float = 0.0) -> float:
        return fitted.difference(a, b).z(margin) if min(trials[a], trials[b]) >= FEWEST_TO_CLAIM else -math.inf

    others = [name for name in fitted.names if name != leader]
    not_better = [name for name in fitted.names if name != baseline and true[name] <= true[baseline]]
    is_best = true[leader] >= top - RULES.margin - 1e-9
    return (
        -math.inf if is_best else min(z(leader, name, RULES.margin) for name in others),
        max((z(name, baseline) for name in not_better), default=-math.inf),
        max((z(leader, name) for name in others if true[name] >= top), default=-math.inf),
    )


def course(case: Case, seed: int, number: int) -> tuple[tuple[float, float, float], bool]:
    """Run one study to the end of its budget: the largest deviate of each false claim, and whether any was made."""
    rng = np.random.default_rng([seed, case.candidates, number])
    machine, names, true = case.world.begin(rng), case.names, case.levels
    trials: list[TrialSpeed] = []
    largest, claimed = (-math.inf,) * len(CLAIMS), False
    block, looked, orders = list(names), 0, list[list[str]]()
    while machine.clock + len(block) * case.world.trial_seconds <= BUDGET:
        orders.append(block_order(1000 * seed + number, len(orders) + 1, block, before=orders))
        trials += [observe(rng, machine, names.index(name), true[name]) for name in orders[-1]]
        fitted = fit_trials(by_typical_speed(trials), names)
        if fitted is None:
            continue
        block = list(contenders(fitted, names[0], RULES, Until.BEST)[:SIZE])
        if len(trials) < fewest_trials(len(names)) or not is_due(len(trials), looked):
            continue
        looked = len(trials)
        deviates, needed = false_deviates(fitted, true, names[0]), thresholds_of(fitted, RULES.confidence)
        largest = tuple(map(max, largest, deviates))
        claimed = claimed or any(z >= getattr(needed, claim) for z, claim in zip(deviates, CLAIMS, strict=True))
    return largest, claimed


def line(case: Case, truth: str, courses: Sequence[tuple[tuple[float, float, float], bool]]) -> str:
    """Return a row of the table."""
    reached = [np.quantile([largest[claim] for largest, _ in courses], 0.95, method="higher") for claim in range(len(CLAIMS))]
    cells = [f"{value:.2f}" if value > 1.5 else "-" for value in reached]
    claimed = float(np.mean([one for _, one in courses]))
    return f"| {case.candidates} | {case.world.name} | {truth} | {' | '.join(cells)} | {claimed:.1%} |"


def main() -> None:
    """Print a row per number of candidates, world and truth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=200, help="studies a row")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--candidates", type=int, nargs="+", default=[2, 4, 8, 16, 30])
    parser.add_argument("--only", default="", help="only worlds and truths that hold this")
    options = parser.parse_args()
    columns = ("candidates", "world", "truth", *CLAIMS, "any false claim")
    print(f"{options.studies} studies a row; deviates that 5 % of them exceed with a false claim.\n")
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    with ProcessPoolExecutor(options.jobs) as pool:
        for candidates in options.candidates:
            for world in WORLDS:
                for truth, gain in TRUTHS.items():
                    if options.only not in f"{world.name}, {truth}":
                        continue
                    case = Case(world, candidates, gain)
                    tasks = [pool.submit(course, case, options.seed, number) for number in range(options.studies)]
                    print(line(case, truth, [task.result() for task in tasks]), flush=True)


if __name__ == "__main__":
    main()
