"""One variable of a space that is searched, on an axis of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from dialin.model.setting import Value, as_number, same_value

CATEGORY = 2.0
"""Coordinates from here on are categories; those of a range are 0 to 1."""


@dataclass(frozen=True, slots=True)
class Dimension:
    """One variable of a space.

    Attributes:
        low: the lowest value of the range; unused where `values` are given.
        log: whether the range has a log scale.
        step: numbers are rounded to a multiple of it; 0 for a variable that takes fractions.
        values: the values of a variable that has no range: words of an enumeration, ON and OFF, or a list.
        special: values outside of the range's order, e.g. 0 for "the server decides".
        static: whether a change requires a start of the server.
        default: the value of the baseline.
        rule: the value that a rule of thumb recommends; None where there is no such rule.
        source: where that rule comes from.
        reason: why the variable is in the space, and where its range comes from.
    """

    name: str
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    step: float = 0.0
    values: tuple[Value, ...] = ()
    special: tuple[Value, ...] = ()
    static: bool = False
    default: Value = field(kw_only=True)
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

    def takes(self, value: Value) -> bool:
        """Return whether a value is a number that the range can hold, or one of the categories: whether it has a position."""
        try:
            self.position(value)
        except ValueError:
            return False
        return True

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
