"""A clock for tests that moves only when code sleeps on it."""

from __future__ import annotations


class FakeClock:
    """Time for tests: `sleep` returns at once and moves the clock."""

    def __init__(self, start: float = 1_000_000.0) -> None:
        self._now = start

    def now(self) -> float:
        return self._now

    def wall(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float) -> None:
        self._now += seconds
