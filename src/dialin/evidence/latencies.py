"""How long transactions took, by candidate and kind, from the histograms of its trials; and throughput by threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.evidence import measured
from dialin.evidence.measured import MeasuredTrial
from dialin.model.load_driver import ALL_KINDS
from dialin.model.record import StudyRecord
from dialin.model.study import StudySpec
from dialin.model.verdict import ComparedFigure, Estimate
from dialin.model.why import Scaling, ScalingPoint, TransactionLatency
from dialin.stats import usl
from dialin.stats.counted_times import WIDTH, counts_of_kind, percentile_of_trial
from dialin.stats.trial_figures import by_threads
from dialin.stats.trial_fit import TimedTrial, candidate_figures

_SHARES = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99, "p999_ms": 0.999}
_ERROR = WIDTH / 12**0.5
"""The relative standard error of a percentile, because times within 1 % are counted together."""

_Counts = Mapping[int, Sequence[Mapping[float, int]]]
"""How many transactions took each time: by trial id, for each number of threads."""


def latencies(record: StudyRecord, trials: Sequence[MeasuredTrial]) -> list[TransactionLatency]:
    """Return the latency of all transactions and of each kind; empty where no trial has a histogram.

    Percentiles are estimated as the verdict's figures are, from those of each trial; the one that the verdict has is the
    verdict's. Transactions per second are the throughput; a kind has its share of that.
    """
    single_kinds = {times.name for one in trials for times in one.trial.transaction_times if times.counts} - {ALL_KINDS}
    tps = measured.throughput(record, trials).levels
    totals: dict[str, int] = {}
    rows = []
    for kind in [ALL_KINDS, *(sorted(single_kinds) if len(single_kinds) > 1 else ())]:
        counts = {
            one.trial.id: by_threads for one in trials if any(by_threads := counts_of_kind(one.trial.transaction_times, kind))
        }
        figures = {name: _percentiles(counts, share, trials, record) for name, share in _SHARES.items()}
        for name in measured.names(trials, record):
            of_name = [counts[one.trial.id] for one in trials if one.trial.candidate == name and one.trial.id in counts]
            if not of_name:
                continue
            count = sum(sum(at_threads.values()) for by_threads in of_name for at_threads in by_threads)
            level = tps.get(name)
            share = count / totals.setdefault(name, count)
            rows.append(
                TransactionLatency(
                    transaction=kind,
                    candidate=name,
                    transactions=count,
                    per_second=share * level.mean if level else 0.0,
                    **{field: _of_verdict(kind, name, field, record) or of[name] for field, of in figures.items()},
                    longest_ms=[max(max(at_threads, default=0.0) for at_threads in by_threads) for by_threads in of_name],
                )
            )
    return rows


def _percentiles(
    counts: _Counts, share: float, trials: Sequence[MeasuredTrial], record: StudyRecord
) -> Mapping[str, ComparedFigure | None]:
    """Return a percentile of each candidate, in milliseconds; None where no trial has enough transactions for it."""
    spec = record.spec
    timed = [
        TimedTrial(one.trial.run, one.trial.candidate, one.trial.middle, value, _ERROR)
        for one in trials
        if (value := percentile_of_trial(counts.get(one.trial.id, ()), share)) is not None
    ]
    figures = candidate_figures(timed, spec.names, spec.baseline, spec.alpha)
    return {
        name: ComparedFigure(level=level, ratio=figures.ratios[name]) if level else None
        for name, level in figures.levels.items()
    }


def _of_verdict(kind: str, candidate: str, field: str, record: StudyRecord) -> ComparedFigure | None:
    if record.verdict is None or kind != ALL_KINDS or field != f"p{record.verdict.percentile}_ms":
        return None
    judged = record.verdict.candidate(candidate)
    level: Estimate | None = judged.latency_ms
    return ComparedFigure(level=level, ratio=judged.latency_ratio) if level else None


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
