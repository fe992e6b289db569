"""What the rules of advice know about a server: figures of its load, its variables, its machine; and how that is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dialin.evidence.measured import MeasuredTrial
from dialin.model.advice import Unread
from dialin.model.evidence import ProbeNoteCode, Watched
from dialin.model.setting import Value, as_number, means_on, parse_value
from dialin.model.trial import Trial, TrialState
from dialin.search.variable_choice import Situation
from dialin.sentences.advice_sentences import unread_by_probe
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
        return means_on(self.text(name))


_NEEDED = ("status", "innodb", "metrics", "machine")
"""The probes that rules use; what other probes could not read is not reported."""


def make_reading(
    in_force: Mapping[str, str],
    variables: Mapping[str, Variable],
    situation: Situation,
    taken: Sequence[Watched],
    *,
    defaults: Mapping[str, str],
    at_start: frozenset[str],
    now: float,
    own_statements: bool,
) -> ServerReading:
    """Return what the rules read; with `own_statements`, the statements of the probes are subtracted from those of the load."""
    watched = {result.probe: result for result in taken}
    status = watched.get("status")
    queries = 0.0
    if status is not None and status.seconds > 0:
        of_probes = [result.readings for result in taken if result.probe in ("status", "innodb", "metrics")]
        subtracted = sum(of_probes) if own_statements else 0
        queries = max(0.0, status.counters.get("Questions", 0.0) - subtracted) / status.seconds
        situation = replace(situation, counters=status.counters, seconds=status.seconds)
    trial = Trial(0, 0, 0, 1, "server", TrialState.DONE, now, in_force=dict(in_force))
    measured = MeasuredTrial(trial, value=0.0, transactions=queries, watched=watched)
    return ServerReading(measured, variables, situation, dict(defaults), at_start)


def unread_of_probes(taken: Sequence[Watched]) -> list[Unread]:
    """Return what the probes that rules need could not read, each reason once."""
    reasons = list(_unread(taken))
    return [reason for place, reason in enumerate(reasons) if reason not in reasons[:place]]


def _unread(taken: Sequence[Watched]) -> Iterator[Unread]:
    for result in taken:
        for note in result.notes if result.probe in _NEEDED else ():
            if note.code not in (ProbeNoteCode.SEMAPHORES_EMPTY, ProbeNoteCode.DISK_UNKNOWN, ProbeNoteCode.STATUS_CUT):
                yield unread_by_probe(note)
