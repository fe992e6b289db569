"""Beginning and resuming a study: everything is checked before anything is started."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

import dialin
from dialin.errors import DialinError, UserError
from dialin.fleet.local_worker import local_worker
from dialin.model.progress import Watcher
from dialin.model.record import StudyRecord
from dialin.model.study import StudySpec
from dialin.model.verdict import Verdict
from dialin.model.workload import WorkloadSpec
from dialin.preflight import machine_noise
from dialin.preflight.attached import NOTHING, Permission, check_attached, resume_attached
from dialin.preflight.checked import CheckedStudy, check_cpus
from dialin.preflight.sandboxes import check_sandboxed, resume_sandboxed
from dialin.probes import host
from dialin.question.options import StudyOptions
from dialin.question.plan import Plan, plan
from dialin.race.progress_writer import ProgressWriter
from dialin.race.runner import Runner
from dialin.search.proposer import FIXED_LIST, Proposer
from dialin.servers.processes import identity
from dialin.store import requests
from dialin.store.leavings import remove_leavings
from dialin.store.lock import CHECKS, sole_runner
from dialin.store.store import Store
from dialin.trials import raw_waits
from dialin.trials.tools import Tools
from dialin.verdict import elimination, rates
from dialin.verdict.effective_settings import EffectiveSettings
from dialin.workloads import kinds, load_identity
from dialin.workloads.base import Workload

WorkloadMaker = Callable[[WorkloadSpec], Workload]


def check_question(
    question: StudyOptions,
    directory: Path,
    workshop: Tools,
    permission: Permission = NOTHING,
    make_workload: WorkloadMaker = kinds.make_workload,
    space: Sequence[str] = (),
) -> CheckedStudy:
    """Check all that a study needs: builds, workload, names, values, memory, disk.

    Args:
        question: what was asked for.
        directory: what paths in it are relative to.
        workshop: the tools.
        permission: what may be done to a server that dialin did not start.
        make_workload: makes the load.
        space: the variables that candidates which enter later may set as well, beside those of the question.

    Raises:
        UserError: something is not there or does not fit; no trial was started, only servers that are asked what they make of
            the settings.
        ServerError: a build does not start with nothing set, or an attached server does not answer.
    """
    if question.attach:
        raw_waits.refuse_attached(question.waits)
    load, note = kinds.installed_alternative(question.workload)
    question = question.model_copy(update={"workload": load})
    workload = make_workload(question.workload_spec(directory))
    workload.check()
    settings, left_out = question.settings(directory)
    if question.attach:
        ready = check_attached(question, directory, workshop, workload, settings, left_out, permission, space)
    else:
        permission.refuse_for_sandboxes()
        ready = check_sandboxed(question, directory, workshop, workload, settings, left_out, space)
    at_rate = rates.before(question.rate, question.goal)
    return _expecting(_told(ready, note, at_rate), workshop)


def _expecting(ready: CheckedStudy, workshop: Tools) -> CheckedStudy:
    """Return a study with the noise that it may expect, and with what its budget can tell apart."""
    known = machine_noise.recall(workshop.home.noise, ready.spec)
    promised = machine_noise.promise(ready.spec, ready.plan, known)
    return replace(ready, spec=machine_noise.expecting(ready.spec, ready.plan, known), promise=promised)


def begin(
    ready: CheckedStudy, out: Path, workshop: Tools, watcher: Watcher, command: str, proposer: Proposer = FIXED_LIST
) -> Verdict:
    """Begin a study and run it to its verdict; reports are the caller's to write.

    Args:
        ready: the study.
        out: the directory that it is written to.
        workshop: the tools.
        watcher: is told what happens.
        command: the command line that began it.
        proposer: names the candidates of each block.

    Raises:
        UserError: the directory is in use.
        DialinError: it could not be finished; what was measured is in the directory.
    """
    out.mkdir(parents=True, exist_ok=True)
    with (
        sole_runner(out, identity(os.getpid())),
        Store.create(
            out,
            ready.spec,
            created=workshop.clock.now(),
            dialin_version=dialin.__version__,
            command=command,
            host={**host.inventory(workshop.home.root), **load_identity.facts(ready.workload)},
            servers=ready.servers,
            catalogues=ready.catalogues,
        ) as store,
    ):
        for note in ready.notes:
            store.say(workshop.clock.now(), note)
        return _run(ready, out, store, workshop, watcher, proposer)


def check_resume(
    directory: Path,
    workshop: Tools,
    *,
    minutes: float | None = None,
    confirm: bool = False,
    permission: Permission = NOTHING,
    make_workload: WorkloadMaker = kinds.make_workload,
) -> CheckedStudy:
    """Check all that it takes to go on with a study.

    Args:
        directory: the study's.
        workshop: the tools.
        minutes: a new budget for the whole study, what was spent before included; None keeps the old one.
        confirm: whether the choice is measured afresh, also where that was not asked for before.
        permission: what may be done to a server that dialin did not start.
        make_workload: makes the load.

    Raises:
        UserError: there is no such study, a live dialin runs it, its build or a CPU is gone, or its attached server or the file
            of its load is another one now.
        ServerError: an attached server does not answer.
    """
    if not directory.is_dir():
        raise UserError(f"There is no directory {directory}", "Name the directory that a study was written to (its --out)")
    Store.open(directory).close()
    with sole_runner(directory, CHECKS), Store.open(directory) as store:
        record = store.read()
    spec = record.spec if minutes is None else _with_budget(record.spec, minutes)
    spec = spec.model_copy(update={"confirm": True}) if confirm else spec
    check_cpus(spec)
    allowed = plan(spec)
    workload = make_workload(spec.workload)
    workload.check()
    load_identity.check(spec, record.host, workload)
    driver = load_identity.describe_drivers({**record.host, **load_identity.later(record.host, workload.version())})
    return _told(_again(spec, allowed, workshop, workload, permission, record), driver)


def _again(
    spec: StudySpec, allowed: Plan, workshop: Tools, workload: Workload, permission: Permission, record: StudyRecord
) -> CheckedStudy:
    """Return a study that goes on where it takes place."""
    if spec.attachment is not None:
        return resume_attached(spec, allowed, workshop, workload, permission, record.servers)
    permission.refuse_for_sandboxes()
    seen = {
        trial.candidate: EffectiveSettings(trial.in_force, trial.real)
        for trial in elimination.clean(record.trials)
        if trial.real
    }
    return resume_sandboxed(spec, allowed, workshop, workload, seen)


def _told(ready: CheckedStudy, *first: str) -> CheckedStudy:
    """Return a study with more that the user should know, said first."""
    return replace(ready, notes=tuple(filter(None, (*first, *ready.notes))))


def resume(ready: CheckedStudy, directory: Path, workshop: Tools, watcher: Watcher, proposer: Proposer = FIXED_LIST) -> Verdict:
    """Go on with a study where it stood; no finished trial is repeated, and blocks that were begun keep their candidates.

    Args:
        ready: the study.
        directory: it is in.
        workshop: the tools.
        watcher: is told what happens.
        proposer: the one that it began with.

    Raises:
        UserError: a live dialin runs it.
        DialinError: it could not be finished; what was measured is in the directory.
    """
    with sole_runner(directory, identity(os.getpid())), Store.open(directory) as store:
        store.set_spec(ready.spec)
        store.add_to_host(load_identity.later(store.host, ready.workload.version()))
        return _run(ready, directory, store, workshop, watcher, proposer)


def _with_budget(spec: StudySpec, minutes: float) -> StudySpec:
    """Return the study with another budget, checked before anything is written."""
    try:
        return StudySpec.model_validate({**spec.model_dump(), "minutes": minutes})
    except ValidationError as error:
        raise UserError(f"--minutes {minutes:g}: {error.errors()[0]['msg'].lower()}", "Give minutes of wall clock") from None


def _run(ready: CheckedStudy, directory: Path, store: Store, workshop: Tools, watcher: Watcher, proposer: Proposer) -> Verdict:
    """Make the data and run the blocks; from here on what was begun is there to be resumed."""
    session = store.begin_session()
    remove_leavings(store)
    requests.take_back(directory)
    progress = ProgressWriter(store, workshop.clock, watcher)

    def say(text: str) -> None:
        store.say(workshop.clock.now(), text)
        progress.message(text)

    try:
        with progress.session(), local_worker(ready, store.host, directory, workshop, say) as worker:
            verdict = Runner(
                store,
                workshop.clock,
                progress,
                ready.plan,
                worker,
                session,
                proposer=proposer,
                admit=ready.admit,
                seen=ready.seen,
                stop_asked=functools.partial(requests.is_asked_to_stop, directory),
            ).run()
        machine_noise.remember(workshop.home.noise, store.read())
        return verdict
    except UserError as error:
        raise DialinError(error.what, error.remedy, resumable=True) from error
