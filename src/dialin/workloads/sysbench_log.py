"""What sysbench writes while it runs: one interval report, or a whole log of them. The format of both is known here alone."""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from dialin.errors import UserError
from dialin.workloads.base import Second

_Array = NDArray[np.float64]

LARGEST = 256 * 1024**2
"""Bytes of a log, unpacked, that are read at most: twenty-five days of a line a second."""

_FIGURE = r"\d{1,18}(?:\.\d{1,18})?"
_HUMAN = re.compile(
    rf"\[ (?P<number>\d{{1,18}})s \] thds: (?P<threads>\d{{1,9}}) tps: (?P<tps>{_FIGURE}) qps: {_FIGURE} "
    rf"\(r/w/o: (?P<reads>{_FIGURE})/(?P<writes>{_FIGURE})/(?P<other>{_FIGURE})\) lat \(ms,(?P<percentile>\d{{1,3}})%\): "
    rf"(?P<latency_ms>{_FIGURE}) err/s:? (?P<errors>{_FIGURE}) reconn/s:? (?P<reconnects>{_FIGURE})",
    re.ASCII,
)
_CSV = re.compile(rf"^{_FIGURE},\d{{1,9}}(?:,{_FIGURE}){{8}}(?=[ \t\r]*$)", re.MULTILINE | re.ASCII)
"""time, threads, tps, qps, reads, writes, other, latency, errors/s, reconnects/s"""
_FIGURES = ("tps", "reads", "writes", "other", "latency_ms", "errors", "reconnects")
"""What follows the number of a `Second`, in its order."""

_TRANSACTIONS = re.compile(r"^[ \t]*transactions:[ \t]+(\d{1,18})", re.MULTILINE)
_PERCENTILE = re.compile(r"^[ \t]*(\d{1,3})(?:st|nd|rd|th) percentile:", re.MULTILINE)
_THREADS = re.compile(r"^Number of threads: (\d{1,9})", re.MULTILINE)
_GZIP = b"\x1f\x8b"
_HEAD = 4096
_DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile)


@dataclass(frozen=True, slots=True, eq=False)
class Log:
    """One run of sysbench, line by line; rates are per second.

    Attributes:
        times: seconds since the run began.
        tps: transactions.
        latency_ms: the percentile of transaction latency.
        errors: errors that were ignored.
        threads: connections that worked at once.
        interval: seconds from one line to the next; 0 where there is one line only.
        percentile: which one `latency_ms` is; None where the log does not tell.
        transactions: how many there were in all, by the summary; None where it has none.
    """

    times: _Array
    tps: _Array
    latency_ms: _Array
    errors: _Array
    threads: int
    interval: float
    percentile: int | None
    transactions: int | None


@dataclass(frozen=True, slots=True, eq=False)
class LogFile:
    """The runs that a file holds, one after the other, and what its text, unpacked, is known by."""

    digest: str
    logs: tuple[Log, ...]


def parse_line(line: str) -> Second | None:
    """Read one interval report of sysbench 1.0.20; None where a line is something else."""
    match = _HUMAN.search(line)
    if not match:
        return None
    return Second(int(match["number"]), *(float(match[name]) for name in _FIGURES))


def parse(text: str) -> tuple[Log, ...]:
    """Read every run of a log, in interval reports for people or as CSV.

    A new run begins where time goes back. What only headers and summaries tell is left open where there are not as many of them
    as runs.

    Returns:
        The runs; none where no line is an interval report.
    """
    rows, percentiles = _rows(text)
    if rows.size == 0:
        return ()
    cuts = np.flatnonzero(np.diff(rows[:, 0]) < 0) + 1
    parts = np.split(rows, cuts)
    told = np.split(percentiles, cuts) if percentiles.size else [None] * len(parts)
    transactions = _one_each(_TRANSACTIONS, text, len(parts))
    threads = _one_each(_THREADS, text, len(parts))
    summaries = _one_each(_PERCENTILE, text, len(parts))
    logs = []
    for part, percentile, header, total, summary in zip(parts, told, threads, transactions, summaries, strict=True):
        logs.append(
            Log(
                times=part[:, 0],
                tps=part[:, 2],
                latency_ms=part[:, 3],
                errors=part[:, 4],
                threads=header or int(part[:, 1].max()),
                interval=float(np.median(np.diff(part[:, 0]))) if len(part) > 1 else 0.0,
                percentile=summary if percentile is None else int(percentile[0]),
                transactions=total,
            )
        )
    return tuple(logs)


def read(path: Path) -> LogFile:
    """Read a log, plain or compressed by gzip.

    Returns:
        What it holds; no runs where no line of it is an interval report.

    Raises:
        UserError: it cannot be read, is cut short, or is larger than any log.
    """
    try:
        with _unpacked(path) as stream:
            data = stream.read(LARGEST + 1)
    except _DAMAGED:
        raise UserError(f"{path} is cut short or damaged: gzip cannot unpack it", "Fetch it again, or leave it out") from None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}", "Name logs of sysbench that you may read") from None
    if len(data) > LARGEST:
        raise UserError(f"{path} is larger than {LARGEST // 1024**2} MiB: no log of sysbench is", "Leave it out")
    return LogFile(hashlib.sha256(data).hexdigest(), parse(data.decode("utf-8", "replace")))


def head(path: Path) -> bytes:
    """Return the beginning of a file, unpacked where gzip packed it; nothing where that cannot be unpacked.

    Raises:
        OSError: it cannot be read.
    """
    try:
        with _unpacked(path) as stream:
            return stream.read(_HEAD)
    except _DAMAGED:
        return b""


def _unpacked(path: Path) -> BinaryIO | gzip.GzipFile:
    with path.open("rb") as stream:
        packed = stream.read(len(_GZIP)) == _GZIP
    return gzip.open(path) if packed else path.open("rb")


def _rows(text: str) -> tuple[_Array, _Array]:
    """Return time, threads, tps, latency and errors of each line, and which percentile the latency is where lines tell."""
    found = [match.group("number", "threads", "tps", "latency_ms", "errors", "percentile") for match in _HUMAN.finditer(text)]
    if found:
        table = _table(found)
        return table[:, :5], table[:, 5]
    return _table([tuple(line.split(",")) for line in _CSV.findall(text)], (0, 1, 2, 7, 8)), np.empty(0)


def _table(found: list[tuple[str, ...]], columns: tuple[int, ...] | None = None) -> _Array:
    if not found:
        return np.empty((0, 0))
    table = np.array(found, dtype=object)
    return (table if columns is None else table[:, columns]).astype(np.float64)


def _one_each(pattern: re.Pattern[str], text: str, runs: int) -> list[int | None]:
    found = [int(number) for number in pattern.findall(text)]
    return list(found) if len(found) == runs else [None] * runs
