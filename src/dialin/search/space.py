"""The variables that a search may change, each on an axis of its own: ranges, lists, and special values as categories.

A setting is a point with one number for each variable. A value in a range lies at its place from 0 to 1, on a log scale where
the range has one. A special value (0, -1, AUTO) or a member of a list is a category: 2 plus its index.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dialin.model.setting import Setting, Value, as_number, same_value

Point = NDArray[np.float64]

CATEGORY = 2.0
"""A coordinate from here on is a category."""

_SPECIAL_SHARE = 0.15
"""The share of random draws that take a special value where a variable has any."""

_LOG_RATIO = 64
"""From this ratio of the highest to the lowest value on, a range has a log scale."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One variable of a space.

    Attributes:
        low: the lowest value of the range; unused where `values` are given.
        high: the highest one.
        log: whether the range has a log scale; see `is_log_range`.
        step: what a number is rounded to a multiple of; 0 for a variable that takes fractions.
        values: the values of a variable that has no range: words of an enumeration, ON and OFF, or a list.
        special: values outside of the range's order, e.g. 0 for "the server decides".
        static: whether a change takes a start of the server.
        default: the value of the baseline.
        rule: the value that a rule of thumb recommends; None where there is no such rule.
        source: where that rule is from.
        reason: why the variable is in the space, for the list that is shown before the search starts.
    """

    name: str
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    step: float = 0.0
    values: tuple[Value, ...] = ()
    special: tuple[Value, ...] = ()
    static: bool = False
    default: Value | None = None
    rule: Value | None = None
    source: str = ""
    reason: str = ""

    def __post_init__(self) -> None:
        if not self.values and not self.low < self.high:
            raise ValueError(f"{self.name}: the range {self.low:g}..{self.high:g} holds no two values")
        if not self.values and self.log and self.low <= 0:
            raise ValueError(f"{self.name}: a log scale begins above 0")

    @property
    def categories(self) -> tuple[Value, ...]:
        """The values that are categories: all of a list, or the special ones of a range."""
        return self.values or self.special

    def position(self, value: Value) -> float:
        """Return the coordinate of a value; a number outside of the range counts as the nearest end.

        Raises:
            ValueError: the value is neither a number nor one of the categories.
        """
        for index, category in enumerate(self.categories):
            if same_value(value, category):
                return CATEGORY + index
        number = as_number(value)
        if self.values or number is None:
            raise ValueError(f"{self.name} does not take {value!r} in this search")
        number = min(max(float(number), self.low), self.high)
        if self.log:
            return math.log(number / self.low) / math.log(self.high / self.low)
        return (number - self.low) / (self.high - self.low)

    def value(self, coordinate: float) -> Value:
        """Return the value at a coordinate, rounded as the server rounds."""
        if coordinate >= CATEGORY:
            return self.categories[int(coordinate - CATEGORY)]
        share = min(max(coordinate, 0.0), 1.0)
        number = self.low * (self.high / self.low) ** share if self.log else self.low + share * (self.high - self.low)
        if not self.step:
            return float(f"{number:.4g}")
        return self._rounded(number)

    def _rounded(self, number: float) -> Value:
        if self.step == 1 and number >= 1000:  # nobody needs innodb_io_capacity = 1873 where 1900 does
            digits = 10 ** (math.floor(math.log10(number)) - 1)
            rounded = round(number / digits) * digits
        else:
            rounded = round(number / self.step) * self.step
        lowest, highest = math.ceil(self.low / self.step) * self.step, math.floor(self.high / self.step) * self.step
        rounded = min(max(rounded, lowest), highest)
        return int(rounded) if float(rounded).is_integer() else float(rounded)


def is_log_range(low: float, high: float) -> bool:
    """Return whether a range is wide enough for a log scale: the highest value is at least 64 times the lowest."""
    return low > 0 and high / low >= _LOG_RATIO


@dataclass(frozen=True)
class Space:
    dimensions: tuple[Dimension, ...]
    defaults: Mapping[str, Value] = field(init=False)

    def __post_init__(self) -> None:
        names = [dimension.name for dimension in self.dimensions]
        if len(set(names)) < len(names):
            raise ValueError("a variable is in the space twice")
        if missing := [dimension.name for dimension in self.dimensions if dimension.default is None]:
            raise ValueError(f"{missing[0]} has no default")
        defaults = {one.name: one.default for one in self.dimensions if one.default is not None}
        object.__setattr__(self, "defaults", defaults)
        positions = np.array([one.position(defaults[one.name]) for one in self.dimensions], dtype=float)
        object.__setattr__(self, "_default_point", positions)

    def __len__(self) -> int:
        return len(self.dimensions)

    @property
    def default_point(self) -> Point:
        """The point of the baseline."""
        point: Point = getattr(self, "_default_point")  # noqa: B009 - set past the frozen dataclass
        return point.copy()

    @property
    def static(self) -> NDArray[np.bool_]:
        """Which variables take a start of the server."""
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
        """Return what a point changes of the baseline, by variable."""
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
        """Return the values of the variables that take a start of the server."""
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
                special = rng.random(count) < _SPECIAL_SHARE
                points[special, index] = CATEGORY + rng.integers(len(dimension.special), size=count)[special]
        return points
