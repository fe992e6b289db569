"""A rule: a figure to compare between candidates, because it may explain why one is faster than another; shared phrases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dialin.evidence.measured import FigureOf, MeasuredTrial, block_figures, throughput, values_of
from dialin.model.record import StudyRecord
from dialin.text import change, listed, number, percent, visible

More = Callable[[Sequence[MeasuredTrial], StudyRecord, str], str]
"""Returns the end of a reason's sentence, from the trials, their study, and the candidate compared with the baseline."""


SPELLED_BY_SERVER = ("event_waits", "mutex_os_waits")
"""The rules whose sentence begins with a name in the server's spelling, which takes no capital letter."""


@dataclass(frozen=True, slots=True)
class ReasonRule:
    """A figure to compare between candidates.

    Attributes:
        code: identifies the rule in scripts and in the table of docs/why.md.
        theme: the subject; the number of reasons that are shown on one theme is limited.
        name: the beginning of the sentence.
        unit: what follows the figure, such as `per {one}`, where `one` is what the load counts: a transaction, or a run.
        floor: the mean that at least one candidate must reach for the figure to matter.
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
    """Return the summed rate of counters; a counter that a trial lacks is skipped, and a trial without any of them has None."""

    def figure(one: MeasuredTrial) -> float | None:
        rates = [rate for rate in (one.rate(probe, counter) for counter in counters) if rate is not None]
        return factor * sum(rates) if rates else None

    return figure


def per_transaction(probe: str, *counters: str, factor: float = 1.0) -> FigureOf:
    """Return counters per transaction, added up as `per_second` does."""
    return by_transaction(per_second(probe, *counters, factor=factor))


def by_transaction(rate: FigureOf) -> FigureOf:
    """Turn a figure per second into one per transaction; None for a trial without transactions."""

    def figure(one: MeasuredTrial) -> float | None:
        amount = rate(one)
        return None if amount is None or one.transactions <= 0 else amount / one.transactions

    return figure


def quotient(top: FigureOf, bottom: FigureOf, least: float = 0.0) -> FigureOf:
    """Return `top` divided by `bottom`; None where `bottom` is not greater than `least`."""

    def figure(one: MeasuredTrial) -> float | None:
        numerator, denominator = top(one), bottom(one)
        return None if numerator is None or denominator is None or denominator <= least else numerator / denominator

    return figure


def first_of(*sources: FigureOf) -> FigureOf:
    """Return the figure of the first source that a trial has."""

    def figure(one: MeasuredTrial) -> float | None:
        return next((value for value in (source(one) for source in sources) if value is not None), None)

    return figure


def mean_of(probe: str, gauge: str) -> FigureOf:
    def figure(one: MeasuredTrial) -> float | None:
        readings = one.gauge(probe, gauge)
        return None if readings is None else max(0.0, readings.mean)

    return figure


def setting(name: str) -> FigureOf:
    return lambda one: one.setting(name)


_MANY = 4


def holding_for(names: Sequence[str], record: StudyRecord) -> str:
    """Return the end of a sentence, which names the candidates that the sentence is true of; empty where it is true of all."""
    if len(names) == len(record.spec.candidates):
        return ""
    shown = [visible(name) for name in names[:_MANY]]
    rest = len(names) - len(shown)
    return f", with {listed([*shown, f'{rest} more'] if rest else shown)}"


_SAME = 0.03
"""The relative difference below which bytes are called the same."""

_PARTS = {2: "half", 3: "a third of", 4: "a quarter of", 8: "an eighth of", 16: "a sixteenth of"}


def describe_reads(calls: FigureOf, amount: FigureOf) -> More:
    """Return a phrase on the bytes read, the number of calls, and the time per transaction."""

    def describe(trials: Sequence[MeasuredTrial], record: StudyRecord, other: str) -> str:
        call_ratio, byte_ratio = (block_figures(values_of(of, trials), trials, record)[other].ratio for of in (calls, amount))
        if call_ratio is None or byte_ratio is None:
            return ""
        read = "the same bytes" if abs(byte_ratio.mean - 1) < _SAME else f"{change(byte_ratio.mean)} bytes"
        return f"{read}, {_times(call_ratio.mean)} the calls, {_time(trials, record, other)} with {visible(other)}"

    return describe


def _times(ratio: float) -> str:
    for parts, words in _PARTS.items():
        if abs(ratio * parts - 1) < 2 * _SAME:
            return words
    return f"{number(ratio)} times" if ratio >= 1 else f"1/{number(1 / ratio)} of"


def _time(trials: Sequence[MeasuredTrial], record: StudyRecord, other: str) -> str:
    """Return by how much the time per transaction differs: the inverse of throughput."""
    ratio = throughput(record, trials).ratios[other]
    if ratio is None or not ratio.excludes_one:
        return "no detectable difference in time"
    return f"{percent(abs(1 / ratio.mean - 1))} {'more' if ratio.mean < 1 else 'less'} time"
