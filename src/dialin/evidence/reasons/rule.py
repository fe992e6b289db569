"""A rule: a figure that is followed through the trials, because it may explain why one candidate is faster than another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dialin.evidence.measured import FigureOf, Measured
from dialin.text import number

More = Callable[[Sequence[Measured], str, str], str]
"""More words on a reason, from the trials and the two candidates that are compared: the baseline and the other one."""


@dataclass(frozen=True, slots=True)
class ReasonRule:
    """A figure to compare between candidates.

    Attributes:
        code: for scripts and for the table in the docs.
        theme: limits how many reasons are shown on one subject.
        name: the beginning of the sentence.
        unit: behind the figure, such as `a transaction`.
        floor: the mean that some candidate must reach for the figure to matter at all.
        least: the smallest relative change that matters.
        guard: a second figure that must change in the same direction. A figure that rises with time changes per transaction
            whenever throughput does, and one that rises with transactions changes per second; neither explains anything.
    """

    code: str
    theme: str
    name: str
    unit: str
    source: str
    of: FigureOf
    floor: float = 0.0
    least: float = 0.05
    guard: FigureOf | None = None
    form: Callable[[float], str] = number
    more: More | None = None


def per_second(probe: str, *counters: str, factor: float = 1.0) -> FigureOf:
    """Return the rate of counters, added up; those that are not there count for nothing, but one must be."""

    def figure(one: Measured) -> float | None:
        rates = [rate for rate in (one.rate(probe, counter) for counter in counters) if rate is not None]
        return factor * sum(rates) if rates else None

    return figure


def per_transaction(probe: str, *counters: str, factor: float = 1.0) -> FigureOf:
    """Return counters per transaction, added up as `per_second` does."""
    return by_transaction(per_second(probe, *counters, factor=factor))


def by_transaction(rate: FigureOf) -> FigureOf:
    """Turn a rate per second into one per transaction; None for a trial without any."""

    def figure(one: Measured) -> float | None:
        spent = rate(one)
        return None if spent is None or one.transactions <= 0 else spent / one.transactions

    return figure


def quotient(top: FigureOf, bottom: FigureOf, least: float = 0.0) -> FigureOf:
    """Return one rate over another; None where the lower one is no more than `least`."""

    def figure(one: Measured) -> float | None:
        above, below = top(one), bottom(one)
        return None if above is None or below is None or below <= least else above / below

    return figure


def first_of(*ways: FigureOf) -> FigureOf:
    """Return the first of several sources that is known."""

    def figure(one: Measured) -> float | None:
        return next((value for value in (way(one) for way in ways) if value is not None), None)

    return figure


def mean_of(probe: str, gauge: str) -> FigureOf:
    def figure(one: Measured) -> float | None:
        readings = one.gauge(probe, gauge)
        return None if readings is None else max(0.0, readings.mean)

    return figure


def setting(name: str) -> FigureOf:
    return lambda one: one.setting(name)
