"""The connections of a scan: each run is one query on every connection, begun at the same instant."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from dialin.errors import ServerError, WorkloadError
from dialin.model.cause import Cause, CauseCode
from dialin.model.cpus import parse_cpus
from dialin.servers import load_sessions
from dialin.servers.connection import RefusedError, Stream, connection_id, is_reachable, open_stream, quote_identifier
from dialin.workloads.base import Second, Target

LONGEST_RUN = 6 * 3600.0
"""Seconds that one run may take."""

_END_WITHIN = 30.0
"""Seconds that all queries together may take to end after they were killed."""

_LOOK_EVERY = 30.0
"""Seconds without the end of a query after which a run checks whether the server still answers."""

_SILENT = 2
"""Unanswered checks in a row after which the server counts as hung."""

_IDLE = 28_800
"""Seconds that a connection may idle between two runs, whatever the server's wait_timeout is."""


@dataclass(frozen=True, slots=True)
class _Done:
    began: float
    ended: float
    cpu: float
    error: Exception | None = None


class ScanLoad:
    """Connections, one per thread, that each send a statement for every run.

    `before` is called before each run and returns the figures of the load that are known by then; `cpus` are the CPUs that the
    connections may use, as `0-3,8`, None for all.

    Raises:
        ServerError: the server does not answer.
    """

    def __init__(
        self, target: Target, statement: str, threads: int, before: Callable[[], Mapping[str, float]], cpus: str | None
    ) -> None:
        self._account = target.account
        self._sessions_file = target.sessions_file
        self._statement = statement
        self._before = before
        self._cpus = parse_cpus(cpus) if cpus else None
        self._number = 0
        self._cpu = 0.0
        self._facts: dict[str, float] = {}
        self._threads: list[threading.Thread] = []
        self._barrier = threading.Barrier(threads)
        self._done: queue.Queue[_Done] = queue.Queue()
        with ExitStack() as opened:
            self._streams = [opened.enter_context(open_stream(target.account)) for _ in range(threads)]
            numbers = [connection_id(stream.query) for stream in self._streams]
            load_sessions.record(target.sessions_file, numbers, time.time())
            for stream in self._streams:
                stream.query(f"USE {quote_identifier(target.database)}")
                stream.query(f"SET SESSION wait_timeout = {_IDLE}")
                with suppress(RefusedError):  # servers without a query cache, or with one that is off for good
                    stream.query("SET SESSION query_cache_type = OFF")
            self._opened = opened.pop_all()

    def read(self, timeout: float) -> Second | None:
        """Make one run and report it, or return None where it did not end in time.

        Raises:
            WorkloadError: the query failed.
            ServerError: the server hung, or a connection to it broke.
        """
        try:
            for name, value in self._before().items():
                # The run that was least cold counts.
                self._facts[name] = max(value, self._facts.get(name, value))
        except RefusedError as error:
            raise WorkloadError(Cause(CauseCode.RUN_NOT_PREPARED, {"words": str(error)})) from error
        self._threads = [
            threading.Thread(target=self._run, args=(stream,), name="scan", daemon=True) for stream in self._streams
        ]
        for thread in self._threads:
            thread.start()
        done = self._all_done(time.monotonic() + timeout)
        if done is None:
            return None
        self._number += 1
        self._cpu += sum(query.cpu for query in done)
        return run_report(self._number, [(query.began, query.ended) for query in done])

    def _all_done(self, limit: float) -> list[_Done] | None:
        """Wait for the query of every connection; return None where one did not end in time."""
        done: list[_Done] = []
        silent = 0
        while len(done) < len(self._streams):
            try:
                query = self._done.get(timeout=max(0.0, min(_LOOK_EVERY, limit - time.monotonic())))
            except queue.Empty:
                if time.monotonic() >= limit:
                    return None
                silent = 0 if is_reachable(self._account) else silent + 1
                if silent == _SILENT:
                    raise ServerError(Cause(CauseCode.NO_ANSWERS, {"times": silent}), "See its log") from None
                continue
            if query.error is not None:
                if not isinstance(query.error, RefusedError):
                    raise query.error
                raise WorkloadError(Cause(CauseCode.RUN_FAILED, {"words": str(query.error)})) from query.error
            silent = 0
            done.append(query)
        return done

    def _run(self, stream: Stream) -> None:
        error: Exception | None = None
        cpu, began = time.thread_time(), time.monotonic()
        try:
            if self._cpus:
                os.sched_setaffinity(0, self._cpus)  # of this thread alone
            self._barrier.wait()
            cpu, began = time.thread_time(), time.monotonic()
            stream.exhaust(self._statement, LONGEST_RUN)
        except Exception as failure:
            error = failure  # whatever it is, `_all_done` must not wait for this query
        self._done.put(_Done(began, time.monotonic(), time.thread_time() - cpu, error))

    def cpu_seconds(self) -> float:
        return self._cpu

    def facts(self) -> Mapping[str, float]:
        """Return figures of the load itself: `bytes_a_run`, and `cached_share` of a cold one."""
        return self._facts

    def stop(self) -> None:
        limit = time.monotonic() + _END_WITHIN
        self._barrier.abort()  # ends threads that still wait for others to begin
        running = [thread for thread in self._threads if thread.is_alive()]
        if running:
            load_sessions.end_left(self._account, self._sessions_file)
            for thread in running:
                thread.join(max(0.0, limit - time.monotonic()))
        else:
            load_sessions.forget(self._sessions_file)
        self._opened.close()


def run_report(number: int, spans: list[tuple[float, float]]) -> Second:
    """Return the report of one run; `spans` are when each connection's query began and ended, in seconds."""
    took = max(ended for _, ended in spans) - min(began for began, _ in spans)
    slowest = max(ended - began for began, ended in spans)
    rate = len(spans) / took
    return Second(number, tps=rate, reads=rate, latency_ms=1000 * slowest, seconds=took)
