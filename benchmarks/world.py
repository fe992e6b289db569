"""A machine whose truth is known: seconds that follow each other, stalls, restarts that move whole trials, and slow drift."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from dialin.stats.intervals import typical
from dialin.stats.throughput import TrialSpeed
from dialin.stats.window import Window, effective_seconds, window

LONG_AGO = 40
"""Seconds that run before the first one kept, so that the noise has no beginning."""
CORRELATIONS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)
LONGEST = 5 * 3600
"""Seconds in which jumps may happen; no study of the benchmarks lasts longer."""
WAVES = (7_200, 18_000)
"""The periods of the drift, seconds: two waves of the same steepness."""


BEST, LAST = 3, 6
"""The numbers of the candidate that is the best one where any is, and of the last one."""


@dataclass(frozen=True, slots=True)
class Habits:
    """How one candidate behaves: by how much its seconds and starts are noisier than usual, and its stalls per hour."""

    noisier: float
    stalls: float


@dataclass(frozen=True, slots=True)
class World:
    """How a machine behaves, and how long a trial takes on it.

    Attributes:
        name: for the table.
        switch: seconds from the end of one trial's measurement to the beginning of the next one's.
        measured: seconds measured in each trial.
        cv: coefficient of variation of a second.
        restart: standard deviation by which a start moves a whole trial, relative.
        drift: root mean square of the drift's slope, relative, an hour.
        stalls: per hour.
        stalls_of_best: per hour, of the middle candidate; None for as many as the others have.
        correlations: lag-1 correlations of the seconds; a study has one of them.
        uneven: by how much the last candidate is noisier than the others, in seconds and restarts.
        heavy: scale of a heavy-tailed factor of each second (log-t with three degrees of freedom).
        jumps: how often the machine's level jumps for good, per hour, each by a normal step of `step` on the log scale.
    """

    name: str
    switch: float = 60.0
    measured: int = 60
    cv: float = 0.05
    restart: float = 0.01
    drift: float = 0.05
    stalls: float = 6.0
    stalls_of_best: float | None = None
    correlations: tuple[float, ...] = CORRELATIONS
    uneven: float = 1.0
    heavy: float = 0.0
    jumps: float = 0.0
    step: float = 0.05

    def habits(self, index: int) -> Habits:
        """Return how a candidate behaves, by its number."""
        stalls = self.stalls if index != BEST or self.stalls_of_best is None else self.stalls_of_best
        return Habits(self.uneven if index == LAST else 1.0, stalls)

    @property
    def trial_seconds(self) -> float:
        """How long one trial takes."""
        return self.switch + self.measured

    def begin(self, rng: np.random.Generator) -> Machine:
        """Return the machine of one study."""
        correlation, phases = float(rng.choice(self.correlations)), rng.uniform(0, 2 * math.pi, size=len(WAVES)).tolist()
        number = int(rng.poisson(self.jumps * LONGEST / 3600)) if self.jumps else 0
        jumps = list(zip(rng.uniform(0, LONGEST, number).tolist(), rng.normal(0, self.step, number).tolist(), strict=True))
        return Machine(self, correlation, phases, jumps=jumps)


@dataclass(slots=True)
class Machine:
    """The machine of one study, with its clock in seconds, and what was measured on it."""

    world: World
    correlation: float
    phases: list[float]
    clock: float = 0.0
    drifts: list[float] = field(default_factory=list)
    windows: dict[str, list[Window]] = field(default_factory=dict)
    jumps: list[tuple[float, float]] = field(default_factory=list)

    def drift(self, at: float) -> float:
        """Return by how much the machine is faster than usual, on the log scale."""
        steepness = self.world.drift / 3600 * math.sqrt(2 / len(WAVES))
        turns = zip(self.phases, (2 * math.pi / period for period in WAVES), strict=True)
        return sum(steepness / turn * math.sin(phase + turn * at) for phase, turn in turns)

    def state(self, at: float) -> float:
        """Return drift and jumps together."""
        return self.drift(at) + sum(step for when, step in self.jumps if when <= at)


RESTART = World("restart (60 s to switch)")
DYNAMIC = World("SET (8 s to switch, 30 s measured)", switch=8.0, measured=30, restart=0.003)


def _one(difference: float) -> list[float]:
    return [0.0, 0.0, 0.0, math.log1p(difference), 0.0, 0.0, 0.0]


def _pair(difference: float) -> list[float]:
    return [0.0, math.log1p(difference)]


def _graded(difference: float) -> list[float]:
    return [math.log1p(difference) * (1 - abs(index - 3) / 3) for index in range(7)]


def _two(difference: float) -> list[float]:
    return [0.0, 0.0, math.log1p(difference), math.log1p(difference), 0.0, 0.0, 0.0]


LEVELS: dict[str, Callable[[float], list[float]]] = {"one": _one, "graded": _graded, "two": _two, "pair": _pair}
"""True levels of seven candidates on the log scale: one or two better than the rest, or a peak that falls off to both sides;
and of two candidates alone."""


def noise(rng: np.random.Generator, world: World, correlation: float, count: int, habits: Habits) -> NDArray[np.float64]:
    """Return seconds about 1, stalls in them."""
    shocks = rng.standard_normal(LONG_AGO + count) * math.sqrt(1 - correlation**2)
    speed = 1 + habits.noisier * world.cv * lfilter([1], [1, -correlation], shocks)[LONG_AGO:]
    for _ in range(rng.poisson(habits.stalls * count / 3600)):
        begin = int(rng.integers(-7, count))
        speed[max(0, begin) : max(0, begin + int(rng.integers(3, 9)))] *= rng.uniform(0.1, 0.5)
    if world.heavy:
        speed *= np.exp(world.heavy * rng.standard_t(3, size=count))
    return np.maximum(speed, 0.0)


def run(rng: np.random.Generator, machine: Machine, count: int, level: float, habits: Habits) -> NDArray[np.float64]:
    """Return the seconds of one run, whose start moved it as a whole; the clock goes on."""
    world = machine.world
    machine.clock += world.switch
    at = machine.clock + np.arange(count)
    drift = machine.state(float(at.mean())) if count < 600 else None
    moved = level + rng.normal(scale=world.restart * habits.noisier)
    machine.clock += count
    shape = drift if drift is not None else np.array([machine.state(float(second)) for second in at])
    return np.asarray(1000 * np.exp(moved + shape) * noise(rng, world, machine.correlation, count, habits))


def observe(rng: np.random.Generator, machine: Machine, index: int, level: float) -> TrialSpeed:
    """Run one trial of the candidate of a number."""
    name, habits = f"c{index}", machine.world.habits(index)
    seconds = run(rng, machine, machine.world.measured, level, habits)
    measured = window(seconds)
    middle = machine.clock - machine.world.measured / 2
    machine.drifts.append(machine.state(middle))
    machine.windows.setdefault(name, []).append(measured)
    error = measured.typical_cv / math.sqrt(effective_seconds(seconds))
    return TrialSpeed(0, name, middle, measured.mean, measured.typical, error)


@dataclass(frozen=True, slots=True)
class Truth:
    """What a candidate's trials show in the long run.

    Attributes:
        cv: coefficient of variation of a typical trial.
        stalled: share of seconds that are stalled.
        cost: what stalls take from the throughput of a trial, mean on the log scale; negative.
        noise: standard deviation of one trial's typical speed, start included, on the log scale.
    """

    cv: float
    stalled: float
    cost: float
    noise: float


@lru_cache(maxsize=64)
def truth(world: World, correlation: float, habits: Habits) -> Truth:
    """Return the truth about a candidate of such habits; from many trials."""
    rng = np.random.default_rng(20_080_117)
    trials = [window(noise(rng, world, correlation, world.measured, habits).tolist()) for _ in range(6000)]
    return Truth(
        cv=typical([trial.cv for trial in trials], 0.5).mean,
        stalled=sum(t.stalls for t in trials) / sum(t.seconds for t in trials),
        cost=float(np.mean([math.log(trial.mean) for trial in trials])),
        noise=math.hypot(world.restart * habits.noisier, float(np.std([math.log(trial.typical) for trial in trials]))),
    )
