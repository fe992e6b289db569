"""Reads the probes of a trial while its load runs, each at its period, and sums up their readings.

A probe is read at both ends of every measured window and, where it has a period, in between. A slow probe is read less often,
so that reading it takes at most a twentieth of the time; a probe that fails twice in a row is not read again. An error of a
probe is stored as a note and never fails a trial. Sums and gauges have every reading. Of a long trial, the figures over time
have fewer and fewer: their number grows with the logarithm of its length, and so do memory and files.

Cost: that of its probes, which is measured and stored with their readings. Privileges: those of its probes.
"""

from __future__ import annotations

import threading
import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

from dialin.clock import Clock
from dialin.errors import DialinError
from dialin.model.cause import Cause
from dialin.model.evidence import Gauge, PointColumns, ProbeNote, ProbeNoteCode, Watched
from dialin.probes.probe import Probe, Reading

_SHARE = 0.05
"""The largest share of the time that reading a probe may take."""

_TRIES = 2
_SHORTEST_SLEEP, _LONGEST_SLEEP = 0.05, 0.5
"""Bounds of the seconds between two checks of which probes are due; the end of a watch waits for the current sleep to end."""


_ALL_KEPT_FOR = 900.0
"""Seconds of a trial in which figures over time have every reading; after as many again, they have every second one."""


@dataclass(slots=True)
class _Account:
    probe: Probe
    due: float = 0.0
    failures: int = 0
    last: tuple[float, Reading] | None = None
    kept: tuple[float, Reading] | None = None
    seconds: float = 0.0
    counters: dict[str, float] = field(default_factory=dict)
    gauges: dict[str, _Span] = field(default_factory=dict)
    notes: list[ProbeNote] = field(default_factory=list)
    readings: int = 0
    waited: float = 0.0
    cpu: float = 0.0


@dataclass(slots=True)
class _Span:
    first: float
    last: float
    least: float
    most: float
    total: float
    count: int

    def add(self, value: float) -> None:
        self.last = value
        self.least, self.most = min(self.least, value), max(self.most, value)
        self.total += value
        self.count += 1


class Watch:
    """Reads probes while a load is measured: a context manager around the load; `window` is one around each measured window."""

    def __init__(self, probes: Sequence[Probe], clock: Clock, thread_cpu: Callable[[], float] = time.thread_time) -> None:
        self._clock = clock
        self._thread_cpu = thread_cpu
        self._accounts = [_Account(probe) for probe in probes]
        self._lock = threading.Lock()
        self._open = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self._names: dict[tuple[str, str], int] = {}
        self._at, self._which, self._value = array("d"), array("L"), array("d")

    def __enter__(self) -> Self:
        if any(account.probe.period for account in self._accounts):
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    @contextmanager
    def window(self) -> Iterator[None]:
        """Watch while this context is open; rises of counters between two windows do not count.

        Where an error ends it, probes are not read again: the server may be in trouble, and the readings would not be used.
        """
        with self._lock:
            for account in self._accounts:
                account.last = account.kept = None
                self._read(account)
            self._open = True
        ended_well = False
        try:
            yield
            ended_well = True
        finally:
            with self._lock:
                self._open = False
                for account in self._accounts if ended_well else ():
                    self._read(account)

    def taken(self) -> list[Watched]:
        """Return the sums of each probe's readings over all windows."""
        with self._lock:
            return [
                Watched(
                    probe=account.probe.name,
                    seconds=account.seconds,
                    counters=dict(account.counters),
                    gauges={name: _gauge(span) for name, span in account.gauges.items()},
                    notes=tuple(account.notes),
                    readings=account.readings,
                    waited=account.waited,
                    cpu=account.cpu,
                )
                for account in self._accounts
            ]

    def points(self) -> PointColumns:
        """Return every figure over time; a counter has no point where it did not rise."""
        return PointColumns(tuple(self._names), self._at, self._which, self._value)

    def _run(self) -> None:
        sleep = _SHORTEST_SLEEP
        while not self._ended.is_set():
            self._clock.sleep(sleep)
            with self._lock:
                paced = [account for account in self._accounts if self._open and account.probe.period]
                now = self._clock.monotonic()
                for account in paced:
                    if now >= account.due:
                        self._read(account)
                # The thread sleeps until the next probe is due, because each check costs as much as a small reading.
                due = min((account.due for account in paced if account.failures < _TRIES), default=now + _LONGEST_SLEEP)
                sleep = min(_LONGEST_SLEEP, max(_SHORTEST_SLEEP, due - self._clock.monotonic()))

    def _read(self, account: _Account) -> None:
        """Read a probe once, unless it has failed too often, and add up the cost of the reading."""
        if account.failures >= _TRIES:
            return
        began, cpu = self._clock.monotonic(), self._thread_cpu()
        reading = self._read_probe(account)
        ended = self._clock.monotonic()
        account.readings += 1
        account.waited += ended - began
        account.due = began + max(account.probe.period, (ended - began) / _SHARE)
        if reading is not None:
            # The middle of the call is the best estimate of when the server took the figures.
            self._take(account, reading, (began + ended) / 2, self._clock.now() - (ended - began) / 2)
        account.cpu += self._thread_cpu() - cpu

    def _read_probe(self, account: _Account) -> Reading | None:
        try:
            reading = account.probe.read()
        except Exception as error:
            account.failures += 1
            cause = error.cause if isinstance(error, DialinError) else Cause.quoted(f"a fault of dialin, {error!r}")
            figures = {"probe": account.probe.name, "cause": cause.as_stored()}
            _add_notes(account, [ProbeNote(ProbeNoteCode.UNREADABLE, figures)])
            return None
        account.failures = 0
        return reading

    def _take(self, account: _Account, reading: Reading, at: float, epoch: float) -> None:
        """Add a reading, and the rises since the previous one in this window; its time is `at` (monotonic) and `epoch`."""
        _add_notes(account, reading.notes)
        for name, value in reading.gauges.items():
            if name in account.gauges:
                account.gauges[name].add(value)
            else:
                account.gauges[name] = _Span(value, value, value, value, value, 1)
        rises: dict[str, float] = {}
        if account.last is not None:
            before, previous = account.last
            account.seconds += at - before
            rises = _rises(previous, reading)
            for name, rise in rises.items():
                account.counters[name] = account.counters.get(name, 0.0) + rise
        if account.kept is None or at - account.kept[0] >= account.seconds / _ALL_KEPT_FOR:
            if account.kept is not None and account.kept is not account.last:
                rises = _rises(account.kept[1], reading)
            self._add_points(account, reading, rises, at, epoch)
            account.last = account.kept = (at, reading)
        else:
            account.last = (at, reading)

    def _add_points(self, account: _Account, reading: Reading, rises: Mapping[str, float], at: float, epoch: float) -> None:
        probe, seconds = account.probe.name, at - account.kept[0] if account.kept is not None else 0.0
        for name, value in reading.gauges.items():
            self._add_point(epoch, probe, name, value)
        for name, rise in rises.items():
            if rise > 0 and seconds > 0:
                self._add_point(epoch, probe, name, rise / seconds)

    def _add_point(self, epoch: float, probe: str, name: str, value: float) -> None:
        self._at.append(epoch)
        self._which.append(self._names.setdefault((probe, name), len(self._names)))
        self._value.append(value)


def _add_notes(account: _Account, notes: Sequence[ProbeNote]) -> None:
    account.notes += [note for note in notes if note not in account.notes]


def _rises(before: Reading, reading: Reading) -> dict[str, float]:
    """Return by how much each counter rose: a new one began at 0, and one that fell was reset (FLUSH STATUS)."""
    rises = {name: value - before.counters.get(name, 0.0) for name, value in reading.counters.items()}
    return {name: reading.counters[name] if rise < 0 else rise for name, rise in rises.items()}


def _gauge(span: _Span) -> Gauge:
    return Gauge(span.first, span.last, span.least, span.most, span.total / span.count)
