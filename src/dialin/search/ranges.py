"""The axis of a variable, from what the user asks for (`innodb_io_capacity=200..20000`, a list, or a name) and its facts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dialin.errors import UserError
from dialin.model.dimension import Dimension
from dialin.model.setting import Value, as_number, canonical_name, is_one_of, parse_value
from dialin.search.space import is_log_range

_SPAN = 16
"""A range that is neither requested nor known goes from a sixteenth of the default to sixteen times the default."""


@dataclass(frozen=True, slots=True)
class RequestedVariable:
    """A variable as a user named it; without `values` and limits its range is that of the catalogue, cut by rules."""

    name: str
    low: Value | None = None
    high: Value | None = None
    values: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class VariableFacts:
    """What is known of a variable on one build and one machine.

    Attributes:
        default: the baseline's value.
        static: whether a change needs a restart of the server.
        minimum: the lowest number that the server takes; None where it is not known, or the variable takes none.
        maximum: the highest one.
        step: what a number is rounded to a multiple of; 0 for fractions.
        multiple: what the server rounds numbers that are not below it up to a multiple of; 0 for nothing.
        choices: the words that it takes.
        special: numbers or words outside of the range's order, e.g. 0 for "the server decides".
        lowest: the lowest value that makes sense on this machine, by a rule; None for no rule.
        highest: the highest one, by memory, CPUs, data or disk.
        rule: what a rule of thumb recommends; None for no rule.
        source: where the rules are from.
        limits: what `lowest` and `highest` follow from, in words; empty for `source`.
    """

    name: str
    default: Value
    static: bool
    minimum: float | None = None
    maximum: float | None = None
    step: float = 1
    multiple: float = 0
    choices: tuple[Value, ...] = ()
    special: tuple[Value, ...] = ()
    lowest: float | None = None
    highest: float | None = None
    rule: Value | None = None
    source: str = ""
    limits: str = ""


def parse_requested(text: str) -> RequestedVariable:
    """Read `NAME`, `NAME=LOW..HIGH` or `NAME=VALUE,VALUE`.

    Raises:
        UserError: the text is none of these, or the ends of a range are not two numbers in ascending order.
    """
    name, given, values = text.partition("=")
    try:
        name = canonical_name(name)
    except ValueError as error:
        raise UserError(str(error), "Name a variable, e.g. innodb_io_capacity=200..20000") from error
    if not given:
        return RequestedVariable(name)
    if ".." in values:
        first, _, last = values.partition("..")
        low, high = parse_value(first), parse_value(last)
        lowest, highest = as_number(low), as_number(high)
        if lowest is None or highest is None or lowest >= highest:
            raise UserError(f"{text}: {values} is not a range", "A range is LOW..HIGH, two numbers, e.g. 64M..8G")
        return RequestedVariable(name, low, high)
    listed = tuple(parse_value(value) for value in values.split(","))
    if "" in listed or len(listed) < 2:
        raise UserError(f"{text}: a list takes at least two values", "A list is VALUE,VALUE, a range is LOW..HIGH")
    return RequestedVariable(name, values=listed)


def make_dimension(facts: VariableFacts, requested: RequestedVariable | None = None) -> Dimension:
    """Return the axis of a variable, with the reason for its range.

    Raises:
        UserError: the variable takes no range, no range is known, or the server accepts no value of the range.
    """
    if requested is not None and requested.values:
        return _listed(facts, requested.values, "listed")
    if facts.choices:
        if requested is not None and requested.low is not None:
            some = ",".join(map(str, facts.choices[:2]))
            raise UserError(f"{facts.name} takes words, not a range", f"List them: {facts.name}={some}")
        return _listed(facts, facts.choices, facts.limits or "all values that the server takes")
    low, high, reason = _range(facts, requested)
    step, rule = facts.step, facts.rule
    if 0 < facts.multiple <= low:
        high = high if requested is not None and requested.high is not None else _rounded_up(high, facts.multiple)
        if _rounded_up(low, facts.multiple) + facts.multiple <= high:
            step = facts.multiple
            number = None if rule is None else as_number(rule)
            rule = rule if number is None else int(_rounded_up(number, step))
    if not low < high:
        limits = (requested.low, requested.high) if requested is not None and requested.low is not None else (low, high)
        raise UserError(f"{facts.name}: the server accepts no range within {limits[0]} to {limits[1]}", "Name another range")
    special = tuple(value for value in facts.special if not _within(value, low, high))
    default = as_number(facts.default)
    inside = default is not None and low <= default <= high
    if not inside and not is_one_of(facts.default, special):
        special = (*special, facts.default)  # the baseline's value is always a choice
    rule = rule if rule is None or _within(rule, low, high) or rule in special else None
    return Dimension(
        facts.name,
        low,
        high,
        log=is_log_range(low, high),
        step=step,
        special=special,
        static=facts.static,
        default=facts.default,
        rule=rule,
        source=facts.source if rule is not None else "",
        reason=reason,
    )


def _range(facts: VariableFacts, requested: RequestedVariable | None) -> tuple[float, float, str]:
    least = facts.minimum if facts.minimum is not None else float("-inf")
    most = facts.maximum if facts.maximum is not None else float("inf")
    if requested is not None and requested.low is not None and requested.high is not None:
        low, high = float(as_number(requested.low) or 0), float(as_number(requested.high) or 0)
        return max(low, least), min(high, most), "range as requested"
    default = as_number(facts.default)
    if default is None or default <= 0:
        if facts.lowest is None or facts.highest is None:
            raise UserError(f"No range is known for {facts.name}", f"Name one: {facts.name}=LOW..HIGH")
        return max(facts.lowest, least), min(facts.highest, most), facts.limits or f"rule: {facts.source}"
    low = facts.lowest if facts.lowest is not None else default / _SPAN
    high = facts.highest if facts.highest is not None else default * _SPAN
    ruled = facts.lowest is not None or facts.highest is not None
    reason = (facts.limits or f"rule: {facts.source}") if ruled else f"a sixteenth of the default to {_SPAN} times it"
    return max(low, least), min(high, most), reason


def _listed(facts: VariableFacts, values: tuple[Value, ...], reason: str) -> Dimension:
    if not is_one_of(facts.default, values):
        values = (facts.default, *values)
    rule = facts.rule if facts.rule is not None and is_one_of(facts.rule, values) else None
    return Dimension(
        facts.name, values=values, static=facts.static, default=facts.default, rule=rule, source=facts.source, reason=reason
    )


def _rounded_up(number: float, multiple: float) -> float:
    return math.ceil(number / multiple) * multiple


def _within(value: Value, low: float, high: float) -> bool:
    number = as_number(value)
    return number is not None and low <= number <= high
