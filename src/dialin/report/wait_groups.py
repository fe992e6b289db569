"""Raw waits by instrument."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialin.model.evidence import ALL
from dialin.model.why import WaitSummary, Why
from dialin.text import listed, number, visible

_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))


@dataclass(frozen=True, slots=True)
class WaitGroup:
    """The waits of one instrument.

    Attributes:
        every: the waits of each candidate, all operations together.
        operations: the waits of each candidate by operation; empty where there is only one operation.
        total_ms: the largest total time of one candidate's waits, in milliseconds.
    """

    instrument: str
    every: Sequence[WaitSummary]
    operations: Sequence[WaitSummary]
    total_ms: float


def groups(why: Why, names: Sequence[str]) -> list[WaitGroup]:
    """Return the instruments, the largest total first; one with a single operation has no table by operation."""
    by_instrument: dict[str, list[WaitSummary]] = {}
    for one in why.waits:
        by_instrument.setdefault(one.instrument, []).append(one)
    return sorted((_group(name, waits, names) for name, waits in by_instrument.items()), key=lambda group: -group.total_ms)


def nanoseconds(value: float) -> str:
    """Return a time in the unit that suits it: `312 ns`, `1.23 µs`, `4.5 ms`."""
    for size, unit in _UNITS:
        if value >= size:
            return f"{number(value / size)} {unit}"
    return f"{number(value)} ns"


def description(group: WaitGroup, labels: Mapping[str, str]) -> str:
    """Return how to read the chart of an instrument's waits, and for whom a few long waits dominate the mean."""
    above = [labels[one.candidate] for one in group.every if one.mean_ns > one.p99_ns]
    remark = f" For {listed(above)} the mean is above the p99: a few long waits dominate it." if above else ""
    return f"Waits per second by length, one mark per doubling of time.{remark}"


def notes(why: Why, labels: Mapping[str, str]) -> list[str]:
    """Return what hindered the collection of waits, one sentence for each candidate and note."""
    return [f"{labels[one.candidate]}: {visible(note)}." for one in why.wait_trials for note in one.notes]


def _group(instrument: str, waits: Sequence[WaitSummary], names: Sequence[str]) -> WaitGroup:
    place = {name: number for number, name in enumerate(names)}
    ordered = sorted(waits, key=lambda one: place.get(one.candidate, len(place)))
    every = [one for one in ordered if one.operation == ALL]
    single = [one for one in ordered if one.operation != ALL]
    operations = single if len({one.operation for one in single}) > 1 else []
    return WaitGroup(visible(instrument), every, operations, max(one.total_ms for one in waits))
