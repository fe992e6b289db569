"""The candidates of the proof: a setting from which variables return to their defaults, the least important first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dialin.search.space import Point, Space

_Array = NDArray[np.float64]

LOSSES = (0.010, 0.004, 0.020)
"""The nested sets are the smallest ones that are expected to lose no more than this, on the log scale.

Where there is time for fewer, the first ones are proven.
"""
_WORTHLESS = 0.006
"""A variable leaves the whole set if that is expected to cost no more than this, on the log scale."""


@dataclass(frozen=True, slots=True)
class NestedSet:
    """A subset of the changes of the best setting, and by how much it is expected to fall short of the whole set."""

    point: Point
    size: int
    loss: float


def elimination(space: Space, point: Point, means: Callable[[_Array], _Array]) -> list[NestedSet]:
    """Return the sets from the whole one down to the baseline; each leaves out the variable that is expected to cost least.

    Args:
        space: the variables.
        point: the whole set.
        means: the expected log throughput of points, up to a constant.
    """
    default = space.default_point
    level = float(means(point[None, :])[0])
    sets = [NestedSet(point.copy(), int((point != default).sum()), 0.0)]
    current = point.copy()
    while (remaining := np.flatnonzero(current != default)).size:
        without = np.repeat(current[None, :], remaining.size, axis=0)
        without[np.arange(remaining.size), remaining] = default[remaining]
        expected = means(without)
        kept = int(np.argmax(expected))
        current = without[kept]
        sets.append(NestedSet(current.copy(), int(remaining.size) - 1, level - float(expected[kept])))
    return sets


def whole_set(space: Space, point: Point, means: Callable[[_Array], _Array]) -> Point:
    """Return the setting without the variables of which none is expected to carry anything; each left is worth its price."""
    sets = elimination(space, point, means)
    best = min(sets, key=lambda one: (one.loss + _WORTHLESS * one.size, one.size))
    return best.point


def nested_sets(space: Space, whole: Point, means: Callable[[_Array], _Array], count: int = len(LOSSES)) -> list[Point]:
    """Return the whole set and so many nested ones at most, the largest first; never the baseline."""
    sets = elimination(space, whole, means)
    chosen = {sets[0].size: sets[0]}
    for most in LOSSES:
        fitting = [one for one in sets if one.size and one.loss <= most]
        smallest = min(fitting, key=lambda one: one.size, default=sets[0])
        if len(chosen) <= count:
            chosen.setdefault(smallest.size, smallest)
    return [chosen[size].point for size in sorted(chosen, reverse=True)]
