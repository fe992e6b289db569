"""How many columns a statement asks for, so that an answer with others is recognized before anything is read from it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

_SHOW = (
    (re.compile(r"SHOW (GLOBAL |SESSION )?(VARIABLES|STATUS)\b"), 2, 2),
    (re.compile(r"SHOW ENGINE\b"), 3, 3),
    (re.compile(r"SHOW PROCESSLIST\b"), 8, None),
    (re.compile(r"SHOW (REPLICA|SLAVE) STATUS\b"), 33, None),
)
"""The fewest and the most columns of the answers to SHOW, from MySQL 5.5 to 9.7 and MariaDB 10.1 to 11.4."""

_PART = re.compile(r"'(?:[^'\\]|\\.|'')*'|`[^`]*`|[(),*]|\w+", re.DOTALL)


def has_asked_columns(statement: str, columns: int) -> bool:
    """Return whether an answer with that many columns can be the answer to one of dialin's statements."""
    fewest, most = asked_columns(statement)
    return columns >= fewest and (most is None or columns <= most)


@functools.lru_cache(maxsize=512)
def asked_columns(statement: str) -> tuple[int, int | None]:
    """Return the fewest and the most columns of the answer to one of dialin's statements; None for no limit."""
    text = statement.strip()
    for pattern, fewest, most in _SHOW:
        if pattern.match(text):
            return fewest, most
    columns = _selected(part[0] for part in _PART.finditer(text, 6)) if re.match(r"SELECT\b", text) else 0
    return columns, columns or None


def _selected(parts: Iterator[str]) -> int:
    """Return the number of columns between SELECT and FROM; 0 where one of them is `*`."""
    depth, columns, before = 0, 1, ","
    for part in parts:
        word = part.upper()
        if part == "(":
            depth += 1
        elif part == ")":
            depth -= 1
        elif depth == 0 and word in ("FROM", "WHERE", "UNION", "INTO", "LIMIT"):
            break
        elif depth == 0 and part == "*" and before == ",":
            return 0
        elif depth == 0 and part == ",":
            columns += 1
        before = part
    return columns
