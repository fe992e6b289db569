"""Reads a live server once per second, in a separate thread, for as long as a study lasts.

The guard gets each second first, so that nothing that stores or shows seconds can delay it. Where the server does not answer in
time, the guard gets None instead.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from dialin.clock import Clock
from dialin.model.live import LatencySource
from dialin.model.query import Query
from dialin.model.traffic import TrafficSecond
from dialin.servers.connection import within
from dialin.workloads.traffic import latency_sources
from dialin.workloads.traffic.reader import Reader, Reading

ANSWER_WITHIN = 2.0
"""Seconds after which a server is in trouble that has not answered all statements of a reading."""

_PERIOD = 1.0

Guard = Callable[[TrafficSecond | None], None]
"""Called with each second as soon as it was read, and with None for each failure to read one."""

MakeReader = Callable[[Query, Clock, LatencySource], Reader]


class Meter:
    """Reads a server; use it as a context manager.

    Args:
        connect: connects to the server with a time-out for each answer.
        make_reader: makes the reader for a connection.

    Attributes:
        source: where latency is read; None before the first connection.
        guard: called with each second.
        check: raises what must end a trial; called before each of its seconds is returned.
        cpu: CPU seconds that dialin used for reading.
    """

    def __init__(
        self, connect: Callable[[float], AbstractContextManager[Query]], make_reader: MakeReader, clock: Clock
    ) -> None:
        self._connect = connect
        self._make_reader = make_reader
        self._clock = clock
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dialin traffic", daemon=True)
        self._listeners: list[queue.SimpleQueue[TrafficSecond | Exception]] = []
        self.source: LatencySource | None = None
        self.guard: Guard = lambda _second: None
        self.check: Callable[[], None] = lambda: None
        self.cpu = 0.0
        self._stack = ExitStack()
        self._reader: Reader | None = None
        self._query: Query | None = None
        self._last: Reading | None = None

    def __enter__(self) -> Meter:
        self._open()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._stack.close()

    @contextmanager
    def listening(self) -> Iterator[queue.SimpleQueue[TrafficSecond | Exception]]:
        """Yield a queue of the seconds from now on; in place of a second that could not be read, it gets the error."""
        seconds: queue.SimpleQueue[TrafficSecond | Exception] = queue.SimpleQueue()
        self._listeners.append(seconds)
        try:
            yield seconds
        finally:
            self._listeners.remove(seconds)

    def _open(self) -> None:
        self._stack.close()
        with ExitStack() as opened:
            query = opened.enter_context(self._connect(ANSWER_WITHIN))
            with within(query, ANSWER_WITHIN):
                self.source = latency_sources.choose(query)
                reader = self._make_reader(query, self._clock, self.source)
                self._last = reader.read()
            self._reader, self._query, self._stack = reader, query, opened.pop_all()

    def _run(self) -> None:
        due = self._clock.monotonic()
        while True:
            due = max(due + _PERIOD, self._clock.monotonic() - _PERIOD)  # missed seconds are not made up for
            if self._ended.wait(max(due - self._clock.monotonic(), 0.0)):
                return
            used = time.thread_time()
            result: TrafficSecond | Exception
            try:
                result = self._second()
            except Exception as error:  # whatever it is, the guard must hear that nothing is known of the server
                result = error
                self._reader = None
            self.cpu += time.thread_time() - used
            self.guard(result if isinstance(result, TrafficSecond) else None)
            for listener in list(self._listeners):
                listener.put(result)

    def _second(self) -> TrafficSecond:
        if self._reader is None or self._last is None:
            self._open()  # again: the connection was lost, and maybe the server's counters with it
            self._clock.sleep(_PERIOD)
        if self._reader is None or self._last is None or self._query is None:
            raise RuntimeError("a connection was opened without a reading")
        before = self._last
        with within(self._query, ANSWER_WITHIN):
            now = self._reader.read()
        self._last = now
        return self._reader.difference(before, now)
