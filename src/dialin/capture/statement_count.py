"""Counts the statements of a log while the server writes it."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO, Self

from dialin.capture.log_settings import Source

_CHUNK = 1 << 22
_MARKS = {Source.SLOW: (b"\n# User@Host: ",), Source.GENERAL: (b" Query\t", b" Execute\t")}
"""What precedes each statement. A text that contains it counts as another statement: the count is only shown as progress."""


class StatementCount:
    """Counts the statements of a log that grows, reading each byte once."""

    def __init__(self, log: Path, source: Source) -> None:
        self._log = log
        self._marks = _MARKS[source]
        self._file: BinaryIO | None = None
        self._tail = b""
        self._count = 0

    def __enter__(self) -> Self:
        self._file = self._log.open("rb")
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def count(self) -> int:
        """Return how many statements the log has by now."""
        if self._file is None:
            raise RuntimeError("the log is not open")
        longest = max(map(len, self._marks)) - 1
        while chunk := self._file.read(_CHUNK):
            text = self._tail + chunk
            tail = text[-longest:]
            self._count += sum(text.count(mark) - self._tail.count(mark) for mark in self._marks)
            self._tail = tail
        return self._count
