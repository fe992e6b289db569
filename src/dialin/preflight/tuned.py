"""Checks of a tune on sandboxes: its variables, what its trials cost, and what admits the settings that the search tries."""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from dialin.cause_sentences import with_advice
from dialin.errors import ServerError, UserError
from dialin.model.build import Build
from dialin.model.cause import PASSING
from dialin.model.dimension import Dimension
from dialin.model.setting import Value
from dialin.model.study import WORTHWHILE, Candidate, Goal, StudySpec, Switch, Until
from dialin.model.trial import Purpose, Trial, TrialState
from dialin.model.tune import TunePlan
from dialin.preflight import inspection, tune_space
from dialin.preflight.admission import Admit
from dialin.preflight.checked import CheckedStudy, StudyRequest, check_cpus, with_plan
from dialin.preflight.option_files import base_setting
from dialin.preflight.sandboxes import check_candidate, check_disk, facts_of, make_inspector
from dialin.probes import host
from dialin.question.options import StudyOptions
from dialin.question.plan import Plan, longest_warmup, plan
from dialin.search.proof import CONFIDENCE
from dialin.search.variable_choice import Situation
from dialin.servers import builds, dry_run
from dialin.trials import trial_steps
from dialin.trials.changes import changes_between
from dialin.trials.events import TrialEnded
from dialin.trials.probing import by_probes
from dialin.trials.sandbox_site import Sandboxes
from dialin.trials.tools import Tools
from dialin.trials.trial_steps import TrialContext
from dialin.variables import check
from dialin.variables.catalogue import Catalogue
from dialin.verdict import effective_settings
from dialin.verdict.effective_settings import EffectiveSettings
from dialin.workloads.base import Workload

BASELINE = "baseline"

SECONDS = {Goal.THROUGHPUT: 15.0, Goal.LATENCY: 15.0, Goal.STABILITY: 30.0}
"""The default seconds measured in a trial of the search: more short trials beat fewer long ones."""
_SECONDS_PER_LEVEL = 10.0
"""The default seconds measured at each of several numbers of threads."""
WORTHWHILE_OF_TUNE = {**WORTHWHILE, Goal.THROUGHPUT: 0.02}
"""The default of the smallest gain that matters: every variable that changes has to be maintained."""
_LONGEST_PROOF = 60.0
_RESTORED_PER_SECOND = 200e6
"""About how many bytes of prepared data are restored per second."""
_BOOT = 4.0
"""About how many seconds a server takes to start and to stop."""


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
    catalogue = tools.catalogue(build)
    elsewhere = {other.id: functools.partial(tools.catalogue, other) for other in installed if other.id != build.id}
    requested = tune_space.resolve(tune_space.parse_named(question.tune or ()), catalogue, elsewhere)
    setting, left_out = base_setting(request, catalogue, elsewhere)
    dry_run.check(build, setting)
    check_disk(tools, workload, 1)
    tools.say("Reading the baseline's server")
    inspect = inspection.make_inspect(tools, {BASELINE: build}, [one.name for one in requested])
    baseline = inspect(BASELINE, setting)
    if baseline is None:
        raise ServerError("The baseline's server does not start", "Correct --set")

    situation = situation_of(request, tools, baseline)
    weaker = question.accept_weaker_durability
    if requested:
        variables = tune_space.name_variables(requested, catalogue, situation, weaker=weaker)
    else:
        situation = _with_counters(request, tools, build, setting, catalogue, situation)
        variables = tune_space.propose_variables(catalogue, situation, weaker=weaker)
    for ends in tune_space.ends_of(variables):
        _check_ends(build, setting, ends)
    spec, allowed = with_plan(specify(request, build.id, setting, variables, catalogue, situation))
    check_candidate(spec, spec.candidates[0], build, catalogue.defaults())
    ready = _checked(spec, allowed, build, workload, tools, catalogue, {BASELINE: baseline})
    return replace(ready, notes=tuple(left_out))


def resume_tuned(spec: StudySpec, allowed: Plan, tools: Tools, workload: Workload) -> CheckedStudy:
    """Return a tune on sandboxes that resumes.

    Raises:
        UserError: the build is gone.
        ServerError: the baseline's server does not start.
    """
    build = builds.find(spec.candidates[0].server, builds.discover(tools.home, os.environ))
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
        catalogues={build.id: effective_settings.excerpt(catalogue, spec.set_variables)},
    )


def refuse_options(question: StudyOptions, request: StudyRequest) -> None:
    """Refuse options that a tune does not have.

    Raises:
        UserError: one of them is given.
    """
    requested = {
        "--waits": question.waits is not None,
        "--hold": question.hold,
        "--confirm": question.confirm,
        "--baseline": question.baseline is not None,
        "--until": question.until is not Until.SAFE,
        "--confidence": question.confidence != CONFIDENCE,
    }
    if refused := [option for option, is_given in requested.items() if is_given]:
        raise UserError(f"A tune does not take {refused[0]}", "Leave it out")
    if question.rate and question.goal is not Goal.LATENCY:
        raise UserError(
            f"At a rate of {question.rate} transactions/s, every setting that keeps up has that throughput",
            "Tune latency at that rate (--goal latency), or leave out --rate",
        )
    if question.worst is not None and request.load.levels:
        raise UserError("--worst is for one number of threads", "Give one number of --threads, or leave out --worst")
    if request.workload.traits.runs is not None:
        raise UserError(f"{request.load.asked} has a fixed length, and cannot be tuned", "Compare values: dialin sweep")


def _check_ends(build: Build, setting: Mapping[str, Value], ends: Mapping[str, Value]) -> None:
    """Raise UserError where the server refuses these values; it names the value that is refused alone, if there is one."""
    try:
        dry_run.check(build, {**setting, **ends})
    except UserError:
        for name, value in ends.items():
            dry_run.check(build, {**setting, name: value})
        raise


def situation_of(request: StudyRequest, tools: Tools, baseline: EffectiveSettings) -> Situation:
    """Return what is known of this machine and of the load, before anything is measured."""
    existing: Path = next(path for path in (tools.home.root, *tools.home.root.parents) if path.exists())
    return Situation(
        memory=host.memory_available(),
        disk=shutil.disk_usage(existing).free,
        cpus=host.cpu_count(),
        connections=request.load.threads,
        tables=request.load.tables,
        data=request.workload.expected_bytes(),
        in_force=baseline.in_force,
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
    variables = tune_space.propose_variables(catalogue, situation, weaker=False)
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


def specify(
    request: StudyRequest,
    build: str,
    setting: Mapping[str, Value],
    variables: list[Dimension],
    catalogue: Catalogue,
    situation: Situation,
) -> StudySpec:
    """Return the tune that a question asks for, once its variables are known; `setting` is that of the baseline."""
    question = request.question
    base, common = tune_space.split_base(setting, variables)
    can_set = not request.workload.traits.restarts and any(not one.static for one in variables)
    if question.switch == "set" and any(one.static for one in variables):
        name = next(one.name for one in variables if one.static)
        raise UserError(f"--switch set is not possible: {name} can be set only at startup", f"Leave out {name} or --switch")
    switch = Switch.SET if can_set and question.switch != "restart" else Switch.RESTART
    levels = request.load.number_of_levels
    measure = question.measure or (SECONDS[question.goal] if levels == 1 else _SECONDS_PER_LEVEL)
    warmup = longest_warmup(Switch.RESTART, measure) if question.warmup is None else question.warmup
    start_seconds = (situation.data or 0.0) / _RESTORED_PER_SECOND + _BOOT + levels * warmup
    is_set = switch is Switch.SET and not request.workload.traits.grows
    memory, order = tune_space.memory_and_order(variables, catalogue, situation)
    tune = TunePlan(
        variables=tuple(variables),
        search_seconds=measure,
        proof_seconds=max(measure, min(2 * measure, _LONGEST_PROOF)),
        start_seconds=start_seconds,
        set_seconds=1 + levels * warmup / 2 if is_set else start_seconds,
        memory=memory,
        order=order,
    )
    candidate = Candidate(name=BASELINE, setting=base, server=build)
    worthwhile = question.worthwhile or WORTHWHILE_OF_TUNE[question.goal]
    question = question.model_copy(update={"set": common, "worthwhile": worthwhile})
    spec = question.spec([candidate], BASELINE, request.load, request.directory, tune=tune)
    check_cpus(spec)
    names = tuple(one.name for one in variables)
    return spec.model_copy(update={"switch": switch, "space": names})


def tune_admission(catalogue: Catalogue) -> Admit:
    """Return what admits the settings that a search tries: only their values are checked, for a trial shows the rest."""

    def admit(_spec: StudySpec, candidate: Candidate) -> tuple[Candidate, EffectiveSettings | None]:
        check.check_setting(candidate.setting, catalogue, {})
        return candidate, None

    return admit
