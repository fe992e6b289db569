"""Percentiles of measured seconds, as a box plot shows them, and the percentiles that a number of seconds can resolve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import quantiles

_SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.99, 0.995, 0.9975, 0.999, 0.9995, 0.9999)


@dataclass(frozen=True, slots=True)
class BoxFigures:
    """What a box plot shows of seconds: the percentiles 5, 25, 50, 75 and 95, the lowest second, and how many there are."""

    low: float
    first: float
    median: float
    third: float
    high: float
    worst: float
    seconds: int


def box(values: Sequence[float]) -> BoxFigures | None:
    if not values:
        return None
    if len(values) == 1:
        only = values[0]
        return BoxFigures(only, only, only, only, only, only, 1)
    cuts = quantiles(values, n=20, method="inclusive")
    return BoxFigures(cuts[0], cuts[4], cuts[9], cuts[14], cuts[18], min(values), len(values))


def at_share(values: Sequence[float], share: float) -> float:
    """Return the value, of sorted values, that a share (0 to 1) of all is at or below."""
    return values[max(0, min(len(values), math.ceil(share * len(values))) - 1)]


def resolvable_shares(count: int) -> list[float]:
    """Return the shares (0 to 1) that `count` values can resolve."""
    return [share for share in _SHARES if share == 0 or (1 - share) * count >= 1 - 1e-9]
