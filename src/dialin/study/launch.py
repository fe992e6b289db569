"""Beginning and resuming a study: everything is checked before anything is started."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

import dialin
from dialin.datasets.cache import Dataset, check_space
from dialin.datasets.prepare import BLANK_SIZE
from dialin.errors import DialinError, UserError
from dialin.model.build import Build
from dialin.model.cpus import parse_cpus
from dialin.model.progress import Watcher
from dialin.model.setting import Value, same_value
from dialin.model.study import Candidate, StudySpec
from dialin.model.verdict import Note, Verdict
from dialin.model.workload import WorkloadSpec
from dialin.probes import host
from dialin.servers import builds, dry_run
from dialin.store.lock import sole_runner
from dialin.store.store import Store
from dialin.study.file import Question, candidates_of, find_baseline
from dialin.study.plan import Plan, plan
from dialin.study.runner import Runner
from dialin.study.trial import Laboratory
from dialin.study.workshop import Workshop
from dialin.variables import check, rules
from dialin.variables.catalogue import Catalogue
from dialin.workloads.base import Workload
from dialin.workloads.sysbench import Sysbench

WorkloadMaker = Callable[[WorkloadSpec], Workload]


@dataclass(frozen=True, slots=True)
class Ready:
    """A study that was checked and can begin.

    Attributes:
        spec: its question, with candidates and baseline decided.
        plan: what the budget allows.
        builds: per build id.
        workload: the load.
        notes: what the user should know before it begins.
    """

    spec: StudySpec
    plan: Plan
    builds: Mapping[str, Build]
    workload: Workload
    notes: tuple[str, ...]


def check_question(question: Question, directory: Path, workshop: Workshop, make_workload: WorkloadMaker = Sysbench) -> Ready:
    """Check all that a study needs: builds, workload, names, values, memory, disk.

    Args:
        question: what was asked for.
        directory: what paths in it are relative to.
        workshop: the tools.
        make_workload: makes the load.

    Raises:
        UserError: something is not there or does not fit; nothing was started but, the first time, the build itself, to be
            asked for its variables.
        ServerError: a build does not start with nothing set.
    """
    workload = make_workload(question.workload_spec(directory))
    workload.check()
    settings, left_out = question.settings(directory)
    installed = builds.discover(workshop.home, os.environ)
    chosen = _choose(question.servers, installed)
    # Named as the user wrote the builds, kept with the very version that a resumed study must find again.
    candidates = [
        candidate.model_copy(update={"server": chosen[candidate.server].id})
        for candidate in candidates_of(settings, list(chosen))
    ]
    used = {build.id: build for build in chosen.values()}
    catalogues = {name: workshop.catalogue(build) for name, build in used.items()}
    baseline = find_baseline(question.baseline, candidates) if question.baseline else _default(candidates, catalogues)
    spec = question.spec(candidates, baseline, directory)
    elsewhere = {build.id: _asking(workshop, build) for build in installed if build.id not in used}
    notes = check.check_study(spec, catalogues, elsewhere)
    _check_duplicates(question, candidates)
    _check_cpus(spec)
    allowed = plan(spec)
    # Written down with the study: a larger budget, or another dialin, must not change how its trials are made.
    spec = spec.model_copy(update={"measure": allowed.measure, "warmup": allowed.warmup})
    for candidate in candidates:
        dry_run.check(used[candidate.server], {**spec.fixed, **candidate.setting})
    _check_memory(spec, catalogues)
    _check_disk(workshop, workload, len(used))
    return Ready(spec, allowed, used, workload, (*left_out, *_texts(notes)))


def begin(ready: Ready, out: Path, workshop: Workshop, watcher: Watcher, command: str) -> Verdict:
    """Begin a study and run it to its verdict; reports are the caller's to write.

    Raises:
        UserError: the directory is in use.
        DialinError: it could not be finished; what was measured is in the directory.
    """
    out.mkdir(parents=True, exist_ok=True)
    with (
        sole_runner(out),
        Store.create(
            out,
            ready.spec,
            created=workshop.clock.now(),
            dialin_version=dialin.__version__,
            command=command,
            host={**host.inventory(workshop.home.root), "load_driver": ready.workload.version()},
            servers={name: _facts(build) for name, build in ready.builds.items()},
        ) as store,
    ):
        for note in ready.notes:
            store.say(workshop.clock.now(), note)
        return _run(ready, store, workshop, watcher)


def resume(
    directory: Path,
    workshop: Workshop,
    watcher: Watcher,
    *,
    minutes: float | None = None,
    make_workload: WorkloadMaker = Sysbench,
) -> Verdict:
    """Go on with a study where it stood; no finished trial is repeated.

    Args:
        directory: the study's.
        workshop: the tools.
        watcher: told what happens.
        minutes: a new budget for the whole study, what was spent before included; None keeps the old one.
        make_workload: makes the load.

    Raises:
        UserError: there is no such study, a live dialin runs it, or its build is gone.
    """
    if not directory.is_dir():
        raise UserError(f"There is no directory {directory}", "Name the directory that a study was written to (its --out)")
    Store.open(directory).close()
    with sole_runner(directory), Store.open(directory) as store:
        spec = store.spec
        if minutes is not None:
            spec = _with_budget(spec, minutes)
        allowed = plan(spec)
        workload = make_workload(spec.workload)
        workload.check()
        installed = builds.discover(workshop.home, os.environ)
        used = {name: builds.find(name, installed) for name in {candidate.server for candidate in spec.candidates}}
        store.set_spec(spec)
        return _run(Ready(spec, allowed, used, workload, ()), store, workshop, watcher)


def _with_budget(spec: StudySpec, minutes: float) -> StudySpec:
    """Return the study with another budget, checked before anything is written."""
    try:
        return StudySpec.model_validate({**spec.model_dump(), "minutes": minutes})
    except ValidationError as error:
        raise UserError(f"--minutes {minutes:g}: {error.errors()[0]['msg'].lower()}", "Give minutes of wall clock") from None


def _run(ready: Ready, store: Store, workshop: Workshop, watcher: Watcher) -> Verdict:
    """Make the data and run the blocks; from here on what was begun is there to be resumed."""
    session = store.begin_session()

    def tell(text: str) -> None:
        store.say(workshop.clock.now(), text)
        watcher.said(text)

    preparer = workshop.preparer.telling(tell)
    by_candidate = {candidate.name: ready.builds[candidate.server] for candidate in ready.spec.candidates}
    datasets: dict[str, Dataset] = {}
    try:
        with ExitStack() as held:
            for candidate in ready.spec.candidates:
                shape = rules.shapes_data({**ready.spec.fixed, **candidate.setting})
                dataset = preparer.prepared(by_candidate[candidate.name], ready.workload, shape)
                held.enter_context(preparer.in_use(dataset))
                datasets[candidate.name] = dataset
            check_space(workshop.home.sandboxes, max(dataset.size for dataset in datasets.values()))
            laboratory = Laboratory(
                spec=ready.spec,
                plan=ready.plan,
                home=workshop.home,
                ledger=workshop.ledger,
                clock=workshop.clock,
                store=store,
                watcher=watcher,
                workload=ready.workload,
                builds=by_candidate,
                datasets=datasets,
            )
            return Runner(laboratory, session).run()
    except UserError as error:
        raise DialinError(error.what, f"{error.remedy}, then: dialin resume DIR") from error


def _choose(asked: list[str], installed: list[Build]) -> dict[str, Build]:
    """Return the builds that are asked for, by what the user wrote; MySQL before MariaDB where nothing is."""
    if asked:
        return {text: builds.find(text, installed) for text in asked}
    for flavour in ("mysql", "mariadb"):
        if any(build.flavour == flavour for build in installed):
            return {flavour: builds.find(flavour, installed)}
    raise UserError("No MySQL or MariaDB was found on this machine", "Install one: dialin servers install mysql@9.7")


def _asking(workshop: Workshop, build: Build) -> Callable[[], Catalogue]:
    return lambda: workshop.catalogue(build)


def _default(candidates: list[Candidate], catalogues: Mapping[str, Catalogue]) -> str:
    """Return the candidate that is the server's own default, where one is, else the first."""
    for candidate in candidates:
        known = catalogues[candidate.server].variables
        if candidate.setting and all(
            name in known and known[name].default is not None and same_value(value, str(known[name].default))
            for name, value in candidate.setting.items()
        ):
            return candidate.name
    return candidates[0].name


def _check_duplicates(question: Question, candidates: list[Candidate]) -> None:
    """Refuse settings that are the same twice; option files may be alike, to see the noise (A/A)."""
    if question.compare:
        return
    if same := check.duplicates(candidates):
        a, b = same[0]
        raise UserError(f"{a} and {b} are the same setting", "Take one of them out")


def _check_cpus(spec: StudySpec) -> None:
    there = os.sched_getaffinity(0)
    for option, text in (("server-cpus", spec.server_cpus), ("load-cpus", spec.load_cpus)):
        if text is None:
            continue
        if missing := parse_cpus(text) - there:
            raise UserError(f"--{option} {text}: there is no CPU {min(missing)} here", f"There are {_cpu_range(there)}")
        if shutil.which("taskset") is None:
            raise UserError(f"--{option} needs the program taskset", "Install it: apt-get install util-linux")


def _cpu_range(cpus: set[int]) -> str:
    return f"{min(cpus)} to {max(cpus)}"


def _check_memory(spec: StudySpec, catalogues: Mapping[str, Catalogue]) -> None:
    available = host.memory_available()
    for candidate in spec.candidates:
        defaults = {
            name: known.default for name, known in catalogues[candidate.server].variables.items() if known.default is not None
        }
        values: dict[str, Value] = {**defaults, **spec.fixed, **candidate.setting}
        check.check_memory(candidate.name, rules.memory_needed(values, spec.workload.threads), available)


def _check_disk(workshop: Workshop, workload: Workload, count: int) -> None:
    """The datasets of all builds, and one copy for the trial, must fit."""
    check_space(workshop.home.root, (count + 1) * (BLANK_SIZE + workload.expected_bytes()))


def _facts(build: Build) -> dict[str, str]:
    return {"version": build.version_text or build.id, "origin": build.origin, "flavour": build.flavour.value}


def _texts(notes: list[Note]) -> list[str]:
    return [note.text for note in notes]
