"""How each candidate's throughput grows with the number of threads."""

from __future__ import annotations

from dialin.evidence import measured
from dialin.evidence.measured import by_threads
from dialin.model.record import StudyRecord
from dialin.model.trial import Step
from dialin.model.why import Scaling, ScalingPoint
from dialin.stats import blocks, usl
from dialin.stats.series import window


def scaling(record: StudyRecord) -> list[Scaling]:
    """Return throughput by number of threads of every candidate, where a trial measured several numbers.

    The intervals of all points together hold at the study's confidence; drift from block to block counts as noise in them.
    """
    if len(record.spec.workload.levels) < 2:
        return []
    found = measured.of(record)
    seen = []
    levels: dict[str, set[int]] = {}
    for one in found:
        samples = [s for s in record.samples[one.trial.id] if s.step is Step.MEASURE and not s.lost]
        for threads, own in by_threads(samples).items():
            location = window([sample.tps for sample in own]).location
            levels.setdefault(one.trial.candidate, set()).add(threads)
            seen.append(blocks.Observation(one.stratum, _key(one.trial.candidate, threads), location))
    keys = {_key(name, threads) for name, own in levels.items() for threads in own}
    estimates = blocks.levels(seen, sorted(keys), 1 - record.spec.confidence)
    return [
        Scaling(
            candidate=name,
            points=[ScalingPoint(threads=t, tps=estimates[_key(name, t)]) for t in sorted(levels[name])],
            usl=usl.fit({t: estimates[_key(name, t)].mean for t in levels[name]}),
        )
        for name in measured.names(found, record)
        if name in levels
    ]


def _key(candidate: str, threads: int) -> str:
    return f"{threads} {candidate}"
