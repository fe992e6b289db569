"""What the load driver told of the measured seconds of a trial: times and figures by kind, and what it added to latency."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from dialin.model.load_driver import KindFigures, TransactionTimes, kind_gauge
from dialin.stats.counted_times import coarse, known_percentile, percentile
from dialin.workloads.base import Second, times_by_kind


def driver_share(seconds: Sequence[Second], of_goal: int) -> dict[str, float]:
    """Return which part of latency the driver added over these seconds; nothing where it does not report its own delays.

    `driver_share_mean` and `driver_share_p99` are shares, from 0 to 1, of the mean and of p99 of all transactions,
    `driver_added_p99_ms` is what the driver added to p99. `driver_share_goal` is the share of the trial's latency by which
    candidates are compared: the mean over seconds, weighted by transactions, of the percentile `of_goal`.

    Raises:
        WorkloadError: the driver's figures cannot be read.
    """
    latencies: Counter[float] = Counter()
    undelayed: Counter[float] = Counter()
    with_driver = without_driver = 0.0
    for second in seconds:
        measured, punctual = _of_all_kinds(second.times()), second.undelayed()
        latencies.update(measured)
        undelayed.update(punctual)
        done = sum(punctual.values())
        with_driver += done * (percentile(measured, of_goal / 100) or 0.0)
        without_driver += done * (percentile(punctual, of_goal / 100) or 0.0)
    if not undelayed:
        return {}
    figures = {
        "driver_share_mean": _share(_total(latencies), _total(undelayed)),
        "driver_share_goal": _share(with_driver, without_driver),
    }
    p99, undelayed_p99 = known_percentile(latencies, 0.99), known_percentile(undelayed, 0.99)
    if p99 is not None and undelayed_p99 is not None:
        figures |= {"driver_share_p99": _share(p99, undelayed_p99), "driver_added_p99_ms": max(0.0, p99 - undelayed_p99)}
    return figures


def _of_all_kinds(times: Mapping[str, Mapping[float, int]]) -> Counter[float]:
    together: Counter[float] = Counter()
    for counts in times.values():
        together.update(counts)
    return together


def _total(counts: Mapping[float, int]) -> float:
    return sum(time * count for time, count in counts.items())


def _share(whole: float, without: float) -> float:
    return max(0.0, 1 - without / whole) if whole > 0 else 0.0


def transaction_times(measured: Mapping[int, Sequence[Second]]) -> tuple[TransactionTimes, ...]:
    """Return the times of each kind, by number of threads and name; none where the driver reports no histograms.

    Raises:
        WorkloadError: the driver's figures cannot be read.
    """
    return tuple(
        TransactionTimes(name, coarse(counts), threads)
        for threads, seconds in measured.items()
        for name, counts in sorted(times_by_kind(seconds).items())
    )


def kind_figures(seconds: Sequence[Second]) -> dict[str, KindFigures]:
    """Return the figures of each kind by name; nothing where the driver reports none. A kind that is missing did nothing."""
    covered = sum(second.seconds for second in seconds if second.kinds)
    by_kind: defaultdict[str, list[tuple[float, KindFigures]]] = defaultdict(list)
    for second in seconds:
        for name, figures in second.kinds.items():
            by_kind[name].append((second.seconds, figures))
    return {
        name: KindFigures(
            per_second=sum(length * one.per_second for length, one in samples) / covered,
            errors=sum(length * one.errors for length, one in samples) / covered,
            mean_ms=_weighted([(length * one.per_second, one.mean_ms) for length, one in samples]),
            percentile_ms=_weighted([(length * one.per_second, one.percentile_ms) for length, one in samples]),
        )
        for name, samples in sorted(by_kind.items())
    }


def kind_gauges(seconds: Sequence[Second]) -> Mapping[str, float]:
    """Return the same figures by the name under which a trial stores them."""
    return {
        kind_gauge(figure, name): value
        for name, figures in kind_figures(seconds).items()
        for figure, value in asdict(figures).items()
        if value is not None
    }


def _weighted(samples: Sequence[tuple[float, float | None]]) -> float | None:
    known = [(weight, value) for weight, value in samples if value is not None]
    total = sum(weight for weight, _ in known)
    return sum(weight * value for weight, value in known) / total if total > 0 else None
