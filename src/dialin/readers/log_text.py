"""Opens a log, plain, compressed or in an archive, as a stream of bytes; its first bytes show what it is."""

from __future__ import annotations

import bz2
import codecs
import errno
import functools
import gzip
import hashlib
import io
import lzma
import re
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

import zstandard

from dialin.errors import UserError
from dialin.tar_headers import BoundedMember
from dialin.text import size as in_units

_GZIP, _BZIP2, _XZ, _ZSTANDARD, _ZIP = b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd", b"PK\x03\x04"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""The beginning of a text that a shell of Windows wrote."""
_LONGEST_MAGIC = 6
_TAR, _TAR_AT = b"ustar", 257
LARGEST = 8 * 1024**3
"""The most bytes of an unpacked log that are read: more than two years of one line per second. Only a defective or hostile
archive unpacks to more."""
LONGEST_LINE = 64 * 1024
_MOST_UNPACKED, _MOST_FOLDED = 256 * 1024**2, 200
"""Bytes that any compressed file may unpack to, and how many times its size: logs are compressed to a tenth or so."""
_IN_MEMORY, _LARGEST_MEMBER, _START = 16 * 1024**2, 1024**3, 4096
"""Bytes of a file in a tar archive up to which it is kept in memory, and read at all; and by which it is told from a binary."""

DAMAGED = (
    EOFError,
    zlib.error,
    gzip.BadGzipFile,
    lzma.LZMAError,
    zipfile.BadZipFile,
    tarfile.TarError,
    zstandard.ZstdError,
    NotImplementedError,  # a compression of zip that Python lacks
    RuntimeError,  # an encrypted member of a zip archive
)
"""What reading a compressed stream raises if it is cut short, damaged or encrypted."""


Opened = Callable[[], AbstractContextManager[IO[bytes]]]
"""Opens a file, which is decompressed while it is read."""


def files(path: Path) -> Iterator[tuple[str | None, Opened]]:
    """Yield the name of each file in a zip or tar archive, with what opens it; for any other file, None and what opens that.

    A file of an archive can be opened until the next one is asked for: an archive is read once, from its beginning to its end.

    Raises:
        OSError: the file cannot be read.
        zipfile.BadZipFile: the archive is damaged.
        TooLargeError: the texts in a tar archive unpack to more than any logs.
    """
    if path.stat().st_size == 0:  # nothing is in it, or it is a file of the kernel, which may never end or answer
        yield None, functools.partial(_copied, io.BytesIO(), 0)
    elif _magic(path) == _ZIP:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if not member.is_dir() and not _is_hidden(member.filename):
                    yield member.filename, functools.partial(_as_utf8, functools.partial(_of_zip, archive, member, path))
    elif _is_tar(path):
        yield from _of_tar(path)
    else:
        yield None, functools.partial(_as_utf8, functools.partial(_unpacked, path))


def _is_hidden(name: str) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts if part != ".")


def _is_tar(path: Path) -> bool:
    try:
        with _unpacked(path) as stream:
            return stream.read(_TAR_AT + len(_TAR))[_TAR_AT:] == _TAR
    except DAMAGED:
        return False


@contextmanager
def _of_zip(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> Iterator[IO[bytes]]:
    with archive.open(member) as stream:
        yield _limited(stream, f"{path}: {member.filename}", member.compress_size)


def _of_tar(path: Path) -> Iterator[tuple[str, Opened]]:
    with _unpacked(path) as stream, tarfile.open(fileobj=stream, mode="r|", tarinfo=BoundedMember) as archive:
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is None or _is_hidden(member.name):
                _skip(stream, member.size)
                continue
            with tempfile.SpooledTemporaryFile(_IN_MEMORY) as copy:
                start = content.read(_START)
                copy.write(start)
                if member.size > _LARGEST_MEMBER or (start[:2] not in _UTF16 and is_binary(start)):
                    _skip(stream, member.size)
                else:
                    shutil.copyfileobj(content, copy)
                yield member.name.removeprefix("./"), functools.partial(_as_utf8, functools.partial(_copied, copy, member.size))


@contextmanager
def _copied(copy: IO[bytes], size: int) -> Iterator[IO[bytes]]:
    if size > _LARGEST_MEMBER:
        raise OSError(errno.EFBIG, "larger than 1 GiB in an archive")
    copy.seek(0)
    yield copy


@contextmanager
def _as_utf8(opened: Opened) -> Iterator[IO[bytes]]:
    """Open a file; one in UTF-16 as UTF-8."""
    with opened() as stream:
        is_utf16 = stream.read(2) in _UTF16
    with opened() as stream:
        yield cast("IO[bytes]", io.BufferedReader(_FromUtf16(stream))) if is_utf16 else stream


class _Read(io.RawIOBase):
    """A stream that is made of another one while it is read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True


class _Limited(_Read):
    """What a compressed file unpacks to, as far as a log may.

    `left` is how many bytes may still be read; `to_skip` how many that belong to no log may be read besides.
    """

    def __init__(self, stream: IO[bytes], where: str, packed: int) -> None:
        super().__init__(stream)
        self._where = where
        self._most = self.left = max(_MOST_UNPACKED, _MOST_FOLDED * packed)
        self.to_skip = LARGEST

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        self.left -= len(data)
        if self.left < 0:
            raise TooLargeError(f"{self._where} unpacks to more than {in_units(self._most)}", "Pack only the logs")
        buffer[: len(data)] = data
        return len(data)


def _limited(stream: IO[bytes], where: str, packed: int) -> IO[bytes]:
    return cast("IO[bytes]", io.BufferedReader(_Limited(stream, where, packed), LONGEST_LINE))


def _skip(stream: IO[bytes], size: int) -> None:
    """Let bytes of a tar archive that nobody reads not count."""
    if isinstance(limited := getattr(stream, "raw", None), _Limited):
        skipped = min(size, limited.to_skip)
        limited.to_skip -= skipped
        limited.left += skipped


class _FromUtf16(_Read):
    """The bytes in UTF-8 of a stream in UTF-16, decoded while it is read."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(stream)
        self._decoder = codecs.getincrementaldecoder("utf-16")("replace")
        self._rest = b""

    def readinto(self, buffer: Any) -> int:
        while not self._rest and (data := self._stream.read(LONGEST_LINE)):
            self._rest = self._decoder.decode(data).encode("utf-8", "replace")
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


@contextmanager
def _unpacked(path: Path) -> Iterator[IO[bytes]]:
    with ExitStack() as stack:
        opened = _OPENED.get(_magic(path))
        if opened is None:
            yield stack.enter_context(path.open("rb"))
        else:
            stream = cast("IO[bytes]", stack.enter_context(opened(path)))
            yield _limited(stream, str(path), path.stat().st_size)


_OPENED: Mapping[bytes, Callable[[Path], Any]] = {
    _GZIP: gzip.open,
    _BZIP2: bz2.open,
    _XZ: lzma.open,
    _ZSTANDARD: zstandard.open,
}


def _magic(path: Path) -> bytes:
    with path.open("rb") as stream:
        start = stream.read(_LONGEST_MAGIC)
    return next((magic for magic in (_GZIP, _BZIP2, _XZ, _ZSTANDARD, _ZIP) if start.startswith(magic)), b"")


class TooLargeError(UserError):
    """A file is larger than `LARGEST`, which no log of sysbench is."""


class LogText:
    """The text of a log, cut between lines, with its digest and the number of its NUL bytes."""

    def __init__(self, where: str) -> None:
        self._where = where
        self.digest = hashlib.sha256()
        self.zeros = 0

    def lines(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield whole lines, without the start of one longer than any of sysbench's; nothing of a binary file.

        Lines with NUL bytes, which a power loss leaves, are left out: a part of them was never written.

        Raises:
            TooLargeError: the text is larger than any log.
        """
        size, rest = 0, b""
        for data in chunks:
            if size == 0 and is_binary(data.lstrip(b"\0")[:_START] or data[:_START]):
                return
            size += len(data)
            if size > LARGEST:
                most = f"{LARGEST // 1024**2:,} MiB"
                raise TooLargeError(f"{self._where} is larger than {most}", "Leave it out, or keep only the lines of one run")
            self.digest.update(data)
            self.zeros += data.count(0) if 0 in data else 0  # looking for one takes a tenth of the time of counting
            end = data.rfind(b"\n") + 1
            if end:
                yield _without_zeros(rest + data[:end])
            rest = ((b"" if end else rest) + data[end:])[-LONGEST_LINE:]
        yield _without_zeros(rest)


_WITH_ZEROS = re.compile(rb"[^\n]*\0[^\n]*")
_NOT_TEXT = bytes(code for code in range(1, 32) if chr(code) not in "\t\n\r\f\b\x1b")
"""The control characters that no log of a terminal has; NUL bytes may come from a power loss."""


def is_binary(start: bytes) -> bool:
    """Return whether a file is no text, by its first bytes: it has control characters, or nothing but NUL bytes."""
    text = start.replace(b"\0", b"")
    return len(text) != len(text.translate(None, _NOT_TEXT)) or (not text and bool(start))


def _without_zeros(lines: bytes) -> bytes:
    return _WITH_ZEROS.sub(b"", lines) if b"\0" in lines else lines
