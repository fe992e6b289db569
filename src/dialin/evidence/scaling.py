"""Throughput by the number of threads."""

from __future__ import annotations

from collections.abc import Sequence

from dialin.evidence import measured
from dialin.evidence.measured import MeasuredTrial
from dialin.model.record import StudyRecord
from dialin.model.verdict import Estimate
from dialin.model.why import Scaling, ScalingPoint
from dialin.stats import blocks, usl
from dialin.stats.trial_figures import by_threads


def scaling(record: StudyRecord, trials: Sequence[MeasuredTrial]) -> list[Scaling]:
    """Return the throughput of every candidate by number of threads; empty where each trial measured one number of threads.

    The intervals of all points hold together at the study's confidence, and drift between blocks counts as noise in them.
    Ratios to the highest throughput at each number of threads are compared within blocks, without that drift. At a requested
    rate no scalability law is fitted, because throughput then equals the rate wherever the rate is reached.
    """
    if len(record.spec.workload.levels) < 2:
        return []
    rate = record.spec.workload.rate
    by_count: dict[int, list[blocks.Observation]] = {}
    for one in trials:
        for threads, level in by_threads(record.samples[one.trial.id], rate=rate).items():
            by_count.setdefault(threads, []).append(one.observation(level.throughput))
    keyed = [
        blocks.Observation(one.stratum, _key(one.candidate, threads), one.value)
        for threads, observations in by_count.items()
        for one in observations
    ]
    alpha = 1 - record.spec.confidence
    estimates = blocks.levels(keyed, sorted({one.candidate for one in keyed}), alpha)
    points: dict[str, list[ScalingPoint]] = {}
    for threads, observations in sorted(by_count.items()):
        names = [name for name in measured.names(trials, record) if any(one.candidate == name for one in observations)]
        levels = {name: estimates[_key(name, threads)] for name in names}
        ratios = _to_highest(observations, levels, alpha)
        for name in names:
            points.setdefault(name, []).append(ScalingPoint(threads=threads, tps=levels[name], to_highest=ratios.get(name)))
    return [
        Scaling(
            candidate=name,
            points=points[name],
            usl=None if rate else usl.fit({point.threads: point.tps.mean for point in points[name]}),
        )
        for name in measured.names(trials, record)
        if name in points
    ]


def _to_highest(observations: Sequence[blocks.Observation], levels: dict[str, Estimate], alpha: float) -> dict[str, Estimate]:
    """Return each candidate's throughput as a ratio to the highest; empty where candidates cannot be compared."""
    highest = max(levels, key=lambda name: levels[name].mean)
    fitted = blocks.fit(observations, list(levels))
    return {name: fitted.ratio(name, highest, alpha) for name in levels} if fitted else {}


def _key(candidate: str, threads: int) -> str:
    return f"{threads} {candidate}"
