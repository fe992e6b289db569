"""Opens a log, plain or compressed, as a stream of bytes; its first bytes show which compression it has."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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


def members(path: Path) -> list[str | None]:
    """Return the names of the files in a zip archive; `[None]` for any other file.

    Raises:
        OSError: the file cannot be read.
        zipfile.BadZipFile: the archive is damaged.
    """
    if _magic(path) != _ZIP:
        return [None]
    with zipfile.ZipFile(path) as archive:
        return [member.filename for member in archive.infolist() if not member.is_dir()]


@contextmanager
def unpacked(path: Path, member: str | None = None) -> Iterator[IO[bytes]]:
    """Open a file, or one member of a zip archive, and decompress it while it is read.

    Raises:
        OSError: the file cannot be read.
    """
    with ExitStack() as stack:
        if member is not None:
            archive = stack.enter_context(zipfile.ZipFile(path))
            yield stack.enter_context(archive.open(member))
            return
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
