"""A server's help mode (`--verbose --help`): read what it prints, and ask about many variables at once.

In this mode a server reads its options as it does at startup, prints the resulting values, and exits. `servers.option_probe`
runs the binary.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from dialin.model.setting import as_number
from dialin.variables import behaviour
from dialin.variables.aliases import shared_name

_OPTION = re.compile(
    r"^  (?:-\S, |    )?--(?P<name>[A-Za-z][\w-]*(?:\.[\w-]+)?)(?P<takes>\[?=(?:#|name)\]?)?(?= |$)", re.MULTILINE
)
_VALUE = re.compile(r"(?P<name>[A-Za-z][\w-]*(?:\.[\w-]+)?) +(?P<value>.*)")
_ADJUSTED = re.compile(
    r"option '(?P<name>[\w.-]+)': (?:(?:un)?signed )?value \S+ adjusted to (?P<value>[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
)
_EXPONENT = re.compile(r"[-+]?\d+e[-+]?\d+")
_REFUSED = re.compile(r"Error while setting value '[^']*' to '(?P<name>[\w.-]+)'")


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server printed in its help mode.

    Attributes:
        complete: whether it ran to its end and printed values.
        options: every option that it has, with its argument: `=#` a number, `=name` text, in brackets where optional, nothing
            for a switch.
        values: by option, the value in force after all options were read.
        adjusted: by option, the number to which a value out of range was adjusted, where a warning says so.
        refused: options whose value the server refused.
        answered: False where the run timed out; any other failure is an answer.
    """

    complete: bool
    options: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)
    adjusted: Mapping[str, int | float] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()
    answered: bool = True


Ask = Callable[[Mapping[str, int]], Reply]
"""Runs a server's help mode with these options; where it crashes, hangs or refuses, the reply is not complete."""


def read_reply(printed: str, complained: str, *, ended_well: bool) -> Reply:
    """Read what a server printed in its help mode."""
    head, _, tail = printed.partition("\nVariables (--variable-name=value)")
    values = dict(_values(tail.splitlines()))
    return Reply(
        complete=ended_well and bool(values),
        options={_name(match["name"]): match["takes"] or "" for match in _OPTION.finditer(head)},
        values=values,
        adjusted={
            _name(match["name"]): number
            for match in _ADJUSTED.finditer(complained)
            if (number := _number(match["value"])) is not None
        },
        refused=frozenset(_name(match["name"]) for match in _REFUSED.finditer(complained)),
    )


def _values(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Read the table at the end: a rule of dashes, a line for each option, an empty line."""
    rows = iter(lines)
    for line in rows:
        if line.startswith("-----"):
            break
    for line in rows:
        if not line.strip():
            return
        if match := _VALUE.fullmatch(line):
            yield _name(match["name"]), match["value"].strip()


def _number(text: str) -> int | float | None:
    """Read a number as servers print it: `4096`, `99.999`, and `1e+06` for a decimal."""
    if _EXPONENT.fullmatch(text):
        return float(text)
    return as_number(text)


def _name(option: str) -> str:
    return option.replace("-", "_").lower()


@dataclass(frozen=True, slots=True)
class HelpAnswer:
    """The answer to one variable's value: the value that is printed, and the limit to which a warning says it was adjusted."""

    printed: str
    limit: int | float | None

    @property
    def number(self) -> int | float | None:
        """The effective number, or None where the effective value is not a number."""
        return self.limit if self.limit is not None else _number(self.printed)

    @property
    def range_end(self) -> int | float | None:
        """The end of the range to which the server adjusted the value, or None where it accepted the value.

        A decimal is read from the printed value, which has more digits than the warning. A whole number is read from the
        warning: the printed value may be lower still because of the limit of open files, for example, which belongs to the
        machine and not to the variable.
        """
        if isinstance(self.limit, float):
            return _number(self.printed)
        return self.limit


@dataclass(frozen=True, slots=True)
class Asking:
    """Asks about many variables in one run, and in separate runs about those that affect one another or crash the server.

    Attributes:
        options: by variable, the option that sets it.
        unanswered: the variables for which a run timed out. A refusal or a crash is an answer.
    """

    ask: Ask
    options: Mapping[str, str]
    unanswered: set[str] = field(default_factory=set)

    def __call__(self, requested: Mapping[str, int]) -> dict[str, HelpAnswer]:
        """Return the answer to each variable's value; none for those that were refused, crashed the server, or timed out."""
        answers: dict[str, HelpAnswer] = {}
        for group in _apart(name for name in requested if name in self.options):
            answers |= self._group({name: requested[name] for name in group})
        return answers

    def _group(self, requested: dict[str, int]) -> dict[str, HelpAnswer]:
        if not requested:
            return {}
        reply = self.ask({self.options[name]: value for name, value in requested.items()})
        rest = {name: value for name, value in requested.items() if self.options[name] not in reply.refused}
        if len(rest) < len(requested):
            # Even where the run ends well: one option that InnoDB refuses leaves all other InnoDB options at their defaults.
            return self._group(rest)
        if reply.complete:
            return {
                name: HelpAnswer(reply.values[option], reply.adjusted.get(option))
                for name in requested
                if (option := self.options[name]) in reply.values
            }
        if len(requested) == 1:
            if not reply.answered:
                self.unanswered.update(requested)
            return {}
        names = list(requested)
        half = len(names) // 2
        return self._group({name: requested[name] for name in names[:half]}) | self._group(
            {name: requested[name] for name in names[half:]}
        )


def _apart(names: Iterable[str]) -> list[list[str]]:
    """Split names into groups so that no group has two names of one variable, or variables derived from one another."""
    groups: list[list[str]] = []
    for name in names:
        near = behaviour.related(name)
        for group in groups:
            if not any(other in near or shared_name(other) == shared_name(name) for other in group):
                group.append(name)
                break
        else:
            groups.append([name])
    return groups
