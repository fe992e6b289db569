"""The time that trials take besides measuring, from the trials so far."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from dialin.search.space import Point, Space
from dialin.search.trial_records import Options, TrialOutcome

_KNOWN = 3
"""The number of trials of a kind (with a start of the server, or without one) from which on their median is used."""


def overheads(space: Space, outcomes: Sequence[TrialOutcome], points: Sequence[Point], options: Options) -> tuple[float, float]:
    """Return the seconds that a trial takes besides measuring: with a start of the server, and with a SET alone.

    They are medians of the completed trials, or the figures of the options where there are too few trials of a kind. `points`
    are those of the settings of `outcomes`.
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
