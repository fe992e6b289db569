"""The work that a server did, by status variables. Two loads with the same work per transaction are alike."""

from __future__ import annotations

from dialin.answers import whole
from dialin.model.query import Query
from dialin.servers.connection import status

WORK = ("Innodb_rows_read", "Innodb_buffer_pool_reads", "Innodb_row_lock_waits", "Created_tmp_disk_tables")
"""Rows examined, pages that the buffer pool lacked, waits for row locks, and temporary tables on disk.

Only InnoDB's rows: `Handler_read_*` also counts the rows of SHOW STATUS itself, about 500 each time that a monitor runs it.
"""

_WORK = f"SHOW GLOBAL STATUS WHERE Variable_name IN ({', '.join(repr(name) for name in WORK)})"


def read_work(query: Query) -> dict[str, int]:
    """Return the counters of `WORK` that the server has, since it started.

    Raises:
        ServerError: the server does not answer.
    """
    return {str(name): whole(value) for name, value in query(_WORK)}


def count_running_threads(query: Query) -> int:
    """Return how many other threads are running: `Threads_running` without that of this connection.

    Raises:
        ServerError: the server does not answer.
    """
    return whole(status(query, "Threads_running")) - 1
