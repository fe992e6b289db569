"""Dates and times in the names of logs, and of the runs themselves. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from dialin.logs.log_folder import Run

_CANDIDATE = re.compile(
    r"(?<![A-Za-z0-9.])(?:"
    r"(?P<apart>\d{4}(?:[-_:T]\d{2}){2,}|\d{2}(?:[-_:T]\d{2}){2,}|(?:19|20)\d{2}\.\d{2}\.\d{2}|\d{2}[-.]\d{2}[-.](?:19|20)\d{2})"
    r"|(?P<packed>\d{8}(?:[-_T]?\d{6}|[-_T]?\d{4})?)"
    r"|(?P<epoch>\d{10})"
    r")Z?(?![A-Za-z0-9])"
)
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
_MONTH = rf"({_MONTHS.replace(' ', '|')})[a-z]{{0,6}}"
_WRITTEN = re.compile(
    rf"(?<![A-Za-z0-9])(?:(\d{{1,2}})[-_ .]?{_MONTH}|{_MONTH}[-_ .]?(\d{{1,2}}))[-_ ,.]*((?:19|20)\d{{2}})(?!\d)",
    re.IGNORECASE,
)
"""A date whose month is a word."""
_CLOCK = re.compile(r"(\d{8}|\d)([-_T])(\d{2})h(\d{2})(?:m(?:(\d{2})s?)?)?(?![A-Za-z0-9])")
"""A time of day such as `15h30`, after a date."""
_YEAR, _DAY, _TIME = "Y", "d", "HMS"
_RANGES = {"Y": (1990, 2099), "y": (10, 39), "m": (1, 12), "d": (1, 31), "H": (0, 23), "M": (0, 59), "S": (0, 59)}
_LAYOUTS = ("YmdHMS", "YmdHM", "Ymd", "dmY", "mdY", "ymdHMS", "ymdHM", "mdHMS", "mdHM", "ymd", "dmy", "mdy", "HMS")
"""The layouts of a date, in the order in which they are tried: year, short year, month, day, hour, minute, second."""
_ORDER = "YymdHMS"
_WHOLE = "YmdHMS"
_OVERLAP = 5.0
"""Seconds by which runs that were made one after the other may overlap, as far as clocks and logs tell."""
_EPOCH = (1_200_000_000, 2_100_000_000)
"""Unix times from 2008 to 2036. A multiple of 1000 in that range is a count, not a time."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """The dates and times in a name.

    Attributes:
        form: the layout of each date or time; stamps of different forms cannot be ordered.
        key: the parts of each date, the year first; later stamps of one form have larger keys. Empty where a name has no date.
    """

    form: tuple[str, ...] = ()
    key: tuple[int, ...] = ()


Spans = Mapping[str, tuple[float, float]]
"""When each run began and ended, in seconds of Unix time, by the run's name."""


def run_spans(runs: Sequence[Run], stamps: Mapping[str, Stamp]) -> dict[str, tuple[float, float]]:
    """Return when each run began and ended: by the time at which its file was last written, else by the date in its name.

    These times are the runs' only where they are so for all: runs that were made one after the other do not overlap. Files
    that were copied or unpacked without their times do.
    """
    lengths = {run.name: _length(run) for run in runs if run.copy_of is None}
    ends = {run.name: run.written for run in runs if run.name in lengths}
    begins = {name: moment for name in lengths if (moment := _moment(stamps.get(name, Stamp()))) is not None}
    if len(begins) == len(lengths):
        return _plausible({name: (begin, begin + lengths[name]) for name, begin in begins.items()})
    if not all(ends.values()) or not all(lengths.values()):
        return {}
    return _plausible({name: (end - lengths[name], end) for name, end in ends.items()})


def date_of(seconds: float) -> Stamp:
    """Return a moment of Unix time as a date of this place; no date for one that no calendar has."""
    try:
        return Stamp((_WHOLE,), datetime.fromtimestamp(seconds).timetuple()[:6])  # noqa: DTZ006 - as a name would have it
    except (ValueError, OverflowError, OSError):
        return Stamp((), ())


def _length(run: Run) -> float:
    summary = run.log.summary
    return (summary.seconds if summary else None) or (float(run.log.times[-1]) if run.log.times.size else 0.0)


def _moment(stamp: Stamp) -> float | None:
    if len(stamp.form) != 1 or set(stamp.form[0]) != set(_WHOLE):
        return None
    year, month, day, *time = stamp.key
    try:
        return datetime(year, month, day, *time).timestamp()  # type: ignore[arg-type] # noqa: DTZ001
    except (ValueError, OverflowError):  # the 31st of a month of 30 days
        return None


def _plausible(spans: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    ordered = sorted(spans.values())
    overlap = any(begin < end - _OVERLAP for (_, end), (begin, _) in pairwise(ordered))
    return {} if overlap or len(spans) < 2 else spans


def day_of(stamp: Stamp) -> tuple[int, ...]:
    """Return the date of a stamp without its time."""
    layout = sorted(stamp.form[0], key=_ORDER.index) if stamp.form else []
    return tuple(value for kind, value in zip(layout, stamp.key, strict=False) if kind not in _TIME)


def hour_of_day(stamp: Stamp) -> float | None:
    """Return the time of day in hours; None where a stamp has no date with a time, or several of them."""
    if len(stamp.form) != 1 or not {"d", "H", "M"} <= set(stamp.form[0]):
        return None
    layout = sorted(stamp.form[0], key=_ORDER.index)
    return stamp.key[layout.index("H")] + stamp.key[layout.index("M")] / 60


def take_stamps(text: str) -> tuple[Stamp, str]:
    """Return all dates and times in a text, and the text with a slash in the place of each.

    Text that only resembles a date is left in place: `10.11.10` is a version, `10000000` a number of rows, `16-32-64` three
    numbers. Groups of two digits that can be a date or a time are read as one.
    """
    form: list[str] = []
    key: list[int] = []

    def replace(match: re.Match[str]) -> str:
        date = _read(match, has_date=any(_DAY in layout for layout in form))
        if date is None:
            return match[0]
        layout, parts, rest = date
        form.append(layout)
        key.extend(part for _, part in sorted(zip(layout, parts, strict=True), key=lambda pair: _ORDER.index(pair[0])))
        return f"/{rest}"

    remaining = _CANDIDATE.sub(replace, _CLOCK.sub(_clock, _WRITTEN.sub(_written, text)))
    return Stamp(tuple(form), tuple(key)), remaining


def _written(match: re.Match[str]) -> str:
    """Return a date whose month is a word as numbers."""
    day, month, month_first, then_day, year = match.groups()
    number = _MONTHS.index((month or month_first)[:3].lower()) // 4 + 1
    return f"{year}-{number:02}-{int(day or then_day):02}"


def _clock(match: re.Match[str]) -> str:
    """Return a time of day in the form of the date before it."""
    date, apart, *time = match.groups()
    return date + apart + ("" if len(date) > 1 else "-").join(filter(None, time))


def _read(match: re.Match[str], *, has_date: bool) -> tuple[str, list[int], str] | None:
    """Return the layout of a date, its parts, and the rest of the match, which is not part of the date; None for no date.

    Three numbers after a date are read as a time, if they can be one.
    """
    if match["epoch"]:
        seconds = int(match["epoch"])
        return ("S", [seconds], "") if _EPOCH[0] <= seconds < _EPOCH[1] and seconds % 1000 else None
    if match["packed"]:
        digits = re.sub(r"\D", "", match["packed"])
        parts = [digits[:4], *(digits[index : index + 2] for index in range(4, len(digits), 2))]
        layout = {3: "Ymd", 5: "YmdHM", 6: "YmdHMS"}[len(parts)]
        return (layout, [int(part) for part in parts], "") if _fits(layout, parts) else None
    pieces = list(re.finditer(r"\d+", match["apart"]))
    parts = [piece[0] for piece in pieces]
    for layout in (_TIME, *_LAYOUTS) if has_date else _LAYOUTS:
        if len(layout) <= len(parts) and _fits(layout, parts[: len(layout)]):
            rest = match["apart"][pieces[len(layout) - 1].end() :]
            return layout, [int(part) for part in parts[: len(layout)]], rest
    return None


def _fits(layout: str, parts: Sequence[str]) -> bool:
    return all(
        len(part) == (4 if kind == _YEAR else 2) and _RANGES[kind][0] <= int(part) <= _RANGES[kind][1]
        for kind, part in zip(layout, parts, strict=True)
    )
