"""Throughput by the number of threads."""

from __future__ import annotations

from collections.abc import Sequence

from dialin.evidence import measured
from dialin.evidence.measured import MeasuredTrial
from dialin.model.record import StudyRecord
from dialin.model.study import StudySpec
from dialin.model.why import Scaling, ScalingPoint
from dialin.stats import usl
from dialin.stats.candidate_figures import candidate_figures
from dialin.stats.trial_figures import by_threads
from dialin.stats.trial_fit import TimedTrial


def scaling(record: StudyRecord, trials: Sequence[MeasuredTrial]) -> list[Scaling]:
    """Return the throughput of every candidate by number of threads; empty where each trial measured one number of threads.

    Each number of threads is estimated by itself, as the throughput of a verdict is. At a requested rate no scalability law is
    fitted, because throughput then equals the rate wherever the rate is reached.
    """
    if len(record.spec.workload.levels) < 2:
        return []
    rate, names = record.spec.workload.rate, measured.names(trials, record)
    by_count: dict[int, list[TimedTrial]] = {}
    for one in trials:
        for threads, level in by_threads(record.samples[one.trial.id], rate=rate).items():
            timed = TimedTrial(one.trial.run, one.trial.candidate, one.trial.middle, level.throughput)
            by_count.setdefault(threads, []).append(timed)
    points: dict[str, list[ScalingPoint]] = {}
    for threads, timed_trials in sorted(by_count.items()):
        for name, point in _points(threads, timed_trials, names, record.spec).items():
            points.setdefault(name, []).append(point)
    return [
        Scaling(
            candidate=name,
            points=points[name],
            usl=None if rate else usl.fit({point.threads: point.tps.mean for point in points[name]}),
        )
        for name in names
        if name in points
    ]


def _points(threads: int, trials: Sequence[TimedTrial], names: Sequence[str], spec: StudySpec) -> dict[str, ScalingPoint]:
    """Return each candidate's throughput at one number of threads, and its ratios to the highest and to the baseline's."""
    figures = candidate_figures(trials, names, spec.baseline, spec.alpha)
    levels = {name: level for name, level in figures.levels.items() if level}
    highest = max(levels, key=lambda name: levels[name].mean)
    to_highest = candidate_figures(trials, names, highest, spec.alpha).ratios
    to_baseline = {name: ratio for name, ratio in figures.ratios.items() if name != spec.baseline}
    return {
        name: ScalingPoint(threads=threads, tps=level, to_highest=to_highest[name], to_baseline=to_baseline.get(name))
        for name, level in levels.items()
    }
