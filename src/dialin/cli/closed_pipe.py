"""Standard streams that outlive their reader, as in `dialin sweep ... | head`: a study does not end because nobody reads on."""

from __future__ import annotations

import io
import os
import sys
from typing import Any, TextIO


class _Stream(io.FileIO):
    """A standard stream that leads nowhere once its reader has closed the pipe."""

    def write(self, data: Any, /) -> int:
        """Write bytes; after the pipe was closed they are dropped, and so is all that follows."""
        try:
            return super().write(data)
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return memoryview(data).nbytes


def outlive_readers() -> None:
    """Make standard output and standard error go on where their reader does not."""
    sys.stdout = _outliving(sys.stdout, sys.__stdout__)
    sys.stderr = _outliving(sys.stderr, sys.__stderr__)


def _outliving(stream: TextIO, original: TextIO | None) -> TextIO:
    if stream is not original:  # a test, or a notebook, has put a stream of its own there
        return stream
    stream.flush()
    raw = _Stream(stream.fileno(), "wb", closefd=False)
    lines = stream is sys.__stderr__ or raw.isatty()
    return io.TextIOWrapper(
        io.BufferedWriter(raw), encoding=stream.encoding, errors=stream.errors, line_buffering=lines, write_through=lines
    )
