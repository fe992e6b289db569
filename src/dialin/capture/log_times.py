"""The length of a log over time, from which statements get exact times where the log has them to the second only."""

from __future__ import annotations

from pathlib import Path


class LogTimes:
    """Writes lines of a time, in microseconds since 1970, and the length in bytes that the log had then.

    Two lines enclose each growth: the last reading before it, and the one that saw it. Between them the log is taken to have
    grown evenly.
    """

    def __init__(self, path: Path) -> None:
        path.touch(mode=0o600)
        self._file = path.open("a", encoding="ascii", buffering=1 << 16)
        self._length = 0
        self._looked = self._written = 0

    def note(self, length: int, now: float) -> None:
        """Record the length that the log has at a time, in seconds since 1970."""
        at = int(now * 1e6)
        if length > self._length:
            if self._looked > self._written:
                self._file.write(f"{self._looked} {self._length}\n")
            self._file.write(f"{at} {length}\n")
            self._length, self._written = length, at
        self._looked = at

    def close(self) -> None:
        self._file.close()
