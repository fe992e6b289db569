"""The study file: TOML with the same names as the command line's options; data, never code."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from dialin.errors import UserError, together
from dialin.model.option_types import kebab
from dialin.paths import read_toml
from dialin.question.conflicts import ConflictError
from dialin.question.options import StudyOptions


def read(path: Path) -> StudyOptions:
    """Read a study file.

    Raises:
        UserError: it cannot be read, is not TOML, or has mistakes: one line that names each key, what is wrong, and the
            nearest right spelling.
    """
    return question(read_keys(path), where=str(path))


def read_keys(path: Path) -> dict[str, Any]:
    """Return the keys of a study file as they are written.

    Raises:
        UserError: it cannot be read, or is not TOML.
    """
    return read_toml(path, "See docs/study-file.md", "Name a study file (TOML)")


def in_file(key: str) -> str:
    """Return a key as a study file has it, with its value where that follows after a space."""
    name, _, value = key.partition(" ")
    return f'{name} = "{value}"' if value else repr(name)


def question(
    data: Mapping[str, Any],
    *,
    where: str = "",
    spelled: Callable[[str], str] = in_file,
    remedy: str = "See docs/study-file.md",
) -> StudyOptions:
    """Check the options of a study.

    Args:
        data: keys as a study file has them.
        where: the file that they come from.
        spelled: returns a key as the user wrote it; after a space it may have a value.
        remedy: the remedy that the error names.

    Raises:
        UserError: all mistakes, in one line.
    """
    try:
        return StudyOptions.model_validate(data)
    except ValidationError as error:
        found = mistakes(error, spelled, remedy)
        raise together(list(found.values()), f"{where}: " if where else "") from None


def mistakes(
    error: ValidationError, spelled: Callable[[str], str] = in_file, remedy: str = "See docs/study-file.md"
) -> dict[str, UserError]:
    """Return each mistake in the options of a study by its key; what is wrong with them together has an empty key."""
    found: dict[str, UserError] = {}
    for one in error.errors(include_url=False):
        # A value of several allowed types is reported once for each; the key is the part before the type's name.
        key = ".".join(str(part) for part in one["loc"][:2] if not re.search(r"[\[( ]|^(str|int|float|bool)$", str(part)))
        found.setdefault(key, _mistake(one, key, spelled, remedy))
    return found


def _mistake(error: ErrorDetails, key: str, spelled: Callable[[str], str], remedy: str) -> UserError:
    keys_known = [kebab(name) for name in StudyOptions.model_fields]
    if error["type"] == "extra_forbidden":
        near = difflib.get_close_matches(kebab(key), keys_known, n=1, cutoff=0.5)
        hint = f"Did you mean {near[0]!r}?" if near else f"The keys are {', '.join(keys_known)}"
        return UserError(f"unknown key {key!r}", hint)
    if isinstance(conflict := error.get("ctx", {}).get("error"), ConflictError):
        return conflict.told(spelled)
    text = plain(error)
    value = error.get("input")
    shown = f" (given: {value!r})" if isinstance(value, (str, int, float)) and repr(value) not in text else ""
    subject = f"{spelled(key)}: " if key else ""
    return UserError(f"{subject}{text[:1].lower()}{text[1:]}{shown}", remedy)


_PLAIN = {
    "missing": "is missing",
    "extra_forbidden": "is unknown",
    "greater_than": "must be greater than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than_equal": "must be at most {le:g}",
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "dict_type": "must be a table of names with values",
    "list_type": "must be a list",
    "too_short": "must have at least {min_length}",
    "too_long": "must have at most {max_length}",
    "model_type": "must be a table",
    "tuple_type": "must be a list",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
}
"""What is wrong, by pydantic's code."""

_KINDS = {"int": "must be a whole number", "float": "must be a number", "bool": "must be true or false"}


def plain(error: ErrorDetails) -> str:
    """Return what is wrong with a value, in words that follow its key."""
    code = error["type"]
    if code == "value_error":
        return error["msg"].removeprefix("Value error, ")
    text = _PLAIN.get(code) or _KINDS.get(code.partition("_")[0], "is not of the right kind")
    return text.format(**error.get("ctx", {}))
