"""The kind of workload that any program applies: how a study asks for it."""

from __future__ import annotations

from dialin.errors import InapplicableError, UserError
from dialin.model.workload import WorkloadSpec
from dialin.workloads.base import Workload
from dialin.workloads.command.preset_names import path_of, preset_names
from dialin.workloads.kind import LoadRequest, WorkloadKind

COMMAND = "command"


def _specify(request: LoadRequest) -> WorkloadSpec:
    """Return the load of a study; raise UserError where the file has mistakes, or has no such option."""
    from dialin.workloads.command.load_file import read  # --help needs no file

    request.refuse_table_sizes("Give the options of its file as --workload-option NAME=VALUE")
    file = read(path_of(request.name))
    options = request.options_spelled(lambda name: name.replace("-", "_"))
    if unknown := [name for name in options if name not in file.options]:
        known = ", ".join(file.options)
        raise UserError(f"{request.asked} has no option {unknown[0]!r}", f"It has {known}" if known else "It has none")
    if request.given.get("rate") and "rate" not in file.placeholders:
        what = f"{request.asked} cannot be run at a --rate: its file does not use {{rate}}"
        raise InapplicableError(what, "Leave it out", ("rate",))
    return request.spec(COMMAND, options, tables=1, table_size=1)


def _make(spec: WorkloadSpec) -> Workload:
    from dialin.workloads.command.command import Command  # --help needs no driver

    return Command(spec)


KIND = WorkloadKind(
    name=COMMAND,
    help=f"command:FILE, a program that a TOML file describes, or one of dialin's own such files: {', '.join(preset_names())}",
    make=_make,
    workloads=preset_names(),
    takes_path=True,
    defaults={"tables": "none", "table_size": "none"},
    specify=_specify,
)
