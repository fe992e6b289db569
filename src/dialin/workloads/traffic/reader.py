"""Reads a live server; the difference of two readings is what the server did, without dialin's own statements.

Cost: three or four statements per second, 1 to 3 ms of the server (docs/live.md). Privileges: PROCESS; SELECT on
performance_schema where latency is read there; on a replica REPLICATION CLIENT (MariaDB 10.5 and later: REPLICA MONITOR).
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import psutil

from dialin.answers import bad_answer, number
from dialin.clock import Clock
from dialin.measures.table import COSTS, LOG_FSYNCS, STATUS
from dialin.model.live import LatencySource
from dialin.model.query import Query
from dialin.model.traffic import ALL_STATEMENTS, TrafficSecond
from dialin.probes import host
from dialin.servers.connection import RefusedError
from dialin.workloads.traffic import latency_sources
from dialin.workloads.traffic.digests import Digest, without_digests
from dialin.workloads.traffic.latency_sources import Statements

_SUMS: dict[str, tuple[str, ...]] = {
    "aborted": ("Aborted_clients", "Aborted_connects"),
    "connections": ("Connections",),
    "questions": ("Questions",),
    "selects": ("Com_select",),
    "changes": ("Com_insert", "Com_update", "Com_delete", "Com_replace", "Com_insert_select", "Com_update_multi"),
}
_COSTS = {goal: counters for goal, counters in COSTS.items() if counters.probe == STATUS}
_OF_COSTS = (*dict.fromkeys(name for counters in _COSTS.values() for name in counters.on(())), LOG_FSYNCS)
_GAUGES = ("Threads_running", "Threads_connected")
_STATUS = "SHOW GLOBAL STATUS WHERE Variable_name IN ({})".format(
    ", ".join(f"'{name}'" for name in (*(name for names in _SUMS.values() for name in names), *_OF_COSTS, *_GAUGES))
)
_Key = TypeVar("_Key")
LAG_STATEMENTS = ("SHOW REPLICA STATUS", "SHOW SLAVE STATUS")
_RUNNING_COLUMNS = (10, 11)
"""Replica_IO_Running and Replica_SQL_Running, or Slave_...; the lag of a replica that no longer receives anything may be 0."""
_LAG_COLUMN = 32
"""Seconds_Behind_Source, or _Master. The columns are these in all builds from MySQL 5.5 to 9.7 and MariaDB 10.1 to 11.4."""


@dataclass(frozen=True, slots=True)
class Replication:
    """The state of a replica: seconds behind its source, the most of its channels; None where a channel does not run."""

    lag: float | None

    @property
    def has_stopped(self) -> bool:
        return self.lag is None


def replication_of(rows: Sequence[Sequence[Any]]) -> Replication | None:
    """Return the state in the rows of SHOW REPLICA STATUS; None for a server that is not a replica.

    Raises:
        NoAnswerError: they lack columns.
    """
    if not rows:
        return None
    if min(map(len, rows)) <= _LAG_COLUMN:
        raise bad_answer("it lacks the columns of a replica's status")
    runs = all(row[column] == "Yes" for row in rows for column in _RUNNING_COLUMNS)
    lags = [row[_LAG_COLUMN] for row in rows]
    return Replication(max(number(lag) for lag in lags) if runs and None not in lags else None)


@dataclass(frozen=True, slots=True)
class Reading:
    """Cumulative figures at one moment.

    Attributes:
        own: how long dialin's own statements of this reading took, by kind: the time of each in ms.
    """

    at: float
    statements: Statements
    figures: Mapping[str, float]
    running: float
    connected: float
    replication: Replication | None
    own: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


class Reader:
    """Reads one server.

    Args:
        query: a connection that nothing else uses.
        pid: the server's process on this machine; None where it runs elsewhere.
        data: its data directory on this machine.
        chosen: digests that are counted separately.
    """

    def __init__(
        self,
        query: Query,
        clock: Clock,
        source: LatencySource,
        *,
        pid: int | None = None,
        data: Path | None = None,
        is_replica: bool = False,
        chosen: Sequence[Digest] = (),
    ) -> None:
        self._raw = query
        self._clock = clock
        self._source = source
        self._pid = pid
        self._data = data
        self._lag_statements = list(LAG_STATEMENTS) if is_replica else []
        self._chosen = chosen
        self._own: dict[str, list[float]] = {}

    def read(self) -> Reading:
        """Read the server; raise ServerError where it does not answer."""
        self._own = {}
        statements = latency_sources.read(self._timed("sql/select"), self._source, self._chosen)
        status = {str(name): number(value) for name, value in self._timed("sql/show_status")(_STATUS)}
        sums = _SUMS | {goal.value: counters.on(status) for goal, counters in _COSTS.items()}
        figures = {name: sum(status.get(each, 0.0) for each in names) for name, names in sums.items()}
        figures["errors"] = statements.errors
        if self._pid is not None:
            with suppress(psutil.Error, OSError):  # the server may end at any time
                figures["cpu"] = host.cpu_seconds(self._pid)
        return Reading(
            at=self._clock.monotonic(),
            statements=statements,
            figures=figures,
            running=max(status.get("Threads_running", 0.0) - 1, 0.0),
            connected=status.get("Threads_connected", 0.0),
            replication=self._replication(),
            own={kind: tuple(times) for kind, times in self._own.items()},
        )

    def _timed(self, kind: str) -> Query:
        """Return the connection's `query`, which also records the time of each statement under this kind."""

        def query(statement: str, arguments: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
            began = self._clock.monotonic()
            rows = self._raw(statement, arguments)
            self._own.setdefault(kind, []).append(1000 * (self._clock.monotonic() - began))
            return rows

        return query

    def _replication(self) -> Replication | None:
        while self._lag_statements:
            try:
                rows = self._timed("sql/show_replica_status")(self._lag_statements[0])
            except RefusedError:
                del self._lag_statements[0]
                continue
            return replication_of(rows)
        return None

    def difference(self, before: Reading, now: Reading) -> TrafficSecond:
        """Return what the server did between two readings."""
        seconds = max(now.at - before.at, 1e-3)
        figures = {name: _rise(value, before.figures.get(name, value)) for name, value in now.figures.items()}
        # The server counts a statement when it ends: between two readings, it counted as many of dialin's as one reading has.
        own_times = before.own
        own_count = sum(map(len, own_times.values()))
        if self._source is LatencySource.RESPONSE_TIME:
            own_times = {ALL_STATEMENTS: tuple(each for times in own_times.values() for each in times)}
        figures["own"] = sum(map(sum, own_times.values())) / 1000
        figures["questions"] = max(figures["questions"] - own_count, 0.0)
        counts = _without(_rises(now.statements.counts, before.statements.counts), {k: len(v) for k, v in own_times.items()})
        times = _without(_rises(now.statements.times, before.statements.times), {k: sum(v) for k, v in own_times.items()})
        counts, times = without_digests(counts, self._chosen), without_digests(times, self._chosen)
        buckets = _rises(now.statements.buckets, before.statements.buckets)
        for duration in (each for times_of_kind in own_times.values() for each in times_of_kind):
            _take_out(buckets, duration)
        figures["selects"] = max(figures["selects"] - len(before.own.get("sql/select", ())), 0.0)
        return TrafficSecond(
            seconds=seconds,
            counts={kind: count for kind, count in counts.items() if count > 0},
            times={kind: time for kind, time in times.items() if counts.get(kind, 0.0) > 0},
            figures=figures,
            buckets=buckets,
            running=now.running,
            connected=now.connected,
            lag=now.replication.lag if now.replication is not None else None,
            has_stopped=now.replication is not None and now.replication.has_stopped,
            free_disk=self._free_disk(),
            free_memory=host.memory_available() / psutil.virtual_memory().total if self._pid is not None else None,
        )

    def _free_disk(self) -> float | None:
        if self._data is not None:
            with suppress(OSError):
                disk = shutil.disk_usage(self._data)
                usable = disk.used + disk.free  # as df counts it: without what the file system keeps for itself
                return disk.free / usable if usable else None
        return None


def _rise(now: float, before: float) -> float:
    """Return by how much a counter rose; one that was reset (FLUSH STATUS, TRUNCATE) rose from 0."""
    return now - before if now >= before else now


def _rises(now: Mapping[_Key, float], before: Mapping[_Key, float]) -> dict[_Key, float]:
    return {key: _rise(value, before.get(key, 0.0)) for key, value in now.items()}


def _without(sums: Mapping[str, float], own: Mapping[str, float]) -> dict[str, float]:
    return {kind: max(value - own.get(kind, 0.0), 0.0) for kind, value in sums.items()}


def _take_out(buckets: dict[float, float], duration: float) -> None:
    """Take out one of dialin's own statements, from the nearest bucket not above 1.1 times its time as measured here."""
    below = [bound for bound, count in buckets.items() if count > 0 and bound <= 1.1 * duration]
    if below:
        buckets[max(below)] -= 1
