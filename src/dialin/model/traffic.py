"""What a live server did under its own traffic: in one second, and in one period."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from dialin.model.evidence import Gauge, Watched

ALL_STATEMENTS = "all"
"""The one kind of statement of a server that does not count them by kind."""

PROBE = "traffic"
"""The name under which a period's figures are stored."""


@dataclass(frozen=True, slots=True)
class TrafficSecond:
    """What a server did between two readings; statements of dialin itself are left out.

    Attributes:
        seconds: the seconds between the readings.
        counts: by kind of statement, how many ended; the largest digests are kinds of their own.
        times: by kind of statement, the sum of their durations, ms.
        figures: by how much counters rose: those of goals that are a cost, such as `cpu`, in the unit of their counters;
            `errors`, `aborted`, `connections`, `selects`, `changes`, and `own`, the seconds that dialin's own readings took.
        buckets: by upper bound of their duration, ms, how many statements ended; empty where the server has no histogram.
        running: threads that run, without dialin's own.
        lag: seconds behind the source; None for a server that is no replica, or where it is unknown.
        has_stopped: it is a replica, and its replication does not run.
        free_disk: the share of the data directory's disk that is free; None for a server on another machine.
        free_memory: the share of its machine's memory that is free; None for a server on another machine.
    """

    seconds: float
    counts: Mapping[str, float]
    times: Mapping[str, float]
    figures: Mapping[str, float]
    buckets: Mapping[float, float] = field(default_factory=dict)
    running: float = 0.0
    connected: float = 0.0
    lag: float | None = None
    has_stopped: bool = False
    free_disk: float | None = None
    free_memory: float | None = None

    @property
    def statements(self) -> float:
        return sum(self.counts.values())

    @property
    def mean_ms(self) -> float:
        """Mean latency of its statements; 0 without any."""
        return sum(self.times.values()) / self.statements if self.statements else 0.0

    @property
    def p95_ms(self) -> float | None:
        """The 95th percentile of latency, as the bound of its bucket; None without a histogram or a statement."""
        return percentile(self.buckets, 0.95)

    @property
    def errors(self) -> float:
        """Errors and aborted connections per second."""
        return (self.figures.get("errors", 0.0) + self.figures.get("aborted", 0.0)) / self.seconds


def percentile(buckets: Mapping[float, float], share: float) -> float | None:
    """Return the bound of the bucket that holds a percentile; None where nothing was counted."""
    total = sum(buckets.values())
    below = 0.0
    for bound in sorted(buckets):
        below += buckets[bound]
        if total and below >= share * total:
            return bound
    return None


@dataclass(frozen=True, slots=True)
class TrafficTotals:
    """The sum of several seconds; the attributes are those of `TrafficSecond`."""

    seconds: float
    counts: Mapping[str, float]
    times: Mapping[str, float]
    figures: Mapping[str, float]

    @property
    def statements(self) -> float:
        return sum(self.counts.values())

    @property
    def per_second(self) -> float:
        """Statements that clients sent per second."""
        return self.statements / self.seconds

    @property
    def share_of_changes(self) -> float:
        """The share of statements that change rows among those that read or change them, by the Com_ counters."""
        reads, changes = self.figures.get("selects", 0.0), self.figures.get("changes", 0.0)
        return changes / (reads + changes) if reads + changes else 0.0

    def cost(self, figure: str) -> float | None:
        """Return how much of a figure one statement took; None where it is not known."""
        return self.figures[figure] / self.statements if figure in self.figures and self.statements else None

    @classmethod
    def of(cls, parts: Iterable[TrafficSecond | TrafficTotals]) -> TrafficTotals:
        """Return the sum of some seconds, or of totals."""
        listed = list(parts)
        return cls(
            seconds=sum(part.seconds for part in listed),
            counts=_added(part.counts for part in listed),
            times=_added(part.times for part in listed),
            figures=_added(part.figures for part in listed),
        )

    def latency(self, mix: Mapping[str, float]) -> float | None:
        """Return the mean latency of statements in a fixed mix, ms; None where none of its kinds ran.

        Kinds that did not run are left out: their share goes to the others.
        """
        means = {kind: self.times.get(kind, 0.0) / count for kind, count in self.counts.items() if count > 0}
        weight = sum(share for kind, share in mix.items() if kind in means)
        return sum(share * means[kind] for kind, share in mix.items() if kind in means) / weight if weight > 0 else None


def _added(parts: Iterable[Mapping[str, float]]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for part in parts:
        for name, value in part.items():
            sums[name] = sums.get(name, 0.0) + value
    return sums


@dataclass(frozen=True)
class TrafficPeriod:
    """The measured seconds of a period.

    Attributes:
        halves: the totals of the first and of the second half of these seconds.
        p95_ms: the 95th percentile of latency of all statements; None without a histogram.
        running: the mean number of running threads.
        connected: the mean number of connections; None for periods that were stored without it.
        washout: seconds that were left out before them; None for periods that were stored without it.
    """

    halves: tuple[TrafficTotals, TrafficTotals]
    p95_ms: float | None
    running: float
    connected: float | None = None
    washout: float | None = None

    @cached_property
    def totals(self) -> TrafficTotals:
        return TrafficTotals.of(self.halves)


def fixed_mix(periods: Iterable[TrafficPeriod]) -> dict[str, float]:
    """Return the share of each kind of statement in all periods together: the mix in which latencies are compared."""
    together = TrafficTotals.of(period.totals for period in periods)
    return {kind: count / together.statements for kind, count in together.counts.items()} if together.statements else {}


def as_watched(seconds: Sequence[TrafficSecond], washout: float) -> Watched:
    """Return the measured seconds of a period, and the seconds of its washout, as a study stores them."""
    middle = len(seconds) // 2
    counters: dict[str, float] = {}
    for half, part in enumerate((seconds[:middle], seconds[middle:]), start=1):
        totals = TrafficTotals.of(part)
        groups = {"count": totals.counts, "time": totals.times, "figure": totals.figures}
        counters[f"{half}/seconds"] = totals.seconds
        counters |= {f"{half}/{group}/{name}": value for group, values in groups.items() for name, value in values.items()}
    buckets: dict[float, float] = {}
    for one in seconds:
        for bound, count in one.buckets.items():
            buckets[bound] = buckets.get(bound, 0.0) + count
    gauges = {
        "running": _gauge([one.running for one in seconds]),
        "connected": _gauge([one.connected for one in seconds]),
        "washout": _gauge([washout]),
    }
    if (p95 := percentile(buckets, 0.95)) is not None:
        gauges["p95_ms"] = _gauge([p95])
    return Watched(PROBE, sum(one.seconds for one in seconds), counters=counters, gauges=gauges, readings=len(seconds))


def of_watched(watched: Mapping[str, Watched]) -> TrafficPeriod | None:
    """Return a period as it was stored; None for a trial that has no such figures."""
    stored = watched.get(PROBE)
    if stored is None or not stored.readings:
        return None
    p95, connected, washout = (stored.gauges.get(name) for name in ("p95_ms", "connected", "washout"))
    return TrafficPeriod(
        halves=(_half(stored.counters, 1), _half(stored.counters, 2)),
        p95_ms=p95.mean if p95 else None,
        running=stored.gauges["running"].mean,
        connected=connected.mean if connected else None,
        washout=washout.mean if washout else None,
    )


def _half(counters: Mapping[str, float], half: int) -> TrafficTotals:
    def group(name: str) -> dict[str, float]:
        prefix = f"{half}/{name}/"
        return {key.removeprefix(prefix): value for key, value in counters.items() if key.startswith(prefix)}

    return TrafficTotals(counters[f"{half}/seconds"], group("count"), group("time"), group("figure"))


def _gauge(values: Sequence[float]) -> Gauge:
    return Gauge(values[0], values[-1], min(values), max(values), sum(values) / len(values))


ALL_SATURATED = 0.9
"""The share of periods that must be saturated before throughput is compared."""

_CPU = 0.9
"""The share of the machine's CPU from which on a server counts as saturated."""
_THREADS_PER_CPU = 4.0
"""Running threads per CPU from which on most of them wait for a CPU or for the disk."""
_OF_CONNECTIONS = 0.9
_FEWEST_CONNECTIONS = 16
"""For a server on another machine: if nearly all of so many connections run, hardly any client waits for anything else."""


def is_saturated(*, cpu_share: float | None, cpus: int | None, running: float, connected: float | None) -> bool:
    """Return whether a server is saturated, by its CPU or by the threads that run.

    Args:
        cpu_share: the share of its machine's CPU that it used; None where unknown.
        cpus: how many CPUs the machine has; None where unknown.
        running: the mean number of running threads.
        connected: the number of connections; None where unknown.
    """
    if cpu_share is not None and cpu_share >= _CPU:
        return True
    if cpus is not None:
        return running >= _THREADS_PER_CPU * cpus
    return connected is not None and connected >= _FEWEST_CONNECTIONS and running >= _OF_CONNECTIONS * connected
