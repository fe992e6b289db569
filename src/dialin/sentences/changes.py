"""Changes and levels with their intervals, and those whose interval is so wide that figures would only mislead."""

from __future__ import annotations

from collections.abc import Callable

from dialin.model.verdict import Estimate
from dialin.text import NOTHING, change, counted, exact_percent, number, percent

_WIDEST_RATIO = 10.0
"""The figures of a ratio mean nothing to a reader if its interval's upper end is more than this many times the lower end."""

_WIDEST_LEVEL = 100.0
"""The same limit for a level. It is larger because a wide interval of a rare event still shows that the event is rare."""


def is_too_noisy(ratio: Estimate) -> bool:
    """Return whether the interval of a ratio is too wide for its ends to mean anything."""
    return ratio.low is not None and ratio.high is not None and ratio.high > _WIDEST_RATIO * ratio.low


def is_too_noisy_level(level: Estimate) -> bool:
    """Return whether the interval of a level is too wide for its ends to mean anything; not if it begins at zero."""
    return level.low is not None and level.high is not None and level.high > _WIDEST_LEVEL * level.low > 0


def too_noisy(trials: int | None = None) -> str:
    """Return the text in place of the figures: `too noisy to tell after 2 trials`."""
    return f"too noisy to tell after {counted(trials, 'trial')}" if trials else "too noisy to tell"


def detectable_difference(trials: int, detectable: float) -> str:
    """Return a clause on the smallest difference that a number of trials can detect, or that they are too few for any."""
    if detectable >= 1:
        return f"{counted(trials, 'trial')} {'is' if trials == 1 else 'are'} too few to detect any difference"
    return f"{counted(trials, 'trial')} can detect differences of {percent(detectable)} or more"


def change_with_confidence(ratio: Estimate, confidence: float, trials: int | None = None) -> str:
    """Return a change with its confidence interval: `+17.4 %, 95 % CI +1.0 % to +36.0 %`.

    A change that is too noisy has no figures: `too noisy to tell after 2 trials`, or without their number if `trials` is None.
    """
    if ratio.low is None or ratio.high is None:
        return f"{change(ratio.mean)}, no interval yet"
    if is_too_noisy(ratio):
        return too_noisy(trials)
    return f"{change(ratio.mean)}, {exact_percent(confidence)} CI {change(ratio.low)} to {change(ratio.high)}"


def interval(estimate: Estimate | None, show: Callable[[float], str], *, between: str = " to ", is_bare: bool = False) -> str:
    """Return an interval alone: `1,220 to 1,248`; empty where there is none, or where it is a point.

    An interval that is too wide to mean anything is `too noisy to tell`. `between` stands between its ends, which are without
    a percent sign where `is_bare`.
    """
    if estimate is None or estimate.low is None or estimate.high is None or estimate.low == estimate.high:
        return ""
    if is_too_noisy(estimate) if show is change else is_too_noisy_level(estimate):
        return too_noisy()
    return between.join(show(end).removesuffix(" %" if is_bare else "") for end in (estimate.low, estimate.high))


def with_interval(estimate: Estimate | None, show: Callable[[float], str] = number, trials: int | None = None) -> str:
    """Return a figure with its interval: `1,234 (1,220 to 1,248)`; a change that is too noisy has no figures."""
    if estimate is None:
        return NOTHING
    if show is change and is_too_noisy(estimate):
        return too_noisy(trials)
    ends = interval(estimate, show)
    return f"{show(estimate.mean)} ({ends})" if ends else show(estimate.mean)


def change_with_interval(estimate: Estimate | None, trials: int | None = None) -> str:
    """Return a ratio as a change with its interval: `+5.3 % (+4.1 % to +6.4 %)`."""
    return with_interval(estimate, change, trials)


def change_or_no_interval(ratio: Estimate) -> str:
    """Return a ratio as a change with its interval, or with the remark that it has none: `+5.3 % (no interval)`."""
    return change_with_interval(ratio) if ratio.low is not None else f"{change(ratio.mean)} (no interval)"
