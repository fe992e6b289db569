"""A file that another program writes, read line by line while it grows."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeVar

_Read = TypeVar("_Read")
_LONGEST = 1024**2


class GrowingFile:
    """The file at a path, which need not exist yet; None for no file."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._file: IO[bytes] | None = None
        self._pending = b""
        self._lines: deque[str] = deque()

    def read(self, parse: Callable[[str], _Read | None]) -> _Read | None:
        """Return what `parse` makes of the next whole line, skipping those that it returns None for; None at the end."""
        self._read_lines()
        while self._lines:
            if (parsed := parse(self._lines.popleft())) is not None:
                return parsed
        return None

    def _read_lines(self) -> None:
        if self._file is None and self.path is not None:
            with suppress(FileNotFoundError):
                self._file = self.path.open("rb")
        if self._file is not None and (data := self._file.read(_LONGEST)):
            *lines, self._pending = (self._pending + data).split(b"\n")
            self._pending = self._pending[-_LONGEST:]
            self._lines.extend(line.decode("utf-8", "replace").rstrip("\r") for line in lines)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
