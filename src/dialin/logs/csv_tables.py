"""Reads runs from a CSV: one with a time and a throughput, or one with a line for each transaction."""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from math import isfinite

import numpy as np

from dialin.errors import UserError
from dialin.logs.run_points import DECISIVE, Point, runs_of_points
from dialin.model.setting import whole_number
from dialin.readers.log_text import TooLargeError
from dialin.readers.sysbench_log import TPS, RunLog, Summary

_LARGEST = 1e18
"""The largest figure: sums of larger ones would be infinite."""
_LONGEST_RUN = 400 * 86_400
"""Seconds that a run may last: a wrong time among right ones makes it last for decades."""
_LONGEST, _COLUMNS, _LINES = 10_000, 12, 3
"""Characters of a line, columns, and lines at the start of a CSV whose columns are proposed."""
_SECONDS = r"s(?:ec(?:ond)?s?)?"
_PER_SECOND = rf"(?:/{_SECONDS}|[ _]per[ _]{_SECONDS})"
_TIME, _THROUGHPUT = (
    tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)
    for patterns in (
        (rf"(?:time|elapsed(?:[ _]?time)?)(?:[ _]?\(?{_SECONDS}\)?)?|seconds?|secs?|t", "timestamp|ts"),
        (
            r"(?:(?:avg|average|mean)[ _]?)?(?:tps|throughput)(?:[ _](?:avg|average|mean|tps))?"
            rf"|throughput \((?:(?:requests|transactions|tx|ops){_PER_SECOND}|tps)\)",
            rf"(?:transactions?|txn?|trx){_PER_SECOND}|txns|trxs|ops{_PER_SECOND}?|qps",
            "nopm",
            "tpm",
        ),
    )
)
"""Names of a time and of a throughput; a column of the first expression that fits exactly one counts."""
_OF_UNIT = ("qps", "ops", "nopm", "tpm")
_COUNTER = re.compile(r"questions|threads_(?:running|connected)|com_\w+", re.IGNORECASE)
"""Columns of somebody who watched a server: what these say of its load is not what a load program says."""
_THREADS = re.compile(r"threads?|thds|connections|clients|users|concurrency", re.IGNORECASE)
_LABEL = re.compile(r"label|name|run|candidate|variant|config", re.IGNORECASE)
_FIGURE = re.compile(
    r"lat|p\d\d|percentile|avg|mean|min|max|std|dev|err|fail|[qrt]ps|ops|tpm|cpu|util|total|count|trans|quer|event|time|duration"
    r"|sec|rate|per_|/s|%|ms\b|us\b|score|ratio|rank|file|path|log|comment|note|date",
    re.IGNORECASE,
)
"""Names of columns that say what a run did, or where it is, and not how it was made."""
_VARIABLE = re.compile(r"innodb_|binlog_|sync_binlog|query_cache_|.*isolation", re.IGNORECASE)
_LATENCY = re.compile(
    r"(?:lat(?:ency)?_?)?p(?P<percentile>\d{2})(?:_ms| ms|_lat(?:ency)?(?:_ms)?)?"
    r"|(?P<ordinal>\d{2})(?:st|nd|rd|th) percentile latency \((?P<unit>micro|milli)seconds?\)",
    re.IGNORECASE,
)
_MEDIAN = re.compile(r"median latency \((micro|milli)seconds?\)", re.IGNORECASE)
_DELIMITERS = ",;\t"
_DECIMAL_COMMA = re.compile(r"(\d+),(\d+)")
_THOUSANDS = re.compile(r"\s*\d{1,3}(?:,\d{3})+(?:\.\d+)?\s*")
_NUMBER = re.compile(r"\s*[-+]?\d+(?:[.,]\d+)?\s*")
_UNITS_OF_DATES = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
"""Times from which on a number is a date in nanoseconds, microseconds or milliseconds, with how many of these a second has."""
_SERIES, _LONGEST_LABEL = 20, 200
"""Points in time from which on a CSV is a series; characters of what a line of a table is called."""
_MINUTE, _HOUR, _EVEN = 60.0, 3600.0, 0.05
"""Seconds between lines below which even ones are a series, by how much they may differ, and below which equal ones are."""
TABLE = "table"
"""The program of runs that are lines of a table."""
_PERCENTILES = (50, 95, 99)
"""Percentiles that are computed from single transactions."""


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


@dataclass(frozen=True, slots=True)
class _TransactionLog:
    """A CSV with a line for each transaction: its columns, and how many of their units a second has.

    `failed` is the column that says `false` of a failed transaction.
    """

    program: str
    unit: str
    begin: str
    begin_per_second: float
    latency: str
    latency_per_second: float
    worker: str
    failed: str = ""


_TRANSACTION_LOGS = (
    _TransactionLog(
        "BenchBase", TPS, "Start Time (microseconds)", 1.0, "Latency (microseconds)", 1e6, "Worker Id (start number)"
    ),  # the start is in seconds with a fraction, whatever its name says
    _TransactionLog("JMeter", "requests/s", "timeStamp", 1e3, "elapsed", 1e3, "threadName", "success"),
)


def read_known(start: Sequence[str], rest: Iterator[str], where: str) -> list[RunLog]:
    """Return the runs of a CSV whose first line has known names; `start` is the beginning of its lines.

    One with a throughput and no series over time is a table of results: each line is a run.
    """
    header = _header(start)
    for kind in _TRANSACTION_LOGS:
        if {kind.begin, kind.latency, kind.worker} <= set(header):
            return _of_transactions(chain(start, rest), kind, where)
    if not _column_of(_THROUGHPUT, header):
        return []
    columns = _usual_columns(header)
    runs = read(chain(start, rest), columns, where) if columns else []
    is_whole = next(rest, None) is None and sum(run.times.size for run in runs) < len(start)
    has_series = any(map(_is_even, runs)) if columns else any(map(_is_time, header))
    if is_whole and not has_series and max((run.times.size for run in runs), default=0) < _SERIES:
        return _of_table(start) or runs
    return runs


def _is_even(run: RunLog) -> bool:
    """Return whether lines are intervals of one run: repeats take a minute or more each, and never quite the same time."""
    steps = np.diff(run.times)
    if steps.size < 2:
        return False
    differ = np.ptp(steps) / steps.mean() if steps.any() else np.inf
    return bool(differ <= _EVEN if steps.mean() < _MINUTE else differ == 0 and steps.mean() < _HOUR)


def _of_table(lines: Sequence[str]) -> list[RunLog]:
    """Return a run for each line of a table of results, called by what says how it was made; none for any other CSV."""
    header, *rows = ([cell.strip() for cell in row] for row in _rows(lines))
    rows = [row for row in rows if len(row) == len(header)]
    throughput, threads = _column_of(_THROUGHPUT, header), _column_of((_THREADS,), header)
    described = [
        place
        for place, name in enumerate(header)
        if name not in ("", throughput) and (name == threads or _is_condition(name)) and any(row[place] for row in rows)
    ]
    if not described:
        return []
    latencies = dict(filter(None, map(_latency, enumerate(header))))
    runs = []
    for row in rows:
        with suppress(ValueError, OverflowError):
            rate = _finite(row[header.index(throughput)])
            known = dict(_percentiles(row, latencies, is_idle=False))
            percentile = next((one for one in DECISIVE if one in known), None)
            total = Summary(round(rate), rate, latency_ms=known.get(percentile or 0), percentile=percentile)
            count = whole_number(row[header.index(threads)]) if threads else None
            label = ",".join(f"{header[place]}={row[place]}" for place in described).replace("/", "-")[:_LONGEST_LABEL]
            runs.append(of_summary(TABLE, _unit(throughput), total, count or 0, label))
    return runs if len(runs) > 1 else []


def _is_condition(name: str) -> bool:
    """Return whether a column says how runs were made, or which of several they are, and not what they did."""
    return bool(_VARIABLE.match(name)) or not (_FIGURE.search(name) or _is_time(name))


def _is_time(name: str) -> bool:
    return any(one.fullmatch(name) for one in _TIME)


def of_summary(program: str, unit: str, summary: Summary, threads: int = 0, label: str = "") -> RunLog:
    """Return a run of which only the result at its end is known."""
    nothing = np.empty(0)
    header = {"program": program}
    return RunLog(nothing, nothing, nothing, nothing, threads, 0.0, None, header, summary, unit=unit, label=label)


def columns_of(start: Sequence[str]) -> list[str]:
    """Return the names of the columns of a CSV by its first lines; none for any other file."""
    if len(start) < _LINES or max(map(len, start)) > _LONGEST:
        return []
    header, *rows = _rows(start[:_LINES])
    is_table = len(header) > 1 and all(len(row) == len(header) and _digits(row) > 1 for row in rows)
    is_table = is_table and ("," in start[0] or not _digits(header))
    return [cell.strip() for cell in header[:_COLUMNS]] if is_table else []


def _digits(cells: Sequence[str]) -> int:
    return sum(cell.strip()[:1].isdigit() for cell in cells)


def _header(start: Sequence[str]) -> list[str]:
    return [cell.strip() for cell in next(_rows(start[:1]), [])]


def _rows(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield the cells of each line, divided by what is most frequent in the first; semicolons go with decimal commas.

    A first line of numbers with decimal commas has more of these than semicolons.
    """
    rest = iter(lines)
    first = next(rest, "")
    is_of_numbers = ";" in first and all(map(_NUMBER.fullmatch, first.rstrip("\r\n").split(";")))
    delimiter = ";" if is_of_numbers else max(_DELIMITERS, key=first.count)
    rows = csv.reader(chain([first], rest), delimiter=delimiter)
    if delimiter != ";":
        yield from rows
        return
    for row in rows:
        yield [_DECIMAL_COMMA.sub(r"\1.\2", cell) if _DECIMAL_COMMA.fullmatch(cell) else cell for cell in row]


def _usual_columns(header: Sequence[str]) -> CsvColumns | None:
    """Return the columns of a CSV by usual names; None where it has not one time and one throughput, or a server's counters."""
    if any(map(_COUNTER.fullmatch, header)):
        return None
    found = CsvColumns(*(_column_of(names, header) for names in (_TIME, _THROUGHPUT, (_THREADS,), (_LABEL,))))
    return found if found.are_given else None


def _column_of(names: Iterable[re.Pattern[str]], header: Sequence[str]) -> str:
    """Return the column of the first expression that fits exactly one; an empty text where none does."""
    fitting = ([cell for cell in header if name.fullmatch(cell)] for name in names)
    return next((cells[0] for cells in fitting if len(cells) == 1), "")


def _unit(column: str) -> str:
    name = column.lower()
    return {"nopm": "NOPM", "tpm": "TPM"}.get(name, column) if name in _OF_UNIT else TPS


def read(lines: Iterable[str], columns: CsvColumns, where: str) -> list[RunLog]:
    """Return the runs of a CSV by its columns.

    Raises:
        UserError: it lacks one of them.
    """
    rows = _rows(lines)
    first = [cell.strip() for cell in next(rows, [])]
    wanted = {name: getattr(columns, name) for name in ("time", "throughput", "threads", "label") if getattr(columns, name)}
    has_header = any(whole_number(text) is None for text in wanted.values()) or not _is_number(first, wanted["throughput"])
    places = {name: _place(text, first if has_header else [], where) for name, text in wanted.items()}
    latencies = dict(filter(None, map(_latency, enumerate(first)))) if has_header else {}
    points: list[Point] = []
    for row in rows if has_header else chain([first], rows):
        with suppress(ValueError, IndexError, OverflowError):
            cells = {name: row[place].strip() for name, place in places.items()}
            points.append(
                Point(
                    _seconds(cells["time"]),
                    rate := _finite(cells["throughput"]),
                    latencies=dict(_percentiles(row, latencies, is_idle=rate == 0)),
                    threads=int(_finite(cells.get("threads") or "0")),
                    label=cells.get("label", ""),
                )
            )
    unit = _unit(wanted["throughput"]) if has_header else TPS
    return runs_of_points(points, {"program": "CSV"}, unit) if len(points) > 1 else []


def _finite(text: str, per: float = 1.0) -> float:
    """Return a figure of which a text has `per` times as much."""
    text = text.replace(",", "") if "," in text and _THOUSANDS.fullmatch(text) else text
    if not abs(figure := float(text) / per) <= _LARGEST:
        raise ValueError(text)
    return figure


def _percentiles(row: Sequence[str], places: Mapping[int, tuple[int, float]], *, is_idle: bool) -> Iterator[tuple[int, float]]:
    """Yield the percentiles of a row in milliseconds; 0 for one that is not given where nothing ran, as sysbench reports it."""
    for place, (percentile, unit) in places.items():
        try:
            yield percentile, _finite(row[place]) * unit
        except (ValueError, IndexError):
            if is_idle:
                yield percentile, 0.0


def _latency(column: tuple[int, str]) -> tuple[int, tuple[int, float]] | None:
    """Return the place of a column with its percentile of latency, and how many milliseconds its unit has."""
    place, name = column
    if match := _MEDIAN.fullmatch(name):
        return place, (50, 1e-3 if match[1].lower() == "micro" else 1.0)
    if match := _LATENCY.fullmatch(name):
        return place, (int(match["percentile"] or match["ordinal"]), 1e-3 if (match["unit"] or "").lower() == "micro" else 1.0)
    return None


def _is_number(cells: Sequence[str], column: str) -> bool:
    place = whole_number(column)
    with suppress(ValueError, IndexError):
        return place is not None and isfinite(float(cells[place - 1]))
    return False


def _place(column: str, header: Sequence[str], where: str) -> int:
    if column in header:
        return header.index(column)
    if place := whole_number(column):
        return place - 1
    shown = f"It has {', '.join(header)}" if header else "It has no first line with names: give the column's number, from 1"
    raise UserError(f"{where} has no column {column!r}", shown)


def _seconds(text: str) -> float:
    try:
        per = next((per for least, per in _UNITS_OF_DATES if float(text) >= least), 1.0)
        return _finite(text, per)
    except ValueError:
        return datetime.fromisoformat(text).timestamp()


def _of_transactions(lines: Iterable[str], kind: _TransactionLog, where: str) -> list[RunLog]:
    """Return the run of a log of transactions.

    Raises:
        TooLargeError: its times are further apart than those of any run.
    """
    rows = _rows(lines)
    header = [cell.strip() for cell in next(rows)]
    begin, latency, worker = (header.index(name) for name in (kind.begin, kind.latency, kind.worker))
    failed = header.index(kind.failed) if kind.failed in header else -1
    begins, latencies, failures = array("d"), array("d"), array("d")
    workers: set[str] = set()
    for row in rows:
        with suppress(ValueError, IndexError):
            began, took = _finite(row[begin], kind.begin_per_second), _finite(row[latency], kind.latency_per_second)
            is_failed = failed >= 0 and row[failed].lower() == "false"
            workers.add(row[worker])
            begins.append(began)
            latencies.append(took)
            failures.append(is_failed)
    if begins and max(begins) + max(latencies) - min(begins) > _LONGEST_RUN:
        raise TooLargeError(f"{where} has times that are years apart", "Remove the lines with a wrong time")
    points = _by_second(np.array(begins), np.array(latencies), np.array(failures, dtype=bool), len(workers))
    return runs_of_points(points, {"program": kind.program}, kind.unit)


def _by_second(begins: np.ndarray, latencies: np.ndarray, failed: np.ndarray, threads: int) -> list[Point]:
    """Return what ended in each second since the first transaction began; the last second, which is not whole, is left out."""
    if not begins.size:
        return []
    seconds = (begins + latencies - begins.min()).astype(int)
    order = np.lexsort((latencies, seconds))
    latencies, failed, seconds = latencies[order], failed[order], seconds[order]
    edges = np.searchsorted(seconds, np.arange(seconds[-1] + 1))
    points = []
    for second, (first, last) in enumerate(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)):
        good = latencies[first:last][~failed[first:last]]
        places = {one: min(good.size - 1, one * good.size // 100) for one in _PERCENTILES}
        ranks = {one: float(good[place]) * 1e3 if good.size else 0.0 for one, place in places.items()}
        points.append(Point(second + 1.0, float(good.size), float(last - first - good.size), ranks, threads))
    return points
