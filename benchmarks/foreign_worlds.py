"""Prints how often studies err in worlds that the method was not built on: bad starts, outliers, cron jobs, carry-over.

    python benchmarks/foreign_worlds.py [--studies 400] [--seed 1] [--jobs 2] [--only TEXT]

The generator shares nothing with benchmarks/world.py: noise on the log scale with several memories, counted transactions, and
one fault per world. The studies call what a real study calls: the proposer of contenders, `verdict.comparison`, and the looks.
A false claim counts at whichever look it is made; `covers` is the share of the printed ratios to the baseline whose
interval holds the truth.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
from decide import claims, rate
from numpy.typing import NDArray
from scipy.signal import lfilter

from dialin.measures.table import MEASURES
from dialin.model.load_driver import ALL_KINDS, TransactionTimes
from dialin.model.record import StudyRecord
from dialin.model.study import Candidate, Goal, StudySpec, Switch, Until
from dialin.model.trial import Purpose, Sample, Step, Trial, TrialState
from dialin.question.plan import block_order
from dialin.search.proposer import CONTENDERS, History, Room
from dialin.stats.standings import is_due
from dialin.stats.trial_figures import Figures, figures
from dialin.verdict import comparison, late_effect

_Array = NDArray[np.float64]
HORIZON = 5 * 3600
"""Seconds of machine time that any study here may take."""
_OF_A_SECOND = ((1.5, 0.030), (12.0, 0.015))
"""The memory (s) and the standard deviation of each part of the noise of seconds, log scale."""
_SPREAD_OF_LATENCY = 0.6
"""Standard deviation of one transaction's latency, log scale."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """A world.

    Attributes:
        levels: true throughput of each candidate, log scale; the first one is the baseline.
        by_set: whether trials follow each other by SET (8 s to switch, 30 s measured) or by a start (60 s, 60 s).
        starts: the standard deviation of a start, log scale; of a switch by SET a third.
        slow_starts: the share of trials that run `slow` slower (log scale).
        modes: by how much a trial is faster or slower, with equal probability.
        outliers: the share of trials at a tenth.
        cron: seconds between the beginnings of jobs that take 15 % for 90 s; 0 for none.
        pink: standard deviation of 1/f noise of the machine over the study, log scale.
        tps: transactions per second.
        rates: factors of `tps` per candidate that leave latency as it is.
        stalls: per hour, of 3 to 8 s.
        carried: of the previous trial's candidate, what it takes from the next trial's first 20 s, log scale by candidate.
        late: by candidate, what its throughput loses from 120 s in force on.
    """

    name: str
    levels: tuple[float, ...] = (0.0,) * 7
    goal: Goal = Goal.THROUGHPUT
    until: Until = Until.BEST
    by_set: bool = False
    starts: float = 0.007
    slow_starts: float = 0.0
    slow: float = 0.10
    modes: float = 0.0
    outliers: float = 0.0
    cron: float = 0.0
    pink: float = 0.0
    tps: float = 900.0
    rates: tuple[float, ...] = ()
    stalls: float = 3.0
    carried: tuple[float, ...] = ()
    late: tuple[float, ...] = ()
    minutes: float = 240.0

    @property
    def names(self) -> list[str]:
        return [f"c{index}" for index in range(len(self.levels))]

    @property
    def spec(self) -> StudySpec:
        candidates = tuple(
            Candidate(name=name, server="mysql@9.7", setting={"innodb_io_capacity": n + 100})
            for n, name in enumerate(self.names)
        )
        return StudySpec(
            candidates=candidates,
            baseline="c0",
            goal=self.goal,
            worthwhile=MEASURES[self.goal].worthwhile,
            until=self.until,
            minutes=self.minutes,
            switch=Switch.SET if self.by_set else Switch.RESTART,
        )

    @property
    def true(self) -> dict[str, float]:
        """What the goal's figure is worth for each candidate in the long run, log scale, the higher the better."""
        late = self.late or (0.0,) * len(self.levels)
        return {name: level + lost for name, level, lost in zip(self.names, self.levels, late, strict=True)}


@dataclass(slots=True)
class Laboratory:
    """One study's machine."""

    world: Foreign
    rng: np.random.Generator
    clock: float = 0.0
    before: int | None = None
    in_force: float = 0.0
    pink: _Array = field(default_factory=lambda: np.zeros(0))
    phase: float = 0.0
    samples: dict[int, list[Sample]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.phase = float(self.rng.uniform(0, self.world.cron or 1.0))
        waves = np.arange(1, HORIZON // 40)
        amplitudes = self.rng.normal(size=(2, waves.size)) / np.sqrt(waves)
        at = 2 * math.pi * np.outer(np.arange(0, HORIZON, 20) / HORIZON, waves)
        pink = np.cos(at) @ amplitudes[0] + np.sin(at) @ amplitudes[1]
        self.pink = self.world.pink * pink / pink.std()

    def machine(self, at: _Array) -> _Array:
        slow = np.interp(at, np.arange(0, HORIZON, 20), self.pink) if self.world.pink else np.zeros(at.size)
        if self.world.cron:
            slow = slow + np.log(0.85) * ((at + self.phase) % self.world.cron < 90)
        return slow

    def trial(self, number: int, block: int, index: int, seconds: float | None = None) -> tuple[Trial, Figures]:
        """Run a trial; with `seconds` the long window of a candidate, which keeps its samples."""
        world, rng = self.world, self.rng
        switch, warmup, count = (2.0, 6.0, 30) if world.by_set else (50.0, 10.0, 60)
        count = count if seconds is None else round(seconds)
        level = world.levels[index] + rng.normal(scale=world.starts / (3 if world.by_set else 1))
        level -= world.slow * (rng.random() < world.slow_starts)
        level += world.modes * rng.choice((-1, 1))
        level += math.log(0.1) * (rng.random() < world.outliers)
        begin = self.clock + switch + warmup
        at = begin + np.arange(count) + 0.5
        lagged = sum(
            lfilter(
                [1], [1, -math.exp(-1 / memory)], rng.normal(scale=sd * math.sqrt(1 - math.exp(-2 / memory)), size=count + 60)
            )[60:]
            for memory, sd in _OF_A_SECOND
        )
        log_speed = level + self.machine(at) + lagged
        in_force = warmup + np.arange(count)
        if world.carried and self.before is not None:
            log_speed = log_speed + world.carried[self.before] * (in_force < 20 + warmup)
        if self.before != index:
            self.in_force = 0.0
        if world.late:
            log_speed = log_speed + world.late[index] * (in_force + (self.in_force if world.by_set else 0.0) > 120)
        self.in_force += warmup + count
        speed = np.exp(log_speed)
        for _ in range(rng.poisson(world.stalls * count / 3600)):
            first = int(rng.integers(-7, count))
            speed[max(0, first) : max(0, first + int(rng.integers(3, 9)))] *= rng.uniform(0.05, 0.5)
        factor = world.rates[index] if world.rates else 1.0
        done = rng.poisson(world.tps * factor * speed)
        samples, times = self._samples(done, speed, at)
        self.clock = begin + count
        self.before = index
        steps = {Step.BOOT: switch, Step.WARM_UP: warmup, Step.MEASURE: float(count)}
        trial = Trial(
            id=number,
            block=block,
            session=1,
            position=1,
            candidate=world.names[index],
            state=TrialState.DONE,
            started=begin - switch - warmup,
            steps=steps,
            in_force={"innodb_io_capacity": str(index + 100)},
            host="h",
            transaction_times=times,
            purpose=Purpose.RACE if seconds is None else Purpose.LONG,
        )
        if seconds is not None:
            self.samples[number] = samples
        summed = figures(samples, times=times, percentile=world.spec.workload.percentile)
        assert summed is not None
        return trial, summed

    def _samples(self, done: NDArray[np.int64], speed: _Array, at: _Array) -> tuple[list[Sample], tuple[TransactionTimes, ...]]:
        count, times = done.size, ()
        latency = 8.0 / speed
        if self.world.goal is Goal.LATENCY:
            each = [
                8.0 / one * np.exp(self.rng.normal(scale=_SPREAD_OF_LATENCY, size=n))
                for one, n in zip(speed, done, strict=True)
            ]
            latency = np.array([float(np.percentile(one, 95, method="higher")) if one.size else 0.0 for one in each])
            every = np.ceil(np.log(np.concatenate(each)) * 100).astype(int)
            values, counts = np.unique(every, return_counts=True)
            pairs = tuple((math.exp(value / 100), int(n)) for value, n in zip(values, counts, strict=True))
            times = (TransactionTimes(ALL_KINDS, pairs, 16),)
        samples = [
            Sample(
                second + 1,
                float(at[second]),
                Step.MEASURE,
                float(done[second]),
                0,
                0,
                0,
                float(latency[second]),
                0,
                0,
                threads=16,
            )
            for second in range(count)
        ]
        return samples, times


@dataclass(frozen=True, slots=True)
class Ended:
    """How a study ended; `printed` ratios, of which `missed` did not hold the truth, both also for the choice alone."""

    minutes: float
    false: bool
    better: bool
    right: bool
    resolved: bool
    printed: int
    missed: int
    choice_printed: int
    choice_missed: int


def study(world: Foreign, seed: int, number: int) -> Ended:
    """Run one study as the runner does, looks included."""
    rng = np.random.default_rng([seed, number])
    lab, spec, true = Laboratory(world, rng), world.spec, world.true
    trials: list[Trial] = []
    by_trial: dict[int, Figures] = {}
    orders: list[list[str]] = []
    looked, block, false, better = 0, 0, False, False
    matters = math.log1p(spec.worthwhile) + 1e-9
    while True:
        block += 1
        names = [one.name for one in CONTENDERS.propose(History(spec, trials, by_trial), Room(block, 100))]
        orders.append(block_order(100_000 * seed + number, block, names, before=orders, goes_on=world.by_set))
        for name in orders[-1]:
            trial, summed = lab.trial(len(trials) + 1, block, world.names.index(name))
            trials.append(trial)
            by_trial[trial.id] = summed
        over = lab.clock + 2 * (38 if world.by_set else 120) > 60 * spec.minutes
        if not (over or is_due(len(trials), looked)):
            continue
        looked = len(trials)
        decision = comparison.decide_by(spec, spec.goal, trials, by_trial)
        false = false or claims(decision, true, "c0", matters)[0]
        better = better or bool(decision.better)
        if over or decision.is_reached(spec.until, "c0"):
            break
    if is_late(lab, decision.choice, trials, by_trial):  # the verdict withholds what it would have claimed
        false, better, decision = False, False, replace(decision, choice=None, leader="c0")
    chosen = decision.choice or decision.leader or "c0"
    intervals = {name: decision.ratios[name] for name in world.names if name != "c0"}
    printed = [
        (name, one) for name, one in intervals.items() if one is not None and one.low is not None and one.high is not None
    ]
    missed = [name for name, one in printed if not one.low <= math.exp(true[name] - true["c0"]) <= one.high]
    return Ended(
        lab.clock / 60,
        false,
        better,
        true[chosen] >= max(true.values()) - matters,
        decision.is_reached(spec.until, "c0"),
        len(printed),
        len(missed),
        sum(name == decision.choice for name, _ in printed),
        sum(name == decision.choice for name in missed),
    )


def is_late(lab: Laboratory, choice: str | None, trials: list[Trial], by_trial: dict[int, Figures]) -> bool:
    """Return whether the long windows of a choice and the baseline show that its gain does not last, as after a study."""
    spec, measure = lab.world.spec, 30.0 if lab.world.by_set else 60.0
    seconds = late_effect.long_window(spec, measure)
    if choice is None or not seconds:
        return False
    known = dict(by_trial)
    record = StudyRecord("", spec, 0.0, "", {}, {}, "", trials=trials, samples=lab.samples)
    while places := late_effect.places_left(record, known, choice):
        for _, name in places:
            trials.append(lab.trial(len(trials) + 1, 0, lab.world.names.index(name), seconds)[0])
    return any(late_effect.confounds(spec, trials, known, lab.samples))


def _first(difference: float, count: int = 7) -> tuple[float, ...]:
    return tuple(math.log1p(difference) if index == 3 else 0.0 for index in range(count))


SET_PAIR = Foreign("SET, two equal", levels=(0.0, 0.0), by_set=True, minutes=60)
START_PAIR = replace(SET_PAIR, name="restart, two equal", by_set=False, minutes=240)
WORLDS = (
    Foreign("quiet"),
    Foreign("slow starts: 10 % of starts are 10 % slow", slow_starts=0.1),
    Foreign("two modes of a start, 5 % up or down", modes=0.05),
    Foreign("3 % outlier trials at a tenth", outliers=0.03),
    Foreign("cron every 300 s, -15 % for 90 s", cron=300.0),
    Foreign("1/f noise of 5 %", pink=0.05),
    Foreign("16 candidates by SET", levels=(0.0,) * 16, by_set=True),
    Foreign("30 candidates by SET", levels=(0.0,) * 30, by_set=True),
    Foreign("stability", goal=Goal.STABILITY),
    Foreign("stability without stalls", goal=Goal.STABILITY, stalls=0.0),
    Foreign("latency, 8 tps", goal=Goal.LATENCY, tps=8.0, minutes=120),
    Foreign("latency, 8 tps, one has twice the rate", goal=Goal.LATENCY, tps=8.0, rates=(1, 1, 1, 2, 1, 1, 1), minutes=120),
    SET_PAIR,
    replace(SET_PAIR, name="SET, one of two better by 3 %", levels=(0.0, math.log1p(0.03))),
    replace(SET_PAIR, name="SET, one of two better by 10 %", levels=(0.0, math.log1p(0.10))),
    replace(SET_PAIR, name="SET, two equal, carry-over of 20 s", carried=(0.0, -0.06)),
    replace(SET_PAIR, name="SET, an effect that comes late (-6 %)", levels=(0.0, 0.02), late=(0.0, -0.08)),
    replace(SET_PAIR, name="SET, two equal, cron every 300 s, -15 % for 90 s", cron=300.0, minutes=120),
    replace(SET_PAIR, name="SET, two equal, the same, --until safe", cron=300.0, minutes=120, until=Until.SAFE),
    replace(
        SET_PAIR, name="SET, one of two worse by 0.8 %, the same", levels=(0.0, math.log1p(-0.008)), cron=300.0, minutes=120
    ),
    replace(SET_PAIR, name="SET, one of two better by 3 %, the same", levels=(0.0, math.log1p(0.03)), cron=300.0, minutes=120),
    START_PAIR,
    replace(START_PAIR, name="restart, two equal, two modes of a start", modes=0.05, minutes=60),
    replace(START_PAIR, name="restart, two equal, cron every 300 s, -15 % for 90 s", cron=300.0),
    replace(START_PAIR, name="restart, one of two worse by 1.5 %, the same", levels=(0.0, math.log1p(-0.015)), cron=300.0),
    replace(START_PAIR, name="restart, one of two worse by 30 %, the same", levels=(0.0, math.log1p(-0.3)), cron=300.0),
    replace(START_PAIR, name="restart, one of two better by 3 %", levels=(0.0, math.log1p(0.03))),
    Foreign("one better by 3 %", levels=_first(0.03)),
    Foreign("one better by 3 %, --until safe", levels=_first(0.03), until=Until.SAFE),
    Foreign("one better by 3 %, --until safe, slow starts", levels=_first(0.03), until=Until.SAFE, slow_starts=0.1),
    Foreign("one better by 1.5 %, --until safe", levels=_first(0.015), until=Until.SAFE),
    Foreign("one better by 2 %, --until safe", levels=_first(0.02), until=Until.SAFE),
    Foreign("all equal, --until safe", until=Until.SAFE),
)


def line(world: Foreign, ended: Sequence[Ended]) -> str:
    """Return a row of the table."""
    minutes, count = [one.minutes for one in ended], len(ended)
    printed, of_choice = sum(one.printed for one in ended), sum(one.choice_printed for one in ended)
    covers: Callable[[int, int], str] = lambda missed, of: f"{1 - missed / of:.1%} of {of}" if of else "-"  # noqa: E731
    cells = [
        world.name,
        rate(sum(one.false for one in ended), count),
        rate(sum(one.better for one in ended), count),
        rate(sum(one.right for one in ended), count),
        f"{np.median(minutes):.0f}",
        f"{sum(one.resolved for one in ended) / count:.0%}",
        covers(sum(one.missed for one in ended), printed),
        covers(sum(one.choice_missed for one in ended), of_choice),
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print a row per world."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=400, help="studies a row")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="only worlds whose name holds this")
    options = parser.parse_args()
    columns = ("world", "false claim", "better claimed", "right", "minutes: median", "resolved", "covers", "covers, choice")
    print(f"{options.studies} studies a row; each rate with its 95 % interval.\n")
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    with ProcessPoolExecutor(options.jobs) as pool:
        for world in WORLDS:
            if options.only in world.name:
                tasks = [pool.submit(study, world, options.seed, number) for number in range(options.studies)]
                print(line(world, [task.result() for task in tasks]), flush=True)


if __name__ == "__main__":
    main()
