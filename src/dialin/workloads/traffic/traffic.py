"""The load source `traffic`: it applies nothing, and reports what a live server does."""

from __future__ import annotations

import functools
import queue
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from dialin.clock import Clock, SystemClock
from dialin.model.traffic import TrafficSecond
from dialin.model.workload import LoadTraits, WorkloadSpec
from dialin.servers import connection
from dialin.workloads.base import Load, Second, Target, Workload
from dialin.workloads.traffic.meter import Meter
from dialin.workloads.traffic.reader import Reader

STATEMENT = "statement"


class Traffic(Workload):
    """A server's own traffic.

    Attributes:
        meter: reads the server throughout a study; where it is None, each load makes its own.
    """

    def __init__(self, spec: WorkloadSpec, clock: Clock | None = None) -> None:
        self._spec = spec
        self._clock = clock or SystemClock()
        self.meter: Meter | None = None

    @property
    def traits(self) -> LoadTraits:
        return LoadTraits(unit=STATEMENT, observed=True)

    def describe_data(self) -> str:
        return "nothing"

    def data_facts(self) -> dict[str, Any]:
        return {}

    def expected_bytes(self) -> int:
        return 0

    def prepare(self, target: Target) -> None:
        """Prepare nothing: the data is the server's own."""

    def start(self, target: Target, *, threads: int, seed: int, cpus: str | None) -> Load:  # noqa: ARG002 - nobody applies it
        with ExitStack() as opened:
            meter = self.meter
            if meter is None:
                connect = functools.partial(connection.connect, target.account)
                meter = opened.enter_context(Meter(lambda timeout: connect(timeout=timeout), Reader, self._clock))
            return TrafficLoad(meter, opened.enter_context(meter.listening()), opened.pop_all())

    def version(self) -> str:
        """Return what applies the load: the server's own clients."""
        return "its own clients"


class TrafficLoad:
    """The traffic of a server, second by second, as a meter reads it."""

    def __init__(self, meter: Meter, seconds: queue.SimpleQueue[TrafficSecond | Exception], opened: ExitStack) -> None:
        self._meter = meter
        self._seconds = seconds
        self._opened = opened
        self._number = 0

    def read(self, timeout: float) -> Second | None:
        """Return the next second; raise where the guard ends the trial, or the server did not answer."""
        try:
            traffic = self._seconds.get(timeout=timeout)
        except queue.Empty:
            return None
        self._meter.check()
        if isinstance(traffic, Exception):
            raise traffic
        self._number += 1
        per_second = {name: value / traffic.seconds for name, value in traffic.figures.items()}
        statements = traffic.statements / traffic.seconds
        reads, writes = per_second.get("selects", 0.0), per_second.get("changes", 0.0)
        return Second(
            number=self._number,
            tps=statements,
            reads=reads,
            writes=writes,
            other=max(statements - reads - writes, 0.0),
            latency_ms=traffic.mean_ms,
            errors=traffic.errors,
            reconnects=per_second.get("connections", 0.0),
            traffic=traffic,
        )

    def cpu_seconds(self) -> float:
        return self._meter.cpu

    def facts(self) -> Mapping[str, float]:
        return {}

    def stop(self) -> None:
        self._opened.close()
