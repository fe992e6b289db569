"""Reads a sandbox for advice: one trial of a build with a setting, under a load, as a tune measures its baseline."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dialin.advice import figures
from dialin.advice.reading import make_reading, unread_of_probes
from dialin.advice.server_reading import ServerReading
from dialin.errors import ServerError, UserError
from dialin.model.advice import Unread, Watch
from dialin.model.build import Build
from dialin.model.setting import Value
from dialin.places.sandbox import inspection
from dialin.places.sandbox.check import check_disk
from dialin.places.sandbox.fit_check import check_baseline_fits, room_for
from dialin.places.sandbox.tune import limited, measure_baseline, situation_of
from dialin.preflight.checked import StudyRequest
from dialin.preflight.option_files import base_setting, check_early
from dialin.preflight.tune_study import BASELINE
from dialin.probes import disk
from dialin.question.options import StudyOptions
from dialin.search.performance_variables import TABLE
from dialin.servers import builds, dry_run
from dialin.trials.tools import Tools
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
    request = StudyRequest(question, directory, load.model_copy(update={"traits": workload.traits}), workload, (), base_file)
    check_early(question, directory, base_file)
    installed = builds.discover(tools.home, os.environ)
    chosen = tools.choose(question.servers, installed)
    if len(chosen) > 1:
        raise UserError("Advice is on one server, and there are several", "Name one --server")
    (build,) = chosen.values()
    build = limited(build, question)
    catalogue = tools.catalogue(build)
    setting, of_file = base_setting(request, catalogue, {})
    for text in (*of_file.notes, *check_baseline_fits(setting, catalogue, request, room_for(build, tools))):
        tools.say(f"Note: {text}")
    dry_run.check(build, setting)
    check_disk(tools, workload, 1)
    effective = inspection.make_inspect(tools, {BASELINE: build}, [])(BASELINE, setting)
    if effective is None:
        raise ServerError("No server starts with this setting", "Correct --set")
    situation = situation_of(request, tools, effective, build)
    baseline = measure_baseline(request, tools, build, setting, catalogue, situation, "to see what the server does")
    in_force = {name: str(value) for name, value in baseline.trial.in_force.items()}
    defaults = catalogue.defaults()
    reading = make_reading(
        in_force,
        catalogue.variables,
        replace(situation, spinning=disk.is_rotational(_existing(tools.home.root)), in_force=in_force),
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
    return SandboxReading(setting, reading, build, watch, tuple(unread_of_probes(baseline.evidence.watched)))


def _existing(path: Path) -> Path:
    return next(place for place in (path, *path.parents) if place.exists())
