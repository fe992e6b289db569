"""The tables of a dataset that are complete while it is prepared: after a kill or a power loss only the others are filled.

A server that is filled quickly does not recover from a crash (see `filling`). So it exports tables that are complete, whose
files are linked into an entry of the cache and written to disk; only then are they marked as saved. The next server imports
them, for which it checks every page, and then compares the rows of all indexes. What it does not accept is filled again.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from dialin.datasets import filling
from dialin.datasets.cache import DatasetCache, StoredDataset, flush
from dialin.model.query import Query
from dialin.paths import replace_text
from dialin.servers.connection import RefusedError
from dialin.workloads.base import Dataset, Target

_FILES = (".ibd", ".cfg")
"""A table's rows, and its description for the import."""

_MARK = ".sql"
"""The statement that creates the table; it is there if and only if the files are complete."""


def tables_at_once(count: int, size: int) -> int:
    """Return how many of `count` tables, of `size` bytes in total, are filled and then saved: enough for all CPUs."""
    return max(os.cpu_count() or 1, math.ceil(count * filling.FROM / max(1, size)))


class SavedTables:
    """The saved tables of one dataset.

    They are an entry of the cache by themselves: they count in its limit and give way like any data that no study uses, and
    nothing takes them for a dataset.
    """

    def __init__(self, cache: DatasetCache, entry: StoredDataset) -> None:
        self._cache = cache
        self._entry = entry

    @property
    def size(self) -> int:
        """The bytes that they take."""
        return self._entry.size

    def fill(
        self,
        workload: Dataset,
        target: Target,
        data: Path,
        connect: Callable[[], AbstractContextManager[Query]],
        say: Callable[[str], None],
    ) -> None:
        """Fill the server whose data directory is `data` with the saved tables and with the others, which are then saved.

        Raises:
            WorkloadError: a table could not be filled.
            MachineError: a table could not be written to disk.
            ServerError: the server does not answer.
        """
        names, files = workload.separate_tables, data / target.database
        if saved := [name for name in names if self._mark(name).exists()]:
            say(f"Resuming a preparation that was stopped: {len(saved)} of {len(names)} tables are complete")
        at_once = tables_at_once(len(names), workload.expected_bytes())
        for begin in range(0, len(names), at_once):
            batch = names[begin : begin + at_once]
            with connect() as query:
                query(f"USE {target.database}")
                missing = [name for name in batch if not self._import(query, name, files)]
            if missing:
                workload.prepare_tables(target, missing)
            with connect() as query:
                query(f"USE {target.database}")
                self._save(query, batch, files)

    def _mark(self, name: str) -> Path:
        return self._entry.data / f"{name}{_MARK}"

    def _save(self, query: Query, names: Sequence[str], files: Path) -> None:
        """Save tables that are complete; none is saved where the build, the engine or the file system does not allow it."""
        try:
            statements = [str(query(f"SHOW CREATE TABLE {name}")[0][1]) for name in names]
            query(f"FLUSH TABLES {', '.join(names)} FOR EXPORT")
            try:
                for file in _files_of(*names):
                    (self._entry.data / file).unlink(missing_ok=True)
                    (self._entry.data / file).hardlink_to(files / file)
            finally:
                query("UNLOCK TABLES")
            flush(self._entry.data)
            self._cache.measure(self._entry)
            for name, statement in zip(names, statements, strict=True):
                replace_text(self._mark(name), statement)
        except (OSError, RefusedError):
            return

    def _import(self, query: Query, name: str, files: Path) -> bool:
        """Move a saved table into the server; return False where there is none, or the server does not accept it."""
        try:
            statement = self._mark(name).read_text(encoding="utf-8")
            self._mark(name).unlink()
        except OSError:  # there is none, or it is another user's
            return False
        flush(self._entry.data)  # the mark is gone before the server changes the files
        try:
            query(statement)
            query(f"ALTER TABLE {name} DISCARD TABLESPACE")
            for file in _files_of(name):
                (self._entry.data / file).rename(files / file)
            query(f"ALTER TABLE {name} IMPORT TABLESPACE")
            is_accepted = bool(query(f"CHECK TABLE {name}")[-1][-1] == "OK")  # this loads it into the buffer pool, too
        except (OSError, RefusedError):
            is_accepted = False
        (files / f"{name}.cfg").unlink(missing_ok=True)
        if not is_accepted:
            query(f"DROP TABLE IF EXISTS {name}")
            (files / f"{name}.ibd").unlink(missing_ok=True)
        return is_accepted


def _files_of(*names: str) -> list[str]:
    return [f"{name}{ending}" for name in names for ending in _FILES]
