"""Reads runs of other programs than sysbench: HammerDB, go-tpc, BenchBase, YCSB, tpcc-mysql and others, and any CSV.

What the lines of a program look like is in the files of the workload `command`, which run it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import chain, islice, pairwise
from pathlib import Path

import numpy as np

from dialin.errors import UserError
from dialin.readers.load_rows import MEAN, LoadRow
from dialin.readers.log_text import files
from dialin.readers.sysbench_log import LARGEST, LogFile, RunLog, Summary
from dialin.workloads.command import load_file
from dialin.workloads.command.load_file import LoadFile, Output
from dialin.workloads.command.preset_names import path_of, preset_names

_SNIFFED = 400
"""Lines at the start of a file by which its program is recognized."""
_ENOUGH = 3
"""Rows among them that recognize it."""
_LONGEST, _COLUMNS = 10_000, 12
"""Characters of a line, and columns, of a CSV whose columns are proposed."""
_SIZE = 256 * 1024**2
_NOPM = re.compile(r"System achieved (?P<nopm>\d+) NOPM from (?P<tpm>\d+) (?:MySQL|MariaDB|Maria) TPM")
_TPCC_MYSQL = Output(
    lines=r"^ *(?P<time>\d+), (?P<count>\d+)(?:\(\d+\):[\d.|()]+)?, "
    r"(?:95%: (?P<p95_ms>[\d.]+), 99%: (?P<p99_ms>[\d.]+),|\d+\(\d+\):)"
)
_TIME = re.compile(r"time|seconds?|secs?|elapsed(?:_?(?:time|seconds|s))?|t|timestamp|ts|time \(seconds\)", re.IGNORECASE)
_THROUGHPUT = re.compile(
    r"tps|throughput|transactions?(?:/s|_per_second| per second)|txn/?s|trx/?s|ops(?:/s|_per_sec(?:ond)?)?|qps"
    r"|throughput \(requests/second\)",
    re.IGNORECASE,
)
_THREADS = re.compile(r"threads?|thds|connections|clients|users|concurrency", re.IGNORECASE)
_LABEL = re.compile(r"label|name|run|candidate|variant|config", re.IGNORECASE)
_LATENCY = re.compile(r"p(?P<percentile>\d{2})(?:_ms| ms|_latency_ms)?", re.IGNORECASE)
_TPS = "tps"


@dataclass(frozen=True, slots=True)
class CsvColumns:
    """The columns of a user's CSV: names in its first line, or numbers from 1. Empty ones are found by usual names."""

    time: str = ""
    throughput: str = ""
    threads: str = ""
    label: str = ""

    @property
    def are_given(self) -> bool:
        return bool(self.time and self.throughput)


NO_COLUMNS = CsvColumns()


def read_other(path: Path, columns: CsvColumns) -> Iterator[LogFile]:
    """Yield the runs of each file at a path that a known program wrote, or that is a CSV with a time and a throughput.

    Raises:
        UserError: a CSV lacks a column that the user named.
    """
    for name, opened in files(path):
        logs: tuple[RunLog, ...] = ()
        with opened() as stream, suppress(csv.Error):  # a line that is longer than any of a CSV
            text = io.TextIOWrapper(stream, encoding="utf-8", errors="replace")
            logs = tuple(_runs_of(text, path, columns))
        if logs:
            yield LogFile(f"{path}/{name}", logs, name)


def columns_of(path: Path) -> list[str]:
    """Return the names of the columns of a CSV without runs that are recognized; none for any other file."""
    for name, opened in files(path):
        with opened() as stream:
            lines = io.TextIOWrapper(stream, encoding="utf-8", errors="replace")
            start = [line.strip() for line in islice(lines, _ENOUGH)]
        if name is not None or len(start) < _ENOUGH or max(map(len, start)) > _LONGEST:
            return []
        header, *rows = csv.reader(start)
        is_table = len(header) > 1 and all(len(row) == len(header) and _digits(row) > 1 for row in rows)
        return [cell.strip() for cell in header[:_COLUMNS]] if is_table else []
    return []


def _digits(cells: Sequence[str]) -> int:
    return sum(cell.strip()[:1].isdigit() for cell in cells)


def _runs_of(lines: Iterable[str], path: Path, columns: CsvColumns) -> list[RunLog]:
    stream = (line.rstrip("\r\n") for line in _limited(lines))
    start = list(islice(stream, _SNIFFED))
    if any("\0" in line for line in start):
        return []
    if hammerdb := next(filter(None, map(_NOPM.search, start)), None):
        return [_of_hammerdb(hammerdb)]
    if columns.are_given:
        return _of_csv(chain(start, stream), columns, path)
    for output, program in _programs():
        read = output.reader()
        with suppress(UserError):  # a CSV without the columns of that program
            if sum(read(line) is not None for line in start) >= min(_ENOUGH, len(start)) > 0:
                return _of_rows(chain(start, stream), output, program)
    if found := _usual_columns(start):
        return _of_csv(chain(start, stream), found, path)
    return []


def _limited(lines: Iterable[str]) -> Iterator[str]:
    size = 0
    for line in lines:
        size += len(line)
        if size > min(_SIZE, LARGEST):
            return
        yield line


@cache
def _programs() -> tuple[tuple[Output, LoadFile | None], ...]:
    described = [load_file.read(path_of(name)) for name in preset_names()]
    return (*((one.output, one) for one in described), (_TPCC_MYSQL, None))


def _of_hammerdb(match: re.Match[str]) -> RunLog:
    nothing = np.empty(0)
    header = {"program": "HammerDB"}
    summary = Summary(transactions=int(match["tpm"]), tps=float(match["nopm"]))
    return RunLog(nothing, nothing, nothing, nothing, 0, 0.0, None, header, summary, unit="NOPM")


def _of_rows(lines: Iterable[str], output: Output, program: LoadFile | None) -> list[RunLog]:
    read, interval = output.reader(), program.interval if program else 10.0
    groups: list[list[LoadRow]] = []
    for line in lines:
        row = read(line)
        if row is None:
            continue
        if groups and row.time == groups[-1][0].time and all(row.kind != other.kind for other in groups[-1]):
            groups[-1].append(row)
        else:
            groups.append([row])
    points, clock, before = [], 0.0, dict[str, float]()
    per = 60.0 if output.per == "minute" else 1.0
    last_time: float | None = None
    for rows in groups:
        first = rows[0]
        length = first.seconds or interval
        if first.time is not None:
            length = first.time - last_time if last_time is not None else length
            last_time = first.time
        if length <= 0 and last_time is not None:  # a new run begins
            length = first.seconds or interval
        clock = first.time if first.time is not None else clock + length
        counts = {row.kind: (row.count or 0.0) if row.rate is None else row.rate / per * length for row in rows}
        if output.cumulative:
            counts, before = {kind: count - before.get(kind, 0.0) for kind, count in counts.items()}, {**before, **counts}
        total = max(0.0, sum(counts.values()))
        points.append((clock, total / length, _latency(rows, counts), sum(row.errors for row in rows) / length))
    if output.cumulative:
        points = points[1:]  # the first total may be of any length
    unit = f"{program.unit}s/s" if program and program.unit != "transaction" else _TPS
    percentile = _percentile(groups[0]) if groups else None
    name = program.name if program else "tpcc-mysql"
    return [
        _log(part, 0, percentile, {"program": name}, unit) for part in _split(points, [point[0] for point in points]) if part
    ]


def _percentile(rows: Sequence[LoadRow]) -> float | None:
    known = set.intersection(*(set(row.latencies) for row in rows)) - {MEAN}
    return next((one for one in (95.0, 99.0, 90.0) if one in known), None)


def _latency(rows: Sequence[LoadRow], counts: Mapping[str, float]) -> float:
    """Return the highest percentile among the kinds: percentiles of several kinds cannot be put together."""
    percentile = _percentile(rows)
    values = [row.latencies[percentile] for row in rows if percentile is not None and counts.get(row.kind)]
    return max(values, default=0.0)


Point = tuple[float, float, float, float]
"""Time, throughput, latency in milliseconds, errors per second."""


def _split(points: Sequence[Point], times: Sequence[float]) -> list[list[Point]]:
    """Return runs: a new one begins where time goes back."""
    begins = [0, *(index for index in range(1, len(times)) if times[index] < times[index - 1]), len(times)]
    return [list(points[begin:end]) for begin, end in pairwise(begins)]


def _log(
    points: Sequence[Point], threads: int, percentile: float | None, header: Mapping[str, str], unit: str, label: str = ""
) -> RunLog:
    table = np.asarray(points, dtype=float).reshape(-1, 4)
    interval = float(np.median(np.diff(table[:, 0]))) if len(table) > 1 else 0.0
    times = table[:, 0] - table[0, 0] + interval if table[0, 0] > 2 * interval else table[:, 0]
    is_whole = percentile is not None and percentile == int(percentile)
    return RunLog(
        times=times,
        tps=table[:, 1],
        latency_ms=table[:, 2],
        errors=table[:, 3],
        threads=threads,
        interval=interval,
        percentile=int(percentile) if is_whole and percentile is not None else None,
        header=header,
        unit=unit,
        label=label,
    )


def _usual_columns(start: Sequence[str]) -> CsvColumns | None:
    """Return the columns of a CSV by usual names in its first line; None where it has not one time and one throughput."""
    header = [cell.strip() for cell in next(csv.reader(start[:1]), [])]

    def only(pattern: re.Pattern[str]) -> str:
        fitting = [cell for cell in header if pattern.fullmatch(cell)]
        return fitting[0] if len(fitting) == 1 else ""

    found = CsvColumns(only(_TIME), only(_THROUGHPUT), only(_THREADS), only(_LABEL))
    return found if found.are_given and len(start) > 1 else None


def _of_csv(lines: Iterable[str], columns: CsvColumns, path: Path) -> list[RunLog]:
    rows = csv.reader(lines)
    first = [cell.strip() for cell in next(rows, [])]
    wanted = {name: getattr(columns, name) for name in ("time", "throughput", "threads", "label") if getattr(columns, name)}
    has_header = not all(text.isdigit() for text in wanted.values()) or not _is_number(first, wanted["throughput"])
    places = {name: _place(text, first if has_header else [], path) for name, text in wanted.items()}
    latency = next(((index, match) for index, cell in enumerate(first) if (match := _LATENCY.fullmatch(cell))), None)
    points: list[Point] = []
    kinds: list[tuple[int, str]] = []
    for row in rows if has_header else chain([first], rows):
        with suppress(ValueError, IndexError):
            cells = {name: row[place].strip() for name, place in places.items()}
            millis = float(row[latency[0]]) if latency and has_header else 0.0
            points.append((_seconds(cells["time"]), float(cells["throughput"]), millis, 0.0))
            kinds.append((int(float(cells.get("threads") or 0)), cells.get("label", "")))
    if len(points) < 2:
        return []
    begins = [
        index
        for index in range(len(points))
        if index == 0 or points[index][0] < points[index - 1][0] or kinds[index] != kinds[index - 1]
    ]
    percentile = float(latency[1]["percentile"]) if latency and has_header else None
    unit = wanted["throughput"] if has_header and wanted["throughput"].lower() in ("qps", "ops", "nopm", "tpm") else _TPS
    return [
        _log(points[begin:end], *_named(kinds[begin], percentile, unit))
        for begin, end in zip(begins, [*begins[1:], len(points)], strict=True)
    ]


def _named(kind: tuple[int, str], percentile: float | None, unit: str) -> tuple[int, float | None, dict[str, str], str, str]:
    threads, label = kind
    return threads, percentile, {"program": "CSV"}, unit, label


def _is_number(cells: Sequence[str], column: str) -> bool:
    with suppress(ValueError, IndexError):
        float(cells[int(column) - 1])
        return True
    return False


def _place(column: str, header: Sequence[str], path: Path) -> int:
    if column in header:
        return header.index(column)
    if column.isdigit() and int(column) > 0:
        return int(column) - 1
    shown = f"It has {', '.join(header)}" if header else "It has no first line with names: give the column's number, from 1"
    raise UserError(f"{path} has no column {column!r}", shown)


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return datetime.fromisoformat(text).timestamp()
