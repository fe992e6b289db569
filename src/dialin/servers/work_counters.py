"""What a server did for its transactions, by status variables: two loads with the same per transaction are alike."""

from __future__ import annotations

from dialin.model.query import Query

WORK = ("Innodb_rows_read", "Innodb_buffer_pool_reads", "Innodb_row_lock_waits", "Created_tmp_disk_tables")
"""Rows examined, pages that the buffer pool lacked, waits for row locks, and temporary tables on disk.

Rows of InnoDB alone: `Handler_read_*` also counts the rows of SHOW STATUS itself, some 500 for each that a monitor sends.
"""

_WORK = f"SHOW GLOBAL STATUS WHERE Variable_name IN ({', '.join(repr(name) for name in WORK)})"


def read_work(query: Query) -> dict[str, int]:
    """Return what the server did since it started, by the names of `WORK` that it has.

    Raises:
        ServerError: the server does not answer.
    """
    return {name: int(value) for name, value in query(_WORK)}


def count_running_threads(query: Query) -> int:
    """Return how many other threads are running: `Threads_running` without this connection's.

    Raises:
        ServerError: the server does not answer.
    """
    ((_, value),) = query("SHOW GLOBAL STATUS LIKE 'Threads_running'")
    return int(value) - 1
