"""Throughput by the number of threads."""

from __future__ import annotations

from dialin.evidence import measured
from dialin.model.record import StudyRecord
from dialin.model.why import Scaling, ScalingPoint
from dialin.stats import blocks, usl
from dialin.stats.trial_figures import by_threads


def scaling(record: StudyRecord) -> list[Scaling]:
    """Return throughput by number of threads of every candidate, where a trial measured several numbers.

    The intervals of all points together hold at the study's confidence; drift from block to block counts as noise in them.
    No law is fitted at a rate, because throughput is then the rate wherever it is reached.
    """
    if len(record.spec.workload.levels) < 2:
        return []
    trials, rate = measured.of(record), record.spec.workload.rate
    observations = []
    levels: dict[str, set[int]] = {}
    for one in trials:
        for threads, level in by_threads(record.samples[one.trial.id], rate=rate).items():
            levels.setdefault(one.trial.candidate, set()).add(threads)
            observations.append(blocks.Observation(one.trial.stratum, _key(one.trial.candidate, threads), level.throughput))
    keys = {_key(name, threads) for name, numbers in levels.items() for threads in numbers}
    estimates = blocks.levels(observations, sorted(keys), 1 - record.spec.confidence)
    return [
        Scaling(
            candidate=name,
            points=[ScalingPoint(threads=t, tps=estimates[_key(name, t)]) for t in sorted(levels[name])],
            usl=None if rate else usl.fit({t: estimates[_key(name, t)].mean for t in levels[name]}),
        )
        for name in measured.names(trials, record)
        if name in levels
    ]


def _key(candidate: str, threads: int) -> str:
    return f"{threads} {candidate}"
