"""Reads InnoDB's status text: SHOW ENGINE INNODB STATUS.

Cost: one statement every 5 s. With 32 threads on two CPUs that took 0.7 to 3 ms; the list of transactions is locked while it is
written. The text has some KiB, 1 MiB at most, and parsing takes dialin about 0.5 ms per 20 KiB. Privileges: PROCESS.

Each execution of the statement restarts the averages in the text, for all clients of the server: the rates of index searches
cover the time since any client last executed it. Pending reads and writes are those of the buffer pool, which every build
reports.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from dialin.model.evidence import ProbeNote, ProbeNoteCode
from dialin.model.query import Query
from dialin.probes import innodb_text
from dialin.probes.innodb_text import InnodbStatus, SemaphoreText
from dialin.probes.probe import ProbeSource, Reading

STATEMENT = "SHOW ENGINE INNODB STATUS"


class InnodbStatusProbe:
    """Reads the status text of InnoDB.

    The text shows the threads that wait for a semaphore at one instant only, so the probe adds up the waits over its readings.
    """

    name = "innodb"
    period = 5.0

    def __init__(self, query: Query) -> None:
        self._source = ProbeSource(query, STATEMENT, "PROCESS", [STATEMENT])
        self._threads: Counter[str] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def read(self) -> Reading:
        rows = self._source.rows()
        if self._source.note:
            return Reading(notes=(self._source.note,))
        status = innodb_text.parse(text_of(rows))
        counters, gauges = dict(_counters(status)), dict(status.gauges)
        if status.semaphores is not None:
            gauges |= self._waiting(status.semaphores)
            counters |= {f"semaphore_seen/{place}": float(threads) for place, threads in self._threads.items()}
            counters |= {f"semaphore_waited/{place}": seconds for place, seconds in self._seconds.items()}
        return Reading(counters, gauges, tuple(_notes(status)))

    def _waiting(self, semaphores: SemaphoreText) -> dict[str, float]:
        """Return the number of threads that wait at each place now, 0 for earlier places, and add them to the sums."""
        now: Counter[str] = Counter()
        for wait in semaphores.waits:
            place = f"{wait.file}:{wait.line}/{wait.kind}"
            now[place] += 1
            self._seconds[place] += wait.seconds
        self._threads.update(now)
        return {f"semaphore/{place}": float(now[place]) for place in self._threads}


def text_of(rows: Sequence[Sequence[Any]]) -> str:
    """Return the text from the rows of the statement; empty where the server has no InnoDB."""
    return str(rows[0][2]) if rows else ""


def _counters(status: InnodbStatus) -> Iterator[tuple[str, float]]:
    if status.log_bytes is not None:
        yield "log_bytes", status.log_bytes
    if status.semaphores is not None:
        for kind, spins in status.semaphores.spins.items():
            yield f"spin/{kind}/spins", spins.spins
            yield f"spin/{kind}/rounds", spins.rounds
            yield f"spin/{kind}/os_waits", spins.os_waits


def _notes(status: InnodbStatus) -> Iterator[ProbeNote]:
    if status.log_bytes is None and "free_pages" not in status.gauges and status.semaphores is None:
        yield ProbeNote(ProbeNoteCode.STATUS_UNREADABLE)
    elif status.semaphores is not None and not status.semaphores.is_reported:
        yield ProbeNote(ProbeNoteCode.SEMAPHORES_EMPTY)
    elif status.cut:
        yield ProbeNote(ProbeNoteCode.STATUS_CUT)
