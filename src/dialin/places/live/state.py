"""What a live server does before it is studied: it is watched for some seconds, and refused if it cannot be studied now."""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from dialin.answers import number
from dialin.errors import UserError
from dialin.model.live import LatencySource
from dialin.model.place import LivePlace
from dialin.model.query import Query
from dialin.model.setting import as_number
from dialin.model.study import Goal, StudySpec
from dialin.model.traffic import TrafficSecond, is_saturated
from dialin.preflight.checked import check_goal
from dialin.probes import host
from dialin.servers.attached import activity
from dialin.servers.attached.server import Attached
from dialin.servers.connection import RefusedError, sessions
from dialin.text import percent, size
from dialin.trials.tools import Tools
from dialin.variables import live_safety
from dialin.workloads.traffic import digests
from dialin.workloads.traffic.digests import Digest
from dialin.workloads.traffic.meter import Meter
from dialin.workloads.traffic.reader import LAG_STATEMENTS, Reader, Replication, replication_of

WATCHED = 5
"""Seconds for which the server is watched, to see whether there is any traffic and how long sessions live."""
_LEAST_TRAFFIC = 1.0
"""Statements per second below which there is nothing to measure."""
_FULL = 0.9
"""The share of max_connections from which on a server is at its limit."""
_TURNOVER = 1 / 3
"""The share of the washout that sessions may live at most, for a variable that each session copies when it begins."""
_NO_PRIVILEGE = (1227, 1044, 1045)

_SOURCES: Mapping[LatencySource, str] = {
    LatencySource.HISTOGRAM: "the performance schema, with percentiles",
    LatencySource.SUMMARY: "the performance schema, as means by kind of statement; this server has no percentiles",
    LatencySource.RESPONSE_TIME: "query_response_time, as one mean of all statements: a change of their mix counts as one of "
    "latency, unless the load and its share of changes explain it",
}


@dataclass(frozen=True, slots=True)
class LiveState:
    """What a server did while it was watched.

    Attributes:
        digests: the largest digests, each compared by itself; empty where reading them takes too long, or there are none.
        digests_ms: milliseconds that one reading of the largest digests takes; None where there are none.
        replication: the replication of a replica; None for any other server.
        statements: statements per second.
        busy_ms: the sum of the durations of all statements, ms.
        connections: new connections per second.
        connected: the number of connections at the end.
        lifetime: the estimated lifetime of sessions, seconds; see the function `lifetime`.
        running: running threads, in the median second.
        cpu_share: the share of its machine's CPU that the server used; None where it runs elsewhere.
        free_memory: free bytes of its machine's memory; None where it runs elsewhere.
    """

    source: LatencySource
    digests: tuple[Digest, ...] = ()
    digests_ms: float | None = None
    replication: Replication | None = None
    statements: float = 0.0
    busy_ms: float = 0.0
    connections: float = 0.0
    connected: float = 0.0
    lifetime: float = math.inf
    running: float = 0.0
    cpu_share: float | None = None
    free_memory: int | None = None

    @property
    def is_saturated(self) -> bool:
        cpus = os.cpu_count() if self.cpu_share is not None else None
        return is_saturated(cpu_share=self.cpu_share, cpus=cpus, running=self.running, connected=self.connected)


def watch(attached: Attached, tools: Tools) -> LiveState:
    """Watch the server for some seconds; nothing is changed.

    Raises:
        UserError: it does not show how long its statements take, or a privilege is missing.
        ServerError: it does not answer.
    """
    clock = tools.clock
    with attached.connect() as query:
        activity.check_sees_others(query)
        before = sessions(query)
        replicates = any(each.user == "system user" and each.command != "Daemon" for each in before)
        replication = _replication(query, replicates=replicates)
        by_digest = digests.read_all(query)
    seconds: list[TrafficSecond] = []
    reader = partial(Reader, pid=attached.pid)
    with Meter(attached.connect, reader, clock) as meter, meter.listening() as heard:
        for _ in range(WATCHED):
            second = heard.get(timeout=30)
            if not isinstance(second, TrafficSecond):
                raise second
            seconds.append(second)
        source = meter.source
    if source is None:
        raise RuntimeError("a server was read without a source of latency")
    duration = sum(one.seconds for one in seconds)
    connections = sum(one.figures.get("connections", 0.0) for one in seconds) / duration
    cpu = sum(one.figures["cpu"] for one in seconds) if all("cpu" in one.figures for one in seconds) else None
    with attached.connect() as query:
        after = {each.id for each in sessions(query)}
        clients = [each.id for each in before if each.is_client]
        chosen = digests.largest(by_digest, digests.read_all(query)) if source is not LatencySource.RESPONSE_TIME else ()
        reading = digests.reading_ms(query, chosen, clock) if chosen else None
    return LiveState(
        source=source,
        digests=chosen if reading is not None and reading <= digests.LONGEST_READING_MS else (),
        digests_ms=reading,
        replication=replication,
        statements=sum(one.statements for one in seconds) / duration,
        busy_ms=sum(sum(one.times.values()) for one in seconds),
        connections=connections,
        connected=seconds[-1].connected,
        lifetime=lifetime(sum(each in after for each in clients), len(clients), duration, seconds[-1].connected, connections),
        running=statistics.median(one.running for one in seconds),
        cpu_share=None if cpu is None else cpu / (duration * (os.cpu_count() or 1)),
        free_memory=None if attached.pid is None else host.memory_available(),
    )


def lifetime(lasted: int, were: int, seconds: float, connected: float, connections: float) -> float:
    """Return the lifetime of sessions, seconds: the longer of two estimates, for a pool may exist beside short sessions.

    Args:
        lasted: how many of the first sessions were still there at the end.
        were: how many sessions there were at first.
        seconds: the seconds between the two.
        connected: sessions at the end.
        connections: new ones per second; `connected` divided by them is the mean (Little's law).
    """
    by_arrival = connected / connections if connections else math.inf
    if not lasted or not were:
        return by_arrival
    by_survival = -seconds / math.log(lasted / were) if lasted < were else math.inf
    return max(by_arrival, by_survival)


def _replication(query: Query, *, replicates: bool) -> Replication | None:
    for statement in LAG_STATEMENTS:
        try:
            return replication_of(query(statement))
        except RefusedError as error:
            if error.number in _NO_PRIVILEGE and replicates:
                raise UserError(
                    "The server is a replica, and the account may not see how far it is behind its source",
                    "Grant it REPLICATION CLIENT (MariaDB 10.5 and later: REPLICA MONITOR); see docs/privileges.md",
                ) from None
    return None


def check_state(spec: StudySpec, live: LivePlace, attached: Attached, state: LiveState, values: Mapping[str, str]) -> list[str]:
    """Return notes on a server that can be studied now.

    Raises:
        UserError: it has no traffic, lags, is at its limit, lacks memory, cannot show what the goal is about, or copies a
            variable to sessions that live on.
    """
    if state.statements < _LEAST_TRAFFIC:
        raise UserError(
            f"The server has no traffic: {state.statements:.1f} statements/s within {WATCHED} s",
            "Study it when it is used, or apply a load of dialin's own (leave out --traffic)",
        )
    if state.busy_ms <= 0:
        raise UserError(
            "This server counts its statements, but does not time them",
            "Time the instruments statement/% in performance_schema.setup_instruments, or restart it with the default ones",
        )
    limit = number(values.get("max_connections", 0) or 0)
    if limit and state.connected >= _FULL * limit:
        raise UserError(
            f"The server is at its limit: {state.connected:.0f} of max_connections = {limit:.0f} connections are open",
            "Study it when fewer are open",
        )
    _check_replication(live, state)
    _check_goal(spec, state)
    notes = [f"{state.statements:,.0f} statements/s; their latency is read from {_SOURCES[state.source]}"]
    notes += _mix_notes(state)
    notes += _check_resizing(spec, live, state, values)
    notes += _check_sessions(spec, live.washout, attached, state)
    if read_only := activity.read_only_by(values):
        notes.append(f"The server is read-only ({read_only}); its variables can be set all the same")
    if state.replication is not None:
        notes.append("The server is a replica; its lag is guarded")
    if state.is_saturated and spec.goal is not Goal.THROUGHPUT:
        notes.append(f"The server is saturated ({_level(state)}): its clients wait for it; see --goal throughput")
    return notes


def _check_replication(live: LivePlace, state: LiveState) -> None:
    if state.replication is None:
        return
    lag = state.replication.lag
    if lag is None:
        raise UserError("The server is a replica whose replication does not run", "Start it, and wait until it has caught up")
    if lag > live.guard_lag:
        raise UserError(
            f"The server is a replica, {lag:.0f} s behind its source, more than --guard-lag {live.guard_lag:g}",
            "Wait until it has caught up, or give a larger --guard-lag",
        )


def _check_goal(spec: StudySpec, state: LiveState) -> None:
    check_goal(spec.goal, is_here=state.cpu_share is not None)
    if spec.goal is Goal.THROUGHPUT and not state.is_saturated:
        raise UserError(
            f"--goal throughput requires a saturated server: with {_level(state)}, clients decide what this one completes",
            "Leave it out: latency is compared, and the throughput is shown beside it",
        )


def _level(state: LiveState) -> str:
    running = f"{state.running:.1f} threads running"
    return running if state.cpu_share is None else f"{percent(state.cpu_share)} of the CPU used and {running}"


def _mix_notes(state: LiveState) -> list[str]:
    if state.digests:
        return [f"The mix of statements is that of the {len(state.digests)} largest digests, and of the rest by kind"]
    if state.digests_ms is not None:
        return [f"The mix of statements is by kind: reading the largest digests takes {state.digests_ms:.0f} ms each second"]
    return []


def _check_resizing(spec: StudySpec, live: LivePlace, state: LiveState, values: Mapping[str, str]) -> list[str]:
    """Refuse what takes more memory than is free; `accept_resizing` was checked with the names."""
    resized = [name for name in spec.set_variables if live_safety.resizes(name)]
    growth = max((_growth(spec, name, resized, values) for name in spec.names), default=0.0)
    if growth > 0 and state.free_memory is not None and growth > (1 - live.guard_free) * state.free_memory:
        raise UserError(
            f"A candidate takes {size(growth)} more memory than now, and {size(state.free_memory)} are free",
            "Name smaller values",
        )
    if not resized:
        return []
    unseen = "" if state.free_memory is not None else ". The free memory of its machine is unknown"
    return [f"{resized[0]} allocates or frees memory: clients may wait meanwhile, and restoring it may take longer{unseen}"]


def _growth(spec: StudySpec, candidate: str, resized: list[str], values: Mapping[str, str]) -> float:
    setting = spec.setting_of(candidate)
    pairs = ((as_number(setting[name]), as_number(values.get(name, ""))) for name in resized if name in setting)
    return sum(float(after - before) for after, before in pairs if after is not None and before is not None)


def _check_sessions(spec: StudySpec, washout: float, attached: Attached, state: LiveState) -> list[str]:
    notes = []
    for name in _session_variables(spec, attached):
        if state.lifetime > _TURNOVER * washout:
            age = "do not end" if math.isinf(state.lifetime) else f"live for about {state.lifetime:.0f} s"
            raise UserError(
                f"{name} is copied to each session when it begins, and the sessions of this server {age}: a change would reach "
                "few of them within a period",
                f"Give a --warmup of {3 * state.lifetime:.0f} s or more, or study it on a sandbox"
                if state.lifetime < 600
                else "Study it on a sandbox with --server",
            )
        notes.append(
            f"{name} reaches new sessions only; these live for about {state.lifetime:.1f} s here, less than the washout"
        )
    return notes


def _session_variables(spec: StudySpec, attached: Attached) -> list[str]:
    """Return the variables of which each session has a copy of its own."""
    names = []
    with attached.connect() as query:
        for name in spec.variables_under_test:
            try:
                query(f"SELECT @@SESSION.`{name}`")
            except RefusedError:
                continue
            names.append(name)
    return names
