"""The kind of workload that replays a capture: how a study asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dialin.errors import InapplicableError, UserError
from dialin.model.option_types import kebab
from dialin.model.study import Goal
from dialin.model.workload import WorkloadSpec
from dialin.workloads import load_binary
from dialin.workloads.base import Workload
from dialin.workloads.kind import LoadRequest, WorkloadKind, option_error
from dialin.workloads.replay.replay_options import BACKUP, CAPTURE, FULL, ReplayOptions


def _specify(request: LoadRequest) -> WorkloadSpec:
    """Return the load of a study, with as many connections as the capture has sessions at a time.

    Raises:
        UserError: an option is invalid, or the capture cannot be replayed.
    """
    from dialin.workloads.replay.replay_facts import moment_of_backup, replay_facts  # --help needs no driver

    request.refuse_table_sizes("Its data come from --data")
    given = [kebab(name) for name in ("threads", "rate", "rand_type") if request.given.get(name)]
    for option in [*request.by_second, *given]:
        raise InapplicableError(
            f"--{option} is not for a replay: the capture decides it",
            "Leave it out; --pace says how fast, --workload-option warm-up=20% how much of the capture is not measured",
            (option,),
        )
    options = request.options_spelled(kebab)
    if "data" not in options:
        raise UserError("A replay needs the data from before the capture", "Give a data directory or a dump: --data DIR")
    try:
        parsed = ReplayOptions.model_validate(options)
    except ValidationError as error:
        raise option_error(CAPTURE, error, ReplayOptions) from None
    if parsed.since == BACKUP:
        moment = moment_of_backup(load_binary.need(), Path(request.name))
        options["from"] = f"{moment:.6f}"
        parsed = parsed.model_copy(update={"since": moment})
    facts = replay_facts(load_binary.need(), Path(request.name), parsed)
    return request.spec(CAPTURE, options, threads=facts.connections, tables=1, table_size=1)


def _default_goal(options: Mapping[str, Any]) -> Goal:
    """Return what a replay is compared by: at a fixed pace, throughput is the same whatever the server does."""
    return Goal.THROUGHPUT if options.get("pace") == FULL else Goal.LATENCY


def _make(spec: WorkloadSpec) -> Workload:
    from dialin.workloads.replay.replay import Replay  # --help needs no driver

    return Replay(spec)


KIND = WorkloadKind(
    name=CAPTURE,
    help="capture:DIR, the replay of a capture, with --data and --pace",
    make=_make,
    options=ReplayOptions,
    options_help="from (backup or seconds since 1970), warm-up (docs/capture.md)",
    takes_path=True,
    takes_data=True,
    defaults={"threads": "one per session", "tables": "none", "table_size": "none"},
    on_sandboxes_only="it changes the data",
    default_goal=_default_goal,
    specify=_specify,
    is_installed=lambda: load_binary.find() is not None,
    how_to_install=load_binary.REMEDY,
)
