"""Checks of a study on sandboxes, and the inspection of its candidates."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from dialin.datasets.cache import check_space, share_disk
from dialin.datasets.prepare import NeededData, smaller_data
from dialin.datasets.restore import restore_sentence
from dialin.errors import ServerError, UserError
from dialin.evidence import effective_settings
from dialin.model.build import Build
from dialin.model.place import SandboxPlace
from dialin.model.setting import describe, same_value
from dialin.model.study import Candidate, StudySpec, Switch
from dialin.model.trial import EffectiveSettings
from dialin.places.sandbox import inspection
from dialin.places.sandbox.fit_check import check_all_fit, room_here
from dialin.places.sandbox.site import Sandboxes, build_of
from dialin.places.sandbox.switch_mode import ExpectedSwitch, choose_switch_mode, expect_switch
from dialin.preflight.checked import CheckedStudy, StudyRequest, with_plan
from dialin.preflight.option_files import RequestedSettings, requested_on_builds, said_if_refused
from dialin.question.candidates import candidates_of
from dialin.question.plan import Plan, plan
from dialin.sentences.note import TypedNote
from dialin.sentences.setting_notes import InertConfound
from dialin.servers import builds, dry_run
from dialin.trials import profiling, raw_waits
from dialin.trials.changes import Changes, changes_between
from dialin.trials.tools import Tools
from dialin.variables import check, rules
from dialin.variables.catalogue import Catalogue, excerpt
from dialin.workloads.base import Workload


def check_sandboxed(request: StudyRequest, tools: Tools) -> CheckedStudy:
    """Check a study on sandboxes: resolve its names, inspect its candidates, choose the switch mode, plan.

    Raises:
        UserError: something is not there or does not fit.
        ServerError: a build does not start with nothing set.
    """
    study = check_uninspected(request, tools)
    check_disk(tools, [study.needed])
    return study.inspect()


@dataclass(frozen=True, slots=True)
class UninspectedStudy:
    """A study on sandboxes that was checked without the disk and without its candidates' servers.

    Attributes:
        expected: the switch mode, if the servers of its candidates do not speak against it.
        said: notes so far.
    """

    request: StudyRequest
    tools: Tools
    spec: StudySpec
    used: Mapping[str, Build]
    catalogues: Mapping[str, Catalogue]
    expected: ExpectedSwitch
    said: Sequence[str]

    @property
    def needed(self) -> NeededData:
        """The data of all candidates, which must fit the disk."""
        return Sandboxes(self.spec, self.used, self.request.workload, self.tools).needed_data

    def inspect(self) -> CheckedStudy:
        """Start each candidate's server once, and return the study.

        Raises:
            UserError: its candidates do not fit its switch mode, or its minutes do not.
            ServerError: a build does not start with nothing set.
        """
        spec, used, tools, workload = self.spec, self.used, self.tools, self.request.workload
        inspect = make_inspector(spec, used, tools)
        if not tools.inspected:  # once for the studies of a suite
            tools.say(f"Inspecting the {len(spec.candidates)} candidates")
        inspected = inspection.inspect_all(spec, inspect)
        if self.request.question.hold:
            spec, inspected = inspection.pin_confounds(spec, inspected, inspect)

        first = build_of(spec, spec.candidates[0], used)
        mode = choose_switch_mode(self.expected, spec, inspected, first, self.catalogues, tools)
        spec, allowed = with_plan(spec.model_copy(update={"switch": mode.switch}))
        ready = checked_on_sandboxes(spec, allowed, used, workload, tools, mode.inspected, mode.changes, self.catalogues)
        said = [*self.said, *(note.sentence(spec) for note in effective_settings.overrides(spec))]
        said += [*_inspection_notes(spec, mode.inspected, self.catalogues)]
        said += [*filter(None, [mode.reason]), *restore_notes(spec)]
        said += pool_notes(spec, allowed, first, workload, tools, mode.inspected)
        return replace(ready, notes=tuple(said))


def check_uninspected(request: StudyRequest, tools: Tools) -> UninspectedStudy:
    """Check what can be checked of a study on sandboxes before the disk, and before a candidate's server is started.

    Raises:
        UserError: something is not there or does not fit.
        ServerError: a build does not start with nothing set.
    """
    question, workload = request.question, request.workload
    if question.hold and len(question.servers) > 1:
        raise UserError("--hold works within one build, and there are several", "Study one build at a time")
    profile_notes = profiling.check(None) if question.is_profiled else []
    installed = builds.discover(tools.home, os.environ)
    chosen = tools.choose(question.servers, installed)
    used = {build.id: build for build in chosen.values()}
    catalogues = {name: tools.catalogue(build) for name, build in used.items()}
    defaults = {name: catalogue.defaults() for name, catalogue in catalogues.items()}
    elsewhere = {build.id: functools.partial(tools.catalogue, build) for build in installed if build.id not in used}
    of_servers = {server: catalogues[build.id] for server, build in chosen.items()}
    requested = requested_on_builds(question, request.directory, of_servers, elsewhere)
    of_files = tuple(dict.fromkeys(note for one in requested.values() for note in one.notes))
    form = next((one.form for one in requested.values() if one.form), None)
    limits = question.server_memory if question.compares_memory else None
    with said_if_refused(of_files, tools.say):
        spec = request.specify(_candidates(requested, chosen, limits or ()), defaults).model_copy(update={"form": form})
        spec = with_restore(spec, used, workload, tools)
        check.check_study(spec, catalogues, elsewhere)
        expected = expect_switch(question.switch, spec, catalogues)
        plan(spec.model_copy(update={"switch": expected.mode}))  # refuses a budget that is too small before servers start
        sizes = check_all_fit(spec, defaults, room_here(tools), tools.say, from_files=bool(question.compare))
        for candidate in spec.candidates:
            dry_run.check(used[candidate.server], spec.setting_of(candidate.name))
    wait_notes = raw_waits.check(spec.waits, used, tools)
    return UninspectedStudy(request, tools, spec, used, catalogues, expected, (*of_files, *sizes, *profile_notes, *wait_notes))


def checked_on_sandboxes(
    spec: StudySpec,
    allowed: Plan,
    used: Mapping[str, Build],
    workload: Workload,
    tools: Tools,
    inspected: Mapping[str, EffectiveSettings],
    changes: Changes | None,
    catalogues: Mapping[str, Catalogue] = MappingProxyType({}),
) -> CheckedStudy:
    """Return a study on sandboxes that can run; `catalogues` are those of its builds, where it is a new one."""

    def inspect(larger: StudySpec, name: str) -> EffectiveSettings | None:
        return make_inspector(larger, used, tools)(name, larger.setting_of(name))

    return CheckedStudy(
        spec=spec,
        plan=allowed,
        servers={build.id: facts_of(build) for build in used.values()},
        workload=workload,
        site=Sandboxes(spec, used, workload, tools, changes),
        inspected=inspected,
        catalogues={name: excerpt(known, spec.set_variables) for name, known in catalogues.items()},
        inspect=inspect,
    )


def _candidates(
    requested: Mapping[str, RequestedSettings], chosen: Mapping[str, Build], memory: Sequence[int]
) -> list[Candidate]:
    """Return the candidates with the exact versions of their builds, which a resumed study must find again."""
    named = candidates_of(next(iter(requested.values())).settings, list(chosen), memory)
    by_build = zip(*(one.settings for one in requested.values()), strict=True)
    settings = [setting for on_each in by_build for _, setting in on_each]
    return [
        one.model_copy(update={"setting": setting, "server": chosen[one.server].id})
        for one, setting in zip(named, settings, strict=True)
    ]


def resume_sandboxed(
    spec: StudySpec, allowed: Plan, tools: Tools, workload: Workload, inspected: Mapping[str, EffectiveSettings]
) -> CheckedStudy:
    """Return a study on sandboxes that resumes; candidates that were never inspected are inspected, of a tune the baseline.

    Raises:
        UserError: a build is gone.
        ServerError: the server of a tune's baseline does not start.
    """
    installed = builds.discover(tools.home, os.environ)
    used = {name: tools.find(name, installed) for name in {candidate.server for candidate in spec.candidates}}
    lacking = [spec.candidate(spec.baseline)] if spec.tuned else [c for c in spec.candidates if c.name not in inspected]
    uninspected = spec.model_copy(update={"candidates": tuple(lacking)})
    all_inspected = {**inspected, **inspection.inspect_all(uninspected, make_inspector(spec, used, tools))}
    if spec.tuned and spec.baseline not in all_inspected:
        raise ServerError("The baseline's server does not start", "See its log above")
    changes = None
    if spec.switch is Switch.SET:
        changes = changes_between(spec, all_inspected, tools.catalogue(used[spec.candidates[0].server]))
    return checked_on_sandboxes(spec, allowed, used, workload, tools, all_inspected, changes)


def make_inspector(spec: StudySpec, used: Mapping[str, Build], tools: Tools) -> inspection.Inspect:
    builds_of = {candidate.name: build_of(spec, candidate, used) for candidate in spec.candidates}
    return inspection.make_inspect(tools, builds_of, spec.variables_under_test)


def _inspection_notes(
    spec: StudySpec, inspected: Mapping[str, EffectiveSettings], catalogues: Mapping[str, Catalogue]
) -> list[str]:
    held = [f"Pinned for all candidates: {describe(spec.held)}"] if spec.held else []
    held += [
        f"{name} is pinned to {value} for all candidates, not to {spec.fixed[name]} (--set): no other value suits all of them"
        for name, value in spec.held.items()
        if name in spec.fixed and not same_value(value, spec.fixed[name])
    ]
    differing = [note for note in effective_settings.confounds(spec, inspected) if not isinstance(note, InertConfound)]
    notes: list[TypedNote] = [
        *effective_settings.deviations(spec, inspected, catalogues),
        *effective_settings.same_notes(spec, inspected, effective_settings.same(spec, inspected)),
        *differing,
    ]
    warned = ["No winner can be claimed while that differs"] if any(note.could_explain for note in differing) else []
    return held + [note.sentence(spec) for note in notes] + warned


def check_disk(tools: Tools, needed: Sequence[NeededData]) -> None:
    """Raise UserError unless the datasets, a copy of one for the trial, and its temporary files fit disk and cache.

    Prepared data that nobody uses gives way to them once a study begins.
    """
    home, smaller = tools.home, smaller_data(needed)
    lacking, copied = tools.preparer.room_needed(needed)
    temporary = max((workload.temporary_bytes() for workload, _ in needed), default=0)
    of_trial = temporary + (copied if tools.snapshot_command is None else 0)
    removable = tools.preparer.removable(needed)
    if share_disk(home.datasets, home.sandboxes):
        check_space(home.sandboxes, lacking + of_trial, smaller, removable)
    else:
        check_space(home.datasets, lacking, smaller, removable)
        check_space(home.sandboxes, of_trial, smaller)


def with_restore(spec: StudySpec, used: Mapping[str, Build], workload: Workload, tools: Tools) -> StudySpec:
    """Return a study that knows how the baseline's data is restored, and how long that takes."""
    build = build_of(spec, spec.candidate(spec.baseline), used)
    shape = rules.shapes_data(spec.setting_of(spec.baseline))
    restore = tools.preparer.forecast_restore(build, workload, shape, by_snapshot=tools.snapshot_command is not None)
    return spec.model_copy(update={"place": SandboxPlace(restore=restore)})


def restore_notes(spec: StudySpec) -> list[str]:
    """Return how data is restored, for the user."""
    restore = spec.place.restore if isinstance(spec.place, SandboxPlace) else None
    if restore is None:
        return []
    return [restore_sentence(restore, "trial" if spec.switch is Switch.RESTART else "start of a server")]


def pool_notes(
    spec: StudySpec,
    allowed: Plan,
    build: Build,
    workload: Workload,
    tools: Tools,
    inspected: Mapping[str, EffectiveSettings],
) -> list[str]:
    """Return what the user should know of filling the candidates' buffer pools; `build` is that of the first of them."""
    sizes = [one.in_force.get("innodb_buffer_pool_size", "") for one in inspected.values()]
    pools = [int(size) for size in sizes if size.isdecimal()]
    if not pools:
        return []
    dataset = tools.preparer.find(build, workload, rules.shapes_data(spec.setting_of(spec.candidates[0].name)))
    return tools.preparer.pool_load(build, workload, dataset, pools, allowed.warmup)


def facts_of(build: Build) -> dict[str, str]:
    """Return what the report says of a build; of an image, its digest, which says what ran."""
    facts = {"version": build.version_text or build.id, "origin": build.origin, "vendor": build.vendor.value}
    if build.image is not None:
        facts |= {"image": build.image.name, "image_digest": f"sha256:{build.image.digest}", "container": build.image.engine}
    return facts
