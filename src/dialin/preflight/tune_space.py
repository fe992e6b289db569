"""The space that a tune searches: the variables that the user named or dialin proposes, with ranges that the build takes.

What is known of variables beyond the catalogue (rules of thumb, ranges that make sense on this machine, memory) is in
`dialin.search.variable_choice`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dialin.errors import UserError
from dialin.model.build import BuildReference
from dialin.model.dimension import Dimension
from dialin.model.durability import DurabilityLoss
from dialin.model.setting import Setting, Value, as_number, is_one_of
from dialin.model.study import SettingForm
from dialin.model.tune import LeftOut, LeftOutReason, MemoryFormula
from dialin.search import variable_choice
from dialin.search.constraints import Constraints
from dialin.search.proof import MOST_VARIABLES
from dialin.search.ranges import RequestedVariable, VariableFacts, make_dimension, parse_requested
from dialin.search.space import Space
from dialin.search.variable_choice import Situation
from dialin.servers.capabilities import Capability, has
from dialin.text import command_line
from dialin.variables import check, reserved_variables, rules, set_global
from dialin.variables.catalogue import NUMBERS, Catalogue, Variable
from dialin.variables.check import Elsewhere
from dialin.variables.durability import losses_text, weaker_durability
from dialin.variables.memory import REDO_LOG
from dialin.variables.performance import TABLE
from dialin.variables.size_units import BYTES, unit_of

_MIB, _KIB = 2**20, 2**10


def parse_named(texts: Sequence[str]) -> list[RequestedVariable]:
    """Parse the variables that a user named, without looking at a build.

    Raises:
        UserError: a text is neither a name, nor one with a range or a list; or a variable is named twice.
    """
    named: dict[str, RequestedVariable] = {}
    for text in texts:
        requested = parse_requested(text)
        if requested.name in named:
            raise UserError(f"{requested.name} is named twice", "Give all of its values in one place")
        named[requested.name] = requested
    return list(named.values())


def resolve(named: Sequence[RequestedVariable], catalogue: Catalogue, elsewhere: Elsewhere) -> list[RequestedVariable]:
    """Return the variables in the build's own spelling.

    Raises:
        UserError: one is not a variable of the build, is named twice, cannot be tuned, or has a value that the build refuses.
    """
    resolved: dict[str, RequestedVariable] = {}
    for requested in named:
        known = check.check_name(requested.name, catalogue, elsewhere)
        if known.name in resolved:
            raise UserError(f"{known.name} is named twice", "Give all of its values in one place")
        _check_tunable(known, catalogue.build_id)
        for value in (*requested.values, *(end for end in (requested.low, requested.high) if end is not None)):
            check.check_value(known, value, catalogue.build_id)
        resolved[known.name] = replace(requested, name=known.name)
    return list(resolved.values())


def _check_tunable(known: Variable, build: str) -> None:
    if why := reserved_variables.reason(known.name):
        raise UserError(f"{known.name} cannot be tuned: {why}", "Leave it out")
    if rules.identifies_instance(known.name):
        raise UserError(f"{known.name} cannot be tuned: it only says which server this is, or in what state", "Leave it out")
    if known.name in _shaping_data(build):
        raise UserError(
            f"{known.name} cannot be tuned: it decides what prepared data looks like",
            f"Compare its values: {command_line('dialin sweep', f'{known.name}=...')}",
        )


def _shaping_data(build: str) -> frozenset[str]:
    """Return the variables that shape prepared data; a server that can resize its redo log creates the log's files again."""
    resizes_logs = has(BuildReference.parse(build), Capability.REDO_LOG_RESIZE)
    return rules.SHAPES_DATA.difference(REDO_LOG if resizes_logs else ())


def name_variables(
    requested: Sequence[RequestedVariable], catalogue: Catalogue, situation: Situation, *, weaker: bool
) -> list[Dimension]:
    """Return the variables that a user named, with ranges.

    Raises:
        UserError: no range is known for one, another variable leaves it no effect, or it could weaken durability and `weaker`
            does not allow that.
    """
    variables = []
    for one in requested:
        known = catalogue.variables[one.name]
        check.refuse_self_adapting(one.name, situation.in_force, catalogue.build_id)
        facts = _facts(known, catalogue, situation, weaker=weaker)
        if one.low is not None and known.kind in NUMBERS:  # the user's range replaces dialin's own
            facts = replace(facts, choices=(), minimum=known.minimum, maximum=known.maximum)
        if not one.values and one.low is None and not facts.choices and known.kind not in NUMBERS:
            raise UserError(f"No values are known for {one.name}", f"List them: {one.name}=VALUE,VALUE")
        dimension = make_dimension(facts, one)
        _check_durability(dimension, situation.in_force, weaker=weaker)
        variables.append(_variable(dimension, known, "" if one.values or one.low is not None else dimension.reason))
    _check_limits(variables, catalogue, situation)
    return variables


def idle_notes(variables: Sequence[Dimension], catalogue: Catalogue, situation: Situation) -> tuple[str, ...]:
    """Return, for each variable that the value of another one may leave without effect under the load, a sentence.

    They are not refused: dialin would not propose them, but a load may use what it does not know of. `max_heap_table_size`
    limits tables that a user creates, too.
    """
    idle = (
        variable_choice.switched_off(one.name, catalogue.variables, situation, [each.name for each in variables])
        for one in variables
    )
    return tuple(
        f"{one.name} may have no effect while {one.by} is {one.value or 'empty'}: "
        f"tune {one.by} with it, or set that (--set {one.by}=...)"
        for one in idle
        if one is not None
    )


def _check_limits(variables: Sequence[Dimension], catalogue: Catalogue, situation: Situation) -> None:
    """Raise UserError where a variable has no effect, because the value of another one limits it and is not tuned with it."""
    taken = {one.name: one for one in variables}
    for one in variables:
        idle = variable_choice.fitted_to_others(one, taken, catalogue.variables, situation)
        if isinstance(idle, LeftOut):
            raise UserError(
                f"{one.name} has no effect while {idle.by} is {idle.value or 'empty'}",
                f"Tune {idle.by} with it, set that (--set {idle.by}=...), or leave {one.name} out",
            )


def refuse_forbidden(named: Sequence[RequestedVariable], form: SettingForm | None) -> None:
    """Refuse variables that the service of the baseline's parameter group lets nobody change.

    Raises:
        UserError: one is named.
    """
    forbidden = [one.name for one in named if form and one.name in form.forbidden]
    if forbidden:
        raise UserError(f"{forbidden[0]} cannot be tuned: the service does not let anybody change it", "Leave it out")


def propose_variables(
    catalogue: Catalogue,
    situation: Situation,
    *,
    weaker: bool,
    form: SettingForm | None = None,
    most: int = MOST_VARIABLES,
) -> tuple[list[Dimension], tuple[LeftOut, ...]]:
    """Return the variables that dialin proposes for a build, a machine and a load, the most important first, and the others.

    What the service of a parameter group forbids or computes itself (`form`) is not proposed. At most `most` are.

    Raises:
        UserError: it has none to propose.
    """
    of_service = {*form.forbidden, *form.computed} if form else set()
    choice = variable_choice.choose_variables(
        catalogue.variables, situation, weaker=weaker, most=most, excluded=of_service | _shaping_data(catalogue.build_id)
    )
    if not choice.chosen:
        raise UserError("dialin knows no variable that this load touches", "Name variables to tune")
    variables = [_variable(one.dimension, catalogue.variables[one.name], one.reason) for one in choice.chosen]
    return variables, (
        *choice.left_out,
        *(LeftOut(name=name, reason=LeftOutReason.SERVICE) for name in TABLE if name in of_service),
    )


def constraints_of(variables: Sequence[Dimension], catalogue: Catalogue, situation: Situation) -> Constraints:
    space = Space(tuple(variables))
    constraints = variable_choice.make_constraints(space, situation, catalogue.variables)
    memory: MemoryFormula | None = constraints.memory
    if memory is not None and memory.factors:
        # The baseline must be allowed even if its estimate exceeds the limit.
        memory = replace(memory, limit=max(memory.limit, memory.needed(space.defaults)))
    return replace(constraints, memory=memory if memory is not None and memory.factors else None)


def ends_of(variables: Sequence[Dimension]) -> list[dict[str, Value]]:
    """Return settings that hold each end of every range and each listed value once, for a server to check."""
    ends = [list(one.values) or [one.value(0.0), one.value(1.0)] for one in variables]
    count = max(map(len, ends), default=0)
    return [
        {one.name: values[place % len(values)] for one, values in zip(variables, ends, strict=True)} for place in range(count)
    ]


def _facts(known: Variable, catalogue: Catalogue, situation: Situation, *, weaker: bool) -> VariableFacts:
    facts = variable_choice.variable_facts(known, situation, catalogue.variables)
    words = [word for word in facts.choices if weaker or not _losses(known.name, word, situation.in_force)]
    distinct = [word for place, word in enumerate(words) if not is_one_of(word, words[:place])]
    return replace(facts, choices=tuple(distinct) if len(distinct) > 1 else ())


def _check_durability(dimension: Dimension, in_force: Mapping[str, str], *, weaker: bool) -> None:
    if weaker:
        return
    ends = () if dimension.values else (dimension.value(0.0), dimension.value(0.5), dimension.value(1.0))
    for value in (*dimension.categories, *ends):
        if losses := _losses(dimension.name, value, in_force):
            raise UserError(
                f"{dimension.name}={value} weakens durability: {losses_text(losses)}",
                "Leave it out, or allow it with --accept-weaker-durability",
            )


def _losses(name: str, value: Value, in_force: Mapping[str, str]) -> list[DurabilityLoss]:
    return weaker_durability({**in_force, name: str(value)}, in_force) if name in in_force else []


def _variable(dimension: Dimension, known: Variable, reason: str) -> Dimension:
    """Return a variable of the plan: it is static where SET GLOBAL does not have the same effect as a start."""
    dimension = replace(dimension, static=set_global.why_not(known.name, known) is not None, reason=reason)
    return _with_whole_ends(replace(dimension, step=_step(dimension)))


def _with_whole_ends(dimension: Dimension) -> Dimension:
    """Return an axis whose range ends at values that a server takes as they are."""
    if dimension.values or not dimension.step or not (dimension.low % dimension.step or dimension.high % dimension.step):
        return dimension
    low, high = (float(as_number(dimension.value(end)) or 0) for end in (0.0, 1.0))
    return replace(dimension, low=low, high=high) if low < high else dimension


def _step(dimension: Dimension) -> float:
    """Return the step that values are rounded to: whole MiB or KiB for a variable in bytes, where the range is wide enough."""
    if dimension.values or unit_of(dimension.name) != BYTES or dimension.step == 0:
        return dimension.step
    least = next((unit for unit in (_MIB, _KIB) if dimension.low >= unit and dimension.high >= 8 * unit), 1)
    return max(dimension.step, float(least))


def split_base(setting: Setting, variables: Sequence[Dimension]) -> tuple[dict[str, Value], dict[str, Value]]:
    """Split the baseline's setting into the variables that are tuned and those that all candidates have in common."""
    tuned = {one.name for one in variables}
    return (
        {name: value for name, value in setting.items() if name in tuned},
        {name: value for name, value in setting.items() if name not in tuned},
    )
