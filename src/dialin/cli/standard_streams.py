"""Standard streams that cannot end a command: a study runs to its end even if nobody reads what it prints.

The reader of a pipe can go, as in `dialin sweep ... | head`: writes fail with EPIPE. The terminal can be hung up, as when an
ssh connection is lost: writes fail with EIO. A stream can be closed from the start, as by `>&-`: the next file that the process
opens would get its number, and what is printed would be written into that file.
"""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from typing import Any, TextIO


class _Output(io.FileIO):
    """Standard output. Once its reader is gone, output is dropped; any other error, such as a full disk, is raised."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if not self._is_reader_gone(error):
                raise OSError(error.errno, error.strerror, "standard output") from error
            discard(self.fileno())
            return memoryview(data).nbytes

    def _is_reader_gone(self, error: OSError) -> bool:
        if error.errno == errno.EPIPE:
            return True
        return error.errno == errno.EIO and stat.S_ISCHR(os.fstat(self.fileno()).st_mode)


class _Messages(_Output):
    """Standard error. Output that cannot be written is dropped, whatever the reason: nothing depends on it."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def protect_standard_streams() -> None:
    """Replace the standard streams by ones that outlive their reader, and open those that are closed on the null device."""
    for descriptor in range(3):
        if not _is_open(descriptor):
            discard(descriptor)
    if sys.__stdin__ is None and sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - a descriptor, for the whole process
    sys.stdout = _protected(sys.stdout, sys.__stdout__, _Output(1, "wb", closefd=False))
    sys.stderr = _protected(sys.stderr, sys.__stderr__, _Messages(2, "wb", closefd=False), by_line=True)


def discard(descriptor: int) -> None:
    """Redirect a descriptor to the null device: writes are dropped, and reads return end of file."""
    null_device = os.open(os.devnull, os.O_RDWR)
    os.dup2(null_device, descriptor)
    if null_device != descriptor:
        os.close(null_device)
    os.set_inheritable(descriptor, True)


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _protected(stream: TextIO | None, original: TextIO | None, raw: io.FileIO, *, by_line: bool = False) -> TextIO:
    if stream is not None and stream is not original:  # a test or a notebook has replaced the stream
        return stream
    if stream is not None:
        stream.flush()
    lines = by_line or raw.isatty()
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=stream.encoding if stream is not None else "utf-8",
        errors="backslashreplace",  # a file name may contain bytes that no encoding can represent
        line_buffering=lines,
        write_through=lines,
    )
