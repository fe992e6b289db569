"""How long transactions took, by candidate and kind, from the histograms of its trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialin.evidence import measured
from dialin.evidence.measured import MeasuredTrial
from dialin.model.load_driver import ALL_KINDS
from dialin.model.record import StudyRecord
from dialin.model.trial import Trial
from dialin.model.why import TransactionLatency
from dialin.stats.merged_times import percentile_between_trials

_Counts = Mapping[float, int]


@dataclass(frozen=True, slots=True)
class _KindInTrial:
    """One kind of transaction in one trial: the number of transactions by milliseconds, and the seconds that they cover."""

    counts: _Counts
    seconds: float


def latencies(record: StudyRecord, trials: Sequence[MeasuredTrial]) -> list[TransactionLatency]:
    """Return the latency of all transactions and of each kind; empty where no trial has a histogram."""
    single_kinds = {name for one in trials for name in _by_kind(one.trial)} - {ALL_KINDS}
    several = sorted(single_kinds) if len(single_kinds) > 1 else []
    rows = []
    for kind in [ALL_KINDS, *several]:
        for name in measured.names(trials, record):
            of_candidate = [_of(one.trial, kind) for one in trials if one.trial.candidate == name]
            known = [one for one in of_candidate if one is not None]
            if known:
                rows.append(_figures(kind, name, known, 1 - record.spec.confidence))
    return rows


def _by_kind(trial: Trial) -> dict[str, _KindInTrial]:
    return {
        one.name: _KindInTrial(dict(one.counts), sum(count for _, count in one.counts) / one.per_second)
        for one in trial.transaction_times
        if one.counts and one.per_second > 0
    }


def _of(trial: Trial, kind: str) -> _KindInTrial | None:
    """Return a kind of transaction in a trial, or all kinds together; None where the trial has no histogram of that kind."""
    kinds = _by_kind(trial)
    if kind != ALL_KINDS or ALL_KINDS in kinds or not kinds:
        return kinds.get(kind)
    together = sum((Counter(one.counts) for one in kinds.values()), Counter[float]())
    return _KindInTrial(together, max(one.seconds for one in kinds.values()))


def _figures(kind: str, candidate: str, trials: Sequence[_KindInTrial], alpha: float) -> TransactionLatency:
    counts = [one.counts for one in trials]
    count = sum(sum(one.values()) for one in counts)
    p50, p95, p99, p999 = (percentile_between_trials(counts, share, alpha) for share in (0.5, 0.95, 0.99, 0.999))
    return TransactionLatency(
        transaction=kind,
        candidate=candidate,
        transactions=count,
        per_second=count / sum(one.seconds for one in trials),
        p50_ms=p50,
        p95_ms=p95,
        p99_ms=p99,
        p999_ms=p999,
        longest_ms=[max(one) for one in counts],
    )
