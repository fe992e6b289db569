"""The sessions of a scan: each run is one query in every session, begun at the same instant."""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass

from dialin.errors import ServerError, WorkloadError
from dialin.model.cpus import parse_cpus
from dialin.servers.connection import RefusedError, Stream, connect, streaming
from dialin.workloads.base import Second, Target

PATIENCE = 6 * 3600.0
"""Seconds that one run may take."""

_END_WITHIN = 30.0
"""Seconds that a query may take to end after it was killed."""


@dataclass(frozen=True, slots=True)
class _Done:
    """How one session's query ended; the error that ended it, if one did."""

    began: float
    ended: float
    cpu: float
    error: Exception | None = None


class ScanLoad:
    """Sessions that run a query whenever a run is asked for.

    Args:
        target: the server.
        statement: what each session sends.
        sessions: how many there are.
        before: makes ready for a run; returns what is known of the load by then.
        cpus: the CPUs that the sessions may use; None for all.

    Raises:
        ServerError: the server does not answer.
    """

    def __init__(
        self, target: Target, statement: str, sessions: int, before: Callable[[], Mapping[str, float]], cpus: str | None
    ) -> None:
        self._account = target.account
        self._statement = statement
        self._before = before
        self._cpus = parse_cpus(cpus) if cpus else None
        self._number = 0
        self._cpu = 0.0
        self._facts: dict[str, float] = {}
        self._threads: list[threading.Thread] = []
        self._done: queue.Queue[_Done] = queue.Queue()
        with ExitStack() as opened:
            self._streams = [opened.enter_context(streaming(target.account, timeout=PATIENCE)) for _ in range(sessions)]
            self._ids = [int(stream.query("SELECT CONNECTION_ID()")[0][0]) for stream in self._streams]
            for stream in self._streams:
                stream.query(f"USE {target.database}")
                with suppress(RefusedError):  # servers without a query cache, or with one that is off for good
                    stream.query("SET SESSION query_cache_type = OFF")
            self._opened = opened.pop_all()

    def read(self, timeout: float) -> Second | None:
        """Make one run and report it, or return None where it did not end in time.

        Raises:
            WorkloadError: the query failed, or the server was lost.
        """
        try:
            self._facts.update(self._before())
        except (ServerError, OSError) as error:
            raise WorkloadError(f"A run could not be made ready: {error}") from error
        barrier = threading.Barrier(len(self._streams))
        self._threads = [
            threading.Thread(target=self._run, args=(stream, barrier), name="scan", daemon=True) for stream in self._streams
        ]
        for thread in self._threads:
            thread.start()
        limit = time.monotonic() + timeout
        done: list[_Done] = []
        while len(done) < len(self._streams):
            try:
                one = self._done.get(timeout=max(0.0, limit - time.monotonic()))
            except queue.Empty:
                return None
            if one.error is not None:
                raise WorkloadError(f"A run failed: {one.error}") from one.error
            done.append(one)
        self._number += 1
        self._cpu += sum(one.cpu for one in done)
        return summed_up(self._number, [(one.began, one.ended) for one in done])

    def _run(self, stream: Stream, barrier: threading.Barrier) -> None:
        error: Exception | None = None
        if self._cpus:
            os.sched_setaffinity(0, self._cpus)  # of this thread alone
        cpu = time.thread_time()
        barrier.wait()
        began = time.monotonic()
        try:
            stream.exhaust(self._statement)
        except Exception as failure:
            error = failure  # whatever it is, the run must not be waited for
        self._done.put(_Done(began, time.monotonic(), time.thread_time() - cpu, error))

    def cpu_seconds(self) -> float:
        """Return the CPU seconds that the sessions have used so far."""
        return self._cpu

    def facts(self) -> Mapping[str, float]:
        """Return what the load knows of itself: `bytes_a_run`, and `cached_share` of a cold one."""
        return self._facts

    def stop(self) -> None:
        """End the sessions, and what they run."""
        running = [thread for thread in self._threads if thread.is_alive()]
        if running:
            with suppress(ServerError), connect(self._account) as query:
                for number in self._ids:
                    with suppress(RefusedError):  # it has ended meanwhile
                        query(f"KILL {number}")
            for thread in running:
                thread.join(_END_WITHIN)
        self._opened.close()


def summed_up(number: int, spans: list[tuple[float, float]]) -> Second:
    """Return what one run came to.

    Args:
        number: of the run.
        spans: when each session began and ended, in seconds.
    """
    took = max(ended for _, ended in spans) - min(began for began, _ in spans)
    slowest = max(ended - began for began, ended in spans)
    rate = len(spans) / took
    return Second(
        number=number,
        tps=rate,
        reads=rate,
        writes=0.0,
        other=0.0,
        latency_ms=1000 * slowest,
        errors=0.0,
        reconnects=0.0,
        seconds=took,
    )
