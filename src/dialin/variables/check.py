"""Checks before anything starts: names, values, duplicates, memory. Every error is one line with its remedy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dialin.errors import DialinError, UserError
from dialin.model.build import BuildReference, Family
from dialin.model.setting import Setting, Value, as_number, same_setting, whole_number
from dialin.model.study import Candidate, StudySpec
from dialin.text import listed, size
from dialin.variables import behaviour, cautions, reserved_variables, rules
from dialin.variables.aliases import VARIABLE_OF, checked_name
from dialin.variables.catalogue import NUMBERS, Catalogue, Kind, Variable
from dialin.variables.memory import Need, Room
from dialin.variables.size_units import plain_number, with_letter
from dialin.variables.vendors import counterpart, owners, removal

Elsewhere = Mapping[str, Callable[[], Catalogue]]
"""The catalogues of other builds by build id, each read only when it is needed."""

_MOST_NAMES = 4
_TRUTH = ("on", "off", "true", "false", "1", "0")
_PREFIXES = ("loose_", "maximum_", "skip_", "enable_", "disable_")


def check_name(name: str, catalogue: Catalogue, elsewhere: Elsewhere) -> Variable:
    """Return a variable that is to be set when a server starts.

    Raises:
        UserError: the build has no such variable, or it cannot be given at start; the error names the nearest ones, or the
            builds that have it.
    """
    known = find_name(name, catalogue, elsewhere)
    if known.at_start:
        return known
    written, build = checked_name(name), catalogue.build_id
    raise UserError(
        f"{written} cannot be set when {build} starts: it only reports something, or belongs to a session",
        "Choose a variable that an option file can hold",
    )


class SettingError(UserError):
    """A setting has a variable or a value that cannot be used; `variable` is the variable's name as the user wrote it."""

    def __init__(self, what: str, remedy: str, variable: str) -> None:
        super().__init__(what, remedy)
        self.variable = variable


def known_as(name: str, catalogue: Catalogue) -> Variable | None:
    """Return a build's variable by its name or by that of its option; None where the build has no such variable."""
    spelled = checked_name(name)
    return catalogue.variables.get(spelled) or catalogue.variables.get(VARIABLE_OF.get(spelled, ""))


def find_name(name: str, catalogue: Catalogue, elsewhere: Elsewhere) -> Variable:
    """Return a variable, whether or not it can be set.

    Raises:
        UserError: the build has no such variable; the error names the nearest ones, or the builds that have it.
    """
    if known := known_as(name, catalogue):
        return known
    spelled, build = checked_name(name), catalogue.build_id
    for prefix in _PREFIXES:
        if (plain := spelled.removeprefix(prefix)) != spelled and plain in catalogue.variables:
            raise UserError(
                f"{spelled} is a startup option, not a variable of {build}",
                f"Write {plain} with its value, such as ON or OFF",
            )
    near = catalogue.nearest(spelled)
    problem = f"{build} has no variable {spelled}"
    gone = removal(spelled, build)
    if gone and gone.successor:
        raise UserError(f"{problem}: {gone}", f"Write {gone.successor}")
    if whole := names_beginning_with(spelled, catalogue):
        only = "this build takes whole names only" if len(whole) == 1 else "that is ambiguous"
        raise UserError(f"{problem}; it is short for {_either(whole[:_MOST_NAMES])}, and {only}", "Write the whole name")
    if (ignored := behaviour.WITHOUT_EFFECT.get(spelled)) and ignored.is_of(build):
        problem += f": it takes the option without effect, for {ignored.text}"
    elif gone:
        problem += f": {gone}"
    elif vendors := owners(spelled, build):
        problem += f", which is a variable of {vendors}"
    other_name = counterpart(spelled, build)
    if other_name.partition(",")[0] in catalogue.variables:
        raise UserError(problem, f"{build} has {other_name} for that")
    if having := sorted(
        (other for other, read in elsewhere.items() if other != build and _has(read, spelled)), key=_newest_first
    ):
        nearest = f" (the nearest: {', '.join(near)})" if near else ""
        raise UserError(
            f"{problem}; {listed(having)} {'has' if len(having) == 1 else 'have'} it",
            f"Choose with --server {having[0]}, or a variable of {build}{nearest}",
        )
    if gone or owners(spelled, build):
        raise UserError(problem, "Leave it out")
    raise UserError(problem, f"Did you mean {_either(near)}?" if near else "`dialin variables` lists those that it has")


def names_beginning_with(name: str, catalogue: Catalogue) -> list[str]:
    """Return the variables that can be set at a start and whose names begin so, which old servers take for an abbreviation."""
    return sorted(one.name for one in catalogue.variables.values() if one.at_start and one.name.startswith(name))


def _newest_first(build_id: str) -> tuple[bool, tuple[int, ...]]:
    build = BuildReference.of(build_id)
    return (True, ()) if build is None else (build.family is not Family.MYSQL, tuple(-part for part in build.version))


def _either(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"


def check_value(variable: Variable, value: Value, build_id: str = "") -> None:
    """Raise UserError, with the range, where a value is not of a variable's type or not in the range that the server gives."""
    text = str(value)
    if any(not character.isprintable() and character != "\t" for character in text):
        raise _make_refusal(variable, "text without control characters", repr(text), build_id)
    if variable.kind in NUMBERS:
        _check_number(variable, value, build_id)
    elif variable.kind is Kind.BOOLEAN and text.strip().lower() not in _TRUTH:
        raise _make_refusal(variable, "ON or OFF", text, build_id, "Servers take other words for OFF, or keep their default")
    elif variable.choices and variable.kind is Kind.ENUMERATION and not _is_choice(text.strip(), variable.choices):
        raise _make_refusal(variable, f"one of {', '.join(variable.choices)}", text, build_id)
    elif variable.name in rules.WORDS_OF_TEXT and not variable.choices and variable.kind in (Kind.STRING, Kind.UNKNOWN):
        _check_text(variable, text.strip(), build_id)
    elif variable.choices and variable.kind is Kind.SET:
        for part in filter(None, text.split(",")):
            word = part.partition("=")[0].strip()
            if word.lower() != "default" and not word.isdecimal() and not _is_choice(word, variable.choices):
                raise _make_refusal(variable, f"made of {', '.join(variable.choices)}", word, build_id)


def check_study(spec: StudySpec, catalogues: Mapping[str, Catalogue], elsewhere: Elsewhere) -> None:
    """Check every name and value that a study sets.

    Raises:
        UserError: a variable that the build lacks or that dialin itself must set, a value out of range, too few connections.
    """
    for candidate in spec.candidates:
        setting: Setting = spec.setting_of(candidate.name)
        check_setting(setting, catalogues[candidate.server], elsewhere)
        known = catalogues[candidate.server]
        for name in spec.variables_under_test:
            refuse_self_adapting(name, {**known.defaults(), **setting}, known.build_id)
        allowed = as_number(setting.get("max_connections", spec.workload.threads))
        if allowed is not None and allowed < spec.workload.threads:
            raise UserError(
                f"max_connections={setting['max_connections']} is too few for {spec.workload.threads} threads of load",
                "Raise it, or lower --threads",
            )


def refuse_self_adapting(name: str, in_force: Mapping[str, object], build_id: str) -> None:
    """Refuse a variable under test that the server itself adjusts: no trial would have the value that was set.

    Raises:
        UserError: the server adjusts it with the values in force.
    """
    if (switch := cautions.adapts_itself(name, in_force, build_id)) is not None:
        raise UserError(
            f"{name} cannot be tested: the server itself adjusts it while {switch} is above 0", f"Add --set {switch}=0"
        )


def duplicates(candidates: Sequence[Candidate]) -> list[tuple[str, str]]:
    """Return pairs of candidates with the same setting on the same server: the first such candidate, and each later one."""
    pairs = []
    for index, later in enumerate(candidates):
        first = next((earlier for earlier in candidates[:index] if _alike(earlier, later)), None)
        if first is not None:
            pairs.append((first.name, later.name))
    return pairs


def check_fits(candidate: str, needed: Need, room: Room, scale: float | None = None) -> None:
    """Raise UserError with each size that does not fit this machine; with `scale` it offers to scale those of files."""
    total, sizes = sum(needed.memory.values()), []
    if total > room.memory:
        part, bytes_needed = max(needed.memory.items(), key=lambda item: item[1])
        has = (
            f"{size(room.memory)} are free" if room.limit is None else f"its container has {size(room.limit)} (--server-memory)"
        )
        sizes.append(f"it needs about {size(total)} of memory, most of it for the {part} ({size(bytes_needed)}), and {has}")
    if needed.redo_log > room.disk:
        sizes.append(f"its redo log grows to {size(needed.redo_log)}, and the disk has {size(room.disk)} free")
    if sizes:
        offer = "" if scale is None else f", or scale the sizes of the files: --scale-sizes {100 * scale:g}%"
        raise UserError(f"{candidate} does not fit this machine: {'; '.join(sizes)}", f"Make it smaller{offer}")


def check_setting(setting: Setting, catalogue: Catalogue, elsewhere: Elsewhere) -> None:
    """Check every name and value of a setting.

    Raises:
        SettingError: a variable that the build lacks or that dialin itself must set, a value out of range.
    """
    for name, value in setting.items():
        why = reserved_variables.reason(name) or reserved_variables.reason_for_value(name, value)
        if why:
            raise SettingError(f"{name} cannot be chosen: {why}", "Leave it out", name)
        try:
            check_value(check_name(name, catalogue, elsewhere), value, catalogue.build_id)
        except UserError as error:
            raise SettingError(error.what, error.remedy, name) from error


def check_settings(settings: Sequence[tuple[str, Setting]], catalogue: Catalogue) -> None:
    """Check every name and value of the settings of a server that is there, each with its candidate's name.

    Raises:
        SettingError: see `check_setting`.
    """
    for _, setting in settings:
        check_setting(setting, catalogue, {})


def _check_number(variable: Variable, value: Value, build_id: str) -> None:
    number = as_number(value)
    lettered = isinstance(value, str) and number is not None and value.strip()[-1:].isalpha()
    is_whole = variable.kind is Kind.INTEGER
    reach = _range(variable, lettered=lettered)
    if number is None or (is_whole and isinstance(number, float)) or (lettered and not is_whole):
        wanted = f"a {'whole ' if is_whole else ''}number{f', {reach}' if reach else ''}"
        raise _make_refusal(variable, wanted, repr(value) if number is None else str(value), build_id)
    low, high = variable.minimum, variable.maximum
    # A limit of decimals is reported without its fraction: 99 stands for 99.999 (innodb_max_dirty_pages_pct, read on 9.7.4).
    if (low is not None and number < low) or (high is not None and (number > high if is_whole else number >= high + 1)):
        raise _make_refusal(variable, reach, str(value), build_id)


def _check_text(variable: Variable, text: str, build_id: str) -> None:
    words = rules.WORDS_OF_TEXT[variable.name]
    exact = variable.name in rules.SPELLED_EXACTLY
    if text not in (*words, variable.default) and (exact or text.lower() not in (word.lower() for word in words)):
        raise _make_refusal(variable, f"one of {', '.join(words)}", text, build_id)


def _range(variable: Variable, *, lettered: bool) -> str:
    low, high = variable.minimum, variable.maximum
    if low is None or high is None:
        return ""
    sized = variable.kind is Kind.INTEGER and (lettered or (low >= 1024 and low % 1024 == 0))
    write = with_letter if sized else plain_number
    return f"{write(low)} to {write(high)}"


def _make_refusal(variable: Variable, wanted: str, requested: str, build_id: str, remedy: str = "") -> UserError:
    where = f" on {build_id}" if build_id else ""
    return UserError(
        f"{variable.name} must be {wanted}; {requested or 'nothing'} was requested{where}", remedy or "Choose another value"
    )


def _is_choice(text: str, choices: Sequence[str]) -> bool:
    if text.isdecimal():
        return (place := whole_number(text)) is not None and place < len(choices)
    return text.lower() in (choice.strip().lower() for choice in choices)


def _has(read: Callable[[], Catalogue], name: str) -> bool:
    try:
        variables = read().variables
    except DialinError:  # A build that does not start has nothing to offer here.
        return False
    return name in variables or VARIABLE_OF.get(name) in variables


def _alike(first: Candidate, second: Candidate) -> bool:
    return first.server == second.server and same_setting(first.setting, second.setting)
