"""The kinds of workloads that dialin has. A new kind takes one module, and one line here."""

from __future__ import annotations

from pathlib import Path

from dialin.errors import UserError
from dialin.model.workload import WorkloadSpec
from dialin.workloads import dialin_load_kind, sysbench_kind
from dialin.workloads.base import Workload
from dialin.workloads.command import command_kind
from dialin.workloads.kind import WorkloadKind
from dialin.workloads.replay import replay_kind
from dialin.workloads.scan import scan_kind
from dialin.workloads.traffic import traffic_kind

KINDS: tuple[WorkloadKind, ...] = (
    dialin_load_kind.KIND,
    sysbench_kind.KIND,
    scan_kind.KIND,
    replay_kind.KIND,
    command_kind.KIND,
    traffic_kind.KIND,
)
"""In order of preference: where a study does not name a kind, the first one that has the workload applies it."""

_FALLBACK = sysbench_kind.KIND
"""Applies names that no kind has: it takes them for the path of a Lua script, which may have any name."""


def kind_named(name: str) -> WorkloadKind:
    """Return a kind by its name; raise UserError where a study was stored with a kind that this dialin does not have."""
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise UserError(f"This dialin has no workloads of the kind {name!r}", f"It has {', '.join(kind.name for kind in KINDS)}")


def find_kind(workload: str) -> tuple[WorkloadKind, str]:
    """Return the kind of a workload, and the workload's name there; a prefix, as in `sysbench:oltp_read_only`, decides.

    Raises:
        UserError: the kind in the prefix does not apply it, and another one does.
    """
    prefixed = _prefixed(workload)
    if prefixed is None:
        return _first(workload) or _FALLBACK, workload
    name = workload.partition(":")[2]
    other = _first(name)
    may_apply = prefixed.applies(name) or (prefixed.takes_path and is_path(name))
    if other is not None and not may_apply:
        applying = other.name if other.is_prefix else "dialin"
        remedy = f"Give --workload {name}; {applying} applies it"
        raise UserError(f"{prefixed.name} does not apply the workload {name!r}", remedy)
    return prefixed, name


def requested_kind(workload: str) -> WorkloadKind:
    """Return the kind in a workload's prefix, whether or not it applies the workload; without a prefix, the first that does."""
    return _prefixed(workload) or _first(workload) or _FALLBACK


def _prefixed(workload: str) -> WorkloadKind | None:
    prefix, colon, _ = workload.partition(":")
    return next((kind for kind in KINDS if colon and kind.is_prefix and kind.name == prefix), None)


def _first(workload: str) -> WorkloadKind | None:
    return next((kind for kind in KINDS if kind.applies(workload)), None)


def qualified_name(kind: WorkloadKind, name: str) -> str:
    """Return how a study names a workload of a kind: with the kind as a prefix where another kind would apply the name."""
    return name if (_first(name) or _FALLBACK) is kind else f"{kind.name}:{name}"


def is_path(name: str) -> bool:
    return "/" in name or any(name.endswith(kind.suffixes) for kind in KINDS if kind.suffixes)


def with_absolute_path(workload: str, directory: Path) -> str:
    """Return a workload as a study names it, with its path, if it has one, taken relative to a directory."""
    kind, name = find_kind(workload)
    if name not in kind.workloads and (kind.takes_path or is_path(name)):
        name = str((directory / Path(name).expanduser()).absolute())
    return qualified_name(kind, name)


def installed_alternative(workload: str) -> tuple[str, str]:
    """Return the workload that a new study applies on this machine, as a study names it, and a sentence if that is another.

    Where the first kind that has a plain name is not installed and another kind is, the other one applies it. A study that
    has begun keeps its kind.

    Raises:
        UserError: the environment names a program that does not exist.
    """
    first = _first(workload)
    if first is None or workload not in first.names or first.is_installed():
        return workload, ""
    for kind in KINDS:
        if kind is not first and kind.applies(workload) and kind.is_installed():
            instead = f"{kind.name}:{workload}"
            text = f"{first.name} is not installed, so that {kind.name} applies the load ({instead}). {first.how_to_install}"
            return instead, text
    return workload, ""


def make_workload(spec: WorkloadSpec) -> Workload:
    """Return the workload of a study; raise UserError where an option is unknown or invalid."""
    return kind_named(spec.kind).make(spec)


def workload_help() -> str:
    """Return how `--workload` is given, for `--help` and the JSON Schema."""
    *others, last = (kind.help for kind in KINDS)
    return "; ".join([*others, f"or {last}"])


def rand_types() -> tuple[str, ...]:
    """Return the distributions that at least one kind can draw row numbers from."""
    return tuple(dict.fromkeys(name for kind in KINDS for name in kind.rand_types))


def load_option_help(option: str) -> str:
    """Return the help of an option of the load, with its default and the kinds that have another one."""
    field = WorkloadSpec.model_fields[option]
    others = ", ".join(f"{kind.defaults[option]} for {kind.name}" for kind in KINDS if option in kind.defaults)
    return f"{field.description}, default {field.default}{f' ({others})' if others else ''}"


def options_help() -> str:
    """Return the options of each kind that lists them, for `--help` and the JSON Schema."""
    return "".join(f"; of {kind.name}: {kind.options_help}" for kind in KINDS if kind.options_help)
