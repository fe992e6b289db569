"""What a transaction cost the server in one trial, by the counters that its probes read while load was measured.

A cost is the rise of its counters divided by the transactions, both over every measured second, those that the host lost
included, because the counters include them. Its standard error is that of a ratio (Cochran, Sampling Techniques, 1977, 6.3):
readings divide the window into intervals, and what decides is how far the rise in each is from the cost of its transactions.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dialin.measures.table import COSTS
from dialin.model.evidence import PointColumns, Watched
from dialin.model.trial import CostFigure, Sample
from dialin.stats.window import effective_seconds

_Array = NDArray[np.float64]

_FEWEST_INTERVALS = 4
"""Intervals between readings below which they show no error."""


def costs_per_transaction(watched: Iterable[Watched], points: PointColumns, samples: Sequence[Sample]) -> dict[str, CostFigure]:
    """Return each cost that the probes of a trial show; `samples` are its measured seconds in order of time."""
    by_probe = {one.probe: one for one in watched if one.seconds > 0}
    covered = sum(sample.seconds for sample in samples)
    transactions = sum(sample.tps * sample.seconds for sample in samples)
    costs: dict[str, CostFigure] = {}
    for goal, counters in COSTS.items():
        probe = by_probe.get(counters.probe)
        names = counters.on(probe.counters) if probe else ()
        if probe is None or not transactions > 0 or not set(names) <= probe.counters.keys():
            continue
        per_second = counters.scale * sum(probe.counters[name] for name in names) / probe.seconds
        costs[goal.value] = CostFigure(per_second * covered / transactions, _error(probe.probe, names, points, samples))
    return costs


def _error(probe: str, names: Collection[str], points: PointColumns, samples: Sequence[Sample]) -> float:
    """Return the relative standard error of a cost by its readings; each number of threads has a cost of its own."""
    which, at = np.asarray(points.which, dtype=np.int64), np.asarray(points.at, dtype=float)
    of_probe = [index for index, (each, _) in enumerate(points.names) if each == probe]
    of_cost = [index for index in of_probe if points.names[index][1] in names]
    times = np.unique(at[np.isin(which, of_probe)])
    if times.size <= _FEWEST_INTERVALS:
        return 0.0
    is_cost = np.isin(which, of_cost)
    rates = np.bincount(
        np.searchsorted(times, at[is_cost]), weights=np.asarray(points.value, dtype=float)[is_cost], minlength=times.size
    )
    rises = rates[1:] * np.diff(times)
    transactions = np.diff(_transactions_until(times, samples))
    ends = np.array([sample.at for sample in samples])
    place = np.minimum(np.searchsorted(ends, (times[:-1] + times[1:]) / 2), len(samples) - 1)
    threads = np.array([sample.threads for sample in samples])[place]
    squares = 0.0
    for level in np.unique(threads):
        used = (threads == level) & ((rises > 0) | (transactions > 0))
        if used.sum() < _FEWEST_INTERVALS or not transactions[used].sum() > 0:
            continue
        rest = rises[used] - rises[used].sum() / transactions[used].sum() * transactions[used]
        squares += float(rest.var(ddof=1)) * used.sum() ** 2 / effective_seconds(rest)
    total = float(rises.sum())
    return math.sqrt(squares) / total if total > 0 else 0.0


def _transactions_until(times: _Array, samples: Sequence[Sample]) -> _Array:
    """Return how many transactions were completed until each time, as if those of a sample were spread over it evenly."""
    at, done = [-math.inf], [0.0]
    for sample in samples:
        at += [max(at[-1], sample.at - sample.seconds), max(at[-1], sample.at)]
        done += [done[-1], done[-1] + sample.tps * sample.seconds]
    until: _Array = np.interp(times, at[1:], done[1:])
    return until
