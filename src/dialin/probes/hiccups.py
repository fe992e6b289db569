"""Measures what the host took from each second of a trial: stalls, stolen CPU time, time in which tasks waited for a CPU.

Cost: that of the heartbeat, and two short reads of /proc per second. Privileges: none.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from dialin.clock import Clock
from dialin.probes import host
from dialin.probes.host import Lost

PERIOD = 0.1
"""Seconds from one beat to the next; a stall may be reported shorter than it was by up to that time."""


class Heartbeat:
    """A thread that sleeps a little at a time and records how late it woke. Use it as a context manager."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = clock.monotonic()
        self._longest = 0.0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._last = self._clock.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def taken(self) -> float:
        """Return the longest stall of the host since the last call in seconds, including one that has just ended.

        Each stall is reported once, whether the caller or the heartbeat wakes first.
        """
        with self._lock:
            self._note()
            longest, self._longest = self._longest, 0.0
        return longest

    def _beat(self) -> None:
        while not self._ended.is_set():
            self._clock.sleep(PERIOD)
            with self._lock:
                self._note()

    def _note(self) -> None:
        # The host is not stalled now, because this thread runs.
        now = self._clock.monotonic()
        self._longest = max(self._longest, now - self._last - PERIOD)
        self._last = now


_SHORTEST = 0.1
"""Seconds from which shares are calculated: the kernel counts in hundredths of a second, too coarse for a shorter time."""


@dataclass(frozen=True, slots=True)
class Hiccups:
    """What the host took from the load since the previous call of `HiccupProbe.taken`.

    Attributes:
        gap: the longest stall of the host, seconds.
        stolen: the share of all CPUs' time that the hypervisor gave to other machines, 0 to 1; None where unknown.
        pressure: the share of the time in which some task waited for a CPU, 0 to 1; None where unknown.
    """

    gap: float = 0.0
    stolen: float | None = None
    pressure: float | None = None


class HiccupProbe:
    """Watches the host while a load runs. Use it as a context manager."""

    def __init__(self, clock: Clock, lost: Callable[[], Lost] = host.lost) -> None:
        self._clock = clock
        self._lost = lost
        self._heartbeat = Heartbeat(clock)
        self._at, self._before = clock.monotonic(), lost()

    def __enter__(self) -> Self:
        self._heartbeat.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._heartbeat.__exit__()

    def taken(self) -> Hiccups:
        """Return what the host took since the last call."""
        gap = self._heartbeat.taken()
        (at, before), now = (self._at, self._before), self._lost()
        self._at, self._before = self._clock.monotonic(), now
        seconds = self._at - at
        if seconds < _SHORTEST:
            return Hiccups(gap=gap)
        return Hiccups(
            gap=gap,
            stolen=host.share(now.stolen, before.stolen, seconds * now.cpus),
            pressure=host.share(now.waited, before.waited, seconds),
        )
