"""The statements that took most of the server's time, and percentiles of statement times, by candidate."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from dialin.evidence import measured
from dialin.evidence.measured import MeasuredTrial
from dialin.model.record import StudyRecord
from dialin.model.why import StatementFigures, StatementRow, StatementTimes
from dialin.stats import counted_times

MOST = 5
"""The most statements that are shown."""

_LEAST = 0.01
"""The share of the total statement time below which a statement is left out."""

_PROBE = "statements"
_BUCKETS = "histogram"
_FIGURES = frozenset(("count", "seconds", "rows_examined", "rows_sent", "lock_seconds", "tmp_disk_tables"))
_MICRO = 1e6

_Sums = dict[str, float]


def statements(record: StudyRecord, trials: Sequence[MeasuredTrial]) -> list[StatementRow]:
    """Return the statements that took most time, with the figures of each candidate.

    All candidates have the same weight: the seconds of statements are divided by the candidate's measured seconds. A statement
    with less than 1 % of the total time is left out. A candidate's figures are sums over its completed trials of the race,
    divided by the executions of the statement or by the measured seconds.
    """
    seconds, sums = _sums(record, trials)
    seconds_of: dict[str, float] = {}
    for name, by_digest in sums.items():
        for digest, figures in by_digest.items():
            seconds_of[digest] = seconds_of.get(digest, 0.0) + figures["seconds"] / seconds[name]
    least = _LEAST * sum(seconds_of.values())
    return [
        StatementRow(
            digest=digest,
            candidates={
                name: _figures(by_digest[digest], seconds[name])
                for name, by_digest in sums.items()
                if digest in by_digest and by_digest[digest]["count"] > 0
            },
        )
        for digest, seconds_per_second in sorted(seconds_of.items(), key=lambda item: -item[1])[:MOST]
        if seconds_per_second > 0 and seconds_per_second >= least
    ]


def statement_times(record: StudyRecord, trials: Sequence[MeasuredTrial]) -> list[StatementTimes]:
    """Return percentiles of statement times, for each candidate whose server has a histogram of them.

    A percentile is the upper end of a bucket of the histogram. The histogram covers all statements of the server.
    """
    buckets: defaultdict[str, defaultdict[float, float]] = defaultdict(lambda: defaultdict(float))
    for one in trials:
        for counter, rise in one.watched[_PROBE].counters.items() if _PROBE in one.watched else ():
            head, _, upper = counter.rpartition("/")
            if head == _BUCKETS and upper not in _FIGURES and rise > 0:
                buckets[one.trial.candidate][float(upper)] += rise
    return [_times(name, buckets[name]) for name in measured.names(trials, record) if name in buckets]


def _sums(record: StudyRecord, trials: Sequence[MeasuredTrial]) -> tuple[dict[str, float], dict[str, dict[str, _Sums]]]:
    seconds: dict[str, float] = {}
    sums: dict[str, dict[str, _Sums]] = {name: {} for name in measured.names(trials, record)}
    for one in trials:
        watched, name = one.watched.get(_PROBE), one.trial.candidate
        if watched is None or watched.seconds <= 0:
            continue
        seconds[name] = seconds.get(name, 0.0) + watched.seconds
        for counter, rise in watched.counters.items():
            digest, _, figure = counter.rpartition("/")  # the text of a digest may contain any character
            if figure in _FIGURES:
                sums[name].setdefault(digest, dict.fromkeys(_FIGURES, 0.0))[figure] += rise
    return seconds, sums


def _figures(sums: Mapping[str, float], seconds: float) -> StatementFigures:
    count = sums["count"]
    return StatementFigures(
        per_second=count / seconds,
        mean_us=_MICRO * sums["seconds"] / count,
        rows_examined=sums["rows_examined"] / count,
        rows_sent=sums["rows_sent"] / count,
        lock_us=_MICRO * sums["lock_seconds"] / count,
        disk_tables=sums["tmp_disk_tables"] / count,
    )


def _times(name: str, buckets: Mapping[float, float]) -> StatementTimes:
    return StatementTimes(
        candidate=name,
        statements=round(sum(buckets.values())),
        p50_us=percentile(buckets, 0.50),
        p95_us=percentile(buckets, 0.95),
        p99_us=percentile(buckets, 0.99),
    )


def percentile(buckets: Mapping[float, float], share: float) -> float | None:
    """Return the upper end of the bucket that a percentile (a share, 0 to 1) lies in; None where that bucket is unbounded."""
    upper = counted_times.percentile(buckets, share)
    return upper if upper is not None and math.isfinite(upper) else None
