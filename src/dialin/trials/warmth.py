"""Whether a server is warm, by what it reads from the disk and by its redo log: in a warm-up that is longer than usual.

Throughput can be flat while the buffer pool's pages are still being replaced by those that the load needs, or before the redo
log has so much that pages are flushed for its sake; either changes the throughput minutes later. A server is warm when
- hardly any page that was asked for was missing, or as many pages as the pool has were read since the load began; and
- the redo log's checkpoint moves on: its age has grown by less than half of what was written since the load began.

Cost: two statements in each second after throughput became steady. Privileges: PROCESS for the redo log, which counts for
moving on where it cannot be read.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from dialin.answers import number
from dialin.errors import MachineError, ServerError
from dialin.model.query import Query
from dialin.probes import innodb_text
from dialin.probes.innodb_status import STATEMENT, text_of
from dialin.servers.instance import Instance

LONG = 60.0
"""Seconds of a warm-up above which it ends only once the server is warm: a shorter one ends before that at most sizes."""

_FEW = 0.01
"""The share of missing pages below which hardly any is missing."""
_MUCH = 16 * 1024**2
"""Bytes of redo log below which hardly anything was written."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a server has done so far; `written` and `age`, of the redo log in bytes, are None where they cannot be read."""

    requests: float
    misses: float
    read: float
    pool: float
    written: float | None
    age: float | None


def is_warm(first: Reading, before: Reading, now: Reading) -> bool:
    """Return whether a server is warm; `first` was read when the load began, and `before` just before `now`."""
    requests, misses = now.requests - before.requests, now.misses - before.misses
    if misses > _FEW * requests and now.read - first.read < now.pool:
        return False
    if first.written is None or now.written is None or first.age is None or now.age is None:
        return True
    written = now.written - first.written
    return written < _MUCH or now.age - first.age < written / 2


class Warmth:
    """Follows a server through a warm-up of at most `warmup` seconds; None for as many as there are unless asked for."""

    def __init__(self, instance: Instance | None, warmup: float | None) -> None:
        self._instance = instance if warmup is not None and warmup > LONG else None
        self._first = self._before = self._read()

    def is_warm(self) -> bool:
        """Return whether the server is warm, as far as it says: one that no longer answers is not known to be."""
        if self._first is None or self._before is None:
            return True
        now = self._read()
        if now is None:
            return False
        before, self._before = self._before, now
        return is_warm(self._first, before, now)

    def _read(self) -> Reading | None:
        if self._instance is None:
            return None
        with suppress(ServerError, MachineError), self._instance.connect() as query:
            return read(query)
        return None


def read(query: Query) -> Reading | None:
    """Read a server once; None where it has no such figures."""
    rows = query("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_%'")
    figures = {str(row[0]).removeprefix("Innodb_buffer_pool_"): row[1] for row in rows}
    if not {"read_requests", "reads", "pages_total"} <= figures.keys():
        return None
    text = ""
    with suppress(ServerError):
        text = text_of(query(STATEMENT))
    log, misses = innodb_text.parse(text), number(figures["reads"])
    return Reading(
        requests=number(figures["read_requests"]),
        misses=misses,
        read=misses + number(figures.get("read_ahead", 0)),
        pool=number(figures["pages_total"]),
        written=log.log_bytes,
        age=log.gauges.get("checkpoint_age"),
    )
