"""A file that another program writes, read line by line while it grows."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, TypeVar

from dialin.errors import UserError

_Read = TypeVar("_Read")
_LONGEST = 1024**2


class GrowingFile:
    """The file at a path, which need not exist yet."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._pending = b""
        self._lines: deque[str] = deque()

    @classmethod
    def anew(cls, path: Path) -> GrowingFile:
        """Return a file without what an earlier run has written: a server that serves several trials keeps its directory.

        Raises:
            UserError: something else than a file is there, which nobody can read line by line while it grows.
        """
        with suppress(FileNotFoundError):
            mode = path.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):  # of a link, only the link is removed
                raise _no_file(path)
            path.unlink()
        return cls(path)

    def read(self, parse: Callable[[str], _Read | None]) -> _Read | None:
        """Return what `parse` makes of the next whole line, skipping those that it returns None for; None at the end.

        Raises:
            UserError: it is no regular file.
        """
        if not self._lines:  # a program may write faster than its lines are asked for
            self._read_lines()
        while self._lines:
            if (parsed := parse(self._lines.popleft())) is not None:
                return parsed
        return None

    def _read_lines(self) -> None:
        if self._file is None:
            with suppress(FileNotFoundError):
                self._file = self._opened()
        if self._file is not None and (data := self._file.read(_LONGEST)):
            *lines, self._pending = (self._pending + data).split(b"\n")
            self._pending = self._pending[-_LONGEST:]
            self._lines.extend(line.decode("utf-8", "replace").rstrip("\r") for line in lines)

    def _opened(self) -> IO[bytes]:
        descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe would be waited for
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise _no_file(self._path)
        return open(descriptor, "rb")  # noqa: PTH123 - a descriptor

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _no_file(path: Path) -> UserError:
    return UserError(f"The output file {path} is not a regular file", "Correct output.file in the workload file")
