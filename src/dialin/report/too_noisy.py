"""Changes and levels whose interval is so wide that figures would only mislead."""

from __future__ import annotations

from dialin.model.verdict import Estimate
from dialin.text import counted

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
