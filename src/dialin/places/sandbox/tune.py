"""Checks of a tune on sandboxes: its variables, what its trials cost, and what admits the settings that the search tries."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import replace

from dialin.cause_sentences import with_advice
from dialin.errors import ServerError, UserError
from dialin.model.build import Build
from dialin.model.cause import PASSING
from dialin.model.setting import Value
from dialin.model.study import StudySpec, Switch
from dialin.model.trial import EffectiveSettings, Purpose, Trial, TrialState
from dialin.places.sandbox import inspection
from dialin.places.sandbox.check import check_disk, facts_of, make_inspector, restore_notes
from dialin.places.sandbox.fit_check import check_baseline_fits, room_for
from dialin.places.sandbox.site import Sandboxes
from dialin.preflight import tune_space
from dialin.preflight.checked import CheckedStudy, StudyRequest, with_plan
from dialin.preflight.option_files import base_setting, said_if_refused
from dialin.preflight.tune_study import BASELINE, propose, refuse_options, specify, tune_admission
from dialin.question.options import StudyOptions
from dialin.question.plan import Plan, plan
from dialin.search.variable_choice import Situation
from dialin.servers import builds, dry_run
from dialin.trials import trial_steps
from dialin.trials.changes import changes_between
from dialin.trials.events import TrialEnded
from dialin.trials.probing import by_probes
from dialin.trials.tools import Tools
from dialin.trials.trial_steps import TrialContext
from dialin.variables import rules
from dialin.variables.catalogue import Catalogue, excerpt
from dialin.workloads.base import Workload


def check_tuned(request: StudyRequest, tools: Tools) -> CheckedStudy:
    """Check a tune on sandboxes: resolve its variables, read the baseline's server, plan.

    Raises:
        UserError: something is not there or does not fit.
        ServerError: the baseline's server does not start.
    """
    question, workload = request.question, request.workload
    refuse_options(question, request)
    installed = builds.discover(tools.home, os.environ)
    chosen = tools.choose(question.servers, installed)
    if len(chosen) > 1:
        raise UserError("A tune runs on one build, and several are given", "Name one --server")
    (build,) = chosen.values()
    build = limited(build, question)
    catalogue = tools.catalogue(build)
    elsewhere = {other.id: functools.partial(tools.catalogue, other) for other in installed if other.id != build.id}
    requested = tune_space.resolve(tune_space.parse_named(question.tune or ()), catalogue, elsewhere)
    setting, of_file = base_setting(request, catalogue, elsewhere)
    with said_if_refused(of_file.notes, tools.say):
        tune_space.refuse_forbidden(requested, of_file.form)
        sizes = check_baseline_fits(setting, catalogue, request, room_for(build, tools))
        dry_run.check(build, setting)
        check_disk(tools, workload, 1)
    tools.say("Reading the baseline's server")
    inspect = inspection.make_inspect(tools, {BASELINE: build}, [one.name for one in requested])
    baseline = inspect(BASELINE, setting)
    if baseline is None:
        raise ServerError("The baseline's server does not start", "Correct --set")

    situation = situation_of(request, tools, baseline, build)
    restore = tools.preparer.forecast_restore(build, workload, rules.shapes_data(setting))
    request = replace(request, restore=restore)
    if requested:
        variables = tune_space.name_variables(requested, catalogue, situation, weaker=question.accept_weaker_durability)
        spec = specify(request, build.id, setting, variables, catalogue, situation)
    else:
        situation = _with_counters(request, tools, build, setting, catalogue, situation)
        spec = propose(request, build.id, setting, catalogue, situation, of_file.form)
    for ends in tune_space.ends_of(spec.tune.variables if spec.tune else ()):
        _check_ends(build, setting, ends)
    spec, allowed = with_plan(spec.model_copy(update={"form": of_file.form}))
    ready = _checked(spec, allowed, build, workload, tools, catalogue, {BASELINE: baseline})
    return replace(ready, notes=(*of_file.notes, *sizes, *restore_notes(spec)))


def resume_tuned(spec: StudySpec, allowed: Plan, tools: Tools, workload: Workload) -> CheckedStudy:
    """Return a tune on sandboxes that resumes.

    Raises:
        UserError: the build is gone.
        ServerError: the baseline's server does not start.
    """
    build = tools.find(spec.candidates[0].server, builds.discover(tools.home, os.environ))
    baseline = make_inspector(spec, {build.id: build}, tools)(spec.baseline, spec.setting_of(spec.baseline))
    if baseline is None:
        raise ServerError("The baseline's server does not start", "See its log above")
    return _checked(spec, allowed, build, workload, tools, tools.catalogue(build), {spec.baseline: baseline})


def _checked(
    spec: StudySpec,
    allowed: Plan,
    build: Build,
    workload: Workload,
    tools: Tools,
    catalogue: Catalogue,
    inspected: Mapping[str, EffectiveSettings],
) -> CheckedStudy:
    changes = changes_between(spec, inspected, catalogue) if spec.switch is Switch.SET else None

    def inspect(larger: StudySpec, name: str) -> EffectiveSettings | None:
        return make_inspector(larger, {build.id: build}, tools)(name, larger.setting_of(name))

    return CheckedStudy(
        spec=spec,
        plan=allowed,
        servers={build.id: facts_of(build)},
        workload=workload,
        site=Sandboxes(spec, {build.id: build}, workload, tools, changes),
        inspected=inspected,
        admit=tune_admission(catalogue),
        inspect=inspect,
        catalogues={build.id: excerpt(catalogue, spec.set_variables)},
    )


def _check_ends(build: Build, setting: Mapping[str, Value], ends: Mapping[str, Value]) -> None:
    """Raise UserError where the server refuses these values; it names the value that is refused alone, if there is one."""
    try:
        dry_run.check(build, {**setting, **ends})
    except UserError:
        for name, value in ends.items():
            dry_run.check(build, {**setting, name: value})
        raise


def limited(build: Build, question: StudyOptions) -> Build:
    """Return a build with the limits of its container that a question names.

    Raises:
        UserError: it names several.
    """
    if question.compares_memory:
        raise UserError("Several sizes of --server-memory are for dialin compare", "Name one")
    memory = question.server_memory[0] if question.server_memory else None
    return build.limited(memory, question.server_cpus)


def situation_of(request: StudyRequest, tools: Tools, baseline: EffectiveSettings, build: Build) -> Situation:
    """Return what is known of the server's machine, which a container's limits make smaller, and of the load."""
    room = room_for(build, tools)
    return Situation(
        memory=room.memory,
        disk=room.disk,
        cpus=room.cpus,
        connections=request.load.threads,
        tables=request.load.tables,
        data=request.workload.expected_bytes(),
        in_force=baseline.in_force,
        build=build.id,
    )


def _with_counters(
    request: StudyRequest,
    tools: Tools,
    build: Build,
    setting: Mapping[str, Value],
    catalogue: Catalogue,
    situation: Situation,
) -> Situation:
    """Return the situation with the status counters of one trial of the baseline, which show what the load touches.

    Raises:
        ServerError: the trial fails.
    """
    ended = measure_baseline(request, tools, build, setting, catalogue, situation, "to see which variables this load touches")
    status = next((one for one in ended.evidence.watched if one.probe == "status"), None)
    return replace(situation, counters=status.counters, seconds=status.seconds) if status else situation


def measure_baseline(
    request: StudyRequest,
    tools: Tools,
    build: Build,
    setting: Mapping[str, Value],
    catalogue: Catalogue,
    situation: Situation,
    purpose: str,
) -> TrialEnded:
    """Run one trial of the baseline, watched by all probes; `purpose` ends the message that announces it.

    Raises:
        ServerError: the trial fails.
    """
    variables, _ = tune_space.propose_variables(catalogue, situation, weaker=False)
    spec = specify(request, build.id, setting, variables, catalogue, situation)
    allowed, clock = plan(spec), tools.clock
    tools.say(f"Measuring the baseline once for {allowed.measure:.0f} s, {purpose}")
    with Sandboxes(spec, {build.id: build}, request.workload, tools).open(tools.say) as site:
        watch = by_probes(clock)
        context = TrialContext(spec, allowed, clock, request.workload, stage=site.stage, watch=watch)
        trial = Trial(0, 0, 0, 1, BASELINE, TrialState.RUNNING, clock.now(), purpose=Purpose.SEARCH)
        *_, ended = trial_steps.run(context, trial)
    failure = ended.trial.failure if isinstance(ended, TrialEnded) else None
    if not isinstance(ended, TrialEnded) or failure is not None:
        raise ServerError(
            f"The baseline cannot be measured: {with_advice(failure.cause) if failure else 'its trial did not end'}",
            "Try again" if failure and failure.fault in PASSING else "Correct --set or the load",
            failure.log_tail if failure else "",
        )
    return ended
