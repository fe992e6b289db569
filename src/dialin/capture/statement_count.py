"""Counts the statements of a log while the server writes it."""

from __future__ import annotations

from typing import BinaryIO, Self

from dialin.capture.log_settings import Source

_CHUNK = 1 << 22
_MARKS = {Source.SLOW: (b"\n# User@Host: ",), Source.GENERAL: (b" Query\t", b" Execute\t")}
"""What precedes each statement. A text that contains it counts as another statement: the count is only shown as progress."""


class StatementCount:
    """Counts the statements of a log that grows, reading each byte once; it closes the log's file at its end."""

    def __init__(self, file: BinaryIO, source: Source) -> None:
        self.file = file
        self._marks = _MARKS[source]
        self._tail = b""
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def count(self) -> int:
        """Return how many statements the log has by now."""
        longest = max(map(len, self._marks)) - 1
        while chunk := self.file.read(_CHUNK):
            text = self._tail + chunk
            tail = text[-longest:]
            self._count += sum(text.count(mark) - self._tail.count(mark) for mark in self._marks)
            self._tail = tail
        return self._count
