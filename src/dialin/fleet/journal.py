"""What a host reports, numbered and kept in a file there until the coordinator has it: a network that is cut loses nothing."""

from __future__ import annotations

import pickle
import struct
from pathlib import Path
from typing import Any

_LENGTH = struct.Struct("<Q")


class JournalWriter:
    """Appends what is reported to a file. A record is whole in the file, or is not read."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, item: Any) -> None:
        record = pickle.dumps(item, protocol=pickle.HIGHEST_PROTOCOL)
        with self._path.open("ab", buffering=0) as file:
            file.write(_LENGTH.pack(len(record)) + record)


class JournalReader:
    """Reads records by their numbers, from 1, also those that were read before."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._begins = [0]

    def after(self, number: int, most: int = 500) -> list[bytes]:
        """Return the records after a number, pickled; at most so many, in their order.

        Args:
            number: 0 for those from the first on; at most the number of the last record that was read.
            most: of the records.
        """
        records: list[bytes] = []
        if not self._path.exists():
            return records
        with self._path.open("rb") as file:
            file.seek(self._begins[number])
            while len(records) < most:
                head = file.read(_LENGTH.size)
                if len(head) < _LENGTH.size:
                    break
                (length,) = _LENGTH.unpack(head)
                record = file.read(length)
                if len(record) < length:
                    break
                records.append(record)
                if len(self._begins) == number + len(records):
                    self._begins.append(file.tell())
        return records
