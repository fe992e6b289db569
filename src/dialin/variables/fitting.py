"""What a build makes of a file's settings: which options it has, which values it reads, and which were set at all.

A file may come from a server of another version, so all of its faults are found at once. A listing of what is in force has
every variable; those that differ from the build's defaults, and are not derived from others that do, were set.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dialin.errors import UserError
from dialin.model.setting import Setting, Value, as_number, same_value
from dialin.text import counted, listed
from dialin.variables import behaviour, rules
from dialin.variables.aliases import shared_name
from dialin.variables.catalogue import Catalogue, Kind, Variable
from dialin.variables.check import Elsewhere, check_name, check_value, known_as, names_beginning_with
from dialin.variables.optionfile import OptionFile
from dialin.variables.vendors import Removal, owners, removal, removed_words

_LONG_SUFFIX = re.compile(r"(\d+)([kmgtpe])[a-z]+", re.IGNORECASE)
_OF_A_SERVICE = re.compile(r"aurora_.*|aws_.*|innodb_aurora_.*|rds_.*|cloudsql_.*|azure_.*|innodb_shared_buffer_pool_.*")
_FEW = 12
"""Names that a note lists; more are counted."""

_OF_THE_DATA = "lower_case_table_names"
"""A listing shows it as its data needs it."""


@dataclass(frozen=True, slots=True)
class Fault:
    """An option that a build does not take.

    Attributes:
        place: where it stands: file and line.
        is_unknown: whether the build does not have it at all; else it does not take the value.
        gone: why it does not have it any more, where that is known.
    """

    place: str
    name: str
    error: UserError
    is_unknown: bool
    gone: Removal | None = None

    @property
    def why(self) -> str:
        """What is wrong, in short, where the name and the build are said beside it."""
        return str(self.gone) if self.gone else str(self.error)


@dataclass(frozen=True, slots=True)
class Fitted:
    """What a build makes of a file: the setting in its own spelling, what the user should know, and what it does not take."""

    setting: dict[str, Value]
    notes: tuple[str, ...]
    faults: tuple[Fault, ...] = ()


def fit(file: OptionFile, catalogue: Catalogue, elsewhere: Elsewhere, *, leave_out: bool = False) -> Fitted:
    """Return what a build makes of a file; with `leave_out`, options that it does not have are left out, with a note."""
    build = catalogue.build_id
    setting: dict[str, Value] = {}
    faults: list[Fault] = []
    loose: list[str] = []
    without_effect: list[str] = []
    left_out: list[str] = []
    notes = list(file.notes)
    for written, value in file.setting.items():
        name = _whole_name(written, catalogue)
        if name != written:
            notes.append(f"{written} is short for {name}")
        if known_as(name, catalogue) is None and written in file.loose:
            loose.append(written)
            continue
        if known_as(name, catalogue) is None and is_without_effect(name, build):
            without_effect.append(written)
            continue
        try:
            known = check_name(name, catalogue, elsewhere)
        except UserError as error:
            if leave_out:
                left_out.append(_with_reason(written, build))
            else:
                gone = removal(written, build)
                faults.append(Fault(file.places.get(written, ""), written, error, is_unknown=True, gone=gone))
            continue
        read = _as_read(known, value)
        if read != value:
            notes.append(f"{name} = {value} is {read} to a server, which reads the first letter of the unit only")
        if words := removed_words(name, read, build):
            if not leave_out:
                gone_words = UserError(f"{name}: {build} takes no {listed(words)} any more", "Leave it out")
                faults.append(Fault(file.places.get(written, ""), written, gone_words, is_unknown=True))
                continue
            left_out.append(f"{listed(words)} of {name}")
            read = ",".join(word for word in str(read).split(",") if word not in words)
            if not read:
                continue
        try:
            check_value(known, read, build)
        except UserError as error:
            faults.append(Fault(file.places.get(written, ""), written, error, is_unknown=False))
            continue
        setting[name] = read
    for names, why in (
        (loose, f"{build} has no {listed(loose)}: left out, as loose_ asks for"),
        (without_effect, f"{build} takes {listed(without_effect)} without effect: left out"),
        (left_out, f"not in {build} and left out (--leave-out-unknown): {', '.join(left_out)}"),
        (file.ignored, f"left out, as they belong to one server only: {', '.join(sorted(file.ignored))}"),
    ):
        notes += [why] if names else []
    taken, more = _were_set(file.reported, setting, catalogue)
    return Fitted({**taken, **setting}, (*notes, *more), tuple(faults))


def is_without_effect(name: str, build: str) -> bool:
    """Return whether a build takes an option that it no longer has, and does nothing with it."""
    ignored = behaviour.WITHOUT_EFFECT.get(name)
    gone = removal(name, build)
    return (ignored is not None and ignored.is_of(build)) or (gone is not None and gone.is_ignored)


def _whole_name(name: str, catalogue: Catalogue) -> str:
    """Return the variable that an option's beginning stands for, on a build that takes beginnings; else the name as it is."""
    if known_as(name, catalogue) or not behaviour.TAKES_BEGINNINGS.is_of(catalogue.build_id):
        return name
    whole = names_beginning_with(name, catalogue)
    return whole[0] if len(whole) == 1 else name


def _with_reason(name: str, build: str) -> str:
    if gone := removal(name, build):
        return f"{name} ({gone})"
    vendors = owners(name, build)
    return f"{name} (of {vendors})" if vendors else name


def _as_read(known: Variable, value: Value) -> Value:
    """Return a number as a server reads it: of the unit behind it, only the first letter counts (`2MB`)."""
    match = _LONG_SUFFIX.fullmatch(value.strip()) if isinstance(value, str) and known.kind is Kind.INTEGER else None
    return f"{match[1]}{match[2].upper()}" if match else value


def _were_set(reported: Setting, setting: Setting, catalogue: Catalogue) -> tuple[dict[str, Value], list[str]]:
    """Return the reported values that somebody set, as far as the build has the variables, and notes on those it lacks."""
    numbers = _numbers({**catalogue.defaults(), **reported, **setting})
    taken: dict[str, Value] = {}
    named = {shared_name(name) for name in setting}
    for name, value in reported.items():
        known = known_as(name, catalogue)
        if known is None or not known.at_start or known.default is None or name == _OF_THE_DATA:
            continue
        if rules.identifies_instance(known.name) or rules.inert(known.name) or shared_name(known.name) in named:
            continue
        derived = behaviour.derived_value(known.name, numbers, catalogue.build_id)
        if same_value(value, known.default) or (derived is not None and same_value(value, derived)):
            continue
        if known.kind is not Kind.STRING and str(value) == "":
            continue
        taken[known.name] = value
        named.add(shared_name(known.name))
    missing = [name for name in reported if known_as(name, catalogue) is None and not rules.identifies_instance(name)]
    return taken, [
        note
        for note in (_note_on_missing(missing, catalogue.build_id), _note_on_taken(reported, taken, catalogue.build_id))
        if note
    ]


def _numbers(values: Setting) -> dict[str, float]:
    return {name: number for name, value in values.items() if (number := as_number(value)) is not None}


def _note_on_missing(missing: Sequence[str], build: str) -> str:
    service = [name for name in missing if _OF_A_SERVICE.fullmatch(name)]
    vendors = {name: owners(name, build) for name in missing}
    others = [name for name in missing if name not in service and not vendors[name]]
    parts = []
    if service:
        parts.append(f"{_names(service)} exist only in the service and cannot be tried")
    of_vendors = dict.fromkeys(filter(None, vendors.values()))
    parts += [f"{_names([name for name in missing if vendors[name] == each])} of {each}" for each in of_vendors]
    if others:
        parts.append(f"{build} does not have {_names(others)}")
    return f"left out: {'; '.join(parts)}" if parts else ""


def _note_on_taken(reported: Setting, taken: Setting, build: str) -> str:
    if not reported:
        return ""
    what = f": {_names(list(taken))}" if taken else ""
    return f"of {counted(len(reported), 'variable')} in it, {len(taken)} differ from what {build} has by itself{what}"


def _names(names: Sequence[str]) -> str:
    return listed(list(names)) if len(names) <= _FEW else f"{', '.join(names[:_FEW])} and {len(names) - _FEW} more"
