"""Which variables a search changes where the user names none, in which ranges and why.

The choice is made from the catalogue of the build, facts of the machine, and the status counters of one trial of the baseline.
Knowledge is in the table of `variables.performance`; a variable that is not there is not chosen. No server is needed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dialin.errors import UserError
from dialin.model.dimension import Dimension
from dialin.model.setting import Value, as_number, is_one_of, means_off, parse_value, same_value
from dialin.model.tune import ActsFrom, AtMost, LeftOut, LeftOutReason, MemoryFormula
from dialin.search.constraints import MEMORY_SHARE, SERVER_BYTES, Constraints
from dialin.search.proof import MOST_VARIABLES
from dialin.search.ranges import VariableFacts, make_dimension
from dialin.search.space import Space, is_log_range
from dialin.variables import pinning
from dialin.variables.behaviour import limit_of
from dialin.variables.catalogue import NUMBERS, Kind, Variable
from dialin.variables.durability import safest_values
from dialin.variables.memory import MEMORY
from dialin.variables.performance import TABLE, Amount, Fact, Limit, PerformanceVariable, Rule

_TOUCHED = 1 / 500
"""A load touches a variable if its counters grow this often for each statement."""
_PROBED = 2.0
"""The counters must also grow by this much per second: the probes of a trial make temporary tables, too."""
_SLOW = 20.0
"""A load of fewer statements per second cannot be judged by these limits: it touches a variable whose counters grow at all."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known before a search; None stands for "not known".

    Attributes:
        memory: bytes that the server may take: those that are free, and those that it has.
        cpus: CPUs that the server may use.
        connections: number of the load's connections.
        data: bytes of the load's data.
        disk: free bytes where the data are.
        iops: writes per second that a probe of the disk reached.
        spinning: whether the disk seeks.
        tables: number of the load's tables.
        in_force: the baseline's values, by variable; those missing are the build's defaults.
        counters: by how much each status counter grew in a trial of the baseline; empty where there was none.
        seconds: for how many seconds the counters grew.
        restarts: whether variables that are read at start only can be changed: not on an attached server.
        build: the server's build, such as `mysql@9.7.4`; empty where it is not known.
    """

    memory: float
    cpus: int
    connections: int
    data: float | None = None
    disk: float | None = None
    iops: float | None = None
    spinning: bool | None = None
    tables: int | None = None
    in_force: Mapping[str, str] = field(default_factory=dict)
    counters: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    restarts: bool = True
    build: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "counters", {name.lower(): value for name, value in self.counters.items()})


@dataclass(frozen=True, slots=True)
class ChosenVariable:
    """A variable that is searched.

    Attributes:
        dimension: its axis; the axis's `reason` is why the range is as it is.
        reason: why it is searched.
    """

    dimension: Dimension
    reason: str

    @property
    def name(self) -> str:
        return self.dimension.name


@dataclass(frozen=True, slots=True)
class Choice:
    """The variables of a build that are searched, the most important first, and what else is known and is not searched."""

    chosen: list[ChosenVariable]
    left_out: list[LeftOut]


def choose_variables(
    variables: Mapping[str, Variable],
    situation: Situation,
    *,
    weaker: bool = False,
    most: int = MOST_VARIABLES,
    excluded: Collection[str] = (),
) -> Choice:
    """Choose the variables of a build that are searched.

    `weaker` is whether weaker durability is accepted. At most `most` are chosen: first the variables that a rule of thumb would
    change, then the others, both in the order of the table. None of them is without effect beside the others.
    """
    candidates: dict[str, Dimension] = {}
    left_out: list[LeftOut] = []
    facts_known = _facts(variables, situation)
    for name, row in TABLE.items():
        if name not in variables or name in excluded or not variables[name].at_start:
            continue
        if (why := _why_not(variables[name], row, variables, situation, facts_known, weaker=weaker)) is not None:
            left_out.append(why)
            continue
        try:
            candidates[name] = make_dimension(variable_facts(variables[name], situation, variables, weaker=weaker))
        except UserError:  # the build takes nothing of the range
            left_out.append(LeftOut(name=name, reason=LeftOutReason.ROOM))
    ordered = sorted(candidates.values(), key=lambda one: not _moves(one))
    while True:
        taken = {one.name: one for one in ordered[:most]}
        fitted = [fitted_to_others(one, taken, variables, situation) for one in taken.values()]
        inert = [one for one in fitted if isinstance(one, LeftOut)]
        if not inert:
            break
        left_out += inert
        ordered = [one for one in ordered if one.name not in {limited.name for limited in inert}]
    chosen = [ChosenVariable(one, _reason(TABLE[one.name], situation)) for one in fitted if isinstance(one, Dimension)]
    left_out += [LeftOut(name=one.name, reason=LeftOutReason.BUDGET) for one in ordered[most:]]
    return Choice(chosen, left_out)


def _moves(dimension: Dimension) -> bool:
    return dimension.rule is not None and not same_value(dimension.rule, dimension.default)


def fitted_to_others(
    dimension: Dimension, taken: Mapping[str, Dimension], variables: Mapping[str, Variable], situation: Situation
) -> Dimension | LeftOut:
    """Return the axis of a variable without the values that others, which are not searched with it, leave no effect.

    `taken` are the variables that are searched. Where fewer than two values are left, the variable has no effect.
    """
    limit = limit_of(dimension.name, situation.build)
    if limit is None or limit.by not in variables or dimension.values:
        return dimension
    reached = _highest(taken[limit.by]) if limit.by in taken else _number(_in_force(variables[limit.by], situation))
    if reached is None or reached >= (dimension.high if limit.least is None else limit.least):
        return dimension
    if limit.least is not None or reached <= dimension.low:
        value = str(_in_force(variables[limit.by], situation))
        return LeftOut(name=dimension.name, reason=LeftOutReason.LIMITED, by=limit.by, value=value)
    kept = dimension.rule if dimension.rule is None or (_number(dimension.rule) or 0.0) <= reached else None
    return replace(
        dimension,
        high=reached,
        log=is_log_range(dimension.low, reached),
        rule=kept,
        source=dimension.source if kept is not None else "",
        reason=f"up to {limit.by}",
    )


def _highest(dimension: Dimension) -> float | None:
    numbers = [_number(value) for value in (*dimension.categories, dimension.default)]
    return max(
        [number for number in numbers if number is not None] + ([] if dimension.values else [dimension.high]), default=None
    )


def variable_facts(
    variable: Variable,
    situation: Situation,
    variables: Mapping[str, Variable],
    *,
    weaker: bool = True,
) -> VariableFacts:
    """Return what is known of one variable of a build, named by a user or chosen: for `make_dimension`.

    `weaker` is whether words of weaker durability than others may be tried.
    """
    default = _in_force(variable, situation)
    known = TABLE.get(variable.name)
    row = known if known is not None else PerformanceVariable("")
    facts_known = _facts(variables, situation) | {Fact.DEFAULT: _number(default)}
    numeric = variable.kind in NUMBERS and not row.words
    least = variable.minimum if numeric else None
    most = variable.maximum if numeric else None
    step = max(row.step or 0.0, float(variable.block or 0)) or (1.0 if variable.kind is Kind.INTEGER else 0.0)
    lowest, highest = amount(row.lowest, facts_known), amount(row.highest, facts_known)
    limits = f"up to {limit_text(row.highest, facts_known)}" if highest is not None else ""
    number = facts_known[Fact.DEFAULT]
    if number is not None and lowest is not None and highest is not None and not is_one_of(default, row.special):
        limits = limits if number <= highest else "up to the value of the baseline"
        lowest, highest = min(lowest, number), max(highest, number)
    rule, source = _recommended(row.rule, facts_known, step, [lowest, least], [highest, most])
    return VariableFacts(
        variable.name,
        default=default,
        static=variable.dynamic is not True,
        minimum=least,
        maximum=most,
        step=step,
        multiple=_multiple(variable.name, variables, situation),
        choices=() if numeric else _words(variable, _wanted(variable.name, row, weaker=weaker), default),
        special=tuple(value for value in row.special if variable.minimum is None or float(value) >= variable.minimum),
        lowest=lowest,
        highest=highest,
        rule=rule,
        source=source,
        limits="values that are worth trying" if row.words else limits,
    )


def _multiple(name: str, variables: Mapping[str, Variable], situation: Situation) -> float:
    if name != pinning.POOL:
        return 0.0
    known = {one: variables[one] for one in (pinning.POOL, pinning.CHUNK, pinning.INSTANCES) if one in variables}
    defaults = {one: variable.default or "" for one, variable in known.items()}
    values = {one: _in_force(variable, situation) for one, variable in known.items()}
    return pinning.pool_multiple(values, defaults, situation.build)


def make_constraints(space: Space, situation: Situation, variables: Mapping[str, Variable]) -> Constraints:
    """Return the constraints of a space: memory of pool, connections and server, and variables that limit each other.

    A variable that is not in the space counts with the baseline's value, unless it is known that the load does not touch it.
    """
    known = [name for name in TABLE if name in variables and name in MEMORY]
    factors = {name: float(times) for name in known if (times := MEMORY[name].times(situation.connections))}
    elsewhere = sum(
        factor * float(as_number(_in_force(variables[name], situation)) or 0)
        for name, factor in factors.items()
        if name not in space.defaults and _is_touched(TABLE[name].touch, situation) is not False
    )
    inside = {name: factor for name, factor in factors.items() if name in space.defaults}
    memory = MemoryFormula(SERVER_BYTES + elsewhere, inside, MEMORY_SHARE * situation.memory)
    limits = {name: limit_of(name, situation.build) for name in space.defaults}
    pairs = [(name, limit) for name, limit in limits.items() if limit is not None and limit.by in space.defaults]
    return Constraints(
        memory=memory,
        order=tuple(AtMost(name, limit.by) for name, limit in pairs if limit.least is None),
        acts_from=tuple(ActsFrom(name, limit.by, limit.least) for name, limit in pairs if limit.least is not None),
    )


def amount(limit: Limit, facts: Mapping[Fact, float | None]) -> float | None:
    """Return the smallest amount of a limit that is known; None where none is."""
    amounts = []
    for one in limit:
        if not isinstance(one, Amount):
            amounts.append(float(one))
        elif (value := facts.get(one.fact)) is not None:
            amounts.append(max(one.times * value, one.at_least))
    return min(amounts, default=None)


def _facts(variables: Mapping[str, Variable], situation: Situation) -> dict[Fact, float | None]:
    """Return all facts; what a rule of thumb recommends for the pool is one of them."""
    redo = situation.counters.get("innodb_os_log_written")
    facts: dict[Fact, float | None] = {
        Fact.MEMORY: situation.memory,
        Fact.CPUS: float(situation.cpus),
        Fact.DATA: situation.data,
        Fact.DISK: situation.disk,
        Fact.IOPS: situation.iops,
        Fact.SPINNING: None if situation.spinning is None else float(situation.spinning),
        Fact.CONNECTIONS: float(situation.connections),
        Fact.TABLES: situation.tables,
        Fact.OPEN_TABLES: None if situation.tables is None else float(situation.tables * situation.connections),
        Fact.HOURLY_REDO: 3600 * redo / situation.seconds if redo is not None and situation.seconds > 0 else None,
    }
    pool = variables.get("innodb_buffer_pool_size")
    if pool is not None:
        rule = TABLE[pool.name].rule
        recommended = amount(rule.limit, facts) if rule is not None else None
        facts[Fact.POOL] = max(recommended or 0.0, _number(_in_force(pool, situation)) or 0.0)
    return facts


def _in_force(variable: Variable, situation: Situation) -> Value:
    text = situation.in_force.get(variable.name, variable.default)
    return parse_value(text) if text is not None else ""


def _number(value: Value) -> float | None:
    number = as_number(value)
    return None if number is None else float(number)


def _wanted(name: str, row: PerformanceVariable, *, weaker: bool) -> tuple[Value, ...]:
    return row.words if weaker else safest_values(name, row.words)


def _words(variable: Variable, wanted: Sequence[Value], default: Value) -> tuple[Value, ...]:
    """Return the words that are searched: those of the table that the build has, in its spelling."""
    if variable.kind is Kind.BOOLEAN:
        return ("OFF", "ON")
    if not wanted:
        return variable.choices if variable.kind is Kind.ENUMERATION else ()
    if variable.kind in NUMBERS:
        low = variable.minimum if variable.minimum is not None else float("-inf")
        high = variable.maximum if variable.maximum is not None else float("inf")
        return tuple(word for word in wanted if low <= (_number(word) or 0.0) <= high)
    if variable.choices:
        return tuple(choice for word in wanted for choice in variable.choices if choice.lower() == str(word).lower())
    # Text that the server reads at its start: an empty value is the first word of the table.
    return tuple(word for word in wanted if default != "" or word != wanted[0])


def _recommended(
    rule: Rule | None,
    facts: Mapping[Fact, float | None],
    step: float,
    lows: Sequence[float | None],
    highs: Sequence[float | None],
) -> tuple[Value | None, str]:
    """Return what a rule of thumb recommends within limits, and its source; None where it does not know."""
    if rule is None:
        return None, ""
    for fact, low, high in rule.when:
        value = facts.get(fact)
        if value is None or not low <= value <= high:
            return None, ""
    if rule.word is not None:
        return rule.word, rule.source
    amounts = [one for one in rule.limit if isinstance(one, Amount)]
    number = amount(rule.limit, facts)
    # Where no fact is known, only the upper bound is left, which is no recommendation.
    if number is None or (amounts and all(facts.get(one.fact) is None for one in amounts)):
        return None, ""
    number = max([number, *(low for low in lows if low is not None)])
    number = min([number, *(high for high in highs if high is not None)])
    if step:
        number = max(number // step, 1.0) * step
    return (int(number) if number.is_integer() else number), rule.source


def facts_behind(name: str, variables: Mapping[str, Variable], situation: Situation) -> dict[Fact, float]:
    """Return the facts that decide a variable's rule of thumb here: that of its smallest amount, and those of its conditions.

    Empty where there is no rule, or where it recommends the same whatever the machine, its data and its load are.
    """
    row = TABLE.get(name)
    if row is None or row.rule is None:
        return {}
    facts, rule = _facts(variables, situation), row.rule
    smallest = amount(rule.limit, facts)
    deciding = {one.fact for one in rule.limit if isinstance(one, Amount) and amount((one,), facts) == smallest}
    deciding |= {fact for fact, _, _ in rule.when}
    return {fact: value for fact in deciding if (value := facts.get(fact)) is not None}


_TEXTS = {
    Fact.MEMORY: "{:.0%} of the free memory",
    Fact.DATA: "{:g} times the data",
    Fact.DISK: "{:.1%} of the free disk",
    Fact.IOPS: "{:g} times what the disk reached",
    Fact.CPUS: "{:g} times the CPUs",
    Fact.CONNECTIONS: "{:g} times the connections",
    Fact.TABLES: "{:g} times the tables",
    Fact.DEFAULT: "{:g} times the default",
}


def limit_text(limit: Limit, facts: Mapping[Fact, float | None]) -> str:
    """Return in words what a limit follows from: the amount that is the smallest."""
    smallest = amount(limit, facts)
    for one in limit:
        if isinstance(one, Amount) and one.fact in _TEXTS and amount((one,), facts) == smallest:
            return _TEXTS[one.fact].format(one.times)
    return "the most that is worth trying"


def _why_not(
    variable: Variable,
    row: PerformanceVariable,
    variables: Mapping[str, Variable],
    situation: Situation,
    facts: Mapping[Fact, float | None],
    *,
    weaker: bool,
) -> LeftOut | None:
    """Return why no other value of a variable can be tried, or none matters to this load on this machine; None for neither."""

    def left_out(reason: LeftOutReason, by: str = "", value: str = "") -> LeftOut:
        return LeftOut(name=variable.name, reason=reason, by=by, value=value)

    wanted = _wanted(variable.name, row, weaker=weaker)
    if len(wanted) < 2 <= len(row.words):
        return left_out(LeftOutReason.DURABILITY)
    if variable.dynamic is not True and not situation.restarts:
        return left_out(LeftOutReason.RESTART)
    if (off := switched_off(variable.name, variables, situation)) is not None:
        return off
    if (row.waits and situation.connections < 2) or _is_touched(row.touch, situation) is False:
        return left_out(LeftOutReason.LOAD)
    default = _in_force(variable, situation)
    if wanted:
        words = _words(variable, wanted, default)
        return left_out(LeftOutReason.ROOM) if all(same_value(word, default) for word in words) else None
    number = _number(default)
    highest = amount(row.highest, {**facts, Fact.DEFAULT: number})
    # A default that holds the data already, or takes all that the machine has, needs no more.
    is_enough = row.more_only and highest is not None and number is not None and highest <= 1.05 * number
    return left_out(LeftOutReason.ROOM) if is_enough else None


def switched_off(
    name: str, variables: Mapping[str, Variable], situation: Situation, taken: Collection[str] = ()
) -> LeftOut | None:
    """Return that another variable, which is not `taken` as well, switches one off; None where none does."""
    for other, accepted in (TABLE[name].needs if name in TABLE else {}).items():
        value = str(_in_force(variables[other], situation)) if other in variables else "OFF"
        if other not in taken and not _is_accepted(value, accepted):
            return LeftOut(name=name, reason=LeftOutReason.NEEDS, by=other, value=value)
    return None


def _is_accepted(value: str, accepted: Sequence[str]) -> bool:
    if accepted:
        return is_one_of(value, accepted)
    return not means_off(value)


def _is_touched(touch: Sequence[str], situation: Situation) -> bool | None:
    """Return whether the load touches a variable; None where counters do not say."""
    if not touch:
        return True
    counted = [situation.counters[name] for name in touch if name in situation.counters]
    if not counted:
        return None
    statements = max(situation.counters.get("questions", 0.0), situation.counters.get("queries", 0.0), 1.0)
    grown = sum(counted)
    if statements < _SLOW * situation.seconds:
        return grown > 0
    return grown >= max(_TOUCHED * statements, _PROBED * situation.seconds)


def _reason(row: PerformanceVariable, situation: Situation) -> str:
    """Return why a variable is searched, with the counter that shows that the load touches it."""
    if not row.touch or situation.seconds <= 0:
        return row.why
    rates = {name: situation.counters.get(name, 0.0) / situation.seconds for name in row.touch}
    name = max(rates, key=lambda one: rates[one])
    return f"{row.why}; {name}: {rates[name]:,.3g} per second" if rates[name] > 0 else row.why
