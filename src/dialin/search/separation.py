"""Which changes of a setting the trials separate: what each of two carries is not known where they always came together."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from dialin.search.space import Point
from dialin.search.surrogate import Surrogate, correlations

SUSPECT = 0.03
"""What a variable must seem to carry for its companions to be named, on the log scale."""
TESTED = 0.10
"""What a variable must seem to carry to be left out by itself in one trial, which may need a restart of the server."""
_LIKE = 0.5
"""The correlation from which on two values count as the same, by the kernel of the model."""


def companions(tried: Point, setting: Point, default: Point) -> Mapping[int, list[int]]:
    """Return for each variable that a setting changes the other ones that no trial changed without it, by index.

    A trial changed one without the other where the first had about the value of the setting, and the second about its default.
    `tried` has the points of the trials that completed, a row each.
    """
    changed = [int(index) for index in np.flatnonzero(setting != default)]
    made = {index: _is_like(tried[:, index], setting[index], default[index]) for index in changed}
    left = {index: _is_like(tried[:, index], default[index], setting[index]) for index in changed}
    return {one: [other for other in changed if other != one and not (made[other] & left[one]).any()] for one in changed}


def unseparated(model: Surrogate, setting: Point, default: Point, least: float = SUSPECT) -> Mapping[int, list[int]]:
    """Return the companions of each variable that has any and seems to carry at least `least`; the largest comes first."""
    together = {one: others for one, others in companions(model.points, setting, default).items() if others}
    if not together:
        return {}
    means = model.means(np.array([setting, *(with_defaults(setting, default, one) for one in together)]))
    carried = dict(zip(together, means[0] - means[1:], strict=True))
    return {one: together[one] for one in sorted(together, key=lambda one: -carried[one]) if carried[one] >= least}


def separating_sets(model: Surrogate, setting: Point, default: Point) -> list[Point]:
    """Return a setting of two changes and each change by itself, the more promising one first; empty for other settings."""
    changed = [int(index) for index in np.flatnonzero(setting != default)]
    if len(changed) != 2:
        return []
    alone = np.array([with_defaults(setting, default, index) for index in changed])
    return [setting, *alone[np.argsort(-model.means(alone))]]


def with_defaults(setting: Point, default: Point, *variables: int) -> Point:
    """Return a setting with some variables at their defaults."""
    point = setting.copy()
    point[list(variables)] = default[list(variables)]
    return point


def _is_like(values: Point, target: float, other: float) -> NDArray[np.bool_]:
    """Return which values equal the target, or are much like it and nearer to it than to another value."""
    to_target, to_other = (correlations(values, np.array([value]))[:, 0] for value in (target, other))
    return np.asarray((values == target) | ((to_target >= _LIKE) & (to_target > to_other) & (values != other)))
