"""The readings of probes during a trial's load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

ALL = "(all)"
"""Stands for all operations of an instrument together."""


class ProbeNoteCode(StrEnum):
    """Why a probe has no figures, or what its figures lack."""

    UNREADABLE = "unreadable"
    ABSENT = "absent"
    NO_PRIVILEGE = "no_privilege"
    SCHEMA_OFF = "schema_off"
    LOCK_INSTRUMENTS_OFF = "lock_instruments_off"
    PREPARED_TOGETHER = "prepared_together"
    METRICS_OFF = "metrics_off"
    POOL_TOO_LARGE = "pool_too_large"
    MUTEX_EMPTY = "mutex_empty"
    STATUS_UNREADABLE = "status_unreadable"
    SEMAPHORES_EMPTY = "semaphores_empty"
    STATUS_CUT = "status_cut"
    NO_PROCESS_IO = "no_process_io"
    DISK_UNKNOWN = "disk_unknown"
    NO_INSTRUMENT = "no_instrument"
    INSTANCES_LOST = "instances_lost"
    RING_UNREADABLE = "ring_unreadable"
    MOST_WAITS = "most_waits"
    DISK_TIGHT = "disk_tight"
    BACKWARD = "backward"


@dataclass(frozen=True, slots=True)
class ProbeNote:
    """What a probe could not read, and why: a code with the figures of its sentence."""

    code: ProbeNoteCode
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Gauge:
    """A figure that goes up and down, over a measured window."""

    first: float
    last: float
    least: float
    most: float
    mean: float


@dataclass(frozen=True, slots=True)
class Watched:
    """The readings of one probe over the measured seconds of a trial.

    Attributes:
        probe: its name, such as `status`.
        seconds: wall-clock seconds from the first to the last reading of each measured window, all windows together.
        counters: by how much each cumulative figure rose in these seconds; those that did not change are 0.
        gauges: figures that go up and down.
        readings: how often the probe was read.
        waited: wall-clock seconds that the readings took: the most that the server can have spent on them.
        cpu: CPU seconds that dialin itself spent on the readings.
    """

    probe: str
    seconds: float
    counters: Mapping[str, float] = field(default_factory=dict)
    gauges: Mapping[str, Gauge] = field(default_factory=dict)
    notes: tuple[ProbeNote, ...] = ()
    readings: int = 0
    waited: float = 0.0
    cpu: float = 0.0


def load_gauge(watched: Mapping[str, Watched], name: str) -> Gauge | None:
    """Return a gauge that the load driver reports of a trial; None where it reports none of that name."""
    return watched["load"].gauges.get(name) if "load" in watched else None


@dataclass(frozen=True, slots=True)
class PointColumns:
    """Figures over time, stored by column because a trial of hours has millions.

    Attributes:
        names: the probe and the name of each figure.
        at: when each point was read, seconds since the epoch.
        which: the index of each point's figure in `names`.
        value: of a counter, its rate per second since the previous reading; of a gauge, its value.
    """

    names: Sequence[tuple[str, str]] = ()
    at: Sequence[float] = ()
    which: Sequence[int] = ()
    value: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class WaitRow:
    """The raw waits of one instrument and operation in one trial; times are picoseconds.

    Attributes:
        instrument: such as `wait/synch/sxlock/innodb/hash_table_locks`.
        operation: such as `shared_lock`; `ALL` for all of the instrument together.
        worst_share: the share of the total that the longest 1 % are, 0 to 1.
        ten_share: the share of the total that the ten longest are, 0 to 1.
        histogram: how many waits fell into each power of two of nanoseconds: element i counts those of 2**i ns or more and less
            than 2**(i+1) ns; those below 1 ns are in the first.
    """

    instrument: str
    operation: str
    count: int
    mean: float
    p50: float
    p90: float
    p99: float
    p999: float
    most: float
    total: float
    worst_share: float
    ten_share: float
    histogram: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RawWaits:
    """The raw waits that one trial collected.

    Attributes:
        pattern: the requested instruments, as the user wrote them.
        seconds: seconds in which they were collected.
        events: how many waits were stored.
        lost: how many waits the server counted but the ring no longer held when it was read.
        timer: the timer that measured them, such as `CYCLE`.
        frequency: its ticks per second, for times in cycles; 0 where unknown.
        rows: by instrument and operation, the largest total first; each instrument has a row `(all)`.
    """

    pattern: str
    seconds: float
    events: int
    lost: int
    timer: str
    frequency: float
    rows: tuple[WaitRow, ...] = ()
    notes: tuple[ProbeNote, ...] = ()

    def cycles(self, picoseconds: float) -> float:
        """Return a time in ticks of the timer."""
        return picoseconds * self.frequency / 1e12
