"""Requested against effective values: deviations, identical candidates, and confounds.

What a server reports is not always what it has. Where the real objects were counted, the count takes precedence.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePosixPath

from dialin.model.setting import Setting, Value, as_number, same_value, whole_number
from dialin.sentences.setting_notes import (
    Automatic,
    Changed,
    Clamped,
    Confound,
    Deviation,
    InertConfound,
    NotReal,
    Refused,
    Rounded,
    WithoutEffect,
)
from dialin.variables import behaviour, pinning, rules
from dialin.variables.aliases import OPTION_OF, VARIABLE_OF, shared_name
from dialin.variables.catalogue import Catalogue, Variable

SANDBOX = "<sandbox>"
"""The placeholder for an instance's private directories when values are compared."""

FLUSH_METHOD = "innodb_flush_method"
_OPEN = {kind: f"{FLUSH_METHOD} (as the {kind} files are open)" for kind in ("data", "redo")}
"""Names for how files are really open, beside innodb_flush_method, which decides more than that."""
_OPENED_BY = {
    _OPEN["data"]: (FLUSH_METHOD, "innodb_data_file_buffering"),
    # MariaDB buffers its log where innodb_flush_log_at_trx_commit is 2, and shows that in innodb_log_file_buffering.
    _OPEN["redo"]: (FLUSH_METHOD, "innodb_log_file_buffering", "innodb_flush_log_at_trx_commit"),
}
"""Variables that decide how files are open: where one of them is under test, a difference in the open files is no confound."""

_AUTOMATIC = (0, -1)
_BLOCK = 1024


def deviations(
    requested: Setting,
    in_force: Mapping[str, str],
    catalogue: Catalogue | None = None,
    real: Mapping[str, str] | None = None,
) -> list[Deviation]:
    """Return the differences between requested and effective values.

    Args:
        requested: variables with the values requested.
        in_force: every variable that the server reported.
        catalogue: what the build reports of its variables; with it, numbers of enumerations, limits and defaults are known.
        real: by variable, what was counted of the real objects behind it.

    """
    notes: list[Deviation] = []
    for name, value in requested.items():
        reported = in_force.get(name, in_force.get(VARIABLE_OF.get(name, OPTION_OF.get(name, ""))))
        if reported is None:
            notes.append(WithoutEffect(variable=name, asked=value, in_force=None))
            continue
        if not _same(name, value, reported, catalogue):
            deviation = _deviation(name, value, reported, catalogue)
            notes.append(deviation(variable=name, asked=value, in_force=reported))
        count = (real or {}).get(name)
        if count is not None and not _agrees(name, reported, count):
            notes.append(NotReal(variable=name, asked=value, in_force=reported, real=count))
    return notes


def _agrees(name: str, reported: str, real: str) -> bool:
    """Return whether the count of the real objects agrees with what the server reports."""
    if name == FLUSH_METHOD:
        if "dsync" in reported.lower():  # with O_DIRECT on MariaDB from 10.6 on, without it on earlier servers: both agree
            return True
        direct = "direct" in reported.lower()
        counted = real.partition(",")[0].removeprefix("data ")
        return (counted == "O_DIRECT") is direct
    return same_value(reported, real)


def actual_values(
    in_force: Mapping[str, Mapping[str, str]], real: Mapping[str, Mapping[str, str]]
) -> dict[str, dict[str, str]]:
    """Return the values in force by candidate; a count of real objects takes precedence over what is reported."""
    counts = {name: _each_file(real.get(name, {})) for name in in_force}
    counted = set.intersection(*map(set, counts.values())) if counts else set()
    return {
        name: {**values, **{variable: count for variable, count in counts[name].items() if variable in counted}}
        for name, values in in_force.items()
    }


def _each_file(real: Mapping[str, str]) -> dict[str, str]:
    counts = dict(real)
    for part in filter(None, counts.pop(FLUSH_METHOD, "").split(", ")):
        kind, _, mode = part.partition(" ")
        counts[_OPEN[kind]] = mode
    return counts


def identical_groups(settings: Mapping[str, Mapping[str, str]], requested: Collection[str]) -> list[frozenset[str]]:
    """Return the groups of two or more candidates with identical effective settings, in the order of their first members.

    Variables that identify an instance or are inert count only where they were requested.
    """
    groups: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for candidate, values in settings.items():
        home = _directories(values)
        compared = tuple(
            (name, _comparable(value, home))
            for name, value in sorted(values.items())
            if name in requested or not (rules.identifies_instance(name) or rules.inert(name))
        )
        groups.setdefault(compared, []).append(candidate)
    return [frozenset(group) for group in groups.values() if len(group) > 1]


def confounds(in_force: Mapping[str, Mapping[str, str]], requested: Collection[str], baseline: str) -> list[Confound]:
    """Return every variable that differs but is not under test, those that could explain a difference first."""
    order = sorted(in_force, key=lambda candidate: candidate != baseline)
    homes = {candidate: _directories(in_force[candidate]) for candidate in order}
    named = {shared_name(name) for name in requested}
    notes: dict[str, Confound] = {}
    for name in sorted({name for values in in_force.values() for name in values}):
        owners = {shared_name(owner) for owner in _OPENED_BY.get(name, (name,))}
        if owners & named or rules.part_of(name) in requested or rules.identifies_instance(name):
            continue
        compared = {
            candidate: _comparable(in_force[candidate][name], homes[candidate]) if name in in_force[candidate] else None
            for candidate in order
        }
        if len(set(compared.values())) > 1:
            # Several names of one variable are one confound.
            notes.setdefault(shared_name(name), _confound(name, compared, requested, pinning.proposal(name, in_force)))
    return sorted(notes.values(), key=lambda note: isinstance(note, InertConfound))


def _confound(
    name: str, by_candidate: Mapping[str, str | None], requested: Collection[str], pins: Mapping[str, Value]
) -> Confound:
    values = dict(by_candidate)
    if (reason := rules.inert(name)) is not None:
        return InertConfound(variable=name, values=values, reason=reason)
    rule = behaviour.DERIVED.get(name)
    follows = [variable for variable in rule.of if variable in requested] if rule else []
    return Confound(
        variable=name,
        values=values,
        could_explain=not (follows and rule and not rule.gives_resources),
        follows=tuple(follows),
        hold={variable: value for variable, value in pins.items() if variable not in requested},
    )


def _deviation(name: str, requested: Value, reported: str, catalogue: Catalogue | None) -> type[Deviation]:
    requested_number, reported_number = as_number(requested), as_number(reported)
    variable = catalogue.variables.get(name) if catalogue else None
    if requested_number is not None and reported_number is not None:
        if requested_number in _AUTOMATIC and (
            variable is None or variable.minimum is None or requested_number >= variable.minimum
        ):
            return Automatic
        if _is_rounding(requested_number, reported_number, variable):
            return Rounded
        return Clamped
    if variable and variable.default is not None and same_value(variable.default, reported):
        return Refused
    return Changed


def _is_rounding(wanted: float, got: float, variable: Variable | None) -> bool:
    """Return whether a size was rounded, not limited: it is near the requested one, in whole blocks, and not at the maximum."""
    block = (variable.block if variable else None) or _BLOCK
    if variable and variable.maximum is not None and got > variable.maximum - block:
        return False
    return min(wanted, got) >= _BLOCK and wanted / 2 < got < wanted * 2 and got % block == 0


def _same(name: str, requested: Value, reported: str, catalogue: Catalogue | None) -> bool:
    if same_value(requested, reported):
        return True
    text = str(requested).strip().lower()
    variable = catalogue.variables.get(name) if catalogue else None
    choices = (variable.choices if variable else ()) or rules.CHOICES.get(name, ())
    if (place := whole_number(text)) is not None and place < len(choices):
        return same_value(choices[place], reported)
    if name.startswith(("character_set_", "collation_")):
        return text.replace("utf8mb3", "utf8") == reported.lower().replace("utf8mb3", "utf8")
    if name == "sql_mode" or "=" in text:
        # One mode can stand for several, and a switch that is not named keeps its value.
        parts = {part.strip() for part in text.split(",") if part.strip() and not part.strip().endswith("default")}
        return bool(parts) and parts <= {part.strip() for part in reported.lower().split(",")}
    return False


def _directories(values: Mapping[str, str]) -> Sequence[str]:
    """Return an instance's private directories, the longest first; none that others may share, such as /tmp."""
    places = [PurePosixPath(values.get(name, "")) for name in ("datadir", "tmpdir")]
    places += [PurePosixPath(values.get(name, "")).parent for name in ("socket", "pid_file")]
    directories = {str(place) for place in places if place.is_absolute() and len(place.parts) > 3}
    return sorted(directories, key=len, reverse=True)


def _comparable(value: str, directories: Iterable[str]) -> str:
    for directory in directories:
        if directory in value:
            value = re.sub(rf"{re.escape(directory)}(?=/|$|[:;,])", SANDBOX, value)
    return value
