"""When a server started, by its own clock: what distinguishes one start of a server from another.

`Uptime` is how far the server's clock has moved since the server started. The clock minus `Uptime` is therefore the same
whatever that clock, or the one of this machine, was set to meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass

from dialin.answers import bad_answer, number, single, whole
from dialin.model.query import Query
from dialin.servers.connection import status

_TRIES = 3
_TOGETHER = 1.0
"""Seconds between two readings of the server's clock within which `Uptime` was read at about the same time."""

_ROUNDED = 1.0
"""Seconds by which the clock and `Uptime`, which are whole seconds, may differ from the time."""

_BELOW_ZERO = 1 << 63
"""From this on, `Uptime` is a number below zero, which servers show as one without a sign."""


@dataclass(frozen=True, slots=True)
class StartTime:
    """A start of a server, between two times in seconds since 1970, by the server's clock."""

    earliest: float
    latest: float

    def is_another(self, other: StartTime) -> bool:
        """Return whether this is certainly not the same start."""
        return self.earliest > other.latest or other.earliest > self.latest


def start_time(query: Query) -> StartTime:
    """Return when the server started; raise ServerError where it does not answer, or has no `Uptime`."""
    for _ in range(_TRIES):
        before = _clock(query)
        seconds = uptime(query)
        after = _clock(query)
        if 0 <= after - before <= _TOGETHER:
            break  # otherwise the server was slow, or its clock was set just now
    starts = before - seconds, after - seconds
    return StartTime(min(starts) - _ROUNDED, max(starts) + _ROUNDED)


def uptime(query: Query) -> int:
    """Return the seconds since the server started, by its clock; below zero if that was set to before the start.

    Raises:
        ServerError: it does not answer, or has no `Uptime`.
    """
    if (shown := status(query, "Uptime")) is None:
        raise bad_answer("it lacks Uptime")
    seconds = whole(shown)
    return seconds if seconds < _BELOW_ZERO else seconds - 2 * _BELOW_ZERO


def _clock(query: Query) -> float:
    return number(single(query("SELECT UNIX_TIMESTAMP()")))
