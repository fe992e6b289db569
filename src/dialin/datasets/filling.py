"""How an empty server is filled quickly: without what guards it against a crash, with room to write, and told how far it is.

A server that is filled so is stopped cleanly and started once more as servers usually are, before its data is used. If it
crashes, or the machine does, its data is of no use; tables that were saved before are (see `saved_tables`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dialin.clock import Clock
from dialin.datasets.cache import tree_size
from dialin.errors import MachineError
from dialin.model.build import Build
from dialin.model.query import Query
from dialin.model.setting import Value
from dialin.servers.capabilities import Capability, has
from dialin.servers.connection import NO_SYSTEM_TABLES, quote_identifier, status
from dialin.text import duration

FROM = 256 * 1024**2
"""Bytes of data from which on that is worth a second start."""

_REDO_LOG = 1024**3
"""Bytes of each of the redo log's files at most, where it cannot be switched off: they are written in full at the start."""
_LEAST_REDO_LOG = 64 * 1024**2
"""The same at least, about the default of all builds."""


def fast_setting(build: Build, size: int) -> dict[str, Value]:
    """Return what a server is started with to be filled with about `size` bytes, beside its buffer pool."""
    options: dict[str, Value] = {
        "innodb_doublewrite": "OFF",
        "innodb_flush_method": "nosync",
        "loose_innodb_ddl_buffer_size": 128 * 1024**2,
        "loose_innodb_sort_buffer_size": 64 * 1024**2,
    }
    if has(build, Capability.REDO_LOG_RESIZE) and not has(build, Capability.REDO_LOG_SWITCH):
        options["innodb_log_file_size"] = max(_LEAST_REDO_LOG, min(_REDO_LOG, size // 8))
    return options


def usual_setting(build: Build) -> dict[str, Value]:
    """Return what a server that was filled is started with once more: its own defaults, and the list of its pages stays."""
    options: dict[str, Value] = {}
    if has(build, Capability.POOL_DUMP):
        options |= {"innodb_buffer_pool_dump_at_shutdown": "OFF", "innodb_buffer_pool_load_at_startup": "OFF"}
    if has(build, Capability.DISABLE_LOG_BIN):
        options["disable_log_bin"] = "ON"
    return options


def begin_filling(query: Query, build: Build) -> None:
    if has(build, Capability.REDO_LOG_SWITCH):
        query("ALTER INSTANCE DISABLE INNODB REDO_LOG")


def end_filling(query: Query, build: Build) -> None:
    """Let the server guard itself again."""
    if has(build, Capability.REDO_LOG_SWITCH):
        query("ALTER INSTANCE ENABLE INNODB REDO_LOG")


def check_guarded(query: Query, build: Build) -> None:
    """Raise MachineError where a server that was started as usual does not write its redo log."""
    if has(build, Capability.REDO_LOG_SWITCH) and status(query, "Innodb_redo_log_enabled") != "ON":
        raise MachineError(f"{build.id} does not write its redo log after its data was prepared", "Report this")


_TABLES = f"SELECT table_schema, table_name FROM information_schema.tables WHERE {NO_SYSTEM_TABLES}"  # noqa: S608 - a constant


def update_statistics(query: Query, schema: str | None = None) -> None:
    """Update the statistics by which the server plans statements, of all tables or of those of one schema.

    It does so by itself some seconds after the rows of a table have changed. One that is stopped before that takes tables for
    empty in each trial, and scans them where it should look up rows; one that is not changes its plans while it is measured.
    """
    # Old servers open the files of every table that no schema rules out, of which an attached one may have very many.
    tables = query(_TABLES) if schema is None else query(f"{_TABLES} AND table_schema = %s", (schema,))
    for found, table in tables:
        query(f"ANALYZE NO_WRITE_TO_BINLOG TABLE {quote_identifier(str(found))}.{quote_identifier(str(table))}")


_LOOK_EVERY = 5.0
_SHORTEST, _LONGEST = 10.0, 60.0
"""Seconds between two lines of progress: a line for each tenth, but not more often, nor less often."""


class Progress:
    """Says how far the preparation of data is, of which `expected` bytes are about all."""

    def __init__(self, expected: int, began: float) -> None:
        self._expected = max(1, expected)
        self._began = self._said = began
        self._tenth = 0

    def line(self, at: float, size: int) -> str | None:
        """Return what to say at a time (seconds) when there are `size` bytes; None where it is too early to say anything."""
        tenth = min(10, 10 * size // self._expected)
        since = at - self._said
        if size <= 0 or since < _SHORTEST or (tenth == self._tenth and since < _LONGEST):
            return None
        self._said, self._tenth = at, tenth
        rate = size / (at - self._began)
        if size >= self._expected:
            return f"{size / 1e9:.1f} GB of data are prepared, {rate / 1e6:.0f} MB/s"
        left = duration((self._expected - size) / rate)
        return f"{size / 1e9:.1f} of about {self._expected / 1e9:.1f} GB are prepared, {rate / 1e6:.0f} MB/s, about {left} left"


@contextmanager
def telling_progress(data: Path, expected: int, clock: Clock, say: Callable[[str], None]) -> Iterator[None]:
    """Say now and then, during the `with` block, how much a data directory has grown."""
    before, ended = tree_size(data), threading.Event()
    progress = Progress(expected, clock.monotonic())

    def look() -> None:
        while not ended.wait(_LOOK_EVERY):
            with suppress(OSError):  # a temporary file is gone
                if line := progress.line(clock.monotonic(), tree_size(data) - before):
                    say(line)

    thread = threading.Thread(target=look, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
