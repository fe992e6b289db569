"""The numbered reports of a host, kept in a file there, so that no report is lost when the network fails."""

from __future__ import annotations

import pickle
import struct
from pathlib import Path
from typing import Any

_LENGTH = struct.Struct("<Q")


class JournalWriter:
    """Appends reports to a file. An incomplete record is not read, and the next one takes its place."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._end = 0

    def append(self, item: Any) -> None:
        """Append a report; raise OSError where it could not be written as a whole."""
        record = pickle.dumps(item, protocol=pickle.HIGHEST_PROTOCOL)
        left = memoryview(_LENGTH.pack(len(record)) + record)
        with self._path.open("ab", buffering=0) as file:
            file.truncate(self._end)
            while left:  # a disk that is nearly full takes a part
                left = left[file.write(left) :]
            self._end = file.tell()


class JournalReader:
    """Reads records by number, from 1; a record can be read again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offsets = [0]

    def after(self, number: int, most: int = 500) -> list[bytes]:
        """Return the pickled records after a number, in order.

        Args:
            number: 0 to start with the first record; at most the number of the last record that was read.
            most: the maximum number of records.
        """
        records: list[bytes] = []
        if not self._path.exists():
            return records
        with self._path.open("rb") as file:
            file.seek(self._offsets[number])
            while len(records) < most:
                head = file.read(_LENGTH.size)
                if len(head) < _LENGTH.size:
                    break
                (length,) = _LENGTH.unpack(head)
                record = file.read(length)
                if len(record) < length:
                    break
                records.append(record)
                if len(self._offsets) == number + len(records):
                    self._offsets.append(file.tell())
        return records
