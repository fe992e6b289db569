"""The lines that dialin-load writes while it runs (schema/load.schema.json); their format is known here alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dialin.workloads.base import Second
from dialin.workloads.dialin_load_histogram import quantile

_NS_A_MS = 1e6


@dataclass(frozen=True, slots=True)
class Timers:
    """How punctual the driver's own timers were in a second.

    Attributes:
        count: how many went off.
        late_ms: how late they went off together, in milliseconds.
        most_ms: how late the latest did.
    """

    count: int
    late_ms: float
    most_ms: float


@dataclass(frozen=True, slots=True)
class Report:
    """What a second came to: for the study, and of the driver itself.

    Attributes:
        second: for the study.
        timers: the driver's own.
        dropped: transactions that were due and not begun, because too many waited.
        unprepared: statements that a connection sends as text from then on, because the server had no room to prepare them.
        unfinished: transactions that were open or waited for a connection at the end of the second.
        oldest_ms: how long ago the oldest of these was due, in milliseconds; 0 without any.
        longest_ms: how long the slowest transaction took that succeeded; 0 without any.
        failed_ms: how long the slowest transaction took that failed or was lost; 0 without any.
    """

    second: Second
    timers: Timers
    dropped: int
    unprepared: int
    unfinished: int
    oldest_ms: float
    longest_ms: float
    failed_ms: float


@dataclass(frozen=True, slots=True)
class Fault:
    """Why the driver ended.

    Attributes:
        what: what happened.
        remedy: what to do about it.
    """

    what: str
    remedy: str


def parse(line: str, percentile: int = 95) -> Report | Fault | None:
    """Read a line; None where it is neither a second nor an error.

    Args:
        line: as it was written.
        percentile: which one of latency is wanted.
    """
    if not line.startswith("{"):
        return None
    try:
        told = json.loads(line)
        if told["type"] == "second":
            return _report(told, percentile)
        if told["type"] == "error":
            return Fault(str(told["what"]), str(told["remedy"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return None


def _report(told: Mapping[str, Any], percentile: int) -> Report:
    seconds = float(told["seconds"]) or 1.0
    statements, timers = told["statements"], told["timers"]
    second = Second(
        number=int(told["second"]),
        tps=told["transactions"] / seconds,
        reads=statements["read"] / seconds,
        writes=statements["write"] / seconds,
        other=statements["other"] / seconds,
        latency_ms=_latency(told, percentile),
        errors=sum(told["errors"].values()) / seconds,
        reconnects=told["reconnects"] / seconds,
        codes={int(code): count / seconds for code, count in told["errors"].items()},
    )
    count = int(timers["count"])
    return Report(
        second,
        Timers(count, count * float(timers["late_mean"] or 0.0), float(timers["late_max"] or 0.0)),
        int(told["dropped"]),
        int(told["unprepared"]),
        int(told["unfinished"]),
        float(told["oldest_ms"] or 0.0),
        float(told["latency"]["max"] or 0.0),
        float(told["failed"]["max"] or 0.0),
    )


def _latency(told: Mapping[str, Any], percentile: int) -> float:
    """Return the percentile in milliseconds; the driver tells some of them, where there are enough values; 0 without any."""
    ready = told["latency"].get(f"p{percentile}")
    if ready is not None:
        return float(ready)
    units = quantile(told["latency_histogram"], percentile / 100)
    return (units or 0.0) * float(told["histogram_unit_ns"]) / _NS_A_MS
