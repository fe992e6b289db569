"""Percentiles of times of which it is known how many transactions took each."""

from __future__ import annotations

import math
from collections.abc import Mapping


def percentile(counts: Mapping[float, float], share: float) -> float | None:
    """Return the time that a share (0 to 1) of the transactions did not exceed; None without any.

    `counts` holds how many transactions took each time, in any order.
    """
    wanted: float = max(1, math.ceil(share * sum(counts.values()) - 1e-9))
    for time in sorted(counts):
        wanted -= counts[time]
        if wanted <= 0:
            return time
    return None


def known_percentile(counts: Mapping[float, int], share: float) -> float | None:
    """Return a percentile as `percentile` does; None also where there are fewer than 1 / (1 - share) transactions."""
    return percentile(counts, share) if sum(counts.values()) * (1 - share) >= 1 - 1e-9 else None
