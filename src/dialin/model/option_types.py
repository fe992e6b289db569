"""The types of options: how their keys are spelled, values that people write in several ways, and where `--help` shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, WithJsonSchema

from dialin.model.setting import as_number, share_of


@dataclass(frozen=True, slots=True)
class Panel:
    """The group of options in which `--help` shows an option; put into the annotation of its field."""

    title: str


LOAD, METHOD, WHY, MACHINE = Panel("Load"), Panel("Method"), Panel("Why"), Panel("Machine")
ATTACHED = Panel("Attached server")
LIVE = Panel("Live traffic")
FILES = Panel("Option files")


def kebab(name: str) -> str:
    """Return a name as keys and options spell it, with dashes."""
    return name.replace("_", "-")


def as_share(value: object) -> object:
    """Read a share as people write it: `20%` and 0.2 are the same."""
    return share_of(value) if isinstance(value, str) else value


def whole_numbers(value: object) -> object:
    """Read one or several whole numbers as people write them: `1,4,16`, 16 and [1, 4, 16]."""
    if isinstance(value, str):
        try:
            return [int(part) for part in value.split(",")]
        except ValueError:
            raise ValueError("is not a whole number, or several such as 1,4,16") from None
    return [value] if isinstance(value, int) and not isinstance(value, bool) else value


def as_list(value: object) -> object:
    """Read a list as people write it: `a,b` and ["a", "b"] are the same."""
    return [part.strip() for part in value.split(",")] if isinstance(value, str) else value


def sizes(value: object) -> object:
    """Read one or several sizes in bytes as people write them: `1G,2G`, 1073741824 and ["1G", "2G"]."""
    parts = as_list(value)
    numbers = [
        as_number(part) if isinstance(part, str) else part for part in (parts if isinstance(parts, (list, tuple)) else [parts])
    ]
    if not numbers or not all(isinstance(number, int) and number > 0 for number in numbers):
        raise ValueError("is not a size such as 2G, or several such as 1G,2G,4G")
    return numbers


_SHARE = {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "string", "pattern": r"^\s*[0-9.]+\s*%?\s*$"}]}
Fraction = Annotated[float, BeforeValidator(as_share), WithJsonSchema(_SHARE)]
_TEXT, _COUNT = {"type": "string"}, {"type": "integer", "minimum": 1}
_TEXTS = {"anyOf": [{"type": "array", "items": {"type": "string"}}, _TEXT]}
_SIZES = {"anyOf": [_COUNT, {"type": "array", "items": {"type": ["integer", "string"]}}, _TEXT]}
_COUNTS = {"anyOf": [_COUNT, {"type": "array", "items": {"type": "integer"}}, _TEXT]}
Addresses = Annotated[tuple[str, ...], BeforeValidator(as_list), WithJsonSchema(_TEXTS)]
Sizes = Annotated[tuple[int, ...], BeforeValidator(sizes), WithJsonSchema(_SIZES)]
Threads = Annotated[tuple[int, ...], BeforeValidator(whole_numbers), WithJsonSchema(_COUNTS)]
