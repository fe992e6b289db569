"""The statements that make the table of a scan: the same rows on every build."""

# ruff: noqa: S608 - names and numbers are dialin's own; a query of the user's is run as it is

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dialin.workloads.scan.scan_options import ScanOptions, ScanQuery, read_scan_options

TABLE = "scan1"
"""The table that every query reads."""

SEED = "scan_seed"
"""The table whose rows are copied into the others, a chunk at a time; dropped once they are made."""

CHUNK = 65_536
"""Rows that one statement writes: few enough that none waits for a temporary table on disk or a huge undo log."""

_NUMBERS = 12
"""Bytes of the three numbers that each row begins with."""

_CHAR = 255
"""Bytes of the longest CHAR."""

_PIECE = 8
"""Bytes of a checksum in hexadecimal digits: CRC32 is what all builds have (MySQL 9.7 has no MD5, 5.5.9 no SHA2)."""

_SORT_KEY = 16
"""Bytes that a sort writes with each row: the key, and lengths."""

_PREFIX = 16
"""Bytes at the start of a row's text that are unique; the row shares the rest with those made from the same seed row."""


@dataclass(frozen=True, slots=True)
class RowShape:
    """What a row holds beside its three numbers, in bytes.

    Attributes:
        fixed: length of each CHAR column.
        mean: mean length of the VARCHAR column; 0 where there is none.
    """

    fixed: tuple[int, ...]
    mean: int


def row(options: ScanOptions) -> RowShape:
    """Return the shape of a row: CHAR only if fixed, else about half CHAR and half VARCHAR of 0.5 to 1.5 times its mean."""
    text = options.row_bytes - _NUMBERS
    if options.format == "fixed":
        return RowShape(tuple([_CHAR] * (text // _CHAR) + ([text % _CHAR] if text % _CHAR else [])), 0)
    fixed = min(text // 2, _CHAR)
    return RowShape((fixed,), text - fixed)


def bytes_per_row(options: ScanOptions) -> float:
    """Return about how many bytes of disk a row takes, its share of the primary key's index included (measured)."""
    columns = options.row_bytes
    if options.engine == "InnoDB":
        plain = (columns + 25) * 1.075
        return plain / 2 if options.format == "compressed" else plain
    if options.format == "page":
        return (columns + 12) * 1.03 + 8
    if options.format == "fixed":
        return columns + 1 + 11
    return columns + 6 + 11


def rows_of(options: ScanOptions, size: int) -> int:
    """Return how many rows a table of about `size` bytes has."""
    return max(1, round(size / bytes_per_row(options)))


def rows_asked(options: Mapping[str, str]) -> int:
    """Return how many rows a table of the size in a workload's options has.

    Raises:
        UserError: an option is unknown or invalid.
    """
    parsed = read_scan_options(options)
    return rows_of(parsed, parsed.size or 0)


def table_bytes(options: ScanOptions, rows: int) -> int:
    """Return about how many bytes a table of `rows` rows takes."""
    growth = 1 + options.fragmented * (0.9 if options.engine == "InnoDB" else 0.3)
    return round(rows * bytes_per_row(options) * growth)


def sort_bytes(options: ScanOptions, rows: int) -> int:
    """Return how many bytes of temporary files one sort of all rows takes at most.

    The server writes sorted pieces to one file and merges them into another; older builds write VARCHARs at their full length.
    """
    return 2 * rows * (options.row_bytes + row(options).mean + _SORT_KEY)


def create(options: ScanOptions, name: str) -> str:
    """Return the statement that makes an empty table."""
    shape = row(options)
    longest = 2 * shape.mean
    columns = [
        "id INT UNSIGNED NOT NULL PRIMARY KEY",
        "number INT UNSIGNED NOT NULL",
        "partner INT UNSIGNED NOT NULL",
        *(f"text{place} CHAR({length}) NOT NULL" for place, length in enumerate(shape.fixed, 1)),
        *([f"note VARCHAR({longest}) NOT NULL"] if longest else []),
    ]
    row_format = "" if name == SEED else f" ROW_FORMAT={options.format.upper()}"
    return f"CREATE TABLE {name} ({', '.join(columns)}) ENGINE={options.engine} DEFAULT CHARSET=latin1{row_format}"


def seed(options: ScanOptions, rows: int) -> str:
    """Return the statement that fills the seed: at most a chunk of rows, whose texts all differ."""
    shape = row(options)
    digits = " UNION ALL ".join(f"SELECT {digit}{' AS d' if digit == 0 else ''}" for digit in range(16))
    crossed = ", ".join(f"({digits}) AS x{place}" for place in range(4))
    number = "1 + x0.d + 16 * x1.d + 256 * x2.d + 4096 * x3.d"
    texts = [_text(f"{number}", place, length) for place, length in enumerate(shape.fixed)]
    if shape.mean:
        texts.append(_text(f"{number}", len(shape.fixed), 2 * shape.mean))
    within = f"WHERE {number} <= {min(rows, CHUNK)}"
    return f"INSERT INTO {SEED} SELECT {', '.join([number, '0', '0', *texts])} FROM {crossed} {within} ORDER BY 1"


def _text(of: str, salt: int, length: int) -> str:
    """Return an SQL expression for a text of `length` bytes that no two rows share."""
    pieces = [
        f"LPAD(HEX(CRC32(CONCAT('{salt}/{piece}/', {of}))), {_PIECE}, '0')" for piece in range(math.ceil(length / _PIECE))
    ]
    return f"LEFT(CONCAT({', '.join(pieces)}), {length})"


def fill(options: ScanOptions, name: str, rows: int) -> Iterator[str]:
    """Yield the statements that put all rows into a table."""
    for begin, count in _chunks(rows):
        yield f"INSERT INTO {name} {_rows(options, rows, begin)} WHERE s.id <= {count} ORDER BY s.id"


def _chunks(rows: int) -> Iterator[tuple[int, int]]:
    for begin in range(0, rows, CHUNK):
        yield begin, min(CHUNK, rows - begin)


def _rows(options: ScanOptions, rows: int, begin: int, lengths: str = "lengths") -> str:
    """Return the query for a chunk's rows; the first bytes of their text are unique, the rest is the seed's."""
    shape = row(options)
    new = f"s.id + {begin}"
    texts = [_text_of_row(f"s.text{place}", new, place, length) for place, length in enumerate(shape.fixed, 1)]
    if shape.mean:
        texts.append(f"LEFT({_text_of_row('s.note', new, 0, 2 * shape.mean)}, {_length(shape, new, lengths)})")
    partner = f"1 + CRC32(CONCAT('partner', {new})) % {rows}"
    return f"SELECT {', '.join([new, f'CRC32({new})', partner, *texts])} FROM {SEED} AS s"


def _text_of_row(column: str, of: str, salt: int, length: int) -> str:
    if length <= _PREFIX:
        return _text(of, salt, length)
    return f"CONCAT({_text(of, salt, _PREFIX)}, SUBSTRING({column}, {_PREFIX + 1}))"


def _length(shape: RowShape, of: str, salt: str) -> str:
    """Return an SQL expression for the length of a row's VARCHAR: 0.5 to 1.5 times its mean."""
    return f"{shape.mean - shape.mean // 2} + CRC32(CONCAT('{salt}', {of})) % {2 * (shape.mean // 2) + 1}"


def fragment(options: ScanOptions, name: str, rows: int) -> Iterator[str]:
    """Yield the statements that delete rows, put them back with other lengths, and lengthen or shorten others."""
    per_mille = round(1000 * options.fragmented)
    if not per_mille:
        return
    shape = row(options)
    for begin, count in _chunks(rows):
        within = f"id BETWEEN {begin + 1} AND {begin + count}"
        yield f"DELETE FROM {name} WHERE {within} AND CRC32(CONCAT('gone', id)) % 1000 < {per_mille}"
    for begin, count in _chunks(rows):
        deleted = f"CRC32(CONCAT('gone', s.id + {begin})) % 1000 < {per_mille}"
        put_back = _rows(options, rows, begin, "back")
        yield f"INSERT INTO {name} {put_back} WHERE s.id <= {count} AND {deleted} ORDER BY CRC32(s.id)"
        if shape.mean:
            yield (
                f"UPDATE {name} AS t JOIN {SEED} AS s ON s.id = t.id - {begin} "
                f"SET t.note = LEFT(s.note, {_length(shape, 't.id', 'changed')}) "
                f"WHERE t.id BETWEEN {begin + 1} AND {begin + count} AND CRC32(CONCAT('changed', t.id)) % 1000 < {per_mille}"
            )


def query(options: ScanOptions, rows: int) -> str:
    """Return the query of a run: the user's, or one that reads the table and returns one row."""
    if options.sql is not None:
        return options.sql
    if options.query is ScanQuery.ORDERED:
        return f"SELECT * FROM {TABLE} ORDER BY number LIMIT {rows - 1}, 1"
    if options.query is ScanQuery.JOIN:
        return f"SELECT SUM(b.number) FROM {TABLE} AS a STRAIGHT_JOIN {TABLE} AS b ON b.id = a.partner"
    return f"SELECT SUM(number) FROM {TABLE}"
