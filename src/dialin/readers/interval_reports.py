"""The interval reports of sysbench, in each of its formats, and their figures as a table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]
_Codes = NDArray[np.uint8]
_Words = NDArray[np.integer[Any]]

_FIGURE = r"\d{1,20}(?:\.\d{1,18})?"
HUMAN = re.compile(
    rf"\[ (?P<number>\d{{1,18}})s \] thds: (?P<threads>\d{{1,9}}) tps: (?P<tps>{_FIGURE}) qps: {_FIGURE} "
    rf"\(r/w/o: (?P<reads>{_FIGURE})/(?P<writes>{_FIGURE})/(?P<other>{_FIGURE})\) lat \(ms,(?P<percentile>\d{{1,3}})%\): "
    rf"(?P<latency_ms>{_FIGURE}) err/s:? (?P<errors>{_FIGURE}) reconn/s:? (?P<reconnects>{_FIGURE})",
    re.ASCII,
)
"""An interval report of sysbench 1.0."""
COLUMNS = 8
"""Columns of a table of interval reports: time, threads, tps, latency, errors per second, percentile (0: not known), and
reads and writes per second."""


@dataclass(frozen=True, slots=True)
class _Format:
    """A format of interval reports with `width` numbers; `columns` are the positions of the table's columns, -1 for none.

    `mark` is in every report; `unit` is that of latency, in milliseconds.
    """

    mark: bytes
    pattern: re.Pattern[bytes]
    width: int
    columns: tuple[int, ...]
    unit: float = 1.0


def _pattern(text: str) -> re.Pattern[bytes]:
    return re.compile(re.sub(r"\(\?P<\w+>", "(?:", text).encode(), re.MULTILINE)


_OLD = rf"\[ *\d{{1,18}}s\] threads: \d{{1,9}}, tps: {_FIGURE}, reads(?:/s)?: {_FIGURE}, writes(?:/s)?: {_FIGURE},? "
_OLD += rf"response time: {_FIGURE}%s \(\d{{1,3}}%%\)"
_OF_OLD = b"s] threads: "
_ERRORS = rf", errors(?:/s)?: +{_FIGURE}, reconnects(?:/s)?: +{_FIGURE}"
_UNITS = {"ms": 1.0, "us": 1e-3, "s": 1e3}
_JSON = rf'"time": +{_FIGURE},\s+"threads": +\d{{1,9}},\s+"tps": +{_FIGURE},\s+"qps": \{{\s+"total": +{_FIGURE},\s+'
_JSON += rf'"reads": +{_FIGURE},\s+"writes": +{_FIGURE},\s+"other": +{_FIGURE}\s+\}},\s+"latency": +{_FIGURE},\s+'
_JSON += rf'"errors": +{_FIGURE},\s+"reconnects": +{_FIGURE}'
_FORMATS = (
    _Format(b"s ] thds: ", _pattern(HUMAN.pattern), 11, (0, 1, 2, 8, 9, 7, 4, 5)),
    _Format(b",", _pattern(rf"^{_FIGURE},\d{{1,9}}(?:,{_FIGURE}){{8}}(?=[ \t\r]*$)"), 10, (0, 1, 2, 7, 8, -1, 4, 5)),
    *(_Format(_OF_OLD, _pattern(_OLD % unit + _ERRORS), 9, (0, 1, 2, 5, 7, 6, 3, 4), ms) for unit, ms in _UNITS.items()),
    *(_Format(_OF_OLD, _pattern(_OLD % unit + r"(?!,)"), 7, (0, 1, 2, 5, -1, 6, 3, 4), ms) for unit, ms in _UNITS.items()),
    _Format(b'"reconnects":', _pattern(_JSON), 10, (0, 1, 2, 7, 8, -1, 4, 5)),
)
"""Reports of sysbench 1.0, the same as CSV, those of 0.5, older ones of 0.5 that count no errors, and JSON."""
_DIGITS = 15
"""Characters of a number up to which it is whole in a floating-point number without its point."""
_POWERS = 10.0 ** np.arange(_DIGITS + 1)
_OF_NUMBERS = b"0123456789."
_BLANKS = bytes(code if code in _OF_NUMBERS else 32 for code in range(256))
_NEWLINE, _POINT, _SLASH = b"\n./"
_WHOLE_DIGITS, _PERCENTILE_DIGITS = 9, 3
"""Digits that every format takes in a whole number, and in a percentile."""
_WORD, _PADDING = 8, 16
"""Characters of a machine word, and zeros before a text, so that there are words before its first number."""
_FEWEST_EVEN = 32
"""Lines of one form from which on it pays to read them together."""


def find_reports(chunk: bytes) -> tuple[list[int], _Array]:
    """Return where interval reports begin in a text, and their figures; all reports of a text have one format."""
    for form in _FORMATS:
        match = form.pattern.search(chunk) if form.mark in chunk else None
        if match is not None:
            even, end = _even_lines(chunk, match, form) or (np.empty((0, COLUMNS)), match.start())
            texts = form.pattern.findall(chunk, end)
            table = np.concatenate([even, _table_of(texts, form)])
            last = chunk.rfind(texts[-1]) if texts else end - 1
            if not texts or chunk.count(b"\n", end, last) == len(texts) - 1:  # nothing between them whose place counts
                return [match.start(), *[last] * (len(table) - 1)], table
            return [match.start() for match in form.pattern.finditer(chunk)], table
    return [], np.empty((0, COLUMNS))


def _table_of(texts: list[bytes], form: _Format) -> _Array:
    table = np.zeros((len(texts), COLUMNS))
    if texts:
        numbers = _numbers(b" ".join(texts).translate(_BLANKS)).reshape(len(texts), form.width)
        for index, column in enumerate(form.columns):
            if column >= 0:
                table[:, index] = numbers[:, column]
        table[:, 3] *= form.unit
    return table


def _numbers(text: bytes) -> _Array:
    """Return the numbers of a text of digits, points and blanks.

    They are read as whole numbers, and divided by the power of ten that their points stand for: that takes a fifth of the time
    in which they are read as they are, and gives the same numbers.
    """
    codes = np.frombuffer(text, dtype=np.uint8)
    begins, ends = _spans(codes)
    if (ends - begins).max() > _DIGITS:
        return np.fromstring(text.decode(), sep=" ")
    points = np.flatnonzero(codes == _POINT)
    numbers = np.fromstring(text.translate(None, b".").decode(), dtype=np.int64, sep=" ").astype(float)
    of_points = np.searchsorted(begins, points, side="right") - 1
    numbers[of_points] /= _POWERS[ends[of_points] - points - 1]
    return numbers


def _spans(codes: _Codes) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where each run of digits and points begins, and where it ends (the first place after it)."""
    is_mark = np.zeros(codes.size + 2, dtype=bool)
    is_mark[1:-1] = (codes - np.uint8(_POINT) < 12) & (codes != _SLASH)  # codes below the point wrap around
    edges = np.flatnonzero(is_mark[1:] != is_mark[:-1])
    return edges[::2], edges[1::2]


def _even_lines(chunk: bytes, match: re.Match[bytes], form: _Format) -> tuple[_Array, int] | None:
    """Return the figures of the lines from a report on that differ from it in digits alone, and where they end.

    Reading them column by column takes a fraction of the time of the expression. None where that might give other figures: the
    report does not take a line of its own, or the places, points or lengths of its numbers vary.
    """
    begin, line_end = match.start(), chunk.find(b"\n", match.start()) + 1
    line = chunk[begin:line_end]
    if not line or (begin and chunk[begin - 1] != _NEWLINE) or match[0] != line.rstrip():
        return None
    body = chunk[begin : chunk.rfind(b"\n") + 1]
    padded = b"".join((bytes(_PADDING), body, bytes(-len(body) % _WORD + _WORD)))
    count = _count_even(line.translate(None, _OF_NUMBERS), body.translate(None, _OF_NUMBERS))
    if count < _FEWEST_EVEN:
        return None
    codes, words = np.frombuffer(body, dtype=np.uint8), np.frombuffer(padded, dtype="<u8")
    size = int(np.flatnonzero(codes == _NEWLINE)[count - 1]) + 1
    codes = codes[:size]
    begins, ends = _spans(codes)
    if begins.size != count * form.width:
        return None
    # The texts between numbers are those of the first line where they are as long.
    between = begins[1:] - ends[:-1]
    if (between[form.width :] != between[: -form.width]).any() or size - ends[-1] != len(line) - ends[form.width - 1]:
        return None
    lengths, ends = (ends - begins).reshape(count, form.width), np.ascontiguousarray(ends.reshape(count, form.width).T)
    shortest, longest = lengths.min(axis=0), lengths.max(axis=0)
    decimals = [len(number.partition(b".")[2]) for number in line.translate(_BLANKS).split()]
    for column, places in enumerate(decimals):
        most = _DIGITS if places else _PERCENTILE_DIGITS if column == form.columns[5] else _WHOLE_DIGITS
        if places >= _WORD or longest[column] > most or shortest[column] < places + 1 + bool(places):
            return None
        if places and (codes[ends[column] - places - 1] != _POINT).any():
            return None
    if np.count_nonzero(codes == _POINT) != count * sum(map(bool, decimals)):
        return None
    table = np.zeros((count, COLUMNS))
    for index, column in enumerate(form.columns):
        if column >= 0:
            table[:, index] = _column(words, ends[column] + _PADDING, lengths[:, column], decimals[column])
    table[:, 3] *= form.unit
    return table, begin + size


def _count_even(form: bytes, text: bytes) -> int:
    """Return how many times a text begins with a form."""
    count = len(text) // len(form)
    even = form * count
    if text == even:
        return count
    differs = np.flatnonzero(np.frombuffer(text, dtype=np.uint8, count=len(even)) != np.frombuffer(even, dtype=np.uint8))
    return int(differs[0]) // len(form) if differs.size else count


def _column(words: _Words, ends: NDArray[np.intp], lengths: NDArray[np.intp], decimals: int) -> _Array:
    """Return the numbers of a column, each with as many decimals, eight characters at a time."""
    last = _eight(words, ends, lengths)
    if decimals:  # the digits before the point take its place
        point = 8 * (_WORD - 1 - decimals)
        last = last >> (point + 8) << (point + 8) | (last & (1 << point) - 1) << 8
    numbers: _Array = _number(last).astype(float)
    if lengths.max() > _WORD:
        numbers += _number(_eight(words, ends - _WORD, lengths - _WORD)) * _POWERS[_WORD - bool(decimals)]
    numbers /= _POWERS[decimals]
    return numbers


def _eight(words: _Words, ends: NDArray[np.intp], lengths: NDArray[np.intp]) -> _Words:
    """Return the last eight characters of each number, the last one in the highest byte, zeros before the first one."""
    place, beyond = ends >> 3, (ends & 7).astype(np.uint64) << 3
    before = np.maximum(_WORD - lengths, 0).astype(np.uint64) << 3
    eight: _Words = words[place - 1] >> beyond | words[place] << (64 - beyond)
    return eight >> before << before  # a shift by 64 gives zero


def _number(eight: _Words) -> _Words:
    """Return the numbers that eight digits make: pairs of digits, then of pairs, then of fours are put together."""
    eight = (eight & 0x0F0F0F0F0F0F0F0F) * 0xA01 >> 8
    eight = (eight & 0x00FF00FF00FF00FF) * 0x640001 >> 16
    return (eight & 0x0000FFFF0000FFFF) * 0x271000000001 >> 32
