"""Opens a log, plain or compressed, as a stream of bytes; its first bytes show which compression it has."""

from __future__ import annotations

import bz2
import functools
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import IO, cast

import zstandard

_GZIP, _BZIP2, _XZ, _ZSTANDARD, _ZIP = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
_LONGEST_MAGIC = 6

DAMAGED = (
    EOFError,
    zlib.error,
    gzip.BadGzipFile,
    lzma.LZMAError,
    zipfile.BadZipFile,
    zstandard.ZstdError,
    NotImplementedError,  # a compression of zip that Python lacks
    RuntimeError,  # an encrypted member of a zip archive
)
"""What reading a compressed stream raises if it is cut short, damaged or encrypted."""


Opened = Callable[[], AbstractContextManager[IO[bytes]]]
"""Opens a file, which is decompressed while it is read."""


def files(path: Path) -> Iterator[tuple[str | None, Opened]]:
    """Yield the name of each file in a zip archive, with what opens it; for any other file, None and what opens that.

    The archive is opened once, because its list of files is read each time that it is opened.

    Raises:
        OSError: the file cannot be read.
        zipfile.BadZipFile: the archive is damaged.
    """
    if _magic(path) != _ZIP:
        yield None, lambda: _unpacked(path)
        return
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if not member.is_dir():
                yield member.filename, functools.partial(archive.open, member)


@contextmanager
def _unpacked(path: Path) -> Iterator[IO[bytes]]:
    with ExitStack() as stack:
        magic = _magic(path)
        if magic == _GZIP:
            yield cast("IO[bytes]", stack.enter_context(gzip.open(path)))
        elif magic == _BZIP2:
            yield stack.enter_context(bz2.open(path))
        elif magic == _XZ:
            yield stack.enter_context(lzma.open(path))
        elif magic == _ZSTANDARD:
            yield stack.enter_context(zstandard.open(path))
        else:
            yield stack.enter_context(path.open("rb"))


def _magic(path: Path) -> bytes:
    with path.open("rb") as stream:
        start = stream.read(_LONGEST_MAGIC)
    return next((magic for magic in (_GZIP, _BZIP2, _XZ, _ZSTANDARD, _ZIP) if start.startswith(magic)), b"")
