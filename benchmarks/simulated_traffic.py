"""Prints, as a Markdown table, how studies on live traffic end, and how a comparison of before and after would have ended.

    python benchmarks/simulated_traffic.py [--studies 400] [--seed 1] [--jobs 2] [--only TEXT] [--minutes 240]

Each study is simulated second by second: an offered load with a wave of the day and a faster one, a mix that changes, latency
that follows both, noise that lasts, bursts, and a candidate whose effect settles slowly. Its periods are judged by the
functions that a real study calls, at the looks that it takes; as there, the washout is lengthened where an effect settles
slowly. Before and after runs the baseline for the first half of the same hours and the candidate for the second, and compares
the minutes by Welch's t test, as a look at two charts does.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.stats import ttest_ind

from dialin.model.verdict import Estimate, Outcome
from dialin.stats.baseline_observation import observe
from dialin.stats.decide import Rules
from dialin.stats.standings import is_due
from dialin.stats.switchback import QUADS_TO_DECIDE, Period, Switchback, decide_periods, washout_needed

_Array = NDArray[np.float64]

RULES = Rules(worthwhile=0.05, confidence=0.95)
"""What a study of live traffic decides by where nothing else is asked for."""
PERIOD, WASHOUT = 60, 5
BASE, NEW = "baseline", "candidate"
OBSERVED = 600
"""Seconds of the baseline that are watched first."""


@dataclass(frozen=True, slots=True)
class World:
    """How a server lives.

    Attributes:
        wave: half the swing of the load over the day, on the log scale.
        fast: the same of a wave of 37 minutes.
        steep: by how much the logarithm of latency rises with that of the load.
        mix: by how much latency rises when the mix goes from one extreme to the other, on the log scale.
        lasting: standard deviation of noise that lasts, of a second, on the log scale; `memory` is its time, seconds.
        white: the same of noise that each second has anew.
        bursts: per hour, seconds to minutes in which latency rises by half to four times, and load by half.
        trend: by how much the level of latency rises per hour, on the log scale.
        settling: time in seconds by which the effect of a change comes into force.
        closed: by how much clients send more to a server that is faster: the load's elasticity to latency, negative.
        washout: seconds at the start of a period that are left out.
    """

    wave: float = 0.0
    fast: float = 0.0
    steep: float = 0.4
    mix: float = 0.0
    lasting: float = 0.05
    memory: float = 40.0
    white: float = 0.15
    bursts: float = 0.0
    trend: float = 0.0
    settling: float = 0.0
    closed: float = 0.0
    washout: int = WASHOUT

    @property
    def loop(self) -> float:
        """By how much clients that wait damp a change of latency."""
        return 1 - self.closed * self.steep


WORLDS = {
    "quiet": World(),
    "wave of the day": World(wave=0.9, fast=0.25),
    "wave, mix changes": World(wave=0.9, fast=0.25, mix=0.6),
    "trend": World(trend=0.25, wave=0.3),
    "bursts": World(wave=0.5, bursts=8.0),
    "lasting noise": World(wave=0.5, lasting=0.15, memory=180.0),
    "settles in 15 s, washout 5 s": World(wave=0.5, settling=15.0),
    "settles in 60 s, washout 5 s": World(wave=0.5, settling=60.0),
    "settles in 15 s, washout 30 s": World(wave=0.5, settling=15.0, washout=30),
    "clients wait": World(wave=0.5, closed=-0.6),
    "all of it": World(wave=0.9, fast=0.25, mix=0.6, bursts=8.0, trend=0.1, lasting=0.1, memory=90.0),
}


@dataclass(frozen=True, slots=True)
class Row:
    world: str
    effect: float


@dataclass(frozen=True, slots=True)
class Ended:
    """How one study ended; `effect` is the true logarithm of latency, candidate to baseline."""

    minutes: float
    claimed: bool
    false: bool
    chosen: bool
    right: bool
    covered: bool | None
    naive_claimed: bool
    naive_false: bool
    naive_covered: bool
    disagreed: bool
    carries: bool
    late: bool
    lasts: bool
    lengthened: bool
    noise: tuple[float, float]
    """What the observation of the baseline expects of a period, and what the study then finds."""


class Server:
    """A server under its own traffic, for so many seconds."""

    def __init__(self, rng: np.random.Generator, world: World, seconds: int) -> None:
        self._world = world
        at = np.arange(seconds)
        day = world.wave * np.sin(2 * np.pi * (at / 86_400 + rng.random()))
        fast = world.fast * np.sin(2 * np.pi * (at / 2_220 + rng.random()))
        self._load = day + fast + _lasting(rng, seconds, 0.08, 60.0) + 0.05 * rng.standard_normal(seconds)
        steps = np.repeat(rng.random(seconds // 1_500 + 1), 1_500)[:seconds]
        self.mix = 0.5 * steps + 0.25 * (1 + np.sin(2 * np.pi * (at / 5_000 + rng.random())))
        self._own = world.mix * self.mix + world.trend * at / 3600
        self._own = self._own + _lasting(rng, seconds, world.lasting, world.memory) + world.white * rng.standard_normal(seconds)
        for _ in range(rng.poisson(world.bursts * seconds / 3600)):
            begin, length = int(rng.integers(seconds)), int(rng.integers(3, 90))
            self._own[begin : begin + length] += rng.uniform(0.4, 1.6)
            self._load[begin : begin + length] += 0.4

    def run(self, is_new: NDArray[np.bool_], effect: float) -> tuple[_Array, _Array]:
        """Return latency and load of each second, both as logarithms."""
        world = self._world
        share = is_new.astype(float)
        if world.settling:
            keep = math.exp(-1 / world.settling)
            share = lfilter([1 - keep], [1, -keep], share)
        own = self._own + effect * share
        # Where clients wait, load and latency depend on each other: load = own + closed * latency.
        load = (self._load + world.closed * own) / world.loop
        return own + world.steep * load, load


def _lasting(rng: np.random.Generator, seconds: int, sd: float, memory: float) -> _Array:
    keep = math.exp(-1 / memory)
    noise: _Array = lfilter([sd * math.sqrt(1 - keep**2)], [1, -keep], rng.standard_normal(seconds + 1000))[1000:]
    return noise


def orders(rng: np.random.Generator, slots: int) -> list[str]:
    names: list[str] = []
    while len(names) < slots:
        first = [BASE, NEW] if rng.random() < 0.5 else [NEW, BASE]
        names += [*first, *reversed(first)]
    return names[:slots]


def study(rng: np.random.Generator, row: Row, minutes: float) -> Ended:
    world, effect = WORLDS[row.world], math.log1p(row.effect)
    seconds, washout = int(minutes * 60), world.washout
    total = OBSERVED + seconds
    server = Server(rng, world, total)
    names = orders(rng, (seconds // (PERIOD + washout)) // 4 * 4)
    is_new = np.zeros(total, dtype=bool)

    def switched(index: int, at: int) -> tuple[_Array, _Array]:
        """Latency and load of all seconds, where periods from one on have the present washout."""
        to_come = np.repeat([name == NEW for name in names[index:]], PERIOD + washout)[: total - at]
        is_new[at:] = False
        is_new[at : at + to_come.size] = to_come
        return server.run(is_new, effect)

    latency, load = switched(0, OBSERVED)
    seen = observe(np.exp(latency[:OBSERVED]), np.exp(load[:OBSERVED]), period=PERIOD, washout=world.washout)
    periods: list[Period] = []
    at, looked, found, lengthened = OBSERVED, 0, None, False
    for index, name in enumerate(names):
        if at + (4 - index % 4) * (PERIOD + washout) > total:
            break
        begin = at + washout
        at = begin + PERIOD
        inside = slice(begin, begin + PERIOD)
        middle = begin + PERIOD // 2
        half = (
            _mean(latency[begin:middle], load[begin:middle]),
            _mean(latency[middle : begin + PERIOD], load[middle : begin + PERIOD]),
        )
        periods.append(
            Period(
                run=0,
                candidate=name,
                at=begin + PERIOD / 2,
                value=1 / _mean(latency[inside], load[inside]),
                quad=index // 4,
                load=_load(load, server.mix, inside),
                halves=(1 / half[0], 1 / half[1]),
                late_load=_load(load, server.mix, slice(middle, begin + PERIOD)),
                previous=names[index - 1] if index else None,
            )
        )
        if index % 2 and is_due(index + 1, looked):
            looked = index + 1
            if len(periods) < 4 * QUADS_TO_DECIDE:
                continue  # nothing is chosen
            found = decide_periods(periods, [BASE, NEW], BASE, RULES)
            if found.decision.choice is not None:
                break
            needed = washout_needed(found, PERIOD, washout)
            if needed is not None and total - at >= 4 * QUADS_TO_DECIDE * (PERIOD + needed):
                washout, periods, lengthened = int(needed), [], True
                latency, load = switched(index + 1, at)
    if found is None or (found.decision.choice is None and len(periods) >= 4 * QUADS_TO_DECIDE):
        found = decide_periods(periods, [BASE, NEW], BASE, RULES)  # the last look, when the budget is over
    return _ended(
        found,
        (at - OBSERVED) / 60,
        lengthened,
        effect / world.loop,
        seen.noise if seen else 0.0,
        *_naive(server, effect, seconds, world.loop),
    )


def _load(load: _Array, mix: _Array, inside: slice) -> tuple[float, float]:
    return math.log(float(np.exp(load[inside]).mean())), float(mix[inside].mean())


def _mean(latency: _Array, load: _Array) -> float:
    """Return the mean latency of the statements of some seconds."""
    weights = np.exp(load)
    return float((np.exp(latency) * weights).sum() / weights.sum())


def _naive(server: Server, effect: float, seconds: int, loop: float) -> tuple[bool, bool, bool]:
    is_new = np.arange(OBSERVED + seconds) >= OBSERVED + seconds // 2
    latency, load = server.run(is_new, effect)
    minutes = [_mean(latency[at : at + 60], load[at : at + 60]) for at in range(OBSERVED, OBSERVED + seconds // 60 * 60, 60)]
    logs = np.log(minutes)
    before, after = logs[: len(logs) // 2], logs[len(logs) // 2 :]
    test = ttest_ind(after, before, equal_var=False)
    interval = test.confidence_interval(0.95)
    claimed = bool(test.pvalue < 0.05)
    difference = float(after.mean() - before.mean())
    false = claimed and (effect == 0 or difference * effect < 0)
    return claimed, false, bool(interval.low <= effect / loop <= interval.high)


def _ended(found: Switchback, minutes: float, lengthened: bool, effect: float, expected: float, *naive: bool) -> Ended:
    decision = found.decision
    claims_better, claims_worse = NEW in decision.better, BASE in decision.winners or decision.states[NEW].value == "loses"
    false = (claims_better and effect >= 0) or (claims_worse and effect <= 0)
    matters = 1.1 * RULES.margin  # 5 % is the least that matters: either choice is right there
    best = NEW if effect < -matters else BASE if effect > matters else None
    chosen = decision.choice is not None
    equal = decision.outcome is Outcome.NO_WORTHWHILE_DIFFERENCE and best is not None
    right = chosen and not equal and (best is None or decision.choice == best)
    return Ended(
        minutes=minutes,
        claimed=claims_better or claims_worse,
        false=false,
        chosen=chosen,
        right=right,
        covered=_covers(found.adjusted.get(NEW), -effect),
        naive_claimed=naive[0],
        naive_false=naive[1],
        naive_covered=naive[2],
        disagreed=bool(found.disagreeing),
        carries=any(one.is_shown for one in found.carry_over.values()),
        late=found.is_late,
        lasts=any(one.lasts for one in found.carry_over.values()),
        lengthened=lengthened,
        noise=(expected, decision.sd or 0.0),
    )


def _covers(ratio: Estimate | None, effect: float) -> bool | None:
    if ratio is None or ratio.low is None or ratio.high is None:
        return None
    return ratio.low <= math.exp(effect) <= ratio.high


def _study(row: Row, minutes: float, seed: tuple[int, ...]) -> Ended:
    return study(np.random.default_rng(seed), row, minutes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", nargs="*", default=[""], help="rows whose world and effect contain one of these")
    parser.add_argument("--minutes", type=float, default=240)
    asked = parser.parse_args()
    every = [Row(world, effect) for world in WORLDS for effect in (0.0, -0.05, -0.2, 0.2)]
    print(f"{asked.studies} studies of {asked.minutes:g} minutes a row, periods of {PERIOD} s after {WASHOUT} s of washout.")
    print(
        "| world | latency | false claims | intervals that cover | intervals | choice | right | minutes | of 9 in 10 "
        "| loads disagree | carry-over said | second halves | lasts | longer washout | noise expected, found "
        "| before/after: false claims | covers |"
    )
    print(17 * "|---" + "|")
    with ProcessPoolExecutor(asked.jobs) as pool:
        for number, row in enumerate(every):
            if not any(each in f"{row.world} {row.effect}" for each in asked.only):
                continue
            seeds = [(asked.seed, number, study) for study in range(asked.studies)]
            print(_line(row, list(pool.map(partial(_study, row, asked.minutes), seeds, chunksize=10))), flush=True)


def _line(row: Row, ended: list[Ended]) -> str:
    def share(name: str) -> str:
        known = [value for one in ended if (value := getattr(one, name)) is not None]
        return f"{100 * sum(known) / max(len(known), 1):.1f} %"

    minutes, most = np.quantile([one.minutes for one in ended], (0.5, 0.9))
    shown = f"{100 * sum(one.covered is not None for one in ended) / len(ended):.1f} %"
    case = f"{row.world} | {100 * row.effect:+.0f} %"
    noise = [100 * statistics.median(one.noise[place] for one in ended) for place in (0, 1)]
    return (
        f"| {case} | {share('false')} | {share('covered')} | {shown} | {share('chosen')} | {share('right')} "
        f"| {minutes:.0f} | {most:.0f} | {share('disagreed')} | {share('carries')} | {share('late')} | {share('lasts')} "
        f"| {share('lengthened')} "
        f"| {noise[0]:.1f} %, {noise[1]:.1f} % | {share('naive_false')} | {share('naive_covered')} |"
    )


if __name__ == "__main__":
    main()
