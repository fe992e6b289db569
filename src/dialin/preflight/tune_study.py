"""A tune as a study: the loads that it does not take, and what it stores."""

from __future__ import annotations

from collections.abc import Mapping

from dialin.errors import UserError
from dialin.measures.table import MEASURES
from dialin.model.dimension import Dimension
from dialin.model.place import SandboxPlace
from dialin.model.setting import Value
from dialin.model.study import Candidate, SettingForm, StudySpec, Switch
from dialin.model.tune import LeftOut, TunePlan
from dialin.preflight import tune_space
from dialin.preflight.checked import StudyRequest, check_cpus
from dialin.question.plan import FEWEST_INTERVALS, longest_warmup, plan
from dialin.search.proof import MOST_VARIABLES, separable_variables
from dialin.search.variable_choice import Situation
from dialin.variables.catalogue import Catalogue

BASELINE = "baseline"

_SECONDS_PER_LEVEL = 10.0
"""The default seconds measured at each of several numbers of threads."""
_LONGEST_PROOF = 60.0
_RESTORED_PER_SECOND = 200e6
"""About how many bytes of prepared data are restored per second, until that was measured."""
_BOOT = 4.0
"""About how many seconds a server takes to start and to stop."""


def refuse_options(request: StudyRequest) -> None:
    """Refuse a load that cannot be tuned.

    Raises:
        UserError: it cannot.
    """
    question = request.question
    if question.rate and not MEASURES[question.goal].varies_at_rate:
        raise UserError(
            f"At a rate of {question.rate} transactions/s, every setting that keeps up has that throughput",
            "Tune latency at that rate (--goal latency), or leave out --rate",
        )
    if question.worst is not None and request.load.levels:
        raise UserError("--worst is for one number of threads", "Give one number of --threads, or leave out --worst")
    if request.workload.traits.runs is not None:
        raise UserError(f"{request.load.asked} has a fixed length, and cannot be tuned", "Compare values: dialin sweep")


def specify(
    request: StudyRequest,
    build: str,
    setting: Mapping[str, Value],
    variables: list[Dimension],
    catalogue: Catalogue,
    situation: Situation,
    left_out: tuple[LeftOut, ...] = (),
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
    usual = MEASURES[question.goal].seconds if levels == 1 else _SECONDS_PER_LEVEL
    measure = question.measure or max(usual, FEWEST_INTERVALS * request.workload.traits.interval)
    warmup = longest_warmup(Switch.RESTART, measure) if question.warmup is None else question.warmup
    restore = request.place.restore if isinstance(request.place, SandboxPlace) else None
    data_seconds = restore.seconds if restore and restore.measured else (situation.data or 0.0) / _RESTORED_PER_SECOND
    start_seconds = data_seconds + _BOOT + levels * warmup
    is_set = switch is Switch.SET and not request.workload.traits.grows
    constraints = tune_space.constraints_of(variables, catalogue, situation)
    tune = TunePlan(
        variables=tuple(variables),
        search_seconds=measure,
        proof_seconds=max(measure, min(2 * measure, _LONGEST_PROOF)),
        start_seconds=start_seconds,
        set_seconds=1 + levels * warmup / 2 if is_set else start_seconds,
        memory=constraints.memory,
        order=constraints.order,
        acts_from=constraints.acts_from,
        left_out=left_out,
    )
    candidate = Candidate(name=BASELINE, setting=base, server=build)
    worthwhile = question.worthwhile or MEASURES[question.goal].worthwhile_of_tune
    question = question.model_copy(update={"set": common, "worthwhile": worthwhile})
    spec = question.spec([candidate], BASELINE, request.load, request.place, tune)
    check_cpus(spec)
    return spec.model_copy(update={"switch": switch})


def propose(
    request: StudyRequest,
    build: str,
    setting: Mapping[str, Value],
    catalogue: Catalogue,
    situation: Situation,
    form: SettingForm | None,
) -> StudySpec:
    """Return the tune of as many variables as the trials of its minutes can tell apart.

    Raises:
        UserError: dialin has none to propose, or the minutes are too short for any.
    """
    weaker = request.question.accept_weaker_durability

    def of(most: int) -> StudySpec:
        variables, left_out = tune_space.propose_variables(catalogue, situation, weaker=weaker, form=form, most=most)
        return specify(request, build, setting, variables, catalogue, situation, left_out)

    return of(separable_variables(plan(of(MOST_VARIABLES)).blocks))
