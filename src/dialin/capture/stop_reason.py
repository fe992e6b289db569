"""Why a capture ended."""

from __future__ import annotations

from enum import StrEnum


class StopReason(StrEnum):
    TIME = "time"
    """All its minutes are over."""
    INTERRUPTED = "interrupted"
    """A signal or Ctrl-C."""
    MAX_SIZE = "max-size"
    DISK = "disk"
    """The disk of the log has less free than must stay free."""
    DEADLINE = "deadline"
    """The watchdog ended the log, because dialin had not ended it in time."""
    WATCHDOG_ENDED = "watchdog-ended"
