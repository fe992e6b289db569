"""The server's ring buffer of the newest waits (`events_waits_history_long`), read before new waits overwrite old ones.

Fetching the rows over the connection is far too slow. Instead, the server writes them to files in its `secure_file_priv`
directory, which needs the FILE privilege. This is done only on private sandboxes.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from dialin.answers import single, whole
from dialin.errors import ServerError
from dialin.model.cause import Cause, CauseCode
from dialin.model.query import Query
from dialin.servers.connection import RefusedError

_ALL_OFF = """
    UPDATE performance_schema.setup_instruments SET ENABLED = 'NO', TIMED = 'NO' WHERE NAME LIKE 'wait/%' OR NAME = 'idle'
"""
_THREADS_OFF = """
    UPDATE performance_schema.threads SET INSTRUMENTED = 'NO' WHERE TYPE = 'BACKGROUND' OR PROCESSLIST_ID = CONNECTION_ID()
"""
_EMPTY = "TRUNCATE TABLE performance_schema.events_waits_history_long"
_SWITCH = "UPDATE performance_schema.setup_instruments SET ENABLED = %s, TIMED = %s WHERE NAME IN %s"
_BACKGROUND = """
    SELECT THREAD_ID FROM performance_schema.threads
    WHERE NAME NOT LIKE '%/one_connection' OR PROCESSLIST_ID = CONNECTION_ID()
"""
_COUNTED = """
    SELECT COALESCE(SUM(COUNT_STAR), 0) FROM performance_schema.events_waits_summary_global_by_event_name
    WHERE EVENT_NAME IN %s
"""
_NEWEST = "SELECT MAX(TIMER_END) FROM performance_schema.events_waits_history_long"
# The columns are in the order of `dialin.store.waits_file`. Waits that have not ended have no TIMER_END. The server counts a
# table wait that fetched several rows (MySQL 8, MariaDB 10.11) once per row; NUMBER_OF_BYTES is then the number of rows.
_WRITE = """
    SELECT THREAD_ID, EVENT_ID, EVENT_NAME, OPERATION, TIMER_START, TIMER_WAIT,
        IF(EVENT_NAME LIKE 'wait/io/table/%%', COALESCE(NUMBER_OF_BYTES, 1), 1)
    FROM performance_schema.events_waits_history_long
    WHERE TIMER_END > %s AND TIMER_END <= %s AND EVENT_NAME IN %s
    INTO OUTFILE %s
"""
_NO_LIMIT = 2**64 - 1


class WaitRing:
    """The ring of one server.

    Raises:
        ServerError: the server may not write files, or keeps no ring.
    """

    def __init__(self, query: Query, instruments: Sequence[str]) -> None:
        self._query = query
        self._instruments = tuple(instruments)
        self._files = 0
        directory = single(query("SELECT @@secure_file_priv"))
        if not directory:
            raise ServerError(Cause(CauseCode.NO_FILE_PRIVILEGE), "See secure_file_priv")
        self.directory = Path(str(directory))
        self.size = whole(single(query("SELECT @@performance_schema_events_waits_history_long_size")))

    def make_ready(self) -> None:
        """Empty the ring, and switch off all wait instruments, and the instrumentation of dialin's and background threads."""
        self._query(_ALL_OFF)
        with suppress(RefusedError):  # MySQL 5.5 cannot leave threads out; see `background`
            self._query(_THREADS_OFF)
        self._query(_EMPTY)

    def switch(self, *, on: bool) -> None:
        """Switch the chosen instruments on or off; a wait under way when they are switched off is still recorded."""
        enabled = "YES" if on else "NO"
        self._query(_SWITCH, (enabled, enabled, self._instruments))

    def background(self) -> list[int]:
        """Return the ids of background threads and of dialin's own thread, whose waits are not part of the load."""
        return [whole(number) for (number,) in self._query(_BACKGROUND)]

    def counted(self) -> int:
        """Return how many waits the server has counted so far, whether still in the ring or not."""
        return whole(single(self._query(_COUNTED, (self._instruments,))))

    def newest(self) -> int | None:
        """Return when the newest wait in the ring ended, in picoseconds of the server's timer; None if the ring is empty."""
        newest = single(self._query(_NEWEST))
        return None if newest is None else whole(newest)

    def write_file(self, after: int, upto: int | None) -> Path:
        """Have the server write a file with the waits that ended after `after` and not after `upto`, and return its path.

        Both limits are picoseconds of the server's timer; None for `upto` means no limit. The caller removes the file.

        Raises:
            RefusedError: the server cannot write the file.
        """
        self._files += 1
        path = self.directory / f"waits-{self._files}.tsv"
        self._query(_WRITE, (after, _NO_LIMIT if upto is None else upto, self._instruments, str(path)))
        return path
