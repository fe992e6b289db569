"""Reads values from a server's answer. A server may send anything: what makes no sense is an error of the server."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dialin.errors import NoAnswerError
from dialin.model.cause import Cause, CauseCode
from dialin.text import shorten, visible

REMEDY = "Check what listens at the server's address"

_SHOWN = 60
"""Characters of a value that an error shows."""


def bad_answer(words: str) -> NoAnswerError:
    """Return the error for an answer that cannot be read; `words` say why, in a clause."""
    return NoAnswerError(Cause(CauseCode.BAD_ANSWER, {"words": words}), REMEDY)


def single(rows: Sequence[Sequence[Any]]) -> Any:
    """Return the first value of an answer that has one row.

    Raises:
        NoAnswerError: it has no row.
    """
    if not rows or not rows[0]:
        raise bad_answer("it is empty")
    return rows[0][0]


def member(values: Mapping[str, Any], name: str) -> Any:
    """Return a variable or counter that every server has.

    Raises:
        NoAnswerError: the answer lacks it.
    """
    if name not in values:
        raise bad_answer(f"it lacks {name}")
    return values[name]


def whole(value: Any) -> int:
    """Return a value of an answer as a whole number.

    Raises:
        NoAnswerError: it is none, or longer than Python reads.
    """
    try:
        return int(value)
    except (ValueError, TypeError, OverflowError):
        raise bad_answer(f"{_shown(value)} is not a whole number") from None


def number(value: Any) -> float:
    """Return a value of an answer as a finite number.

    Raises:
        NoAnswerError: it is none.
    """
    try:
        read = float(value)
    except (ValueError, TypeError, OverflowError):
        read = math.nan
    if not math.isfinite(read):
        raise bad_answer(f"{_shown(value)} is not a number")
    return read


def _shown(value: Any) -> str:
    return "NULL" if value is None else f"'{visible(shorten(str(value), _SHOWN))}'"
