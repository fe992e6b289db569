"""The lines that dialin-load writes while it runs (schema/load.schema.json); only this module knows their format."""

from __future__ import annotations

import base64
import binascii
import functools
import math
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dialin.errors import WorkloadError
from dialin.model.cause import Cause, CauseCode, Fault
from dialin.model.load_driver import ALL_KINDS, DriverChoice
from dialin.paths import parse_json
from dialin.stats.counted_times import percentile
from dialin.workloads.base import Second

STREAM = "dialin/load/2"
"""The format of the lines, as `dialin-load --version` names it."""

_NS_PER_MS = 1e6
_GATHER = {"on": True, "off": False, None: None}


_PASSING = {"connection": Fault.CONNECTION, "machine": Fault.MACHINE}
"""The faults of the driver's stream that may pass, so that a trial is run again."""


@dataclass(frozen=True, slots=True)
class Timers:
    """How many of the driver's timers fired in a second, how late they were in total, and how late the latest was."""

    count: int
    late_ms: float
    most_ms: float


@dataclass(frozen=True, slots=True)
class Report:
    """The figures of one second: those of the load, and those of the driver itself.

    Attributes:
        dropped: transactions that were due and not begun, because too many waited.
        unprepared: statements that a connection sends as text from then on, because the server had no room to prepare them.
        prepared_again: statements that a connection prepared again, which it had closed because all connections together had
            as many open as the server allows.
        unfinished: transactions that were open or waited for a connection at the end of the second.
        oldest_ms: how long ago the oldest of these was due, in milliseconds; 0 without any.
        longest_ms: how long the slowest transaction took that succeeded; 0 without any.
        failed_ms: how long the slowest transaction took that failed or was lost; 0 without any.
        thread_cpu: the CPU seconds that each load thread used.
        latency_sum_ms: how long all transactions together took that succeeded, from when they were due.
        queued_sum_ms: how much of this they waited for a connection.
        retries: transactions that were played again.
        replay: what only a replay counts; None for other loads.
        from_due: returns how many transactions of a replay at a pace took how long (ms) from when they were due; None for other
            loads.
    """

    second: Second
    timers: Timers
    dropped: int
    unprepared: int
    prepared_again: int
    unfinished: int
    oldest_ms: float
    longest_ms: float
    failed_ms: float
    thread_cpu: Sequence[float]
    latency_sum_ms: float
    queued_sum_ms: float
    retries: int = 0
    replay: Mapping[str, Any] | None = None
    from_due: Callable[[], Mapping[float, int]] | None = None


@dataclass(frozen=True, slots=True)
class ErrorLine:
    """Why the driver ended, and what to do about it.

    Attributes:
        fault: whose fault the driver says it is: nothing of a candidate's where it lost its connections, or its machine failed.
    """

    what: str
    remedy: str
    fault: Fault = Fault.WORKLOAD

    @property
    def figures(self) -> Mapping[str, Any]:
        """The figures of the `Cause` that reports this error."""
        return {"driver": "dialin-load", "words": self.what, "advice": self.remedy}


OTHER_STREAM = ErrorLine(
    f"This dialin-load is not of the same build as dialin: it does not write the stream format {STREAM}",
    "Build it again: make driver (or install dialin's wheel)",
)
"""The program and dialin are not made from the same sources."""


def parse_stream_line(line: str, percentile: int = 95) -> Report | ErrorLine | None:
    """Read a line, with this percentile of latency; return None where it is neither a second nor an error.

    A second in another format is returned as `OTHER_STREAM`.
    """
    if not line.startswith("{"):
        return None
    try:
        fields = parse_json(line)
        if fields["type"] == "error":
            fault = _PASSING.get(str(fields.get("fault")), Fault.WORKLOAD)
            return ErrorLine(str(fields["what"]), str(fields["remedy"]), fault)
        if fields["type"] != "second":
            return None
    except (ValueError, KeyError, TypeError):
        return None
    try:
        return _report(fields, percentile)
    except (ValueError, KeyError, TypeError, AttributeError):
        return OTHER_STREAM


def _report(fields: Mapping[str, Any], percentile: int) -> Report:
    seconds = float(fields["seconds"]) or 1.0
    statements, timers = fields["statements"], fields["timers"]
    second = Second(
        number=int(fields["second"]),
        tps=fields["transactions"] / seconds,
        reads=statements["read"] / seconds,
        writes=statements["write"] / seconds,
        other=statements["other"] / seconds,
        latency_ms=_latency(fields, percentile),
        errors=sum(fields["errors"].values()) / seconds,
        reconnects=fields["reconnects"] / seconds,
        codes={int(code): count / seconds for code, count in fields["errors"].items()},
        times=functools.partial(_times, _histograms(fields), _unit_ms(fields)),
        undelayed=functools.partial(_times_together, str(fields["undelayed_histogram"]), _unit_ms(fields)),
        choice=DriverChoice(int(fields["connections"]), int(fields["load_threads"]), _GATHER[fields["gather"]]),
    )
    count = int(timers["count"])
    return Report(
        second,
        Timers(count, count * float(timers["late_mean"] or 0.0), float(timers["late_max"] or 0.0)),
        int(fields["dropped"]),
        int(fields["unprepared"]),
        int(fields["prepared_again"]),
        int(fields["unfinished"]),
        float(fields["oldest_ms"] or 0.0),
        float(fields["latency"]["max"] or 0.0),
        float(fields["failed"]["max"] or 0.0),
        [float(cpu) for cpu in fields["load_thread_cpu"]],
        latency := fields["transactions"] * float(fields["latency"]["mean"] or 0.0),
        max(0.0, latency - fields["transactions"] * float(fields["service"]["mean"] or 0.0)),
        int(fields.get("retries", 0)),
        replay := fields.get("replay"),
        functools.partial(_times_together, replay["from_due_histogram"], _unit_ms(fields)) if replay else None,
    )


def _latency(fields: Mapping[str, Any], percentile: int) -> float:
    """Return the percentile in milliseconds: as the driver reports it, else from the histogram; 0 if that is empty."""
    ready = fields["latency"].get(f"p{percentile}")
    if ready is not None:
        return float(ready)
    return (quantile(fields["latency_histogram"], percentile / 100) or 0.0) * _unit_ms(fields)


def _histograms(fields: Mapping[str, Any]) -> dict[str, str]:
    kinds = {name: str(kind["latency_histogram"]) for name, kind in fields["latency_by_transaction"].items()}
    return kinds or {ALL_KINDS: str(fields["latency_histogram"])}


def _times(histograms: Mapping[str, str], unit: float) -> dict[str, dict[float, int]]:
    """Return how many transactions of each kind took how many milliseconds.

    Raises:
        WorkloadError: a histogram cannot be read.
    """
    try:
        counts = {name: counts_by_value(text) for name, text in histograms.items()}
    except ValueError:
        raise WorkloadError(Cause(CauseCode.OTHER_STREAM, {"format": STREAM}), OTHER_STREAM.remedy) from None
    return {name: {value * unit: count for value, count in by_value.items()} for name, by_value in counts.items()}


def _times_together(histogram: str, unit: float) -> dict[float, int]:
    return _times({ALL_KINDS: histogram}, unit)[ALL_KINDS]


def _unit_ms(fields: Mapping[str, Any]) -> float:
    return float(fields["histogram_unit_ns"]) / _NS_PER_MS


_PACKED = struct.Struct(">ii")
"""Cookie and length of the deflated rest."""

_HEAD = struct.Struct(">iiiiqqd")
"""Cookie, bytes of counts, normalizing index offset, significant digits, lowest and highest value, conversion ratio."""

_COOKIE, _PACKED_COOKIE, _WORD = 0x1C849303, 0x1C849304, 0xF0
_NINTH = 8 * 7
"""The shift of a number's ninth byte, all eight bits of which belong to the number."""

_LARGEST = 16 * 1024**2
"""The most bytes of an unpacked histogram that are read."""


def quantile(text: str, share: float) -> float | None:
    """Return the value that a share (0 to 1) of the values do not exceed, in the histogram's unit; None if it is empty.

    Raises:
        ValueError: the text is not such a histogram.
    """
    return percentile(counts_by_value(text), share)


def counts_by_value(text: str) -> dict[float, int]:
    """Return how often each value was counted, by the value in the histogram's unit.

    Raises:
        ValueError: the text is not such a histogram.
    """
    try:
        head, counts = _unpacked(base64.b64decode(text, validate=True))
    except (binascii.Error, zlib.error, struct.error) as error:
        raise ValueError(f"is no histogram: {error}") from None
    digits, least = head[3], head[4]
    if head[0] & ~_WORD != _COOKIE or not 1 <= digits <= 5 or least < 1:
        raise ValueError("is a histogram of another kind")
    return {_value(index, digits, least): count for index, count in _counted(counts)}


def _unpacked(data: bytes) -> tuple[tuple[int, ...], bytes]:
    cookie, length = _PACKED.unpack_from(data)
    if cookie & ~_WORD != _PACKED_COOKIE:
        raise struct.error("another cookie")
    inflated = zlib.decompressobj().decompress(data[_PACKED.size : _PACKED.size + length], _LARGEST)
    head = _HEAD.unpack_from(inflated)
    return head, inflated[_HEAD.size : _HEAD.size + head[1]]


def _counted(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield each index that has a count, and the count; a negative number stands for that many indexes without one."""
    index = 0
    for number in _numbers(data):
        if number < 0:
            index -= number
            continue
        if number:
            yield index, number
        index += 1


def _numbers(data: bytes) -> Iterator[int]:
    """Yield the numbers of a ZigZag LEB128 sequence."""
    number = shift = 0
    for byte in data:
        last = shift == _NINTH
        number |= (byte if last else byte & 0x7F) << shift
        if byte & 0x80 and not last:
            shift += 7
            continue
        yield (number >> 1) ^ -(number & 1)
        number = shift = 0


def _value(index: int, digits: int, least: int) -> float:
    """Return the greatest value that is counted at an index."""
    magnitude = math.ceil(math.log2(2 * 10**digits)) - 1
    half, unit = 1 << magnitude, least.bit_length() - 1
    bucket = (index >> magnitude) - 1
    place = (index & (half - 1)) + (half if bucket >= 0 else 0)
    width = max(bucket, 0) + unit
    return float((place << width) + (1 << width) - 1)
