"""Reads the status listings beside logs: how long servers had been up, and what they had counted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from dialin.logs.sibling_files import read_text
from dialin.model.analysis import RunAnalysis
from dialin.model.verdict import Note
from dialin.text import percent, span

PATTERNS = ("*status*",)
_LARGEST = 16 * 1024**2
_APART = 2.0
"""The ratio between the shares of two candidates from which they are a finding."""


@dataclass(frozen=True, slots=True)
class _Share:
    """A share that the counters of a server show.

    Attributes:
        of: the counters whose sum is the whole.
        from_: the share from which a difference is worth a sentence.
    """

    text: str
    part: str
    of: tuple[str, ...]
    from_: float


_SHARES = (
    _Share("page requests that read from disk", "Innodb_buffer_pool_reads", ("Innodb_buffer_pool_read_requests",), 0.002),
    _Share("temporary tables on disk", "Created_tmp_disk_tables", ("Created_tmp_tables",), 0.01),
    _Share("statements that waited for a row lock", "Innodb_row_lock_waits", ("Questions",), 0.001),
    _Share(
        "page writes that waited for a free page", "Innodb_buffer_pool_wait_free", ("Innodb_buffer_pool_write_requests",), 0.001
    ),
    _Share("redo writes that waited for the log buffer", "Innodb_log_waits", ("Innodb_log_write_requests",), 0.001),
    _Share("binary log caches that spilled to disk", "Binlog_cache_disk_use", ("Binlog_cache_use",), 0.01),
    _Share(
        "tables not found in the cache", "Table_open_cache_misses", ("Table_open_cache_hits", "Table_open_cache_misses"), 0.01
    ),
)
_NAMES = sorted({"Uptime", *(share.part for share in _SHARES), *(name for share in _SHARES for name in share.of)})
_COUNTER = re.compile(rf"(?<![\w-])({'|'.join(_NAMES)})(?:[\s|:]|Value:)+(\d+)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Uptime:
    """How long a server had been up, by a status listing: seconds, the last one in the file.

    `began` is the moment of its start in Unix time, if the file was written when the server was asked.
    """

    path: Path
    seconds: float
    began: float


@dataclass(frozen=True, slots=True)
class StatusListing:
    """What a status listing says.

    Attributes:
        uptime: None where it does not say, or its uptimes are of several starts.
        shares: those of `_SHARES` that it shows, by their text: between its first and its last listing, or since the start of
            the server where it has one.
    """

    uptime: Uptime | None = None
    shares: Mapping[str, float] = field(default_factory=dict)


def read_status_listing(path: Path) -> StatusListing:
    """Return what a status listing says: output of SHOW STATUS in any form, or several one after the other."""
    counted: dict[str, list[float]] = {}
    for name, value in _COUNTER.findall(read_text(path, _LARGEST)):
        counted.setdefault(name.capitalize(), []).append(float(value))
    seconds = counted.get("Uptime", [])
    if not seconds or seconds != sorted(seconds):
        return StatusListing()
    uptime = Uptime(path, seconds[-1], path.stat().st_mtime - seconds[-1])
    totals = {name: values[-1] - (values[0] if len(seconds) > 1 else 0.0) for name, values in counted.items()}
    shares = {}
    for share in _SHARES:
        whole = sum(totals.get(name, 0.0) for name in share.of)
        if share.part in totals and whole > 0:
            shares[share.text] = totals[share.part] / whole
    return StatusListing(uptime, shares)


def differing_shares(
    runs: Sequence[RunAnalysis], names: Sequence[str], shares: Mapping[str, Mapping[str, float]]
) -> list[Note]:
    """Return a finding for each share of a server's work in which candidates differ by a factor of two, in all of their runs.

    `shares` are those that the listing beside each run's log shows, by the run's name.
    """
    notes = []
    for share in _SHARES:
        values = {
            name: [
                shares[run.file][share.text] for run in runs if run.candidate == name and share.text in shares.get(run.file, {})
            ]
            for name in names
        }
        known = {name: of for name, of in values.items() if of}
        if len(known) < 2:
            continue
        highest = max(known, key=lambda name: min(known[name]))
        lowest = min(known, key=lambda name: max(known[name]))
        if min(known[highest]) < max(share.from_, _APART * max(known[lowest])):
            continue
        shown = "; ".join(f"{name}: {span(known[name], percent)}" for name in (highest, lowest))
        text = f"By the status listings, {share.text} differ ({shown})"
        data = {"share": share.text, "medians": {name: median(of) for name, of in known.items()}}
        notes.append(Note(code="status_differs", text=text, data=data))
    return notes
