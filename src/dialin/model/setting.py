"""A setting: server variables with values, in the server's own spelling.

A value is stored as the user wrote it (`1G` stays `1G`); `same_value` compares it with the effective one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

Value = int | float | str
"""One value of a variable: a number where it is written as one, else text."""

Setting = Mapping[str, Value]
"""Variables with values, e.g. `{"innodb_buffer_pool_instances": 8}`."""

_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?")
_DIGITS = re.compile(r"[0-9]{1,18}")
_INTEGER = re.compile(r"[+-]?\d{1,300}")
_DECIMAL = re.compile(r"[+-]?\d*\.\d+([eE][+-]?\d+)?")
_SIZE = re.compile(r"([+-]?\d{1,250})([kmgtpe])", re.IGNORECASE)
_FACTOR = {letter: 1024**power for power, letter in enumerate("kmgtpe", start=1)}
_ON = {"on", "true", "yes", "1"}
_OFF = {"off", "false", "no", "0"}


def canonical_name(text: str) -> str:
    """Return a variable's name in the server's spelling: lower case, underscores for the dashes that option files allow.

    Raises:
        ValueError: the text cannot be the name of a server variable; such text never reaches SQL or an option file.
    """
    name = text.strip().lower().replace("-", "_")
    if not _NAME.fullmatch(name):
        raise ValueError(f"{text!r} cannot be the name of a server variable")
    return name


def parse_value(text: str) -> Value:
    """Return a value as it is written: an int or a float where the text is one, else the text itself (`1G`, `ON`).

    A number that no float can hold is text: no server has a variable for it.
    """
    text = text.strip()
    if _INTEGER.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text


def whole_number(text: str) -> int | None:
    """Return a text of at most 18 digits as a number; None for any other, such as one that Python does not convert."""
    return int(text) if _DIGITS.fullmatch(text) else None


def as_number(value: Value) -> int | float | None:
    """Return a value as a number, with the server's size letters K to E understood, or None where it is not one."""
    if isinstance(value, (int, float)):
        return value
    if match := _SIZE.fullmatch(value.strip()):
        factor: int = _FACTOR[match[2].lower()]
        return int(match[1]) * factor
    number = parse_value(value)
    return None if isinstance(number, str) else number


def same_value(requested: Value, in_force: Value) -> bool:
    """Return whether two values mean the same to a server: `1G` and 1073741824, `ON` and 1, lists in another order."""
    left, right = as_number(requested), as_number(in_force)
    if left is not None and right is not None:
        return left == right
    a, b = str(requested).strip().lower(), str(in_force).strip().lower()
    if a == b or (a in _ON and b in _ON) or (a in _OFF and b in _OFF):
        return True
    return "," in a and sorted(filter(None, a.split(","))) == sorted(filter(None, b.split(",")))


def is_one_of(value: Value, values: Iterable[Value]) -> bool:
    """Return whether a value means the same to a server as one of the values."""
    return any(same_value(value, one) for one in values)


def means_on(value: object) -> bool:
    """Return whether a value of a switch means ON: 1, TRUE and YES do, too, in any case."""
    return str(value).strip().lower() in _ON


def means_off(value: object) -> bool:
    return str(value).strip().lower() in _OFF


def same_setting(one: Setting, other: Setting) -> bool:
    """Return whether two settings set the same variables, each to the same value."""
    return one.keys() == other.keys() and all(same_value(value, other[name]) for name, value in one.items())


def describe(setting: Setting) -> str:
    """Return a setting in one line, `name=value` parts in the order given; `as it is` for the empty one."""
    return ", ".join(f"{name}={value}" for name, value in setting.items()) or "as it is"


def combination_name(setting: Setting) -> str:
    """Return the name of a sweep's candidate: the value alone where one variable is swept."""
    if len(setting) == 1:
        return str(next(iter(setting.values())))
    return " ".join(f"{key}={value}" for key, value in setting.items())


def share_of(text: str) -> float:
    """Read a share: `20%`, `20 %` and `0.2` are the same; raise ValueError for other text."""
    stripped = text.strip()
    try:
        return float(stripped.removesuffix("%")) / 100 if stripped.endswith("%") else float(stripped)
    except ValueError:
        raise ValueError("is not a share such as 20% or 0.2") from None


def changed(setting: Setting, base: Setting) -> dict[str, Value]:
    """Return the variables of a setting whose values differ from those of `base`, or that `base` lacks."""
    return {name: value for name, value in setting.items() if name not in base or not same_value(value, base[name])}
