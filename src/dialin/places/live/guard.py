"""The guard of a live server: each second, while a candidate is in force, it decides whether the baseline must be put back.

The usual levels are those of the last five minutes with the baseline, because all levels change with the hour of the day. A
second is bad if a figure exceeds its limit; latency, running threads and errors must also exceed their highest usual level. The
baseline is put back after two bad seconds in a row, or after one at twice a limit: a single slow second is ordinary on most
servers, and a stall must not last.
"""

from __future__ import annotations

import statistics
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from dialin.clock import Clock
from dialin.errors import DialinError, GuardTrippedError, InterruptedStudyError
from dialin.model.cause import Cause, CauseCode, Danger, Trip
from dialin.model.live import LiveOptions
from dialin.model.traffic import TrafficSecond

LEAST_KNOWN = 30
"""Seconds of the baseline that must be known before a candidate may be in force."""
_REMEMBERED = 300
_HIGHEST = 0.99
"""The quantile of the baseline's recent seconds that counts as the highest usual level."""
_TWICE = 2.0
_FEWEST_STATEMENTS = 20
"""Fewest statements in a second for their latency to be judged: among fewer, one slow statement sets the percentile."""
_STALLED = 0.2
"""The share of the usual statements per second below which a server with waiting threads is stalled."""
_LEAST_RUNNING = 4.0
"""Running threads up to which there are not too many, whatever is usual."""


@dataclass(frozen=True, slots=True)
class _Excess:
    """How bad a second is: by how many times a figure exceeds its limit."""

    times: float
    trip: Trip


class UsualLevels:
    """The levels of the baseline's recent seconds; pure."""

    def __init__(self) -> None:
        self._seconds: deque[dict[Danger, float]] = deque(maxlen=_REMEMBERED)

    def __len__(self) -> int:
        return len(self._seconds)

    def add(self, second: TrafficSecond) -> None:
        self._seconds.append(figures(second))

    def middle(self, danger: Danger) -> float | None:
        values = self._of(danger)
        return statistics.median(values) if values else None

    def highest(self, danger: Danger) -> float:
        values = self._of(danger)
        return float(np.quantile(values, _HIGHEST)) if values else 0.0

    def _of(self, danger: Danger) -> list[float]:
        return [second[danger] for second in self._seconds if danger in second]


def figures(second: TrafficSecond) -> dict[Danger, float]:
    """Return the figures of a second that a guard judges, without unknown ones."""
    p95 = second.p95_ms
    known = {
        Danger.STALLED: second.statements / second.seconds,
        Danger.ERRORS: second.errors,
        Danger.RUNNING: second.running,
    }
    if second.statements >= _FEWEST_STATEMENTS:
        known[Danger.LATENCY] = second.mean_ms if p95 is None else p95
    others = {Danger.LAG: second.lag, Danger.DISK: second.free_disk, Danger.MEMORY: second.free_memory}
    return known | {danger: value for danger, value in others.items() if value is not None}


def excesses(second: TrafficSecond, usual: UsualLevels, options: LiveOptions) -> list[_Excess]:
    """Return what is bad in a second, the worst first; pure."""
    levels = figures(second)
    excess: list[_Excess] = []

    def judge(danger: Danger, limit: float) -> None:
        if (value := levels.get(danger)) is not None and limit > 0 and value > limit:
            excess.append(_Excess(value / limit, Trip(danger, value, limit, usual.middle(danger), 0.0)))

    if (latency := usual.middle(Danger.LATENCY)) is not None:
        judge(Danger.LATENCY, max(options.guard_latency * latency, usual.highest(Danger.LATENCY)))
    running = max(usual.middle(Danger.RUNNING) or 0.0, 1.0)
    judge(Danger.RUNNING, max(options.guard_running * running, usual.highest(Danger.RUNNING), _LEAST_RUNNING))
    errors = usual.middle(Danger.ERRORS) or 0.0
    judge(Danger.ERRORS, max(errors + options.guard_errors, usual.highest(Danger.ERRORS)))
    statements = usual.middle(Danger.STALLED) or 0.0
    if statements >= _FEWEST_STATEMENTS and levels[Danger.RUNNING] > running and levels[Danger.STALLED] < _STALLED * statements:
        trip = Trip(Danger.STALLED, levels[Danger.STALLED], _STALLED * statements, statements, 0.0)
        excess.append(_Excess(_STALLED * statements / max(levels[Danger.STALLED], 1e-3), trip))
    if (lag := levels.get(Danger.LAG)) is not None and lag > options.guard_lag:
        excess.append(_Excess(_TWICE, Trip(Danger.LAG, lag, options.guard_lag, usual.middle(Danger.LAG), 0.0)))
    if second.has_stopped:
        excess.append(_Excess(_TWICE, Trip(Danger.REPLICATION, 0.0, 0.0, None, 0.0)))
    excess += [
        _Excess(_TWICE, Trip(danger, free, options.guard_free, usual.middle(danger), 0.0))
        for danger in (Danger.DISK, Danger.MEMORY)
        if (free := levels.get(danger)) is not None and free < options.guard_free
    ]
    return sorted(excess, key=lambda each: -each.times)


class LiveGuard:
    """Watches a server, in the thread that reads it.

    Args:
        options: its limits.
        restore: puts the baseline's values back and makes sure that they are in force.
        clock: measures how long that took.
        stop_asked: returns whether a stop at once was requested.

    Attributes:
        usual: the levels of the baseline's recent seconds.
        last: the figures of the baseline's newest second.
        seconds: number of seconds of the baseline so far.
        trip: why the guard put the baseline back since it was armed; None where it did not.
        is_recovering: whether it put the baseline back in the candidate's period before.
        fault: the error where the baseline could not be put back.
        stopped: whether a stop was requested; the baseline is then put back.
    """

    def __init__(
        self, options: LiveOptions, restore: Callable[[], None], clock: Clock, stop_asked: Callable[[], bool] = lambda: False
    ) -> None:
        self._options = options
        self._restore = restore
        self._clock = clock
        self._stop_asked = stop_asked
        self._armed: float | None = None
        self._bad = 0
        self._lock = threading.Lock()
        self.usual = UsualLevels()
        self.last: Mapping[Danger, float] = {}
        self.seconds = 0
        self.trip: Trip | None = None
        self.is_recovering = False
        self.fault: DialinError | None = None
        self.stopped = False

    def arm(self) -> None:
        """Judge seconds from now on: a candidate is about to be in force."""
        with self._lock:
            self._armed, self._bad, self.trip = self._clock.monotonic(), 0, None

    def disarm(self) -> None:
        """Stop judging seconds: the baseline is in force again."""
        with self._lock:
            self.is_recovering = self.trip is not None
            self._armed, self._bad, self.trip = None, 0, None

    def look(self, second: TrafficSecond | None) -> None:
        """Take a second as soon as it was read, None where the server did not answer: judge it, or add it to the usual ones."""
        with self._lock:
            if self._stop_asked():
                self.stopped = True
            if self._armed is None:
                if second is not None:
                    self.seconds += 1
                    self.last = figures(second)
                    self.usual.add(second)
                return
            if self.trip is not None:
                return
            if self.stopped:
                self._put_back()
                return
            trip = self._judge(second)
            if trip is not None:
                began = self._clock.monotonic()
                is_restored = self._put_back()
                took = self._clock.monotonic() - began if is_restored else None
                self.trip = replace(trip, after=began - self._armed, restored_in=took)

    def _judge(self, second: TrafficSecond | None) -> Trip | None:
        if second is None:
            return Trip(Danger.NO_ANSWER, 0.0, 0.0, None, 0.0)
        excess = excesses(second, self.usual, self._options)
        self._bad = self._bad + 1 if excess else 0
        return excess[0].trip if excess and (self._bad >= 2 or excess[0].times >= _TWICE) else None

    def _put_back(self) -> bool:
        try:
            self._restore()
        except DialinError as error:
            self.fault = error
            return False
        return True

    def has_acted(self) -> bool:
        """Return whether the guard ended the period by putting the baseline back; wait while it does."""
        with self._lock:
            return self.trip is not None or self.stopped

    def check(self) -> None:
        """Make sure that the period may continue.

        Raises:
            GuardTrippedError: the guard has put the baseline back since it was armed.
            DialinError: it could not put it back.
            InterruptedStudyError: a stop was requested.
        """
        self.check_stopped()
        if self.fault is not None:
            raise self.fault
        if self.trip is not None:
            raise GuardTrippedError(
                Cause(CauseCode.GUARD_TRIPPED, asdict(self.trip)), "See docs/live.md for the options of the guard"
            )

    def check_stopped(self) -> None:
        """Raise InterruptedStudyError where a stop was requested."""
        if self.stopped:
            raise InterruptedStudyError("Stopped by the stop file", "Remove the stop file", resumable=True)

    def is_usual(self) -> bool:
        """Return whether the newest second with the baseline is no worse than the baseline's usual ones."""
        return all(
            self.last.get(danger, 0.0) <= max(self.usual.highest(danger), 1.2 * (self.usual.middle(danger) or 0.0))
            for danger in (Danger.LATENCY, Danger.RUNNING)
        )


def stop_file(path: str | None) -> Callable[[], bool]:
    """Return a function that returns whether the stop file exists; without a path, it never does."""
    if path is None:
        return lambda: False
    return Path(path).exists
