"""What the rules of advice know about a server: figures of its load, its variables, its machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dialin.evidence.measured import MeasuredTrial
from dialin.model.setting import Value, as_number, parse_value
from dialin.search.variable_choice import Situation
from dialin.variables.catalogue import Variable


@dataclass(frozen=True, slots=True)
class ServerReading:
    """A server as it was read; whatever could not be read is missing.

    Attributes:
        measured: what the probes recorded, and the effective values, in the form of a trial whose load is not known.
        variables: all variables of the build.
        situation: machine, data and counters; its memory is infinite where the server's machine is unknown.
        defaults: the defaults of the variables that somebody changed.
        at_start: the variables that only a start can set.
    """

    measured: MeasuredTrial
    variables: Mapping[str, Variable]
    situation: Situation
    defaults: Mapping[str, str] = field(default_factory=dict)
    at_start: frozenset[str] = frozenset()

    def value(self, name: str) -> Value | None:
        """Return a value in force; None where the server has no such variable."""
        text = self.situation.in_force.get(name)
        return None if text is None else parse_value(text)

    def number(self, name: str) -> float | None:
        """Return a value in force as a number; None where it is not a number."""
        value = self.value(name)
        number = as_number(value) if value is not None else None
        return None if number is None else float(number)

    def text(self, name: str) -> str:
        """Return a value in force in upper case; empty where the server has no such variable."""
        return self.situation.in_force.get(name, "").upper()

    def is_on(self, name: str) -> bool:
        """Return whether a switch is on."""
        return self.text(name) in ("ON", "1", "YES")
