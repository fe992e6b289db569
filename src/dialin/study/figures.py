"""A trial's measured seconds in figures, and the one that the study's goal looks at."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from dialin.model.study import Goal
from dialin.model.trial import Sample, Step, Trial, TrialState
from dialin.model.verdict import Estimate
from dialin.stats.blocks import Observation
from dialin.stats.correlation import effective_seconds
from dialin.stats.series import Window, window
from dialin.stats.steady import Shape, examine

_STEADIEST = 0.001
"""The coefficient of variation below which a trial is as steady as can be: a driver's own clock is no better."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What a trial came to.

    Attributes:
        window: of the seconds that count: measured ones from `shape.begin` on, without those that the host lost.
        shape: what they looked like.
        effective: how many independent seconds they are worth.
        latency: the mean of their percentiles of latency, each weighed by its transactions, milliseconds; None without any.
        errors: errors that the driver ignored, a second.
        lost: measured seconds that the host lost; of runs that it spoiled, what they took.
        seconds: of load that count.
    """

    window: Window
    shape: Shape
    effective: float
    latency: float | None
    errors: float
    lost: int
    seconds: float


def figures(samples: Sequence[Sample]) -> Figures | None:
    """Sum up a trial; None where no second of it counts."""
    measured = [sample for sample in samples if sample.step is Step.MEASURE]
    kept = _on_one_level([sample for sample in measured if not sample.lost])
    if not kept:
        return None
    shape = examine([sample.tps for sample in kept])
    counted = kept[shape.begin :]
    tps = [sample.tps for sample in counted]
    total = sum(tps)
    return Figures(
        window=window(tps),
        shape=shape,
        effective=effective_seconds(tps),
        latency=sum(sample.latency_ms * sample.tps for sample in counted) / total if total > 0 else None,
        errors=sum(sample.errors for sample in counted) / len(counted),
        lost=round(sum(sample.seconds for sample in measured if sample.lost)),
        seconds=sum(sample.seconds for sample in counted),
    )


def by_threads(samples: Iterable[Sample]) -> dict[int, list[Sample]]:
    """Return the measured samples that the host did not lose, by how many connections worked."""
    grouped: dict[int, list[Sample]] = {}
    for sample in samples:
        if sample.step is Step.MEASURE and not sample.lost:
            grouped.setdefault(sample.threads, []).append(sample)
    return grouped


def _on_one_level(kept: Sequence[Sample]) -> list[Sample]:
    """Return samples as if all had been measured at one number of threads: that of the geometric mean of throughput.

    What a candidate gains at 1 thread and at 64 then counts alike, as a ratio; each second keeps its distance from its level.
    """
    grouped = by_threads(kept)
    levels = {threads: window([sample.tps for sample in own]).location for threads, own in grouped.items()}
    if len(levels) < 2 or min(levels.values()) <= 0:
        return list(kept)
    mean = statistics.geometric_mean(levels.values())
    return [replace(sample, tps=sample.tps * mean / levels[sample.threads]) for sample in kept]


def value(found: Figures, goal: Goal) -> float:
    """Return the figure that candidates are compared by: the higher the better, 0 where nothing was done."""
    if goal is Goal.THROUGHPUT:
        return found.window.location
    if found.latency is None:
        return 0.0
    if goal is Goal.LATENCY:
        return 1 / found.latency if found.latency > 0 else 0.0
    return 1 / max(found.window.cv, _STEADIEST)


def natural(ratio: Estimate | None, goal: Goal) -> Estimate | None:
    """Return the ratio of a goal's own measure: variation and latency are compared as their inverses, the higher the better."""
    if ratio is None or goal is Goal.THROUGHPUT:
        return ratio
    return Estimate(
        mean=1 / ratio.mean,
        low=1 / ratio.high if ratio.high is not None else None,
        high=1 / ratio.low if ratio.low is not None else None,
    )


def observations(trials: Sequence[Trial], found: Mapping[int, Figures], goal: Goal) -> list[Observation]:
    """Return what trials that ended well say by a goal; what ran close together in time is one stratum.

    Args:
        trials: any of the study.
        found: figures by trial id; a trial without any is left out.
        goal: what decides.
    """
    return [
        Observation((trial.block, trial.session), trial.candidate, value(found[trial.id], goal))
        for trial in trials
        if trial.state is TrialState.DONE and trial.id in found
    ]
