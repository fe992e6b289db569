"""The values that an experiment compares with the one in force."""

from __future__ import annotations

from collections.abc import Callable

from dialin.model.setting import Value, as_number, is_one_of, same_value
from dialin.search.ranges import VariableFacts

Values = Callable[[VariableFacts], list[Value]]
"""Returns the values to try of a variable; none where none makes sense on this machine."""

NOTICEABLE = 1.1
"""Two numbers whose ratio is below this are too close for an experiment."""


def larger(*times: float) -> Values:
    """Return multiples of the value in force, within what the server takes and what makes sense on the machine."""

    def values(facts: VariableFacts) -> list[Value]:
        now = as_number(facts.default)
        if now is None or now <= 0:
            return []
        most = min((limit for limit in (facts.highest, facts.maximum) if limit is not None), default=float("inf"))
        tried: list[Value] = []
        for factor in times:
            number = rounded(min(now * factor, most), facts.step)
            if number > NOTICEABLE * now and number not in tried:
                tried.append(number)
        return tried

    return values


def smaller(*parts: float) -> Values:
    """Return fractions of the value in force, within what the server takes."""

    def values(facts: VariableFacts) -> list[Value]:
        now = as_number(facts.default)
        if now is None or now <= 0:
            return []
        numbers = (rounded(max(now * part, facts.minimum or 0.0), facts.step) for part in parts)
        return list(dict.fromkeys(number for number in numbers if 0 < number * NOTICEABLE < now))

    return values


def fixed(*wanted: Value) -> Values:
    """Return those of these values that the server takes and that are not in force."""

    def values(facts: VariableFacts) -> list[Value]:
        return [value for value in wanted if not same_value(value, facts.default) and _is_taken(facts, value)]

    return values


def recommended(facts: VariableFacts) -> list[Value]:
    """Return what the rule of thumb of the variable recommends."""
    return [] if facts.rule is None or same_value(facts.rule, facts.default) else [facts.rule]


def and_recommended(first: Values) -> Values:
    """Return the values of `first`, and what the rule of thumb of the variable recommends beyond the value in force."""

    def values(facts: VariableFacts) -> list[Value]:
        rule, now = as_number(facts.rule) if facts.rule is not None else None, as_number(facts.default)
        more = [rule] if rule is not None and now is not None and rule > NOTICEABLE * now else []
        return sorted({*first(facts), *more}, key=lambda value: float(as_number(value) or 0))

    return values


def rounded(value: float, step: float) -> int | float:
    """Return a number rounded down to a multiple of the step, but at least one step; an int where that is whole."""
    number = max(value // step, 1.0) * step if step else value
    return int(number) if float(number).is_integer() else number


def _is_taken(facts: VariableFacts, value: Value) -> bool:
    number = as_number(value)
    if number is not None:
        is_high_enough = facts.minimum is None or number >= facts.minimum
        return is_high_enough and (facts.maximum is None or number <= facts.maximum)
    return not facts.choices or is_one_of(value, facts.choices)
