"""When the data is looked at: the looks of a study are few, and never further apart than a twentieth of its trials."""

from __future__ import annotations

_APART = 1.05
"""How many times as many trials the next look has: a decision is at most a twentieth late, and looks cost little."""


def is_due(trials: int, looked: int) -> bool:
    """Return whether a look is due after so many trials; the last one was after `looked`, 0 if there was none."""
    return trials >= _APART * looked
