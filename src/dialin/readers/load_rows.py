"""Rows of figures in what a load program prints: lines by a regular expression, a CSV that grows, or JSON lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from dialin.errors import UserError
from dialin.paths import parse_json

MEAN = 0
"""Stands for the mean among percentiles."""

FIELD = re.compile(r"time|seconds|count|rate|kind|errors|latency_ms|p[0-9]{1,2}(_[0-9]{1,2})?_ms")
"""The names of figures that a row may have. `p99_9_ms` is the percentile 99.9."""

_CLOCK = re.compile(r"(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9}(?:\.\d{1,18})?)s)?", re.ASCII)
_TIME_OF_DAY = re.compile(r"(\d{1,9}):(\d\d):(\d\d(?:\.\d{1,18})?)", re.ASCII)
_OF_CTIME = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d{1,2}) (\d\d:\d\d:\d\d) \S{1,9} (\d{4})", re.ASCII)
"""A date as `date` prints it."""
_DECIMAL_COMMA = re.compile(r"0,[0-9]+|[0-9]+,(?:[0-9]{1,2}|[0-9]{4,})|[0-9]{4,},[0-9]+|[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+")
"""A number in which a comma is the decimal mark. One such as `1,234` has it between thousands."""
_LARGEST = 1e18
"""The largest figure; one above it is a counter that went wrong, and sums of such figures would be infinite."""
_LONGEST_KIND = 100
"""Characters of the name of a kind of transactions; a program may print anything in its place."""
PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
"""How many of a unit of time are a second."""


@dataclass(frozen=True, slots=True)
class LoadRow:
    """Figures of one kind of transaction over one interval, as a program prints them.

    Attributes:
        kind: the kind of transaction; empty where the program does not distinguish kinds.
        time: the end of the interval, seconds since any moment; None where it is not printed.
        seconds: the length of the interval; None where it is not printed.
        count: transactions in the interval, or since the start if the format is cumulative; neither it nor a rate in a row that
            has only the failed transactions of a kind.
        rate: transactions per second.
        latencies: milliseconds by percentile, `MEAN` for the mean.
        errors: failed transactions in the interval, or since the start if the format is cumulative.
    """

    kind: str = ""
    time: float | None = None
    seconds: float | None = None
    count: float | None = None
    rate: float | None = None
    latencies: Mapping[float, float] = field(default_factory=dict)
    errors: float = 0.0

    @property
    def has_only_errors(self) -> bool:
        return self.count is None and self.rate is None


def belongs(rows: Sequence[LoadRow], row: LoadRow, within: float = 0.0) -> bool:
    """Return whether a row is of the same interval as those before it: each is of another kind, or has the errors of one.

    Errors that are printed without a time are of the interval beside which they stand. Times of one interval differ by at most
    `within` seconds.
    """
    same = (row.kind, row.has_only_errors)
    times = [one.time for one in (*rows, row) if one.time is not None or not one.has_only_errors]
    known = [time for time in times if time is not None]
    is_at_once = not known or (len(known) == len(times) and max(known) - min(known) <= within)
    return is_at_once and all(same != (other.kind, other.has_only_errors) for other in rows)


def are_errors_alone(rows: Sequence[LoadRow]) -> bool:
    """Return whether rows are errors of no kind, printed apart from the interval that they belong to, which is none of its own.

    The errors of a kind are different: a program that prints figures by kind prints only them while all of it fails.
    """
    return all(row.has_only_errors and not row.kind for row in rows)


ReadLine = Callable[[str], LoadRow | None]
"""Returns the row of a line; None for a line that is no row."""


def by_pattern(pattern: str, unit: str = "s") -> ReadLine:
    """Return a reader of lines that match a regular expression, whose groups have the names of figures."""
    compiled = re.compile(pattern)

    def read(line: str) -> LoadRow | None:
        match = compiled.search(line)
        return row_of(match.groupdict(), unit) if match else None

    return read


def by_columns(
    columns: Mapping[str, str | int], unit: str = "s", delimiter: str = ",", skip: Mapping[str, str] | None = None
) -> ReadLine:
    """Return a reader of a CSV; a column is a name of its first line, or a number from 1.

    Args:
        columns: the column of each figure.
        unit: the unit of the column `time`.
        delimiter: what separates columns.
        skip: rows that have these values in these columns are left out.

    Raises:
        UserError: from the reader: the header lacks a column.
    """
    header: list[str] = []
    wanted = {**columns, **{f"\0{name}": name for name in skip or ()}}
    needs_header = any(isinstance(column, str) for column in wanted.values())

    def position(column: str | int) -> int:
        if isinstance(column, int):
            return column - 1
        if column not in header:
            raise UserError(f"The CSV has no column {column!r}", f"It has {', '.join(header)}")
        return header.index(column)

    def read(line: str) -> LoadRow | None:
        try:
            cells = [cell.strip() for cell in next(csv.reader([line.lstrip("\ufeff")], delimiter=delimiter), [])]
        except csv.Error:  # a carriage return within it, or a cell of more than 128 KiB
            return None
        if needs_header and not header:
            if len(cells) < len({*wanted.values()}) or not any(cells):  # what a program prints before its CSV
                return None
            header.extend(cells)
            for column in wanted.values():
                position(column)
            return None
        places = {name: position(column) for name, column in wanted.items()}
        if any(place >= len(cells) for place in places.values()):
            return None
        texts = {name: cells[place] for name, place in places.items()}
        if any(texts[f"\0{name}"] == value for name, value in (skip or {}).items()):
            return None
        return row_of({name: text for name, text in texts.items() if name[0] != "\0"}, unit)

    return read


def by_keys(keys: Mapping[str, str], unit: str = "s") -> ReadLine:
    """Return a reader of JSON lines; a key within an object is written with a dot, such as `data.value`."""

    def read(line: str) -> LoadRow | None:
        if not line.lstrip().startswith("{"):
            return None
        with suppress(ValueError):
            document = parse_json(line)
            return row_of({name: _within(document, key.split(".")) for name, key in keys.items()}, unit)
        return None

    return read


def _within(document: Any, path: Sequence[str]) -> Any:
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return document


def row_of(figures: Mapping[str, Any], unit: str = "s") -> LoadRow | None:
    """Return a row of named texts or numbers; None where it has no count, no rate, and no errors in place of both."""
    count, rate, errors = (_number(figures.get(name)) for name in ("count", "rate", "errors"))
    has_only_errors = errors is not None and figures.get("count") is None and figures.get("rate") is None
    if count is None and rate is None and not has_only_errors:
        return None
    latencies = {
        percentile_of(name): latency
        for name, value in figures.items()
        if name.endswith("_ms") and (latency := _number(value)) is not None
    }
    return LoadRow(
        kind=str(figures.get("kind") or "")[:_LONGEST_KIND],
        time=_time(figures.get("time"), unit),
        seconds=_time(figures.get("seconds"), "s"),
        count=count,
        rate=rate,
        latencies=latencies,
        errors=errors or 0.0,
    )


def percentile_of(name: str) -> float:
    """Return the percentile of a figure such as `p99_9_ms`; `MEAN` for `latency_ms`."""
    return MEAN if name == "latency_ms" else float(name[1:-3].replace("_", "."))


def _number(value: Any, most: float = _LARGEST) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    text = str(value)
    if "," in text:
        text = text.replace(".", "").replace(",", ".") if _DECIMAL_COMMA.fullmatch(text.strip()) else text.replace(",", "")
    with suppress(ValueError):
        number = float(text)
        return number if 0 <= number <= most else None
    return None


def _time(value: Any, unit: str) -> float | None:
    """Return a time in seconds, of a number, `00:01:30`, `0d00h01m30.5s`, or a date with a time in one of two forms."""
    number = _number(value, _LARGEST * PER_SECOND[unit])
    if number is not None:
        return number / PER_SECOND[unit]
    text = str(value or "").strip()
    if match := _TIME_OF_DAY.fullmatch(text):
        return int(match[1]) * 3600 + int(match[2]) * 60 + float(match[3])
    if text and (match := _CLOCK.fullmatch(text)):
        days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
        return days * 86_400 + hours * 3600 + minutes * 60 + seconds
    with suppress(ValueError, OverflowError):
        if match := _OF_CTIME.fullmatch(text):
            return datetime.strptime(" ".join(match.groups()), "%b %d %H:%M:%S %Y").replace(tzinfo=UTC).timestamp()
        return datetime.fromisoformat(text).timestamp()
    return None
