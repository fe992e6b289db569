"""Detects stalls of the host: a thread beside the load wakes at short intervals, and is late only when nothing could run.

A stall of the server does not delay it; a hypervisor that pauses the machine, a frozen container or a laptop's closed lid does.

Cost: 10 wake-ups per second of one thread, about 0.1 % of one CPU. Privileges: none.
"""

from __future__ import annotations

import threading
from typing import Self

from dialin.clock import Clock

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
