"""The candidates of the proof: a setting from which variables return to their defaults, the least important first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dialin.search.space import Point, Space, one_change_less

_Array = NDArray[np.float64]

WITH_RULE = 0.3
"""A change with a rule of thumb stays in a set if it seems to carry at least this many standard deviations of the model.

The standard deviation is the model's for what a single change of this setting carries. The more precisely that is known, the
smaller an effect can be distinguished from none.
"""
WITHOUT_RULE = (1.0, 0.6, 0.8)
"""The same for a change without a rule, one figure for each set of the proof; if there is time for fewer sets, the first ones.

The figures are higher, because fewer of the variables without a rule matter.
"""
_MORE_WITHOUT_RULE = 0.01
"""What a change without a rule must seem to carry in addition, on the log scale.

Where little is to be gained, the model's standard deviations are small, and by these alone too many changes that carry nothing
would stay.
"""
STATIC = 0.6
"""This many standard deviations less suffice for a static variable.

Since each new value takes a restart, few of them are tried, and fewer of them look good by chance.
"""
_LEAST_PRICE = 0.003
"""What any change must seem to carry, on the log scale."""


@dataclass(frozen=True, slots=True)
class NestedSet:
    """A subset of the changes of a setting.

    Attributes:
        loss: by how much it is expected to fall short of the whole set, on the log scale.
        saved: the prices of all changes that it leaves out.
    """

    point: Point
    size: int
    loss: float
    saved: float


def prices(space: Space, with_rule: float, without_rule: float, static: float = 0.0) -> _Array:
    """Return what variables with and without a rule of thumb must carry to stay in a setting, on the log scale.

    For a static variable it is lower by `static`.
    """
    price = np.array([without_rule if one.rule is None else with_rule for one in space.dimensions])
    return np.asarray(np.maximum(price - static * space.static, _LEAST_PRICE))


def proof_prices(space: Space, error: float, deviates: float) -> _Array:
    """Return what each variable must carry to stay in a set of the proof, on the log scale.

    `error` is the model's standard deviation of what one change carries, and `deviates` as in `WITHOUT_RULE`.
    """
    return prices(space, WITH_RULE * error, _MORE_WITHOUT_RULE + deviates * error, STATIC * error)


def elimination(space: Space, point: Point, means: Callable[[_Array], _Array], price: _Array) -> list[NestedSet]:
    """Return the sets from the whole one down to the baseline; each next one leaves out the variable least worth its price.

    `means` returns the expected log throughput of points, up to a constant.
    """
    default = space.default_point
    level = float(means(point[None, :])[0])
    sets = [NestedSet(point.copy(), int((point != default).sum()), 0.0, 0.0)]
    while sets[-1].size:
        remaining, without = one_change_less(sets[-1].point, default)
        expected = means(without)
        best = int(np.argmax(expected + price[remaining]))
        saved = sets[-1].saved + float(price[remaining[best]])
        sets.append(NestedSet(without[best].copy(), int(remaining.size) - 1, level - float(expected[best]), saved))
    return sets


def lean_set(space: Space, point: Point, means: Callable[[_Array], _Array], price: _Array) -> Point:
    """Return the setting without the variables that are not expected to be worth their price."""
    return min(elimination(space, point, means, price), key=lambda one: (one.loss - one.saved, one.size)).point


def nested_sets(
    space: Space, point: Point, means: Callable[[_Array], _Array], error: float, count: int = len(WITHOUT_RULE)
) -> list[Point]:
    """Return at most `count` lean sets, the largest first; never the baseline.

    Each is made from the next larger one. `error` is the model's standard deviation of what one change carries.
    """
    chosen = [point]
    for deviates in sorted(WITHOUT_RULE[:count]):
        chosen.append(lean_set(space, chosen[-1], means, proof_prices(space, error, deviates)))
    default = space.default_point
    sets = {int((one != default).sum()): one for one in chosen[1:] if (one != default).any()}
    return list(sets.values()) or [point]
