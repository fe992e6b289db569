"""Reads the error logs beside logs: when servers started, and what they warned of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dialin.logs.sibling_files import SiblingFinder, read_text

PATTERNS = ("*err*.log*", "*errlog*", "*error*log*", "*.err", "*.err.txt", "mysqld*.log", "mariadbd*.log")
_LARGEST = 16 * 1024**2
_READY = re.compile(r"^\S+ .*ready for connections(.*)$", re.MULTILINE)
_NO_PORT = re.compile(r"\bport: 0\b")
_PORT = re.compile(r"\bport: \d+")
_REDO_WAITS = re.compile(r"\[MY-014089\]")
_CAPACITY = re.compile(r"current log capacity is (\d+) bytes")
_FAULTS = re.compile(r"got signal \d+|got exception 0x|Out of memory|\[FATAL\]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ErrorLog:
    """What the error log of a server says of a benchmark.

    Attributes:
        starts: how often the server got ready to serve over the network; a start of an image without a port serves no run.
        redo_waits: warnings that the redo log was full (MY-014089).
        redo_capacity: bytes of the redo log, by these warnings; None where there are none.
        faults: crashes and failed allocations.
    """

    path: Path
    starts: int
    redo_waits: int
    redo_capacity: int | None
    faults: int


def read_error_logs(logs: Mapping[str, Path], finder: SiblingFinder) -> dict[str, ErrorLog]:
    """Return the error log beside each run's log, by the run's name; nothing for a run that has none or several.

    `logs` are the paths of the runs' logs, by the run's name.
    """
    read: dict[Path, ErrorLog | None] = {}
    found: dict[str, ErrorLog] = {}
    for name, path in logs.items():
        files = finder.nearest(path, PATTERNS)
        if len(files) == 1:
            if files[0] not in read:
                read[files[0]] = parse_error_log(files[0], read_text(files[0], _LARGEST))
            if (log := read[files[0]]) is not None:
                found[name] = log
    return found


def parse_error_log(path: Path, text: str) -> ErrorLog | None:
    """Return what an error log says; None for a text that shows no start of a server."""
    ready = [f"{match[1]} {_after(text, match.end())}" for match in _READY.finditer(text)]
    serving = [line for line in ready if not _NO_PORT.search(line)]
    if not ready:
        return None
    capacity = _CAPACITY.search(text)
    return ErrorLog(
        path=path,
        starts=len(serving),
        redo_waits=len(_REDO_WAITS.findall(text)),
        redo_capacity=int(capacity[1]) if capacity else None,
        faults=len(_FAULTS.findall(text)),
    )


def _after(text: str, place: int) -> str:
    """Return the line after a place if it has the port, as servers before 5.7 and MariaDB print it."""
    line = text[place + 1 :].partition("\n")[0]
    return line if _PORT.search(line) else ""
