"""The variables that a search may change, each on an axis of its own: ranges, lists, and special values as categories.

A setting is a point with one number for each variable. A value in a range lies at its place from 0 to 1, on a log scale where
the range has one. A special value (0, -1, AUTO) or a member of a list is a category: 2 plus its index.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dialin.model.dimension import CATEGORY, Dimension
from dialin.model.setting import Setting, Value, as_number, same_value

Point = NDArray[np.float64]

SPECIAL_SHARE = 0.15
"""The share of random draws that take a special value where a variable has any."""

_LOG_RATIO = 64
"""A range has a log scale from this ratio of its highest to its lowest value on."""


def one_change_less(setting: Point, default: Point) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the variables that a setting changes, and for each of them the setting with it at its default, a row each."""
    changes = np.flatnonzero(setting != default)
    points = np.repeat(setting[None, :], changes.size, axis=0)
    points[np.arange(changes.size), changes] = default[changes]
    return changes, points


def is_log_range(low: float, high: float) -> bool:
    """Return whether a range is wide enough for a log scale: the highest value is at least 64 times the lowest."""
    return low > 0 and high / low >= _LOG_RATIO


@dataclass(frozen=True)
class Space:
    dimensions: tuple[Dimension, ...]

    def __post_init__(self) -> None:
        names = [dimension.name for dimension in self.dimensions]
        if len(set(names)) < len(names):
            raise ValueError("a variable is in the space twice")

    def __len__(self) -> int:
        return len(self.dimensions)

    @cached_property
    def defaults(self) -> Mapping[str, Value]:
        """The baseline's values."""
        return {one.name: one.default for one in self.dimensions}

    @cached_property
    def _default_point(self) -> Point:
        return np.array([one.position(self.defaults[one.name]) for one in self.dimensions], dtype=float)

    @property
    def default_point(self) -> Point:
        """The point of the baseline."""
        return self._default_point.copy()

    @property
    def static(self) -> NDArray[np.bool_]:
        """Which variables need a restart of the server to change."""
        return np.array([dimension.static for dimension in self.dimensions], dtype=bool)

    def point(self, setting: Setting) -> Point:
        """Return the point of a setting; variables that it does not name have their default.

        Raises:
            ValueError: it sets a variable outside of the space, or a value that the search does not take.
        """
        if outside := sorted(set(setting) - set(self.defaults)):
            raise ValueError(f"{outside[0]} is not in the space")
        point = self.default_point
        for index, dimension in enumerate(self.dimensions):
            if dimension.name in setting and not same_value(setting[dimension.name], self.defaults[dimension.name]):
                point[index] = dimension.position(setting[dimension.name])
        return point

    def setting(self, point: Point) -> dict[str, Value]:
        """Return the values of a point that differ from the baseline's, by variable."""
        default = self.default_point
        changed = {}
        for index, dimension in enumerate(self.dimensions):
            if point[index] != default[index]:
                value = dimension.value(float(point[index]))
                if not same_value(value, self.defaults[dimension.name]):
                    changed[dimension.name] = value
        return changed

    def numbers(self, points: Point, index: int) -> Point:
        """Return the values of one variable at many points as numbers; a category that is no number counts as 0."""
        dimension, column = self.dimensions[index], points[:, index]
        share = np.clip(column, 0.0, 1.0)
        if dimension.values:
            numbers = np.zeros_like(share)
        elif dimension.log:
            numbers = dimension.low * (dimension.high / dimension.low) ** share
        else:
            numbers = dimension.low + share * (dimension.high - dimension.low)
        for code, category in enumerate(dimension.categories):
            numbers[column == CATEGORY + code] = as_number(category) or 0
        return np.asarray(numbers)

    def static_part(self, setting: Setting) -> tuple[Value, ...]:
        """Return the values of the variables that need a restart of the server to change."""
        return tuple(setting.get(one.name, self.defaults[one.name]) for one in self.dimensions if one.static)

    def rules_point(self) -> Point:
        """Return the point of the rules of thumb; a variable without one has its default."""
        return self.point({one.name: one.rule for one in self.dimensions if one.rule is not None})

    def random_points(self, count: int, rng: np.random.Generator) -> Point:
        """Return random points, one a row; a special value has 15 % of the draws."""
        points = rng.random((count, len(self)))
        for index, dimension in enumerate(self.dimensions):
            if dimension.values:
                points[:, index] = CATEGORY + rng.integers(len(dimension.values), size=count)
            elif dimension.special:
                special = rng.random(count) < SPECIAL_SHARE
                points[special, index] = CATEGORY + rng.integers(len(dimension.special), size=count)[special]
        return points
