"""A rule: a figure that is followed through the trials, because it may explain why one candidate is faster than another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dialin.evidence.measured import Measured
from dialin.text import number

Of = Callable[[Measured], float | None]
"""Tells a trial's figure, zero or more; None where it is not known of this trial."""

More = Callable[[Sequence[Measured], str, str], str]
"""More words on a reason, from the trials and the two candidates that are compared: the baseline and the other one."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A figure to compare between candidates.

    Attributes:
        code: for scripts and for the table in the docs.
        theme: limits how many reasons are shown on one subject.
        name: the beginning of the sentence.
        unit: behind the figure, such as `a transaction`.
        of: a trial's figure.
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
    of: Of
    floor: float = 0.0
    least: float = 0.05
    guard: Of | None = None
    form: Callable[[float], str] = number
    more: More | None = None


def per_second(probe: str, *counters: str, factor: float = 1.0) -> Of:
    """Return the rate of counters, added up; those that are not there count for nothing, but one must be."""

    def figure(one: Measured) -> float | None:
        rates = [rate for rate in (one.rate(probe, counter) for counter in counters) if rate is not None]
        return factor * sum(rates) if rates else None

    return figure


def per_transaction(probe: str, *counters: str, factor: float = 1.0) -> Of:
    """Return counters per transaction, added up as `per_second` does."""
    return by_transaction(per_second(probe, *counters, factor=factor))


def by_transaction(rate: Of) -> Of:
    """Turn a rate per second into one per transaction; None for a trial without any."""

    def figure(one: Measured) -> float | None:
        spent = rate(one)
        return None if spent is None or one.transactions <= 0 else spent / one.transactions

    return figure


def quotient(top: Of, bottom: Of, least: float = 0.0) -> Of:
    """Return one rate over another; None where the lower one is no more than `least`."""

    def figure(one: Measured) -> float | None:
        above, below = top(one), bottom(one)
        return None if above is None or below is None or below <= least else above / below

    return figure


def first_of(*ways: Of) -> Of:
    """Return the first of several sources that is known."""

    def figure(one: Measured) -> float | None:
        return next((value for value in (way(one) for way in ways) if value is not None), None)

    return figure


def mean_of(probe: str, gauge: str) -> Of:
    """Return the mean of a gauge over the measured seconds."""

    def figure(one: Measured) -> float | None:
        readings = one.gauge(probe, gauge)
        return None if readings is None else max(0.0, readings.mean)

    return figure


def setting(name: str) -> Of:
    """Return a variable in force."""
    return lambda one: one.setting(name)


def values_of(of: Of, trials: Sequence[Measured]) -> dict[int, float]:
    """Return a figure by trial id; trials without it are left out."""
    values = ((one.trial.id, of(one)) for one in trials)
    return {number: value for number, value in values if value is not None}


def by_candidate(values: Mapping[int, float], trials: Sequence[Measured], names: Sequence[str]) -> dict[str, list[float]]:
    """Return a figure by candidate, in the order of `names`, the values in the order that the trials ran."""
    grouped: dict[str, list[float]] = {name: [] for name in names}
    for one in trials:
        if one.trial.id in values and one.trial.candidate in grouped:
            grouped[one.trial.candidate].append(values[one.trial.id])
    return {name: figures for name, figures in grouped.items() if figures}
