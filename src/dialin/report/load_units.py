"""What a study's load is counted in, such as transactions by the second or runs of a timed query."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass

from dialin.model.record import StudyRecord
from dialin.model.verdict import Estimate, Verdict
from dialin.model.workload import TRANSACTION, LoadTraits, WorkloadSpec

_MIB = 1024**2


@dataclass(frozen=True, slots=True)
class Units:
    """What a load is counted in.

    Attributes:
        rate: its throughput's unit.
        title: of the column of throughput.
        one: what a sample is.
        hover: the throughput's format where a mouse points at it.
        by_run: whether a sample is a run of a timed query, and not a second.
    """

    rate: str
    title: str
    one: str
    short: str
    hover: str
    by_run: bool


def units_from(traits: LoadTraits) -> Units:
    """Return what a load is counted in, from what is stored with its study."""
    rate = f"{traits.unit}s/s"
    title = "tps" if traits.unit == TRANSACTION else rate
    if traits.runs is None:
        return Units(rate, title, "second", "s", ",.0f", by_run=False)
    return Units(rate, title, traits.unit, f"{traits.unit}s", ",.3~r", by_run=True)


SECONDS = units_from(LoadTraits())
"""What most loads are counted in: transactions, by the second."""


def units(workload: WorkloadSpec) -> Units:
    """Return what a load is counted in."""
    return units_from(workload.traits)


def units_of(verdict: Verdict) -> Units:
    """Return what the load of a verdict was counted in."""
    return units_from(LoadTraits.model_validate(verdict.workload["traits"]))


def units_in(record: StudyRecord) -> Units:
    """Return what the load of a study is counted in."""
    return units(record.spec.workload)


def seconds_a_run(rate: Estimate | None, verdict: Verdict) -> Estimate | None:
    """Return how long a run takes; the geometric mean where a study has several numbers of threads."""
    levels = verdict.workload.get("levels") or [verdict.workload.get("threads", 1)]
    return _scaled(rate, statistics.geometric_mean(levels), lambda value, threads: threads / value)


def mib_a_second(rate: Estimate | None, verdict: Verdict) -> Estimate | None:
    """Return how many MiB of the table are read a second, by all threads together; None where that is not known."""
    table = verdict.workload.get("bytes_a_query")
    return _scaled(rate, table / _MIB, lambda value, size: value * size) if table else None


def _scaled(rate: Estimate | None, by: float, formula: Callable[[float, float], float]) -> Estimate | None:
    if rate is None or rate.mean <= 0 or (rate.low is not None and rate.low <= 0):
        return None
    ends = [None if end is None else formula(end, by) for end in (rate.low, rate.high)]
    low, high = ends if None in ends else sorted(end for end in ends if end is not None)
    return Estimate(mean=formula(rate.mean, by), low=low, high=high)
