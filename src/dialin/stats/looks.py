"""When the data is looked at: the looks of a study are few, and never further apart than a twentieth of its trials."""

from __future__ import annotations

_APART = 1.05
"""The next look is due at this multiple of the trials of the last one: a decision is at most a twentieth late, and looks cost
little."""


def is_due(trials: int, looked: int) -> bool:
    """Return whether a look is due after `trials` trials, if the last look was after `looked`; 0 if there was none."""
    return trials >= _APART * looked
