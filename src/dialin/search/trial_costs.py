"""What trials take beside their measuring, as those so far took."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from dialin.search.space import Point, Space
from dialin.search.trial_records import Options, TrialOutcome

_KNOWN = 3
"""So many trials with a start of the server, or without one, say what such a trial takes."""


def overheads(space: Space, outcomes: Sequence[TrialOutcome], points: Sequence[Point], options: Options) -> tuple[float, float]:
    """Return the seconds that a trial takes beside its measuring: with a start of the server, and with a SET alone.

    Medians of the trials that completed; what the options say of a kind of which there are too few. `points` are those of the
    settings of `outcomes`.
    """
    starts: list[float] = []
    sets: list[float] = []
    running: Point | None = None
    for outcome, point in zip(outcomes, points, strict=True):
        if outcome.ok:
            has_started = running is None or bool((point != running)[space.static].any())
            (starts if has_started else sets).append(max(outcome.cost - outcome.ask.seconds, 0.0))
        running = point if outcome.ok else None
    return (
        median(starts) if len(starts) >= _KNOWN else options.start_seconds,
        median(sets) if len(sets) >= _KNOWN else options.set_seconds,
    )
