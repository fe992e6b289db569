"""The geometric mean of figures that may be zero."""

from __future__ import annotations

import statistics
from collections.abc import Sequence


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean, exact where there is one value; 0 where a value is 0."""
    if len(values) == 1:
        return values[0]
    return statistics.geometric_mean(values) if min(values) > 0 else 0.0
