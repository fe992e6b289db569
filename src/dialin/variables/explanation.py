"""Explanations of variables: what each build reports, and what dialin's rules add."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dialin.model.build import VENDOR_TITLES, BuildReference, Family, Vendor
from dialin.model.setting import as_number
from dialin.variables import behaviour, cautions, durability, memory, reserved_variables, rules, set_global
from dialin.variables.aliases import OPTION_OF, shared_name
from dialin.variables.behaviour import Behaviour
from dialin.variables.catalogue import NUMBERS, Catalogue, Kind, Variable
from dialin.variables.size_units import BYTES, plain_number, unit_of, with_letter

_KINDS = {
    Kind.INTEGER: "a whole number",
    Kind.NUMERIC: "a number",
    Kind.BOOLEAN: "ON or OFF",
    Kind.ENUMERATION: "one of several words",
    Kind.SET: "several words of a set",
    Kind.STRING: "text",
    Kind.UNKNOWN: "not reported",
}
_ENDLESS = 2**63 - 2**21
"""A maximum of this size or more is a limit of the data type, not of the variable, and is not explained."""


@dataclass(frozen=True, slots=True)
class ExplainLine:
    """One fact about a variable; `source` is empty unless the fact comes from a rule of dialin."""

    label: str
    text: str
    source: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """One variable, explained.

    Attributes:
        builds: what each build that has it reports, by build id, MySQL first, older versions first.
        lacking: the ids of the builds that do not have it.
        rules: what dialin's rules say about it, ready for JSON.
    """

    name: str
    builds: Mapping[str, Variable]
    lacking: tuple[str, ...]
    lines: tuple[ExplainLine, ...]
    rules: Mapping[str, Any]

    def facts(self) -> dict[str, Any]:
        return {
            "variable": self.name,
            "unit": unit_of(self.name),
            "builds": {build: facts(variable) for build, variable in self.builds.items()},
            "lacking": list(self.lacking),
            **self.rules,
        }


def facts(variable: Variable) -> dict[str, Any]:
    """Return what a build reports of a variable, ready for JSON."""
    return {**asdict(variable), "kind": variable.kind.value, "choices": list(variable.choices)}


def matching(pattern: str | None, catalogue: Catalogue) -> list[Variable]:
    """Return the variables whose names contain a text, or match a pattern with `*` and `?`; all where there is none."""
    glob = (pattern or "").strip().lower().replace("-", "_")
    if not any(character in glob for character in "*?["):
        glob = f"*{glob}*"
    return [variable for name, variable in sorted(catalogue.variables.items()) if fnmatch.fnmatchcase(name, glob)]


def explain_variable(name: str, catalogues: Iterable[Catalogue]) -> Explanation:
    ordered = sorted(catalogues, key=_age)
    builds = {each.build_id: each.variables[name] for each in ordered if name in each.variables}
    all_names = {other for each in ordered for other in each.variables}
    reported = (
        ("Type", {build: _KINDS[variable.kind] for build, variable in builds.items()}),
        ("Range", {build: range_of(variable) for build, variable in builds.items()}),
        ("Default", {build: default_of(variable) for build, variable in builds.items()}),
        ("Set", {build: _changed(variable) for build, variable in builds.items()}),
        ("Adjusted", {build: _limits(variable) for build, variable in builds.items()}),
    )
    lines = [ExplainLine(label, text) for label, by_build in reported if (text := _together(by_build))]
    if (unit := unit_of(name)) and any(variable.kind in NUMBERS for variable in builds.values()):
        lines.insert(1, ExplainLine("Unit", unit))
    if others := _other_names(name, all_names):
        lines.append(ExplainLine("Same as", ", ".join(others)))
    having = [each for each in ordered if name in each.variables]
    lines += _rules_of(name, having)
    lines += [ExplainLine("Builds", text) for text in _presence(name, ordered)]
    lacking = tuple(each.build_id for each in ordered if name not in each.variables)
    return Explanation(name, builds, lacking, tuple(lines), _rules_as_data(name, all_names, having))


def range_of(variable: Variable, *, short: bool = False) -> str:
    """Return what a variable takes, such as `8192 to 2147479552 (8K to just under 2G)`, or in short; empty where unknown."""
    if variable.kind is Kind.BOOLEAN:
        return "ON, OFF"
    if variable.choices:
        return ", ".join(variable.choices)
    low, high = variable.minimum, variable.maximum
    if variable.kind not in NUMBERS or low is None or high is None:
        return ""
    plain = f"{plain_number(low)} to {plain_number(high)}"
    if unit_of(variable.name) != BYTES:
        return plain
    lettered = f"{with_letter(low)} to {with_letter(high)}"
    return lettered if short or lettered == plain else f"{plain} ({lettered})"


def default_of(variable: Variable) -> str:
    """Return a variable's default, sizes with a letter; `of the sandbox` where it is a path that dialin chose."""
    value = variable.default
    if value is None:
        return ""
    if value.startswith("/") and rules.identifies_instance(variable.name):
        return "of the sandbox"
    number = as_number(value)
    if isinstance(number, int) and number > 0 and unit_of(variable.name) == BYTES:
        return with_letter(number)
    return value or "empty"


def when_changed(variable: Variable) -> str:
    """Return how a variable is changed: `dynamic`, `restart`, `fixed`, or nothing where that is unknown."""
    if variable.dynamic:
        return "dynamic"
    if variable.dynamic is None:
        return ""
    return "restart" if variable.at_start else "fixed"


def _changed(variable: Variable) -> str:
    words = {
        ("dynamic", True): "at startup, or at run time (SET GLOBAL)",
        ("dynamic", False): "at run time only (SET GLOBAL); there is no startup option",
        ("restart", True): "at startup only: a change needs a restart",
        ("fixed", False): "read-only: it only reports something",
        ("", True): "at startup",
    }
    return words.get((when_changed(variable), variable.at_start), "in a session only")


def _limits(variable: Variable) -> str:
    low, high = variable.minimum, variable.maximum
    parts = []
    if variable.block:
        parts.append(f"rounded down to a multiple of {variable.block}")
    # Builds differ in negative numbers: some read -1 as the largest number, others do not start.
    if low is not None and low > 0 and variable.kind in NUMBERS:
        parts.append(f"less than {plain_number(low)} becomes {plain_number(low)}")
    if high is not None and high < _ENDLESS and variable.kind in NUMBERS:
        parts.append(f"more than {plain_number(high)} becomes {plain_number(high)}")
    return "; ".join(parts)


def _together(by_build: Mapping[str, str]) -> str:
    groups: dict[str, list[str]] = {}
    for build, text in by_build.items():
        groups.setdefault(text, []).append(build)
    if len(groups) == 1:
        return next(iter(groups))
    return "\n".join(f"{text or 'not reported'} [{_named(builds, by_build)}]" for text, builds in groups.items())


def _named(builds: Sequence[str], among: Iterable[str]) -> str:
    """Return builds in short: only the vendor where several builds are all that it has in `among`, else with versions."""
    parts = []
    for vendor, title in VENDOR_TITLES.items():
        versions = [version for build in builds if (version := _version(build, vendor))]
        all_versions = [version for build in among if (version := _version(build, vendor))]
        if versions:
            parts.append(title if versions == all_versions and len(all_versions) > 1 else f"{title} {', '.join(versions)}")
    return "; ".join(parts)


def _version(build: str, vendor: Vendor) -> str:
    name, _, version = build.partition("@")
    return version if name == vendor else ""


def _other_names(name: str, known: Iterable[str]) -> list[str]:
    others = {other for other in known if other != name and shared_name(other) == shared_name(name)}
    return sorted(others | ({OPTION_OF[name]} if name in OPTION_OF else set()))


@dataclass(frozen=True, slots=True)
class _Rule:
    # A rule of dialin, with those of the explained builds that it applies to.

    behaviour: Behaviour
    builds: tuple[str, ...]
    of: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        return {"text": self.behaviour.text, "source": self.behaviour.source, "builds": list(self.builds)}


def _about(behaviours: Iterable[Behaviour], having: Sequence[Catalogue], of: tuple[str, ...] = ()) -> list[_Rule]:
    """Return the behaviours of the builds as rules, each with those variables of `of` that its builds have."""
    applying = []
    for effect in behaviours:
        applicable = [each for each in having if effect.is_of(each.build_id)]
        sources = tuple(name for name in of if any(name in each.variables for each in applicable))
        if applicable and (sources or not of):
            applying.append(_Rule(effect, tuple(each.build_id for each in applicable), sources))
    return applying


def _traps(name: str, having: Sequence[Catalogue]) -> list[_Rule]:
    return _about(cautions.CAUTIONS.get(name, ()), having)


def _moves_with(name: str, having: Sequence[Catalogue]) -> list[_Rule]:
    rule = behaviour.DERIVED.get(name)
    if rule is None:
        return []
    return _about(rule.behaviours, [each for each in having if any(other in each.variables for other in rule.of)], rule.of)


def _moves(name: str, having: Sequence[Catalogue]) -> list[tuple[str, _Rule]]:
    return [
        (other, applying)
        for other, rule in behaviour.DERIVED.items()
        if name in rule.of
        for applying in _about(rule.behaviours, [each for each in having if other in each.variables])
    ]


def _rules_of(name: str, having: Sequence[Catalogue]) -> list[ExplainLine]:
    among = [each.build_id for each in having]

    def line(label: str, rule: _Rule, before: str = "") -> ExplainLine:
        where = f" [{_named(rule.builds, among)}]" if len(rule.builds) < len(among) else ""
        return ExplainLine(label, f"{before}{rule.behaviour.text}{where}", rule.behaviour.source)

    lines = [line("Caution", rule) for rule in _traps(name, having)]
    lines += [line("Derived from", rule, f"{', '.join(rule.of)}: ") for rule in _moves_with(name, having)]
    lines += [line("Affects", rule, f"{other}: ") for other, rule in _moves(name, having)]
    if cost := memory.MEMORY.get(name):
        lines.append(ExplainLine("Memory", cost.text, cost.source))
    lines += [
        ExplainLine("Durability", f"with a weaker value {loses}", source) for loses, source in durability.explanations(name)
    ]
    if inert := rules.inert_rule(name):
        lines.append(ExplainLine("Effect", f"none on throughput: {inert.why}", inert.source))
    if name in rules.SHAPES_DATA:
        lines.append(ExplainLine("Data", "it shapes the data: dialin prepares data for each value"))
    live = any(each.variables[name].dynamic for each in having if name in each.variables)
    if live and (start := set_global.rule_of(name)):
        text = f"each trial restarts the server although the variable is dynamic: it {start.why}"
        lines.append(ExplainLine("Trials", text, start.source))
    if why := reserved_variables.reason(name):
        lines.append(ExplainLine("Sandbox", f"cannot be chosen: {why}"))
    return lines


def _rules_as_data(name: str, known: Iterable[str], having: Sequence[Catalogue]) -> dict[str, Any]:
    cost = memory.MEMORY.get(name)
    return {
        "same_as": _other_names(name, known),
        "derived": [{"of": list(rule.of), **rule.data()} for rule in _moves_with(name, having)],
        "moves": [{"variable": other, **rule.data()} for other, rule in _moves(name, having)],
        "traps": [rule.data() for rule in _traps(name, having)],
        "memory": {"allotted": cost.allotted.value, "text": cost.text, "source": cost.source} if cost else None,
        "durability": [{"loses": loses, "source": source} for loses, source in durability.explanations(name)],
        "inert": rules.inert(name),
        "shapes_data": name in rules.SHAPES_DATA,
        "at_start_only": {"why": start.why, "source": start.source} if (start := set_global.rule_of(name)) else None,
        "not_in_a_sandbox": reserved_variables.reason(name),
    }


def _age(catalogue: Catalogue) -> tuple[bool, tuple[int, ...]]:
    reference = BuildReference.parse(catalogue.build_id)
    return reference.family is not Family.MYSQL, reference.version


def _presence(name: str, ordered: Sequence[Catalogue]) -> list[str]:
    sentences = []
    for vendor, title in VENDOR_TITLES.items():
        here = [each for each in ordered if _version(each.build_id, vendor)]
        if here:
            having = [name in each.variables for each in here]
            sentences.append(f"{title}: {_span([_version(each.build_id, vendor) for each in here], having)}")
    return sentences


def _span(versions: Sequence[str], having: Sequence[bool]) -> str:
    present = [version for version, has in zip(versions, having, strict=True) if has]
    absent = ", ".join(version for version, has in zip(versions, having, strict=True) if not has)
    if not present:
        return f"not in {absent}"
    if not absent:
        return f"in {', '.join(present)}"
    first, last = having.index(True), len(having) - 1 - having[::-1].index(True)
    if not all(having[first : last + 1]):
        return f"in {', '.join(present)}; not in {absent}"
    since = f"since {versions[first]}" if first > 0 else ""
    until = f"until {versions[last]}" if last < len(versions) - 1 else ""
    return f"{' '.join(filter(None, (since, until)))} of the builds here; not in {absent}"
