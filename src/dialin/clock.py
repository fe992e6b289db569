"""An injectable clock: code that waits or reads the time takes a `Clock`, so that tests can replace it and do not wait."""

from __future__ import annotations

import time
from typing import Protocol

_STARTED = time.time() - time.monotonic()
"""The epoch of the monotonic clock, as the machine's clock was when this process started."""


class Clock(Protocol):
    """A source of time."""

    def now(self) -> float:
        """Return seconds since the epoch, which never jump while this process runs: the difference of two is a duration."""

    def wall(self) -> float:
        """Return seconds since the epoch by the clock of the machine, which may be set: for times of day, never a duration."""

    def monotonic(self) -> float:
        """Return seconds from an arbitrary start that never jump."""

    def sleep(self, seconds: float) -> None:
        """Wait for this many seconds."""


class SystemClock:
    """The clocks of this machine."""

    def now(self) -> float:
        return _STARTED + time.monotonic()

    def wall(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
