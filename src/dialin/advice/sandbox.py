"""Reads a sandbox for advice: one trial of a build with a setting, under a load, as a tune measures its baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dialin.advice import figures
from dialin.advice.server_reading import ServerReading, make_reading, unread_of_probes
from dialin.errors import UserError
from dialin.model.advice import Unread, Watch
from dialin.model.build import Build
from dialin.model.setting import Value
from dialin.places.sandbox.tune import measure_baseline, read_baseline
from dialin.preflight.checked import StudyRequest
from dialin.preflight.option_files import check_early
from dialin.probes import disk
from dialin.question.options import StudyOptions
from dialin.trials.tools import Tools
from dialin.variables.performance import TABLE
from dialin.workloads import kinds


@dataclass(frozen=True, slots=True)
class SandboxReading:
    """What was read of a sandbox with a setting, and what could not be read."""

    setting: Mapping[str, Value]
    reading: ServerReading
    build: Build
    watch: Watch
    unread: tuple[Unread, ...]


def read_sandbox(question: StudyOptions, directory: Path, tools: Tools, base_file: Path | None = None) -> SandboxReading:
    """Run a build with a setting under a load for `question.measure` seconds, and read it.

    The setting is that of a file below what the question sets.

    Raises:
        UserError: something that the question names does not exist, or its options do not fit together.
        ServerError: the server does not start, or its trial fails.
    """
    name, note = kinds.installed_alternative(question.workload)
    question = question.model_copy(update={"workload": name})
    if note:
        tools.say(f"Note: {note}")
    load = question.workload_spec(directory)
    workload = kinds.make_workload(load)
    workload.check()
    if workload.traits.runs is not None:
        raise UserError(f"{load.asked} has a fixed length, and a server is watched for minutes", "Give another --workload")
    load = load.model_copy(update={"traits": workload.traits})
    request = StudyRequest(question, directory, question.place(directory), load, workload, base_file)
    check_early(question, directory, base_file)
    server = read_baseline(request, tools)
    for text in server.notes:
        tools.say(f"Note: {text}")
    baseline = measure_baseline(request, tools, server, "to see what the server does")
    catalogue, setting, situation = server.catalogue, server.setting, server.situation
    in_force = {name: str(value) for name, value in baseline.trial.in_force.items()}
    defaults = catalogue.defaults()
    home = tools.home.root
    reading = make_reading(
        in_force,
        catalogue.variables,
        replace(
            situation,
            spinning=disk.is_rotational(next(one for one in (home, *home.parents) if one.exists())),
            in_force=in_force,
        ),
        baseline.evidence.watched,
        defaults={name: defaults[name] for name in setting if name in defaults},
        at_start=frozenset(name for name in TABLE if name in catalogue.variables and not catalogue.variables[name].dynamic),
        now=tools.clock.now(),
        own_statements=False,
    )
    seconds = next((result.seconds for result in baseline.evidence.watched if result.probe == "status"), 0.0)
    watch = Watch(
        seconds=seconds,
        queries=reading.measured.transactions,
        running=figures.running(reading),
        data=situation.data,
        load=request.load.describe(),
    )
    return SandboxReading(setting, reading, server.build, watch, tuple(unread_of_probes(baseline.evidence.watched)))
