"""The units that a study's load is counted in, such as transactions per second or runs of a timed query."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TypeGuard

from dialin.model.record import StudyRecord
from dialin.model.verdict import Estimate, Verdict
from dialin.model.workload import TRANSACTION, LoadTraits, WorkloadSpec

_MIB = 1024**2


@dataclass(frozen=True, slots=True)
class Units:
    """The units that a load is counted in.

    Attributes:
        rate: the unit of throughput, such as `transactions/s`.
        title: the same as a column's title: `tps` for transactions.
        one: the noun for one sample, such as `second`.
        short: the unit of a number of samples, such as `s`.
        hover: the number format of throughput where a mouse points at it.
        by_run: whether a sample is a run of a timed query instead of a second.
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
    if traits.runs is None or traits.runs.of == "recording":
        return Units(rate, title, "second", "s", ",.0f", by_run=False)
    return Units(rate, title, traits.unit, f"{traits.unit}s", ",.3~r", by_run=True)


SECONDS = units_from(LoadTraits())
"""The units of most loads: transactions per second."""


def units(workload: WorkloadSpec) -> Units:
    return units_from(workload.traits)


def units_of_verdict(verdict: Verdict) -> Units:
    return units_from(LoadTraits.model_validate(verdict.workload["traits"]))


def units_of_record(record: StudyRecord) -> Units:
    return units(record.spec.workload)


def seconds_a_run(rate: Estimate | None, verdict: Verdict) -> Estimate | None:
    """Return how long a run takes, from the rate of all threads; None where the rate is not known or not above zero.

    Where a study has several numbers of threads, their geometric mean is used.
    """
    threads = statistics.geometric_mean(verdict.workload.get("levels") or [verdict.workload.get("threads", 1)])
    if not _is_positive(rate):
        return None
    return rate.inverted().scaled(threads)


def mib_a_second(rate: Estimate | None, verdict: Verdict) -> Estimate | None:
    """Return how many MiB of the table are read per second, by all threads together; None where that is not known."""
    table = verdict.workload.get("bytes_a_query")
    return rate.scaled(table / _MIB) if table and _is_positive(rate) else None


def in_percent(share: Estimate) -> Estimate:
    return share.scaled(100)


def change_in_percent(ratio: Estimate) -> Estimate:
    low, high = (None if end is None else 100 * (end - 1) for end in (ratio.low, ratio.high))
    return Estimate(mean=100 * (ratio.mean - 1), low=low, high=high)


def _is_positive(rate: Estimate | None) -> TypeGuard[Estimate]:
    return rate is not None and rate.mean > 0 and (rate.low is None or rate.low > 0)
