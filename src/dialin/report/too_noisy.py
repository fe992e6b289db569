"""Changes and levels whose interval is so wide that figures would only mislead."""

from __future__ import annotations

from dialin.model.verdict import Estimate
from dialin.text import counted

_MOST_TELLING = 10.0
"""How many times its lower end the upper end of a ratio's interval may be for its figures to mean anything to a reader."""

_MOST_TELLING_OF_LEVEL = 100.0
"""The same for a level: that of a rare event is wide and still says that the event is rare."""


def is_too_noisy(ratio: Estimate) -> bool:
    """Return whether the interval of a ratio is so wide that its ends say nothing but that."""
    return ratio.low is not None and ratio.high is not None and ratio.high > _MOST_TELLING * ratio.low


def is_too_noisy_level(level: Estimate) -> bool:
    """Return whether the interval of a level is so wide that its ends say nothing but that."""
    return level.low is not None and level.high is not None and level.high > _MOST_TELLING_OF_LEVEL * level.low > 0


def too_noisy(trials: int | None = None) -> str:
    """Return what stands in place of the figures: `too noisy to tell after 2 trials`."""
    return f"too noisy to tell after {counted(trials, 'trial')}" if trials else "too noisy to tell"
