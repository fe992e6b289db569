"""How long the transactions of a trial took, by kind."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from dialin.model.load_driver import TransactionTimes
from dialin.stats.counted_times import coarse, known_percentile
from dialin.workloads.base import Second


def transaction_times(seconds: Sequence[Second]) -> tuple[TransactionTimes, ...]:
    """Return the figures of each kind by name, over these seconds; none where the driver reports no histograms.

    Raises:
        WorkloadError: the driver's figures cannot be read.
    """
    counts: defaultdict[str, Counter[float]] = defaultdict(Counter)
    for second in seconds:
        for name, times in second.times().items():
            counts[name].update(times)
    length = sum(second.seconds for second in seconds)
    return tuple(
        TransactionTimes(
            name=name,
            per_second=by_time.total() / length,
            p95_ms=known_percentile(by_time, 0.95),
            p99_ms=known_percentile(by_time, 0.99),
            counts=coarse(by_time),
        )
        for name, by_time in sorted(counts.items())
    )
