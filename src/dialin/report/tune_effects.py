"""What the variables of a tune were shown to do: only where an interval says so, with values as good as the best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import ndtri

from dialin.measures.table import Measure
from dialin.model.dimension import CATEGORY, Dimension
from dialin.model.setting import same_value
from dialin.model.study import StudySpec
from dialin.model.verdict import ResponsePoint, TunedVariable, TuneFindings
from dialin.sentences.changes import change_with_interval
from dialin.sentences.tune_words import value_text
from dialin.text import change

_DEVIATES = 1.96
"""Half of an interval of a response, in standard deviations."""
_ALIKE = 0.01
"""Values whose expected measure is within this share of the best one are as good as that."""
_FEWEST = 3
"""A plateau has at least this many of the values at which a response is known."""


@dataclass(frozen=True, slots=True)
class ShownEffect:
    """A variable that was shown to matter.

    Attributes:
        point: the value with the largest change that is shown, against the baseline's value.
        values: the values that are as good as the best one, in words.
    """

    variable: TunedVariable
    point: ResponsePoint
    values: str

    @property
    def text(self) -> str:
        """The effect: `innodb_io_capacity +12.0 % (+8.0 to +16.0 %) with 4000; any value from 2000 on`."""
        values = f"; {self.values}" if self.values else ""
        with_value = value_text(self.variable.name, self.point.value)
        return f"{self.variable.name} {change_with_interval(self.point.ratio)} with {with_value}{values}"


def shown_effects(findings: TuneFindings, spec: StudySpec, aim: Measure) -> list[ShownEffect]:
    """Return the variables that were shown to matter, those that are recommended first, then the strongest.

    An effect is shown where its interval excludes none, at the level that holds for all variables together (Bonferroni).
    """
    axes = spec.tuned
    stricter = float(ndtri(1 - 0.025 / max(1, len(findings.variables)))) / _DEVIATES
    effects = []
    for one in findings.variables:
        shown = [point for point in one.response if _is_shown(point, stricter)]
        if shown and one.name in axes:
            point = max(shown, key=lambda point: abs(math.log(point.ratio.mean)))
            effects.append(ShownEffect(one, point, _plateau(one, axes[one.name], aim)))
    return sorted(effects, key=lambda one: (one.variable.recommended is None, -abs(math.log(one.point.ratio.mean))))


def _is_shown(point: ResponsePoint, stricter: float) -> bool:
    ratio = point.ratio
    if ratio.low is None or ratio.high is None or min(ratio.low, ratio.mean) <= 0:
        return False
    level = math.log(ratio.mean)
    half = level - math.log(ratio.low) if level > 0 else math.log(ratio.high) - level
    return abs(level) > stricter * half > 0


def _plateau(one: TunedVariable, axis: Dimension, aim: Measure) -> str:
    """Return the values of a range that are as good as the best, in words; empty where few are, or the best is no number."""
    best = (max if aim.higher_is_better else min)(one.response, key=lambda point: point.ratio.mean)
    ranged = sorted((axis.position(point.value), point) for point in one.response if axis.position(point.value) < CATEGORY)
    points = [point for _, point in ranged]
    if best not in points:
        return ""
    alike = [abs(math.log(point.ratio.mean / best.ratio.mean)) <= math.log1p(_ALIKE) for point in points]
    first = last = points.index(best)
    while first > 0 and alike[first - 1]:
        first -= 1
    while last < len(points) - 1 and alike[last + 1]:
        last += 1
    if last - first + 1 < _FEWEST:
        return ""
    low, high = (value_text(one.name, points[place].value) for place in (first, last))
    if first == 0:
        return "" if last == len(points) - 1 else f"any value up to {high}"
    return f"any value from {low} on" if last == len(points) - 1 else f"any value from {low} to {high}"


def hull(response: Sequence[ResponsePoint], before: object) -> str:
    """Return between which changes all intervals of a variable lie, apart from its baseline value's; empty without any."""
    others = [point.ratio for point in response if not same_value(point.value, before)]  # type: ignore[arg-type]
    lows, highs = [one.low for one in others if one.low is not None], [one.high for one in others if one.high is not None]
    return f"{change(min(lows))} to {change(max(highs))}" if lows and highs else ""


_NAMED = 3
"""The variables that a sentence names."""


def shown_text(effects: Sequence[ShownEffect], variables: int) -> str:
    """Return which variables were shown to matter, in a sentence."""
    if not effects:
        return "No variable was shown to matter." if variables > 1 else "It was not shown to matter."
    named = "; ".join(one.text for one in effects[:_NAMED])
    more = f"; and {len(effects) - _NAMED} more" if len(effects) > _NAMED else ""
    return f"Shown to matter, by the model of all trials: {named}{more}."
