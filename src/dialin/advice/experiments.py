"""Derives the experiments that are worth a try on a server from what was read of it. Without I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dialin.advice.rules import CHANGED_DEFAULT, RULE_OF_THUMB, RULES
from dialin.advice.server_reading import ServerReading
from dialin.advice.values import NOTICEABLE, Values, fixed, recommended
from dialin.evidence.reasons import sources
from dialin.model.advice import WEIGHTS, Experiment, Trigger, Weight
from dialin.model.setting import Value, as_number, parse_value, same_value
from dialin.search import variable_choice
from dialin.search.ranges import VariableFacts
from dialin.sentences.tune_words import value_text
from dialin.text import counted, listed, number, size
from dialin.variables.behaviour import limit_of
from dialin.variables.performance import TABLE, Fact
from dialin.variables.size_units import BYTES, unit_of

_MOST_VALUES = 4
"""The most values of one experiment beside the effective one: each takes a share of the minutes."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What the rules say of a server.

    Attributes:
        experiments: strongest first.
        silent: codes of the rules that nothing triggered.
    """

    experiments: tuple[Experiment, ...]
    silent: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Proposal:
    variable: str
    values: Sequence[Value]
    trigger: Trigger
    beside: str = ""


def find_experiments(reading: ServerReading) -> Findings:
    """Return the experiments that the figures of a server suggest, one for each variable, with all its triggers."""
    proposals = [*_by_rules(reading), *_by_thumb(reading), *_by_changed_defaults(reading)]
    by_variable: dict[str, list[_Proposal]] = {}
    for proposal in proposals:
        by_variable.setdefault(proposal.variable, []).append(proposal)
    experiments = [_experiment(name, of_variable, reading) for name, of_variable in by_variable.items()]
    triggered = {proposal.trigger.code for proposal in proposals}
    codes = dict.fromkeys([*(rule.code for rule in RULES), RULE_OF_THUMB, CHANGED_DEFAULT])
    return Findings(tuple(sorted(experiments, key=_order)), tuple(code for code in codes if code not in triggered))


def _order(experiment: Experiment) -> tuple[int, int, int]:
    """Sort by the strongest trigger, then by how many there are, then by the importance of the variable."""
    names = list(TABLE)
    place = names.index(experiment.variable) if experiment.variable in TABLE else len(names)
    return WEIGHTS.index(experiment.weight), -len(experiment.triggers), place


def _by_rules(reading: ServerReading) -> Iterator[_Proposal]:
    for rule in RULES:
        name = next((name for name in rule.variables if reading.value(name) is not None), None)
        figure = rule.figure(reading)
        if name is None or figure is None or figure < rule.least or not rule.when(reading):
            continue
        if values := _values(rule.values, name, reading):
            text = f"{rule.text(figure, reading)}."
            trigger = Trigger(code=rule.code, weight=rule.weight, figure=figure, source=rule.source, text=text)
            yield _Proposal(name, values, trigger, rule.beside(reading))


def _by_thumb(reading: ServerReading) -> Iterator[_Proposal]:
    """Yield what the rules of thumb that a tune starts from recommend, where a fact about this server decides the value."""
    if reading.situation.memory == float("inf"):
        return  # most of them depend on the memory of the server's machine
    for name, facts in _touched(reading).items():
        limit = limit_of(name, reading.situation.build)
        if limit is not None and limit.least is not None and (reading.number(limit.by) or 0.0) < limit.least:
            continue  # it has an effect only with more of the other variable
        behind = variable_choice.facts_behind(name, reading.variables, reading.situation)
        # The size of the disk limits a recommendation, but is no reason for one.
        if not behind.keys() - {Fact.DISK} or not (values := recommended(facts)):
            continue
        known = listed([text(behind[fact]) for fact, text in _FACTS.items() if fact in behind])
        sentence = f"For {known} the rule of thumb is {value_text(name, values[0])}."
        trigger = Trigger(code=RULE_OF_THUMB, weight=Weight.MACHINE, figure=values[0], source=facts.source, text=sentence)
        yield _Proposal(name, values, trigger)


_FACTS: Mapping[Fact, Callable[[float], str]] = {
    Fact.MEMORY: lambda x: f"{size(x)} of memory",
    Fact.CPUS: lambda x: counted(int(x), "CPU"),
    Fact.DATA: lambda x: f"{size(x)} of data",
    Fact.DISK: lambda x: f"{size(x)} of free disk",
    Fact.IOPS: lambda x: f"{number(x)} writes/s that the disk reached",
    Fact.SPINNING: lambda x: "a disk that seeks" if x else "a disk that does not seek",
    Fact.CONNECTIONS: lambda x: counted(int(x), "connection"),
    Fact.TABLES: lambda x: counted(int(x), "table"),
    Fact.OPEN_TABLES: lambda x: f"{number(x)} tables times connections",
    Fact.HOURLY_REDO: lambda x: f"{size(x)} of redo log per hour",
    Fact.DEFAULT: lambda x: f"a default of {number(x)}",
    Fact.POOL: lambda x: f"a buffer pool of up to {size(x)}",
}


def _by_changed_defaults(reading: ServerReading) -> Iterator[_Proposal]:
    """Yield the defaults of variables that matter to this load and that somebody changed: is the change still worth it?

    A size that somebody set fits the machine and its data, which the default does not know: that is no reason to try it.
    """
    source = f"{sources.DEFAULTS}; that a change should be worth it today is ours"
    touched = _touched(reading)
    for name, default in reading.defaults.items():
        facts = touched.get(name)
        if facts is None or unit_of(name) == BYTES or same_value(parse_value(default), facts.default):
            continue
        if values := _values(fixed(parse_value(default)), name, reading):
            text = f"Somebody changed it from its default {value_text(name, parse_value(default)) or 'of nothing'}."
            trigger = Trigger(code=CHANGED_DEFAULT, weight=Weight.CHANGED, figure=facts.default, source=source, text=text)
            yield _Proposal(name, values, trigger)


def _touched(reading: ServerReading) -> dict[str, VariableFacts]:
    """Return the facts about the variables that matter to this load and that give up no durability."""
    choice = variable_choice.choose_variables(reading.variables, reading.situation, most=len(TABLE))
    return {variable.name: _facts(variable.name, reading) for variable in choice.chosen}


def _values(values: Values, name: str, reading: ServerReading) -> list[Value]:
    return values(_facts(name, reading))


def _facts(name: str, reading: ServerReading) -> VariableFacts:
    return variable_choice.variable_facts(reading.variables[name], reading.situation, reading.variables)


def _experiment(name: str, proposals: Sequence[_Proposal], reading: ServerReading) -> Experiment:
    triggers = sorted((proposal.trigger for proposal in proposals), key=lambda trigger: WEIGHTS.index(trigger.weight))
    values: list[Value] = []
    for proposal in sorted(proposals, key=lambda each: WEIGHTS.index(each.trigger.weight)):
        values += [value for value in proposal.values if not any(_are_alike(value, other) for other in values)]
    values = sorted(values[:_MOST_VALUES], key=lambda value: float(as_number(value) or 0.0))
    now = reading.value(name)
    return Experiment(
        variable=name,
        now="" if now is None else now,
        values=tuple(values),
        beside=_beside(proposals, values, reading),
        at_start=name in reading.at_start,
        triggers=tuple(triggers),
    )


def _are_alike(value: Value, other: Value) -> bool:
    """Return whether two values are the same, or numbers too close for an experiment to tell apart."""
    first, second = as_number(value), as_number(other)
    if first is None or second is None or min(first, second) <= 0:
        return same_value(value, other)
    return max(first, second) < NOTICEABLE * min(first, second)


def _beside(proposals: Sequence[_Proposal], values: Sequence[Value], reading: ServerReading) -> dict[str, Value]:
    """Return the variables that would limit the tested one to less than the largest value tried, each with that value."""
    largest = max((value for value in values), key=lambda value: float(as_number(value) or 0.0))
    limits = {proposal.beside for proposal in proposals if proposal.beside}
    return {
        name: largest for name in limits if (now := reading.number(name)) is not None and now < float(as_number(largest) or 0)
    }
