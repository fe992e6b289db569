"""What the load driver itself added to the latency of a trial."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from dialin.stats.counted_times import known_percentile, percentile
from dialin.workloads.base import Second


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
