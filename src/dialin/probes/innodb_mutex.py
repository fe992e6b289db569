"""Reads the counters of InnoDB's mutexes and rw-locks: SHOW ENGINE INNODB MUTEX.

Cost: one statement at both ends of the measured window. The server visits every lock, including that of each page of the buffer
pool, and no lock can be created or freed meanwhile. With 32 threads on two CPUs that took 7 to 10 ms with a pool of 1 GiB; the
time grows with the pool, so the statement is not sent to a server with a large one. Privileges: PROCESS.

Up to MariaDB 10.1 and MySQL 5.6 the statement lists mutexes and rw-locks. MariaDB 10.2 and MySQL 8.0 and later list rw-locks,
and MySQL also lists mutexes where innodb_monitor_enable is `latch`. MariaDB 10.11 and later list nothing.
"""

from __future__ import annotations

import re
from collections import Counter

from dialin.answers import whole
from dialin.model.evidence import ProbeNote, ProbeNoteCode
from dialin.model.query import Query
from dialin.probes import innodb_status, innodb_text
from dialin.probes.probe import ProbeSource, Reading

STATEMENT = "SHOW ENGINE INNODB MUTEX"

MOST_POOL = 64 << 30
"""Bytes of a buffer pool above which the statement is not sent: it would take half a second or more."""

_DIRECTORIES = re.compile(r"(?<!\S)/?(?:[^\s/]+/)+(?=[^\s/]+:\d+$)")
"""The directories of a source file on the machine that built the server."""

_COUNT = re.compile(r"(\w{1,40})=(\d{1,20})")


class InnodbMutexProbe:
    """Reads the counters of InnoDB's mutexes and rw-locks; counters of locks with the same name are added up."""

    name = "mutex"
    period = 0.0

    def __init__(self, query: Query) -> None:
        self._pool = ProbeSource(query, "InnoDB", "SELECT", ["SELECT @@GLOBAL.innodb_buffer_pool_size"])
        self._mutexes = ProbeSource(query, STATEMENT, "PROCESS", [STATEMENT])
        self._status = ProbeSource(query, innodb_status.STATEMENT, "PROCESS", [innodb_status.STATEMENT])

    def read(self) -> Reading:
        pool = sum(whole(row[0]) for row in self._pool.rows())
        if pool > MOST_POOL:
            return Reading(notes=(ProbeNote(ProbeNoteCode.POOL_TOO_LARGE, {"limit": MOST_POOL}),))
        rows = self._mutexes.rows() if pool else []
        counters: Counter[str] = Counter()
        for _, name, counts, *_ in rows:
            place = _DIRECTORIES.sub("", str(name))
            for what, count in _COUNT.findall(str(counts)):
                counters[f"{place}/{what}"] += int(count)
        note = self._pool.note or self._mutexes.note or (None if rows else self._why_empty())
        return Reading(counters={name: float(count) for name, count in counters.items()}, notes=(note,) if note else ())

    def _why_empty(self) -> ProbeNote | None:
        """Return a note where the server does not count waits; None where it may only have had no wait yet."""
        semaphores = innodb_text.parse(innodb_status.text_of(self._status.rows())).semaphores
        if semaphores is None or semaphores.is_reported:
            return None
        return ProbeNote(ProbeNoteCode.MUTEX_EMPTY)
