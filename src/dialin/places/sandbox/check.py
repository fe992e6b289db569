"""Checks of a study on sandboxes, and the inspection of its candidates."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence

from dialin.datasets.cache import check_space
from dialin.datasets.prepare import BLANK_SIZE
from dialin.datasets.restore import restore_sentence
from dialin.errors import ServerError, UserError
from dialin.evidence import effective_settings
from dialin.model.build import Build
from dialin.model.setting import describe, same_value
from dialin.model.study import Candidate, StudySpec, Switch
from dialin.model.trial import EffectiveSettings
from dialin.places.sandbox import inspection
from dialin.places.sandbox.fit_check import check_all_fit, room_here
from dialin.places.sandbox.site import Sandboxes, build_of
from dialin.places.sandbox.switch_mode import choose_switch_mode, expect_switch
from dialin.preflight.admission import Admit, checked_candidate
from dialin.preflight.checked import CheckedStudy, StudyRequest, with_plan
from dialin.preflight.option_files import RequestedSettings, requested_on_builds, said_if_refused
from dialin.question.candidates import candidates_of
from dialin.question.plan import Plan, plan
from dialin.sentences.note import TypedNote
from dialin.sentences.setting_notes import InertConfound
from dialin.servers import builds, dry_run
from dialin.trials import profiling, raw_waits
from dialin.trials.changes import changes_between
from dialin.trials.tools import Tools
from dialin.variables import check, memory, rules
from dialin.variables.catalogue import Catalogue, excerpt
from dialin.variables.memory import Room
from dialin.workloads.base import Workload


def check_sandboxed(request: StudyRequest, tools: Tools) -> CheckedStudy:
    """Check a study on sandboxes: resolve its names, inspect its candidates, choose the switch mode, plan.

    Raises:
        UserError: something is not there or does not fit.
        ServerError: a build does not start with nothing set.
    """
    question, workload = request.question, request.workload
    if question.hold and len(question.servers) > 1:
        raise UserError("--hold works within one build, and there are several", "Study one build at a time")
    profile_notes = profiling.check(None) if question.profile else []
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
        room = room_here(tools)
        sizes = check_all_fit(spec, defaults, room, tools.say, from_files=bool(question.compare))
        for candidate in spec.candidates:
            check_candidate(spec, candidate, used[candidate.server], defaults[candidate.server], room)
        check_disk(tools, workload, len(used))
    wait_notes = raw_waits.check(spec.waits, used, tools)

    inspect = make_inspector(spec, used, tools)
    tools.say(f"Inspecting the {len(spec.candidates)} candidates")
    inspected = inspection.inspect_all(spec, inspect)
    if question.hold:
        spec, inspected = inspection.pin_confounds(spec, inspected, inspect)

    first = build_of(spec, spec.candidates[0], used)
    mode = choose_switch_mode(expected, spec, inspected, first, catalogues, tools)
    spec, allowed = with_plan(spec.model_copy(update={"switch": mode.switch}))
    inspection_notes = _inspection_notes(spec, mode.inspected, catalogues)
    return CheckedStudy(
        spec=spec,
        plan=allowed,
        servers={build.id: facts_of(build) for build in used.values()},
        workload=workload,
        site=Sandboxes(spec, used, workload, tools, mode.changes),
        notes=(
            *of_files,
            *sizes,
            *profile_notes,
            *wait_notes,
            *(note.sentence(spec) for note in effective_settings.overrides(spec)),
            *inspection_notes,
            *filter(None, [mode.reason]),
            *restore_notes(spec),
        ),
        inspected=mode.inspected,
        admit=admission(used, workload, tools),
        catalogues={name: excerpt(known, spec.set_variables) for name, known in catalogues.items()},
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
    """Return a study on sandboxes that resumes; candidates that were never inspected are inspected.

    Raises:
        UserError: a build is gone.
    """
    installed = builds.discover(tools.home, os.environ)
    used = {name: tools.find(name, installed) for name in {candidate.server for candidate in spec.candidates}}
    uninspected = spec.model_copy(update={"candidates": tuple(c for c in spec.candidates if c.name not in inspected)})
    all_inspected = {**inspected, **inspection.inspect_all(uninspected, make_inspector(spec, used, tools))}
    changes = None
    if spec.switch is Switch.SET:
        changes = changes_between(spec, all_inspected, tools.catalogue(used[spec.candidates[0].server]))
    return CheckedStudy(
        spec=spec,
        plan=allowed,
        servers={build.id: facts_of(build) for build in used.values()},
        workload=workload,
        site=Sandboxes(spec, used, workload, tools, changes),
        inspected=all_inspected,
        admit=admission(used, workload, tools),
    )


def admission(used: Mapping[str, Build], workload: Workload, tools: Tools) -> Admit:
    """Return what admits candidates to a running study on sandboxes: the same checks and inspection as before it began."""

    def catalogue_of(build: str) -> Catalogue:
        return tools.catalogue(used[build])

    def admit(spec: StudySpec, candidate: Candidate) -> tuple[Candidate, EffectiveSettings | None]:
        named = checked_candidate(spec, candidate, catalogue_of)
        larger = spec.with_candidates([named])
        check_candidate(larger, named, used[named.server], catalogue_of(named.server).defaults(), room_here(tools))
        check_disk(tools, workload, 1)
        settings = make_inspector(larger, used, tools)(named.name, larger.setting_of(named.name))
        if settings is None:
            raise ServerError(f"The server of {named.name} does not start", "Propose another setting")
        return named, settings

    return admit


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


def check_candidate(spec: StudySpec, candidate: Candidate, build: Build, defaults: Mapping[str, str], room: Room) -> None:
    """Raise UserError where a build does not take a candidate's values, or its server does not fit this machine."""
    setting = spec.setting_of(candidate.name)
    dry_run.check(build, setting)
    room = room.limited(spec.memory_of(candidate.name) if build.image else None)
    check.check_fits(candidate.name, memory.need(setting, defaults, spec.workload.threads, room), room)


def check_disk(tools: Tools, workload: Workload, count: int) -> None:
    """Raise UserError unless the datasets of all builds, a copy for the trial, and its temporary files fit the disk."""
    data = (count + 1) * (BLANK_SIZE + workload.expected_bytes())
    check_space(tools.home.root, data + workload.temporary_bytes(), workload.how_to_shrink)


def with_restore(spec: StudySpec, used: Mapping[str, Build], workload: Workload, tools: Tools) -> StudySpec:
    """Return a study that knows how the baseline's data is restored, and how long that takes."""
    build = build_of(spec, spec.candidate(spec.baseline), used)
    restore = tools.preparer.forecast_restore(build, workload, rules.shapes_data(spec.setting_of(spec.baseline)))
    return spec.model_copy(update={"restore": restore})


def restore_notes(spec: StudySpec) -> list[str]:
    """Return how data is restored, for the user."""
    if spec.restore is None:
        return []
    return [restore_sentence(spec.restore, "trial" if spec.switch is Switch.RESTART else "start of a server")]


def facts_of(build: Build) -> dict[str, str]:
    """Return what the report says of a build; of an image, its digest, which says what ran."""
    facts = {"version": build.version_text or build.id, "origin": build.origin, "vendor": build.vendor.value}
    if build.image is not None:
        facts |= {"image": build.image.name, "image_digest": f"sha256:{build.image.digest}", "container": build.image.engine}
    return facts
