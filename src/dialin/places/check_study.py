"""Checks of all that a study needs, before anything is started: for a new study, and for one that is resumed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from dialin.datasets.prepare import NeededData
from dialin.errors import UserError
from dialin.evidence.proof_view import current_proof_asks
from dialin.model.place import AttachedPlace, LivePlace, ManagedPlace, RestoreWay, SandboxPlace
from dialin.model.record import StudyRecord
from dialin.model.study import StudySpec
from dialin.model.trial import EffectiveSettings, seconds_of
from dialin.model.tune import TunePlan
from dialin.model.workload import WorkloadSpec
from dialin.places.attached.check import check_attached, check_tuned_attached, resume_attached
from dialin.places.attached.site import AttachedServer
from dialin.places.live.check import check_live, resume_live
from dialin.places.permission import NO_PERMISSION, Permission
from dialin.places.sandbox.check import check_sandboxed, check_uninspected, resume_sandboxed
from dialin.places.sandbox.tune import check_tuned
from dialin.preflight import machine_noise, tune_forecast
from dialin.preflight.checked import CheckedStudy, StudyRequest, check_cpus, with_plan
from dialin.preflight.option_files import check_early
from dialin.preflight.tune_space import parse_named
from dialin.question.options import StudyOptions
from dialin.question.plan import plan
from dialin.search.study_tuner import answers
from dialin.store.lock import CHECKS, sole_runner
from dialin.store.store import Store
from dialin.trials.tools import Tools
from dialin.verdict import comparison, rates
from dialin.workloads import kinds, load_identity
from dialin.workloads.base import Workload

WorkloadMaker = Callable[[WorkloadSpec], Workload]


def check_question(
    question: StudyOptions,
    directory: Path,
    tools: Tools,
    permission: Permission = NO_PERMISSION,
    make_workload: WorkloadMaker = kinds.make_workload,
    base_file: Path | None = None,
) -> CheckedStudy:
    """Check all that a study needs: builds, workload, names, values, memory, disk.

    Paths in the question are relative to `directory`. `base_file` is the option file that the settings of a tune's baseline
    come from.

    Raises:
        UserError: something is not there or does not fit; no trial was started, only servers for the inspection.
        ServerError: a build does not start with nothing set, or an attached server does not answer.
    """
    request, tools, note = _request(question, directory, tools, permission, make_workload, base_file)
    match request.place:
        case LivePlace() as place:
            ready = check_live(request, place, tools)
        case AttachedPlace() | ManagedPlace() as place:
            check = check_attached if question.tune is None else check_tuned_attached
            ready = check(request, place, tools, permission)
        case SandboxPlace():
            ready = check_sandboxed(request, tools) if question.tune is None else check_tuned(request, tools)
    return _with_forecasts(ready, note, tools)


def check_before_servers(
    question: StudyOptions, directory: Path, tools: Tools, permission: Permission
) -> tuple[NeededData, Callable[[], CheckedStudy]]:
    """Check a comparison on sandboxes as `check_question` does, but for the disk, before a candidate's server is started.

    Returns:
        The data that must fit the disk, and what inspects the candidates, whose errors are those of `check_question`.

    Raises:
        UserError: something is not there or does not fit.
        ServerError: a build does not start with nothing set.
    """
    request, tools, note = _request(question, directory, tools, permission)
    study = check_uninspected(request, tools)
    return study.needed, lambda: _with_forecasts(study.inspect(), note, tools)


def _request(
    question: StudyOptions,
    directory: Path,
    tools: Tools,
    permission: Permission,
    make_workload: WorkloadMaker = kinds.make_workload,
    base_file: Path | None = None,
) -> tuple[StudyRequest, Tools, str]:
    """Return a question with its load checked, the tools for it, and a note on its load, which may be empty."""
    if question.tune is not None:
        parse_named(question.tune)  # refuses misspelled text before anything else is checked
    place = question.place(directory, is_managed=permission.apply_command is not None)
    permission.check(place)
    tools = replace(tools, snapshot_command=permission.snapshot_command or tools.snapshot_command)
    name, note = kinds.installed_alternative(question.workload)
    question = question.model_copy(update={"workload": name})
    load = question.workload_spec(directory)
    workload = make_workload(load)
    workload.check()
    check_early(question, directory, base_file)
    load = load.model_copy(update={"traits": workload.traits})
    return StudyRequest(question, directory, place, load, workload, base_file), tools, note


def _with_forecasts(ready: CheckedStudy, note: str, tools: Tools) -> CheckedStudy:
    """Return a checked study with the note on its load, and with what is known of rate and noise."""
    at_rate = rates.rate_warning(ready.spec.workload.rate, ready.spec.goal)
    return _with_expected_noise(_with_notes(ready, note, at_rate), tools)


def rehearse(ready: CheckedStudy, tools: Tools, question: StudyOptions | None = None) -> CheckedStudy:
    """Run the command that applies the settings of an attached server once; return the study with a plan that counts it.

    `question` is what a new study was asked; one that resumes keeps how it measures.

    Raises:
        DialinError: the command does not work, or the budget is too small; no data is prepared yet.
    """
    spec, site = ready.spec, ready.site
    if ready.rehearse is None or not isinstance(site, AttachedServer):
        return ready
    seconds = ready.rehearse(tools.say)
    more = seconds - (site.place.command_seconds or 0.0)
    place = site.place.model_copy(update={"command_seconds": seconds})
    changes: dict[str, object] = {"place": place}
    if question is not None:
        changes |= {"measure": question.measure, "warmup": question.warmup}
    if isinstance(tune := spec.question, TunePlan):
        taken = {"start_seconds": tune.start_seconds + more, "set_seconds": tune.set_seconds + more}
        changes["question"] = tune.model_copy(update=taken)
    spec, allowed = with_plan(spec.model_copy(update=changes))
    site = replace(site, spec=spec, place=place)
    ready = replace(ready, spec=spec, plan=allowed, site=site, rehearse=None)
    return ready if question is None else _with_expected_noise(ready, tools)


def check_resume(
    directory: Path,
    tools: Tools,
    *,
    minutes: float | None = None,
    confirm: bool = False,
    permission: Permission = NO_PERMISSION,
    make_workload: WorkloadMaker = kinds.make_workload,
) -> CheckedStudy:
    """Check all that it takes to resume a study.

    `minutes` is a new budget for the whole study, what was spent before included; None keeps the old one. `confirm` asks for a
    fresh measurement of the choice in addition to what the study asked for.

    Raises:
        UserError: there is no such study, another dialin process runs it, its build or a CPU is gone, or its attached server
            or the file of its load is another one now.
        ServerError: an attached server does not answer.
    """
    if not directory.is_dir():
        raise UserError(f"There is no directory {directory}", "Name the directory that a study was written to (its --out)")
    Store.open(directory).close()
    with sole_runner(directory, CHECKS), Store.open(directory) as store:
        record = store.read()
    spec = record.spec if minutes is None else _with_budget(record, minutes)
    spec = spec.model_copy(update={"confirm": True}) if confirm else spec
    check_cpus(spec)
    workload = make_workload(spec.workload)
    workload.check()
    load_identity.check(spec, record.host, workload)
    drivers = load_identity.notes({**record.host, **load_identity.later_driver_facts(record.host, workload.version())})
    texts = [note.sentence(spec) for note in drivers]
    texts.append(tune_forecast.resume_text(record, spec, plan(spec)))
    return _with_notes(_resume_by_kind(replace(record, spec=spec), tools, workload, permission), *texts)


def _resume_by_kind(record: StudyRecord, tools: Tools, workload: Workload, permission: Permission) -> CheckedStudy:
    spec = record.spec
    permission.check(spec.place)
    tools = replace(tools, snapshot_command=permission.snapshot_command or tools.snapshot_command)
    match spec.place:
        case LivePlace() as place:
            return resume_live(record, place, tools, workload)
        case AttachedPlace() | ManagedPlace() as place:
            return resume_attached(record, place, tools, workload, permission)
        case SandboxPlace() as place:
            _check_restored_as_before(place, tools)
            inspected = {
                trial.candidate: EffectiveSettings(trial.in_force, trial.real)
                for trial in comparison.clean(record.trials)
                if trial.real and not spec.tuned
            }
            return resume_sandboxed(spec, plan(spec), tools, workload, inspected)


def _check_restored_as_before(place: SandboxPlace, tools: Tools) -> None:
    """Raise UserError where the data of later trials would lie on another file system than that of the earlier ones."""
    if place.restore is None:
        return
    was_snapshot, is_snapshot = place.restore.way is RestoreWay.SNAPSHOT, tools.snapshot_command is not None
    if was_snapshot and not is_snapshot:
        raise UserError("The data of this study's trials is restored by a snapshot command", "Give --snapshot-command again")
    if is_snapshot and not was_snapshot:
        raise UserError("This study was started without --snapshot-command", "Leave it out, or start another study")


def _with_expected_noise(ready: CheckedStudy, tools: Tools) -> CheckedStudy:
    """Return a study that knows the noise of this machine, where it compares candidates under a load of dialin's."""
    if ready.spec.tuned or ready.spec.is_live:
        return ready
    noise = machine_noise.recall(tools.home.noise, ready.spec)
    promise = machine_noise.forecast_sentence(ready.spec, ready.plan, noise)
    return replace(ready, spec=machine_noise.with_expected_noise(ready.spec, ready.plan, noise), promise=promise)


def _with_notes(ready: CheckedStudy, *first: str) -> CheckedStudy:
    return replace(ready, notes=tuple(filter(None, (*first, *ready.notes))))


def _with_budget(record: StudyRecord, minutes: float) -> StudySpec:
    """Return a study with another budget; a tune whose proof had begun continues its search, and repeats the proof."""
    spec, spent = record.spec, seconds_of(record.trials) / 60
    if minutes < spent:
        raise UserError(
            f"--minutes {minutes:g} is less than the {math.ceil(10 * spent) / 10:.1f} minutes that the study has used already",
            "Give the minutes of the whole study, those used included",
        )
    course, tune = record.course, spec.question
    if course is not None and isinstance(tune, TunePlan) and minutes > spec.minutes and current_proof_asks(spec, course.asks):
        searched = sum(1 for _ in answers(course.asks, record.trials))
        more = tune.model_copy(update={"searched": searched, "proofs": tune.proofs + 1})
        spec = spec.model_copy(update={"question": more})
    try:
        return StudySpec.model_validate({**spec.model_dump(), "minutes": minutes})
    except ValidationError as error:
        raise UserError(f"--minutes {minutes:g} is not between 0 and a week", "Give minutes of wall clock") from error
