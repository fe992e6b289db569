"""The candidates of the proof: a setting from which variables return to their defaults, the least important first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dialin.search.space import Point, Space

_Array = NDArray[np.float64]

PRICES = (0.008, 0.015)
"""A variable leaves a lean setting that is tried if that is expected to cost no more than this, on the log scale: first, while
little is known of single variables, and at the end."""
PROVEN = (0.015, 0.006, 0.010)
"""The nested sets of the proof are the lean sets at these prices; where there is time for fewer, the first ones."""


@dataclass(frozen=True, slots=True)
class NestedSet:
    """A subset of the changes of the best setting, and by how much it is expected to fall short of the whole set."""

    point: Point
    size: int
    loss: float


def elimination(space: Space, point: Point, means: Callable[[_Array], _Array]) -> list[NestedSet]:
    """Return the sets from the whole one down to the baseline; each leaves out the variable that is expected to cost least.

    `means` returns the expected log throughput of points, up to a constant.
    """
    default = space.default_point
    level = float(means(point[None, :])[0])
    sets = [NestedSet(point.copy(), int((point != default).sum()), 0.0)]
    current = point.copy()
    while (remaining := np.flatnonzero(current != default)).size:
        without = np.repeat(current[None, :], remaining.size, axis=0)
        without[np.arange(remaining.size), remaining] = default[remaining]
        expected = means(without)
        best = int(np.argmax(expected))
        current = without[best]
        sets.append(NestedSet(current.copy(), int(remaining.size) - 1, level - float(expected[best])))
    return sets


def lean_set(space: Space, point: Point, means: Callable[[_Array], _Array], price: float) -> Point:
    """Return the setting without the variables that are not expected to be worth their price."""
    sets = elimination(space, point, means)
    return min(sets, key=lambda one: (one.loss + price * one.size, one.size)).point


def nested_sets(space: Space, point: Point, means: Callable[[_Array], _Array], count: int = len(PROVEN)) -> list[Point]:
    """Return so many nested sets at most, the largest first; never the baseline."""
    sets = [one for one in elimination(space, point, means) if one.size]
    chosen: dict[int, NestedSet] = {}
    for price in PROVEN:
        leanest = min(sets, key=lambda one: (one.loss + price * one.size, one.size))
        if len(chosen) < count:
            chosen.setdefault(leanest.size, leanest)
    return [chosen[size].point for size in sorted(chosen, reverse=True)]
