"""What a setting must satisfy before it runs: memory, order between variables, and the fence that a crash moves.

All constraints come in as data. A setting that breaks one is repaired, not rejected: a milder one is tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dialin.model.dimension import CATEGORY
from dialin.model.setting import Setting, Value, as_number
from dialin.model.tune import ActsFrom, AtMost, MemoryFormula, as_size
from dialin.search.space import Space

SERVER_BYTES = 2.0**29
"""Memory, in bytes, that a server takes in addition to what the variables set."""
MEMORY_SHARE = 0.92
"""The share of the free memory that a setting may take."""
_BELOW_A_CRASH = 0.98
"""Later settings stay below this share of the memory of a setting that crashed."""
_RETREAT = 0.25
"""The share of the way from what crashed to the most that ran by which the fence moves."""
_HALVINGS, _HALVINGS_OF_MANY = 30, 6

_Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Constraints:
    """All constraints of a search.

    Attributes:
        memory: None where memory is not limited.
        order: pairs of variables of which one must not exceed the other, or a share of it.
        acts_from: variables that keep their default while another one is below what gives them an effect.
        fence: the bytes that settings may take after crashes; None while memory explains no crash.
    """

    memory: MemoryFormula | None = None
    order: tuple[AtMost, ...] = ()
    acts_from: tuple[ActsFrom, ...] = ()
    fence: float | None = None

    @property
    def limit(self) -> float | None:
        """The bytes that a setting may take; None for no limit."""
        if self.memory is None:
            return None
        return self.memory.limit if self.fence is None else min(self.memory.limit, self.fence)

    def repaired(self, space: Space, setting: Setting) -> dict[str, Value]:
        """Return the setting, with variables that need too much memory half-way back to their default until it fits.

        Half-way is on the axis of the search, so on a log scale where the range has one. A variable that exceeds the limit that
        another one sets gets the highest value within it; where that fails, both return to their defaults. A variable without
        effect beside the others returns to its default.
        """
        point = space.point(setting)
        default = space.default_point
        if self.memory is not None and self.limit is not None:
            takes = [index for index, one in enumerate(space.dimensions) if self.memory.factors.get(one.name, 0) > 0]
            for halving in range(_HALVINGS):
                values = {**space.defaults, **space.setting(point)}
                if self.memory.needed(values) <= self.limit:
                    break
                for index in takes:
                    above = as_size(values[space.dimensions[index].name]) > as_size(
                        space.defaults[space.dimensions[index].name]
                    )
                    if above and (point[index] >= 2 or default[index] >= 2 or halving == _HALVINGS - 1):
                        point[index] = default[index]
                    elif above:
                        point[index] = (point[index] + default[index]) / 2
        fitting = space.setting(point)
        for acts in self.acts_from:
            if acts.name in fitting and as_size({**space.defaults, **fitting}[acts.other]) < acts.least:
                fitting.pop(acts.name)
        for rule in self.order:
            values = {**space.defaults, **fitting}
            if rule.lower in space.defaults and _exceeds(rule, values):
                bound = space.dimensions[[one.name for one in space.dimensions].index(rule.lower)]
                highest = rule.share * float(as_number(values[rule.upper]) or 0.0)
                fitting[rule.lower] = bound.value(bound.position(min(highest, bound.high)))
                if _exceeds(rule, {**values, **fitting}):  # rounded up, or the range begins above
                    fitting.pop(rule.lower)
                    fitting.pop(rule.upper, None)
        return {name: value for name, value in fitting.items() if value != space.defaults[name]}

    def needed(self, space: Space, points: _Array) -> _Array:
        """Return the memory, in bytes, that each point needs by the formula; 0 where memory is not limited."""
        if self.memory is None:
            return np.zeros(len(points))
        total = np.full(len(points), float(self.memory.constant))
        for index, dimension in enumerate(space.dimensions):
            if factor := self.memory.factors.get(dimension.name):
                total += factor * np.maximum(space.numbers(points, index), 0.0)
        return total

    def fitted(self, space: Space, points: _Array) -> _Array:
        """Return the points, those that need too much memory with variables moved half-way back to their default.

        Up to six times, so that some may still need too much. It is fast for many points, which `repaired` is not.
        """
        limit, default = self.limit, space.default_point
        if limit is None or self.memory is None:
            return points
        points = points.copy()
        factors = self.memory.factors
        takes = [i for i, one in enumerate(space.dimensions) if factors.get(one.name, 0) > 0 and default[i] < CATEGORY]
        for _ in range(_HALVINGS_OF_MANY):
            beyond = self.needed(space, points) > limit
            if not beyond.any():
                break
            for index in takes:
                value, usual = space.numbers(points, index), space.numbers(default[None, :], index)[0]
                move = beyond & (value > usual)
                points[move, index] = (points[move, index] + default[index]) / 2
        return points

    def after_crash(self, space: Space, setting: Setting, ran: float) -> Constraints:
        """Return the constraints after a setting crashed.

        The fence moves a quarter of the way from what crashed to the most that ran, and by 2 % at least. It stays where it is
        if some other setting took as much memory and ran: then memory does not explain the crash.

        `ran` is the most memory that a setting took by the formula and ran, in bytes.
        """
        if self.memory is None:
            return self
        needed = self.memory.needed({**space.defaults, **setting})
        if needed <= ran:
            return self
        below = max(min(_BELOW_A_CRASH * needed, needed - _RETREAT * (needed - ran)), ran)
        return replace(self, fence=below if self.fence is None else min(self.fence, below))


def _exceeds(rule: AtMost, values: Mapping[str, Value]) -> bool:
    lower, upper = as_number(values.get(rule.lower, 0)), as_number(values.get(rule.upper, 0))
    return lower is not None and upper is not None and lower > rule.share * upper
