"""Where the warm-up of a run that began cold ends: what is left out at the start of a log."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dialin.stats.steady import Course, examine, mser5

_OUTLIER = 0.4
"""Seconds further than this from the median, relative to it, count as lying at that distance: a stall is no warm-up."""
_MARGIN = 5
"""Figures before the half of a run where a warm-up that ends counts as one that does not."""


def cold_start(tps: Sequence[float]) -> tuple[int, bool]:
    """Return how many figures at the start of a run are its warm-up, by MSER-5, and whether it is over before half of the run.

    Where it is not, half of the run is taken for it, unless the whole run is steady: in a short and noisy one the least error
    may lie anywhere. A run from a cold start is cut whatever follows; `examine`, which is for windows that a warm-up went
    before, takes a start for part of an oscillation where it fits one.

    Args:
        tps: the whole run from its first second on.
    """
    x = np.asarray(tps, dtype=float)
    median = float(np.median(x)) if x.size else 0.0
    if median <= 0:
        return 0, True
    begin = mser5(np.clip(x / median, 1 - _OUTLIER, 1 + _OUTLIER))
    if begin < x.size // 2 - _MARGIN:
        return begin, True
    whole = examine(tps)
    return (0, True) if whole.settled and whole.course is Course.STEADY else (begin, False)
