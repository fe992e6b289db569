"""Makes runs of points in time, as programs other than sysbench report them. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from dialin.readers.sysbench_log import RunLog

DECISIVE = (95, 99, 90)
"""The percentiles of latency by which runs are compared: the first that a run has."""


@dataclass(frozen=True, slots=True)
class Point:
    """What a run did in one interval.

    Attributes:
        time: the end of the interval, seconds.
        rate: transactions per second, or in the unit of the run.
        errors: failed transactions per second.
        latencies: milliseconds, by percentile.
        threads: concurrent connections; 0 where not known.
        label: what the run is called.
    """

    time: float
    rate: float
    errors: float = 0.0
    latencies: Mapping[int, float] = field(default_factory=dict)
    threads: int = 0
    label: str = ""


def runs_of_points(points: Sequence[Point], header: Mapping[str, str], unit: str) -> list[RunLog]:
    """Return the runs of a file: a new one begins where time goes back, or the threads or the label change."""
    begins = [
        place
        for place, (before, point) in enumerate(pairwise(points), 1)
        if point.time < before.time or (point.threads, point.label) != (before.threads, before.label)
    ]
    edges = [0, *begins, len(points)]
    return [_run(points[begin:end], header, unit) for begin, end in pairwise(edges) if end > begin]


def _run(points: Sequence[Point], header: Mapping[str, str], unit: str) -> RunLog:
    times = np.array([point.time for point in points])
    interval = float(np.median(np.diff(times))) if len(points) > 1 else 0.0
    since = times[0] - interval if times[0] > 2 * interval else 0.0
    known = set.intersection(*(set(point.latencies) for point in points))
    latencies = {one: np.array([point.latencies[one] for point in points]) for one in sorted(known)}
    percentile = next((one for one in DECISIVE if one in latencies), None)
    return RunLog(
        times=times - since,
        tps=np.array([point.rate for point in points]),
        latency_ms=np.zeros(len(points)) if percentile is None else latencies.pop(percentile),
        errors=np.array([point.errors for point in points]),
        threads=points[0].threads,
        interval=interval,
        percentile=percentile,
        header=header,
        unit=unit,
        label=points[0].label,
        other_latencies=latencies,
    )
