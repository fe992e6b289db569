"""Open a log, plain or compressed, as a stream of bytes: which compression it is, its first bytes say."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, cast

from dialin.errors import UserError

_GZIP, _BZIP2, _XZ, _ZSTANDARD, _ZIP = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
_LONGEST_MAGIC = 6

DAMAGED = (EOFError, zlib.error, gzip.BadGzipFile, lzma.LZMAError, zipfile.BadZipFile, NotImplementedError, RuntimeError)
"""What a compressed stream raises that is cut short, damaged or encrypted."""


def members(path: Path) -> list[str | None]:
    """Return the names of the files in a zip archive; one None for any other file, which is its own only member.

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
        UserError: it is compressed by Zstandard, and the package that reads this is not installed.
    """
    with ExitStack() as stack:
        if member is not None:
            archive = stack.enter_context(zipfile.ZipFile(path))
            yield stack.enter_context(archive.open(member))
            return
        magic = _magic(path)
        stream: IO[bytes] | gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile
        if magic == _GZIP:
            stream = gzip.GzipFile(path)
        elif magic == _BZIP2:
            stream = bz2.BZ2File(path)
        elif magic == _XZ:
            stream = lzma.LZMAFile(path)  # noqa: SIM115 - the stack closes it
        elif magic == _ZSTANDARD:
            stream = _zstandard(stack.enter_context(path.open("rb")))
        else:
            stream = path.open("rb")
        yield cast("IO[bytes]", stack.enter_context(stream))


def _magic(path: Path) -> bytes:
    with path.open("rb") as stream:
        start = stream.read(_LONGEST_MAGIC)
    return next((magic for magic in (_GZIP, _BZIP2, _XZ, _ZSTANDARD, _ZIP) if start.startswith(magic)), b"")


def _zstandard(stream: IO[bytes]) -> IO[bytes]:
    try:
        import zstandard
    except ImportError:
        raise UserError(
            "Reading .zst files needs the Python package zstandard", "Install it (pip install zstandard), or unpack the files"
        ) from None
    reader = zstandard.ZstdDecompressor().stream_reader(stream, read_across_frames=True)
    return cast("IO[bytes]", io.BufferedReader(_ZstandardStream(reader)))


class _ZstandardStream(io.RawIOBase):
    """A Zstandard reader whose errors are those of other compressed streams."""

    def __init__(self, reader: IO[bytes]) -> None:
        self._reader = reader

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        import zstandard

        try:
            data = self._reader.read(len(buffer))
        except zstandard.ZstdError as error:
            raise EOFError(str(error)) from None
        buffer[: len(data)] = data
        return len(data)
