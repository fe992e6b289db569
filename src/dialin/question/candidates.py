"""The candidates of a requested comparison, and their baseline."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from dialin.errors import UserError
from dialin.model.setting import Value, as_number, canonical_name, combination_name, parse_value, same_value
from dialin.model.study import MAX_CANDIDATES, Candidate
from dialin.text import command_line

Variables = dict[str, Value]


def candidates_of(
    settings: Sequence[tuple[str, Variables]], servers: Sequence[str], memory: Sequence[int] = ()
) -> list[Candidate]:
    """Return each setting on each build; `memory` holds the limit of each setting's container, where limits are compared.

    Raises:
        UserError: fewer than two, or more than dialin compares at once.
    """
    candidates = []
    limits: Sequence[int | None] = memory or [None] * len(settings)
    for ((name, setting), limit), server in itertools.product(zip(settings, limits, strict=True), servers):
        on = server if len(servers) > 1 else ""
        candidates.append(Candidate(name=" on ".join(filter(None, (name, on))), setting=setting, server=server, memory=limit))
    if len(candidates) < 2:
        raise UserError("There is only one candidate", "Give at least two values, option files or builds to compare")
    _check_count(len(candidates))
    return candidates


def _check_count(candidates: int) -> None:
    if candidates > MAX_CANDIDATES:
        raise UserError(f"There are {candidates:,} candidates", f"Compare at most {MAX_CANDIDATES} at once")


def find_baseline(named: str, candidates: Sequence[Candidate]) -> str:
    """Return the candidate that `--baseline` names: by its name, by `variable=value`, or by the value alone.

    Raises:
        UserError: there is none, or several.
    """
    for candidate in candidates:
        if candidate.name == named:
            return named
    value = parse_value(named.rpartition("=")[2])
    matching = [
        candidate.name
        for candidate in candidates
        if len(candidate.setting) == 1 and same_value(value, next(iter(candidate.setting.values())))
    ]
    if len(matching) == 1:
        return matching[0]
    raise UserError(f"The baseline {named!r} is not one of the candidates", f"They are {', '.join(c.name for c in candidates)}")


def sweep_settings(sweep: Mapping[str, Sequence[Value]], *, least: int = 2) -> list[tuple[str, Variables]]:
    """Return every combination of the values; a single variable's candidates are named by the value alone.

    Raises:
        UserError: a variable has fewer values than `least`, or the same value twice, or a name that no variable can have, or
            there are more combinations than dialin compares at once.
    """
    variables = {_name(name): list(values) for name, values in sweep.items()}
    _check_count(math.prod(map(len, variables.values())))  # before any is made: there may be more than memory holds
    for name, values in variables.items():
        if not values:
            raise UserError(f"{name} has no value", f"Give at least two, such as {name}=1,4")
        if is_range(values[-1]):
            raise UserError(
                f"{name}={values[-1]} is a range, and a sweep compares single values",
                f"Search the range: {command_line('dialin tune', f'{name}={values[-1]}')}; or list values, such as {name}=1,4",
            )
        if len(values) < least:
            raise UserError(f"{name} has only one value", f"Give at least two, such as {name}=1,4")
        for a, b in itertools.combinations(values, 2):
            if same_value(a, b):
                raise UserError(f"{name} has the same value twice: {a} and {b}", "Remove one of them")
    settings = []
    for combination in itertools.product(*variables.values()):
        setting = dict(zip(variables, combination, strict=True))
        settings.append((combination_name(setting), setting))
    return settings


def is_range(value: Value) -> bool:
    """Return whether a value is a range, such as `1..9` or `64M..8G`, which only a tune takes."""
    low, dots, high = str(value).partition("..")
    return bool(dots) and as_number(parse_value(low)) is not None and as_number(parse_value(high)) is not None


def option_file_names(written: Sequence[str]) -> list[str]:
    """Return the candidates' names for option files as the user wrote them: a file's own name where no other has it."""
    short = [Path(text).name for text in written]
    names: list[str] = []
    for text, name in zip(written, short, strict=True):
        label = name if short.count(name) == 1 else text
        names.append(label if label not in names else f"{label} ({names.count(label) + 1})")
    return names


def canonical(setting: Mapping[str, Value]) -> Variables:
    """Return a setting with its variables in the server's spelling.

    Raises:
        UserError: one has a name that no variable can have.
    """
    return {_name(name): value for name, value in setting.items()}


def _name(text: str) -> str:
    try:
        return canonical_name(text)
    except ValueError as error:
        raise UserError(str(error), "Write it in the server's spelling, such as innodb_buffer_pool_size") from None
