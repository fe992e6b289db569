"""How long captures keep their statements, which are people's data: after that, only digests and figures remain.

The capture itself says how long; dialin's cache lists where captures are, so that the next command can check all of them. A
capture that was moved or copied is not found this way.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dialin.capture import KEEP_DAYS
from dialin.capture.capture_files import STATEMENTS
from dialin.paths import Home, read_record
from dialin.workloads import private

KEEP = "keep.json"
_SCHEMA = "dialin/capture-keep/1"
_DAY = 86_400.0
_LAST_TIME = 253_402_300_799.0
"""The end of the year 9999, the last time that has a date."""

_LISTED = ".listed"


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a capture keeps its statements; times in seconds since 1970."""

    made: float
    days: float

    @property
    def until(self) -> float:
        return self.made + self.days * _DAY

    @property
    def date(self) -> str:
        """The day on which the statements are removed: `2026-12-09`."""
        return f"{datetime.fromtimestamp(self.until, UTC):%Y-%m-%d}"


def list_capture(home: Home, directory: Path) -> None:
    """Add a capture to those that the next commands check; it need not exist yet.

    Raises:
        OSError: the list cannot be written.
    """
    path = directory.absolute()
    home.captures.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    private.write(home.captures / f"{name}{_LISTED}", json.dumps(str(path)))


def keep_for(directory: Path, days: float, now: float) -> Retention:
    """Store in a capture how long it keeps its statements; raise OSError where the file cannot be written."""
    private.write(directory / KEEP, json.dumps({"schema": _SCHEMA, "made": now, "keep_days": days}) + "\n")
    return Retention(now, days)


def retention_of(directory: Path) -> Retention:
    """Return how long a capture keeps its statements; one that does not say so keeps them for 14 days from when it was made.

    Raises:
        FileNotFoundError: the capture has no statements.
        OSError: its note cannot be read now.
    """
    made = (directory / STATEMENTS).stat().st_mtime
    with suppress(FileNotFoundError, ValueError, KeyError, TypeError):
        stored = read_record(directory / KEEP, of_others=True)
        retention = Retention(float(stored["made"]), float(stored["keep_days"]))
        if 0 <= retention.until <= _LAST_TIME:
            return retention
    return Retention(made, KEEP_DAYS)


def forget_expired(home: Home, now: float) -> Iterator[Path]:
    """Remove the statements of captures that have kept them long enough; yield the directory of each of these.

    A capture that is gone is no longer listed. One that cannot be checked now, such as on a disk that is not mounted, stays
    listed.
    """
    for listed in sorted(home.captures.glob(f"*{_LISTED}")):
        try:
            directory = Path(read_record(listed))
        except (OSError, ValueError, TypeError):
            continue
        statements = directory / STATEMENTS
        with suppress(OSError):
            if statements.is_file():
                if retention_of(directory).until > now:
                    continue
                statements.unlink()
                yield directory
            elif not directory.parent.is_dir() or listed.stat().st_mtime > now - _DAY:
                continue  # it is not mounted, or is being made
            listed.unlink()
