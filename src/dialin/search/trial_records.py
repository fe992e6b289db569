"""The trials that a search asks for, their outcomes, what those tell of costs and crashes, and its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from dialin.model.dimension import CATEGORY
from dialin.model.setting import Value
from dialin.model.tune import TuneStage
from dialin.model.verdict import Estimate, FigureSource, TunedPair, TuneOutcome
from dialin.search.space import Point, Space


@dataclass(frozen=True, slots=True)
class Options:
    """How long to search, and what trials cost.

    Attributes:
        minutes: the budget, proof included.
        proof_share: the share of the budget that the proof has.
        start_seconds: what a start of the server takes before it can be measured.
        set_seconds: what a change by SET takes before it can be measured.
        noise: standard deviation of a trial of any length, and the part that falls with its length, as sd * sqrt(seconds).
        worthwhile: a gain below this counts as nothing; the smallest set that is probably within this of the best one is
            recommended.
        resumed: trials before the budget was extended: what they promised does not end the search again.
        proofs: proofs before that: each further one must show more.
    """

    minutes: float
    search_seconds: float = 15.0
    proof_seconds: float = 30.0
    proof_share: float = 0.25
    start_seconds: float = 60.0
    set_seconds: float = 8.0
    noise: tuple[float, float] = (0.02, 0.12)
    worthwhile: float = 0.02
    resumed: int = 0
    proofs: int = 0

    def variance(self, seconds: float) -> float:
        """Return the variance of a trial's noise on the log scale, as assumed for its length."""
        return self.noise[0] ** 2 + self.noise[1] ** 2 / seconds


@dataclass(frozen=True, slots=True)
class Ask:
    """The next trial.

    Attributes:
        setting: the values that differ from the baseline's.
        improvement: by how much it is expected to improve on the best setting so far, on the log scale; None where it has
            another purpose.
        block: the block of the proof; 0 in the search.
        candidate: the name of the candidate of the proof; empty in the search.
    """

    setting: Mapping[str, Value]
    seconds: float
    purpose: TuneStage
    improvement: float | None = None
    block: int = 0
    candidate: str = ""


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """How a trial went.

    Attributes:
        throughput: transactions per second, or another figure that is to be high; anything where it did not complete.
        life: number of the server's life in which it ran.
        cost: seconds of the budget that it took in all.
        error: relative standard error of the throughput by the trial's own seconds; 0 where it is not known.
    """

    ask: Ask
    ok: bool
    throughput: float
    life: int
    cost: float
    error: float = 0.0


@dataclass(frozen=True, slots=True)
class Carried:
    """What one recommended variable carries.

    Attributes:
        ratio: throughput of the recommended setting to that of the same setting with the variable at its default.
        source: fresh trials of both settings, or the model of all trials.
        companions: recommended variables that no trial changed without this one: which of them carries it is not known.
    """

    variable: str
    ratio: Estimate
    source: FigureSource
    companions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What is recommended, and what fresh trials show of it.

    Attributes:
        setting: the recommended setting; empty for the baseline.
        gain: its throughput as a ratio to the baseline's, from fresh trials only; None where there are too few.
        guess: the best setting by the model, where none is recommended.
        carried: what each recommended variable carries, the largest first; empty where nothing is recommended.
        interactions: pairs of them that do together more or less than each by itself.
    """

    outcome: TuneOutcome
    setting: Mapping[str, Value]
    gain: Estimate | None
    guess: Mapping[str, Value]
    carried: tuple[Carried, ...] = ()
    interactions: tuple[TunedPair, ...] = ()


_CRASHES = 2
"""At least this many settings with a value must have crashed, and none with it have run."""


def crashing_values(points: Sequence[Point], survived: Sequence[bool], default: Point) -> list[tuple[int, float]]:
    """Return the categories that no setting ran with and several crashed with, as variable and coordinate.

    Values of `default`, the baseline, are never among them.
    """
    if all(survived):
        return []
    tried, ran = np.array(points), np.array(survived)
    deadly = []
    for index in range(tried.shape[1]):
        column = tried[:, index]
        for code in np.unique(column[~ran & (column >= CATEGORY) & (column != default[index])]):
            has = column == code
            if not (has & ran).any() and int((has & ~ran).sum()) >= _CRASHES:
                deadly.append((index, float(code)))
    return deadly


_KNOWN = 3
"""The number of trials of a kind (with a start of the server, or without one) from which on their median is used."""


def overheads(space: Space, outcomes: Sequence[TrialOutcome], points: Sequence[Point], options: Options) -> tuple[float, float]:
    """Return the seconds that a trial takes besides measuring: with a start of the server, and with a SET alone.

    They are medians of the completed trials, or the figures of the options where there are too few trials of a kind. `points`
    are those of the settings of `outcomes`.
    """
    starts: list[float] = []
    sets: list[float] = []
    running: Point | None = None
    for outcome, point in zip(outcomes, points, strict=True):
        if outcome.ok:
            has_started = running is None or bool((point != running)[space.static].any())
            (starts if has_started else sets).append(max(outcome.cost - outcome.ask.seconds, 0.0))
        running = point if outcome.ok else None
    return (
        median(starts) if len(starts) >= _KNOWN else options.start_seconds,
        median(sets) if len(sets) >= _KNOWN else options.set_seconds,
    )
