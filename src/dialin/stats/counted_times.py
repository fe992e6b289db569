"""Percentiles of transaction times, from how many transactions took each time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from dialin.model.load_driver import ALL_KINDS, TransactionTimes
from dialin.stats.summaries import geometric_mean


def percentile(counts: Mapping[float, float], share: float) -> float | None:
    """Return the time that a share (0 to 1) of the transactions did not exceed; None without any transaction.

    `counts` holds how many transactions took each time, in any order.
    """
    wanted: float = max(1, math.ceil(share * sum(counts.values()) - 1e-9))
    for time in sorted(counts):
        wanted -= counts[time]
        if wanted <= 0:
            return time
    return None


def known_percentile(counts: Mapping[float, int], share: float) -> float | None:
    """Return a percentile as `percentile` does; None also where there are fewer than 1 / (1 - share) transactions."""
    return percentile(counts, share) if sum(counts.values()) * (1 - share) >= 1 - 1e-9 else None


WIDTH = math.log(1.01)
"""Times that `coarse` counts together differ by at most this much on the log scale: 1 %."""


def coarse(counts: Mapping[float, int]) -> tuple[tuple[float, int], ...]:
    """Return the same counts with times within 1 % counted together, as the longest of these; the shortest time first.

    So a percentile of them is at most 1 % too long, and the longest time stays exact.
    """
    bins: dict[int, tuple[float, int]] = {}
    for time in sorted(counts):
        place = math.ceil(math.log(time) / WIDTH - 1e-9) if time > 0 else -(10**6)
        bins[place] = (time, bins.get(place, (time, 0))[1] + counts[time])
    return tuple(bins.values())


def counts_of_kind(times: Sequence[TransactionTimes], kind: str) -> list[Mapping[float, int]]:
    """Return how many transactions of a kind took each time in a trial, for each number of threads.

    `ALL_KINDS` stands for the transactions of all kinds together.
    """
    by_threads: dict[int, list[Mapping[float, int]]] = {}
    for one in times:
        if one.name == kind or kind == ALL_KINDS:
            by_threads.setdefault(one.threads, []).append(dict(one.counts))
    return [sum(map(Counter, counts), Counter[float]()) for counts in by_threads.values()]


def percentile_of_trial(counts: Sequence[Mapping[float, int]], share: float) -> float | None:
    """Return a percentile of a trial's transactions; over several numbers of threads the geometric mean of theirs.

    None where there are too few transactions for it at one of them.
    """
    known = [known_percentile(at_threads, share) for at_threads in counts]
    values = [value for value in known if value is not None]
    return geometric_mean(values) if values and len(values) == len(known) else None
