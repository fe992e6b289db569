"""How long the transactions of a trial took, by kind."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from dialin.model.load_driver import TransactionTimes
from dialin.stats.counted_times import coarse
from dialin.workloads.base import Second


def transaction_times(measured: Mapping[int, Sequence[Second]]) -> tuple[TransactionTimes, ...]:
    """Return the times of each kind, by number of threads and name; none where the driver reports no histograms.

    Raises:
        WorkloadError: the driver's figures cannot be read.
    """
    return tuple(
        TransactionTimes(name, coarse(counts), threads)
        for threads, seconds in measured.items()
        for name, counts in sorted(_by_kind(seconds).items())
    )


def _by_kind(seconds: Sequence[Second]) -> Mapping[str, Mapping[float, int]]:
    counts: defaultdict[str, Counter[float]] = defaultdict(Counter)
    for second in seconds:
        for name, times in second.times().items():
            counts[name].update(times)
    return counts
