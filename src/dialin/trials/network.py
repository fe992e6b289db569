"""The network between dialin and a server on another machine, which a load measures too.

The round trip is that of a statement that does nothing; the shortest of several is nearest to what the network itself takes.
Measured at the beginning and at the end of a trial, never while its load runs; it needs no privilege.
"""

from __future__ import annotations

from dialin.clock import Clock
from dialin.model.evidence import Gauge, Watched
from dialin.model.query import Query

PROBE, FIGURE = "network", "round_trip_ms"
_STATEMENTS = 20


def round_trip_ms(query: Query, clock: Clock) -> float:
    """Return the milliseconds of the shortest of several statements that do nothing."""
    times = []
    for _ in range(_STATEMENTS):
        began = clock.monotonic()
        query("DO 0")
        times.append(1000 * (clock.monotonic() - began))
    return min(times)


def as_watched(before: float, after: float) -> Watched:
    """Return the round trips before and after the load, in milliseconds, as evidence of a trial."""
    gauge = Gauge(before, after, min(before, after), max(before, after), (before + after) / 2)
    return Watched(PROBE, 0.0, gauges={FIGURE: gauge})
