"""Reasons from raw waits. Each candidate has a single trial with costly instruments on, so the reasons have no interval."""

from __future__ import annotations

from collections.abc import Sequence

from dialin.evidence.reasons import sources
from dialin.evidence.reasons.significance import Pair
from dialin.evidence.reasons.wait_rules import seconds_per_second, short_event_name
from dialin.model.evidence import ALL
from dialin.model.why import Reason, ReasonChart, ReasonKind, WaitSummary
from dialin.text import number, percent, visible

CODE = "raw_waits"
EVENT = "event_waits"
"""The code of the rule on the same instruments in clean trials, on builds that count them there."""

_MOST = 3
_LEAST_SECONDS = 0.001
_LEAST_RATIO = 1.5


def raw_reasons(waits: Sequence[WaitSummary], compared: Pair) -> list[Reason]:
    """Return reasons for the instruments whose wait time per second differs by half or more, the longest wait time first.

    There are at most three, and none unless raw waits of both candidates were collected.
    """
    if not {compared.baseline, compared.other} <= {one.candidate for one in waits}:
        return []
    totals = {(one.candidate, one.instrument): one for one in waits if one.operation == ALL}
    reasons = []
    for instrument in dict.fromkeys(one.instrument for one in waits):
        pair = [totals.get((name, instrument)) for name in (compared.baseline, compared.other)]
        seconds = [seconds_per_second(one) if one else 0.0 for one in pair]
        low, high = sorted(seconds)
        if high >= _LEAST_SECONDS and high >= _LEAST_RATIO * low:
            worst = pair[seconds.index(high)]
            reasons.append((high, _reason(instrument, seconds, worst, waits, compared)))
    return [reason for _, reason in sorted(reasons, key=lambda one: -one[0])[:_MOST]]


def is_explained_by(reason: Reason, changes: Sequence[Reason]) -> bool:
    """Return whether a reason from clean trials, which has an interval, covers the same instrument."""
    return any(one.code == EVENT and _title(one) == _title(reason) for one in changes)


def _title(reason: Reason) -> str:
    return reason.chart.title if reason.chart else ""


def _reason(
    instrument: str, seconds: Sequence[float], worst: WaitSummary | None, waits: Sequence[WaitSummary], compared: Pair
) -> Reason:
    name = visible(short_event_name(instrument))
    baseline_wait, other_wait = (f"{number(value)} s" if value > 0 else "none" for value in seconds)
    share = f"; the ten longest waits are {percent(worst.ten_share)} of it" if worst else ""
    text = (
        f"{name}: {baseline_wait} of wait per second with {visible(compared.baseline)}, "
        f"{other_wait} with {visible(compared.other)}{share}. "
        "These are raw waits of one trial each, collected with their instruments on, so there is no interval."
    )
    totals = [one for one in waits if one.instrument == instrument and one.operation == ALL]
    charted = {one.candidate: seconds_per_second(one) for one in totals}
    return Reason(
        code=CODE,
        kind=ReasonKind.RAW,
        text=text,
        source=sources.WAIT_HISTORY,
        strength=0.0,
        chart=ReasonChart(
            title=f"{name}, s of wait per second",  # that of clean trials, by which `is_explained_by` knows the same event
            unit="",
            values={one: [waited] for one, waited in charted.items()},
            levels=charted,
        ),
    )
