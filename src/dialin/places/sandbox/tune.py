"""Checks of a tune on sandboxes: its variables, what its trials cost, and what admits the settings that the search tries."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace

from dialin.cause_sentences import with_advice
from dialin.errors import ServerError, UserError
from dialin.model.build import Build
from dialin.model.cause import PASSING
from dialin.model.place import SandboxPlace
from dialin.model.setting import Value
from dialin.model.study import Switch
from dialin.model.trial import EffectiveSettings, Purpose, Trial, TrialState
from dialin.places.sandbox import inspection
from dialin.places.sandbox.check import check_disk, checked_on_sandboxes, pool_notes, restore_notes
from dialin.places.sandbox.fit_check import check_baseline_fits, room_for
from dialin.places.sandbox.site import Sandboxes
from dialin.preflight import tune_space
from dialin.preflight.checked import CheckedStudy, StudyRequest, with_plan
from dialin.preflight.option_files import RequestedSettings, base_setting, said_if_refused
from dialin.preflight.tune_study import BASELINE, propose, refuse_options, specify
from dialin.question.plan import plan
from dialin.search.ranges import RequestedVariable
from dialin.search.variable_choice import Situation
from dialin.servers import builds, dry_run
from dialin.trials import trial_steps
from dialin.trials.changes import changes_between
from dialin.trials.events import TrialEnded
from dialin.trials.probing import by_probes
from dialin.trials.tools import Tools
from dialin.trials.trial_steps import TrialContext
from dialin.variables import rules
from dialin.variables.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class BaselineServer:
    """The server that a tune or advice begins with, as it was read without a load.

    Attributes:
        setting: what it was started with; `of_file` is what became of the file that this comes from.
        notes: what the user should know of that.
        named: the variables that the user named to tune.
    """

    build: Build
    catalogue: Catalogue
    setting: dict[str, Value]
    of_file: RequestedSettings
    notes: tuple[str, ...]
    named: list[RequestedVariable]
    effective: EffectiveSettings
    situation: Situation


def read_baseline(request: StudyRequest, tools: Tools) -> BaselineServer:
    """Read the one server that a question is about.

    Raises:
        UserError: something is not there or does not fit.
        ServerError: the server does not start.
    """
    question, workload = request.question, request.workload
    installed = builds.discover(tools.home, os.environ)
    chosen = tools.choose(question.servers, installed)
    if len(chosen) > 1:
        raise UserError("Several builds are given, and one is needed", "Name one --server")
    if question.compares_memory:
        raise UserError("Several sizes of --server-memory are for dialin compare", "Name one")
    (build,) = chosen.values()
    build = build.limited(question.server_memory[0] if question.server_memory else None, question.server_cpus)
    catalogue, room = tools.catalogue(build), room_for(build, tools)
    elsewhere = {other.id: functools.partial(tools.catalogue, other) for other in installed if other.id != build.id}
    named = tune_space.resolve(tune_space.parse_named(question.tune or ()), catalogue, elsewhere)
    setting, of_file = base_setting(request, catalogue, elsewhere)
    with said_if_refused(of_file.notes, tools.say):
        tune_space.refuse_forbidden(named, of_file.form)
        sizes = check_baseline_fits(setting, catalogue, request, room)
        dry_run.check(build, setting)
        check_disk(tools, [(workload, [(build, rules.shapes_data(setting))])])
    tools.say("Reading the baseline's server")
    effective = inspection.make_inspect(tools, {BASELINE: build}, [one.name for one in named])(BASELINE, setting)
    if effective is None:
        raise ServerError("The baseline's server does not start", "Correct --set")
    situation = Situation(
        memory=room.memory,
        disk=room.disk,
        cpus=room.cpus,
        connections=request.load.threads,
        tables=request.load.tables,
        data=workload.expected_bytes(),
        in_force=effective.in_force,
        build=build.id,
    )
    return BaselineServer(build, catalogue, setting, of_file, (*of_file.notes, *sizes), named, effective, situation)


def check_tuned(request: StudyRequest, tools: Tools) -> CheckedStudy:
    """Check a tune on sandboxes: resolve its variables, read the baseline's server, plan.

    Raises:
        UserError: something is not there or does not fit.
        ServerError: the baseline's server does not start.
    """
    refuse_options(request)
    server = read_baseline(request, tools)
    build, setting, catalogue = server.build, server.setting, server.catalogue
    by_snapshot = tools.snapshot_command is not None
    restore = tools.preparer.forecast_restore(build, request.workload, rules.shapes_data(setting), by_snapshot=by_snapshot)
    request = replace(request, place=SandboxPlace(restore=restore))
    idle: tuple[str, ...] = ()
    if server.named:
        weaker = request.question.accept_weaker_durability
        variables = tune_space.name_variables(server.named, catalogue, server.situation, weaker=weaker)
        idle = tune_space.idle_notes(variables, catalogue, server.situation)
        spec = specify(request, build.id, setting, variables, catalogue, server.situation)
    else:
        spec = propose(request, build.id, setting, catalogue, _with_counters(request, tools, server), server.of_file.form)
    for ends in tune_space.ends_of(tuple(spec.tuned.values())):
        _check_ends(build, setting, ends)
    spec, allowed = with_plan(spec.model_copy(update={"form": server.of_file.form}))
    inspected, used = {BASELINE: server.effective}, {build.id: build}
    changes = changes_between(spec, inspected, catalogue) if spec.switch is Switch.SET else None
    known = {build.id: catalogue}
    ready = checked_on_sandboxes(spec, allowed, used, request.workload, tools, inspected, changes, known)
    pool = pool_notes(spec, allowed, build, request.workload, tools, inspected)
    return replace(ready, notes=(*server.notes, *idle, *restore_notes(spec), *pool))


def _check_ends(build: Build, setting: Mapping[str, Value], ends: Mapping[str, Value]) -> None:
    """Raise UserError where the server refuses these values; it names the value that is refused alone, if there is one."""
    try:
        dry_run.check(build, {**setting, **ends})
    except UserError:
        for name, value in ends.items():
            dry_run.check(build, {**setting, name: value})
        raise


def _with_counters(request: StudyRequest, tools: Tools, server: BaselineServer) -> Situation:
    """Return the situation with the status counters of one trial of the baseline, which show what the load touches.

    Raises:
        ServerError: the trial fails.
    """
    ended = measure_baseline(request, tools, server, "to see which variables this load touches")
    status = next((one for one in ended.evidence.watched if one.probe == "status"), None)
    return replace(server.situation, counters=status.counters, seconds=status.seconds) if status else server.situation


def measure_baseline(request: StudyRequest, tools: Tools, server: BaselineServer, purpose: str) -> TrialEnded:
    """Run one trial of the baseline, watched by all probes; `purpose` ends the message that announces it.

    Raises:
        ServerError: the trial fails.
    """
    variables, _ = tune_space.propose_variables(server.catalogue, server.situation, weaker=False)
    spec = specify(request, server.build.id, server.setting, variables, server.catalogue, server.situation)
    allowed, clock = plan(spec), tools.clock
    tools.say(f"Measuring the baseline once for {allowed.measure:.0f} s, {purpose}")
    with Sandboxes(spec, {server.build.id: server.build}, request.workload, tools).open(tools.say) as site:
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
