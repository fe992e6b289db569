"""Output of SHOW [GLOBAL] VARIABLES, as the client prints it: with tabs or spaces, as a table, or row below row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress

from dialin.model.setting import Value, canonical_name, parse_value

_PAIR = re.compile(r"([a-z][a-z0-9_.]*)(?:[ \t]+(.*))?")
_ROW = re.compile(r"\|\s*([\w.]+)\s*\|(.*)\|")
_VERTICAL_NAME = re.compile(r"\s*Variable_name:\s*([\w.]+)\s*")
_VERTICAL_VALUE = re.compile(r"\s*Value:(.*)")
_ASSIGNMENT = re.compile(r"\[|\s*[\w-]+\s*=")
_HEADER = "variable_name"
_LEAST = 3
"""Fewer lines are no listing."""

_ESCAPE = re.compile(r"\\([nt0\\])")
_ESCAPED = {"n": "\n", "t": "\t", "0": "\0", "\\": "\\"}


def read(content: str) -> dict[str, Value] | None:
    """Return the variables of a listing with their values; None where the text is none."""
    lines = [line.rstrip() for line in content.splitlines() if line.strip()]
    pairs = _vertical(lines) or _table(lines) or _columns(lines)
    if len(pairs) < _LEAST:
        return None
    return dict(_variables(pairs)) or None


def _variables(pairs: list[tuple[str, str]]) -> Iterator[tuple[str, Value]]:
    for name, value in pairs:
        with suppress(ValueError):  # what cannot be a variable, such as a row of another table
            if (variable := canonical_name(name)) != _HEADER:
                yield variable, parse_value(value)


def _vertical(lines: list[str]) -> list[tuple[str, str]]:
    pairs, name = [], ""
    for line in lines:
        if match := _VERTICAL_NAME.fullmatch(line):
            name = match[1]
        elif name and (match := _VERTICAL_VALUE.fullmatch(line)):
            pairs.append((name, match[1].strip()))
            name = ""
    return pairs


def _table(lines: list[str]) -> list[tuple[str, str]]:
    return [(match[1], match[2].strip()) for line in lines if (match := _ROW.fullmatch(line.strip()))]


def _columns(lines: list[str]) -> list[tuple[str, str]]:
    """Return name and value of lines such as `back_log 80`; none where any line is an assignment or a group."""
    if any(_ASSIGNMENT.match(line) for line in lines):
        return []
    pairs = [match.groups(default="") for line in lines if (match := _PAIR.fullmatch(line) or _HEADED.fullmatch(line))]
    if len(pairs) < len(lines):
        return []
    return [(name, _ESCAPE.sub(lambda found: _ESCAPED[found[1]], value.strip())) for name, value in pairs]


_HEADED = re.compile(r"(Variable_name)[ \t]+(Value)")
