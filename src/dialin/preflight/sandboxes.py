"""Studies on sandboxes: private servers that dialin starts for each trial on a copy of prepared data."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from dialin.datasets.cache import Dataset, check_space
from dialin.datasets.prepare import BLANK_SIZE
from dialin.errors import UserError
from dialin.model.build import Build
from dialin.model.setting import Setting, Value, describe, same_value
from dialin.model.study import StudySpec, Switch
from dialin.model.trial import Purpose, Trial
from dialin.preflight import inspection, switch_choice
from dialin.preflight.checked import Ready, planned, settle
from dialin.probes import host
from dialin.question.candidates import Variables, candidates_of
from dialin.question.plan import Plan
from dialin.question.study_file import Question
from dialin.servers import builds, dry_run
from dialin.trials import raw_waits, switch_mode
from dialin.trials.shared_sandbox import Lives, SharedStage
from dialin.trials.stage import SandboxStage, Stage, sandbox_options
from dialin.trials.switch_mode import Changes
from dialin.trials.tools import Workshop
from dialin.variables import check, rules
from dialin.variables.catalogue import Catalogue
from dialin.verdict import effective_settings
from dialin.verdict.effective_settings import Seen
from dialin.workloads.base import Workload


@dataclass(frozen=True, slots=True)
class Sandboxes:
    """Where a study on sandboxes takes place.

    Attributes:
        spec: the study.
        builds: per build id.
        workload: the load.
        workshop: the tools.
        changes: what turns a running server from one candidate into another; None where each trial starts one.
    """

    spec: StudySpec
    builds: Mapping[str, Build]
    workload: Workload
    workshop: Workshop
    changes: Changes | None = None

    @contextmanager
    def open(self, say: Callable[[str], None]) -> Iterator[Callable[[Trial], Stage]]:
        """Prepare the data of every candidate, once; it is kept while the study runs."""
        workshop, spec = self.workshop, self.spec
        preparer = workshop.preparer.telling(say)
        datasets: dict[str, Dataset] = {}
        with ExitStack() as held:
            for candidate in spec.candidates:
                shape = rules.shapes_data(spec.setting_of(candidate.name))
                dataset = preparer.prepared(self.builds[candidate.server], self.workload, shape)
                held.enter_context(preparer.in_use(dataset))
                datasets[candidate.name] = dataset
            largest = max(dataset.size for dataset in datasets.values())
            check_space(workshop.home.sandboxes, largest + self.workload.temporary_bytes(), self.workload.smaller)

            if self.changes is not None:
                yield self._sharing(self.changes, datasets, held)
            else:
                yield lambda trial: self._of_its_own(trial, datasets)

    def _of_its_own(self, trial: Trial, datasets: Mapping[str, Dataset]) -> SandboxStage:
        """Return a sandbox that serves one trial; what that is for may need more options than its candidate."""
        name = trial.candidate
        needed = raw_waits.needs(self.builds[self.spec.candidate(name).server], trial, self.spec.waits, host.memory_available())
        return self._sandbox(name, datasets, {**self.spec.setting_of(name), **needed})

    def _sandbox(self, candidate: str, datasets: Mapping[str, Dataset], setting: Setting) -> SandboxStage:
        workshop, build = self.workshop, self.builds[self.spec.candidate(candidate).server]
        options = sandbox_options(setting, build)
        return SandboxStage(
            build,
            datasets[candidate],
            options,
            self.spec.server_cpus,
            workshop.home,
            workshop.ledger,
            workshop.clock,
            self.spec.set_variables,
        )

    def _sharing(self, changes: Changes, datasets: Mapping[str, Dataset], held: ExitStack) -> Callable[[Trial], Stage]:
        """Return what sets up the stages of trials that share sandboxes; the last of these is gone when `held` is closed.

        Trials for waits have one each, started with their instruments.
        """
        baseline = self.spec.baseline
        build = self.builds[self.spec.candidate(baseline).server]
        lives = Lives(
            lambda: self._sandbox(baseline, datasets, changes.boot),
            changes,
            self.workshop.clock,
            for_one_block=self.workload.grows,
        )
        held.callback(lives.end)

        def stage(trial: Trial) -> Stage:
            if trial.purpose is not Purpose.WAITS:
                return SharedStage(lives, trial, build)
            lives.end()  # two servers at once would share the machine
            return self._of_its_own(trial, datasets)

        return stage


def check_sandboxed(
    question: Question,
    directory: Path,
    workshop: Workshop,
    workload: Workload,
    settings: Sequence[tuple[str, Variables]],
    left_out: Sequence[str],
) -> Ready:
    """Check a study on sandboxes, and look at what each candidate comes to.

    Args:
        question: what was asked for.
        directory: what paths in it are relative to.
        workshop: the tools.
        workload: the load, checked.
        settings: what is compared, by name.
        left_out: of option files, in words.

    Raises:
        UserError: something is not there or does not fit.
        ServerError: a build does not start with nothing set.
    """
    if question.hold and len(question.servers) > 1:
        raise UserError("--hold keeps still what differs within one build, and there are several", "Study one build at a time")
    installed = builds.discover(workshop.home, os.environ)
    chosen = workshop.choose(question.servers, installed)
    # Named as the user wrote the builds, kept with the very version that a resumed study must find again.
    candidates = [
        candidate.model_copy(update={"server": chosen[candidate.server].id})
        for candidate in candidates_of(settings, list(chosen))
    ]
    used = {build.id: build for build in chosen.values()}
    catalogues = {name: workshop.catalogue(build) for name, build in used.items()}
    defaults = {
        name: {variable: known.default for variable, known in catalogue.variables.items() if known.default is not None}
        for name, catalogue in catalogues.items()
    }
    elsewhere = {build.id: _asking(workshop, build) for build in installed if build.id not in used}
    switch = switch_choice.likely(question, question.spec(candidates, candidates[0].name, directory), catalogues)
    spec, allowed, notes = settle(question, directory, candidates, defaults, catalogues, elsewhere, switch)
    switch_choice.check(question, spec, catalogues)
    _check_settings(spec, used, defaults)
    _check_disk(workshop, workload, len(used))
    without = raw_waits.check(spec.waits, used, workshop)
    inspect = inspector(spec, used, workshop)
    workshop.say(f"Looking at what the {len(candidates)} candidates come to")
    seen = inspection.look(spec, inspect)
    if question.hold:
        spec, seen = inspection.hold_still(spec, seen, inspect)
        check.check_study(spec, catalogues, elsewhere)
        _check_settings(spec, used, defaults)
    build = used[spec.candidates[0].server]
    taken = switch_choice.choose(question, spec, seen, build, catalogues, workshop, grows=workload.grows)
    switch = Switch.RESTART if taken.changes is None else Switch.SET
    if spec.switch is not switch:
        spec, allowed = planned(question, spec, switch)
    return Ready(
        spec=spec,
        plan=allowed,
        servers={build.id: _facts(build) for build in used.values()},
        workload=workload,
        site=Sandboxes(spec, used, workload, workshop, taken.changes),
        notes=(
            *left_out,
            *without,
            *(note.text for note in notes),
            *_found(spec, taken.seen, catalogues),
            *filter(None, [taken.told]),
        ),
        seen=taken.seen,
        catalogues={name: effective_settings.excerpt(catalogue, spec.set_variables) for name, catalogue in catalogues.items()},
    )


def sandboxes_again(spec: StudySpec, allowed: Plan, workshop: Workshop, workload: Workload, seen: Mapping[str, Seen]) -> Ready:
    """Return a study on sandboxes that goes on; candidates that were never seen are looked at.

    Raises:
        UserError: a build is gone.
    """
    installed = builds.discover(workshop.home, os.environ)
    used = {name: builds.find(name, installed) for name in {candidate.server for candidate in spec.candidates}}
    unseen = spec.model_copy(update={"candidates": tuple(c for c in spec.candidates if c.name not in seen)})
    found = {**seen, **inspection.look(unseen, inspector(spec, used, workshop))}
    servers = {build.id: _facts(build) for build in used.values()}
    changes = None
    if spec.switch is Switch.SET:
        changes = switch_mode.changes(spec, found, workshop.catalogue(used[spec.candidates[0].server]))
    site = Sandboxes(spec, used, workload, workshop, changes)
    return Ready(spec=spec, plan=allowed, servers=servers, workload=workload, site=site, seen=found)


def inspector(spec: StudySpec, used: Mapping[str, Build], workshop: Workshop) -> inspection.Inspect:
    """Return what looks at the candidates of a study."""
    builds_of = {candidate.name: used[candidate.server] for candidate in spec.candidates}
    return inspection.inspector(workshop, builds_of, spec.asked_variables)


def _found(spec: StudySpec, seen: Mapping[str, Seen], catalogues: Mapping[str, Catalogue]) -> list[str]:
    """Return what the user should know of what the candidates come to."""
    held = [f"Held still for all candidates: {describe(spec.held)}"] if spec.held else []
    held += [
        f"{name} is {value} for all, not the {spec.fixed[name]} that you fixed: no other value can be held for all candidates"
        for name, value in spec.held.items()
        if name in spec.fixed and not same_value(value, spec.fixed[name])
    ]
    notes = effective_settings.deviations(spec, seen, catalogues) + effective_settings.same_notes(
        spec, seen, effective_settings.same(spec, seen)
    )
    differing = [note for note in effective_settings.confounds(spec, seen) if not note.data["inert"]]
    warned = ["No winner will be claimed while that differs"] if any(note.data["could_explain"] for note in differing) else []
    return held + [note.text for note in notes + differing] + warned


def _asking(workshop: Workshop, build: Build) -> Callable[[], Catalogue]:
    return lambda: workshop.catalogue(build)


def _check_settings(spec: StudySpec, used: Mapping[str, Build], defaults: Mapping[str, Mapping[str, str]]) -> None:
    """Make sure that each candidate's server takes its setting, and finds the memory for it.

    Raises:
        UserError: one does not.
    """
    for candidate in spec.candidates:
        dry_run.check(used[candidate.server], spec.setting_of(candidate.name))
    available = host.memory_available()
    for candidate in spec.candidates:
        values: dict[str, Value] = {**defaults[candidate.server], **spec.setting_of(candidate.name)}
        check.check_memory(candidate.name, rules.memory_needed(values, spec.workload.threads), available)


def _check_disk(workshop: Workshop, workload: Workload, count: int) -> None:
    """The datasets of all builds, one copy for the trial, and what that writes to temporary files must fit."""
    data = (count + 1) * (BLANK_SIZE + workload.expected_bytes())
    check_space(workshop.home.root, data + workload.temporary_bytes(), workload.smaller)


def _facts(build: Build) -> dict[str, str]:
    return {"version": build.version_text or build.id, "origin": build.origin, "flavour": build.flavour.value}
