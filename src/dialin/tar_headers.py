"""Members of tar archives whose headers are no larger than any real one's.

Python holds the headers of a member in memory: its long names, its extended attributes, the map of a sparse file. Those of a
hostile archive take as much as its writer liked, and unpack from almost nothing.
"""

from __future__ import annotations

import tarfile
from typing import IO, Any, Self, cast

MOST = 4 * 1024**2
"""Bytes of all headers of one member."""


class BoundedMember(tarfile.TarInfo):
    """The class of members that is given to `tarfile.open`, which then raises `tarfile.ReadError` for larger headers."""

    @classmethod
    def fromtarfile(cls, tarfile: tarfile.TarFile) -> Self:
        if isinstance(tarfile.fileobj, _Headers):  # a header that is followed by another one of the same member
            return super().fromtarfile(tarfile)
        stream, tarfile.fileobj = tarfile.fileobj, cast("Any", _Headers(cast("IO[bytes]", tarfile.fileobj)))
        try:
            return super().fromtarfile(tarfile)
        except RecursionError:
            raise _too_large() from None
        finally:
            tarfile.fileobj = stream


class _Headers:
    """A stream from which the headers of one member are read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._left = MOST

    def read(self, size: int) -> bytes:
        self._left -= size
        if self._left < 0:
            raise _too_large()
        return self._stream.read(size)

    def tell(self) -> int:
        return self._stream.tell()

    def seek(self, position: int) -> Any:
        return self._stream.seek(position)


def _too_large() -> tarfile.ReadError:
    return tarfile.ReadError(f"the headers of a file in it have more than {MOST // 1024**2} MiB")
