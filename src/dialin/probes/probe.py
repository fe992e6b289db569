"""The protocol of a probe, which reads figures of the server or the machine while load runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from dialin.answers import whole
from dialin.errors import ServerError
from dialin.model.evidence import ProbeNote, ProbeNoteCode
from dialin.model.query import Query


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of a probe.

    Attributes:
        counters: figures that only rise, from any starting point; the watch calculates differences.
        gauges: figures that rise and fall.
        notes: what could not be read, and why; a note that readings repeat is stored once.
    """

    counters: Mapping[str, float] = field(default_factory=dict)
    gauges: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[ProbeNote, ...] = ()


class Probe(Protocol):
    """Reads figures while load runs. The module of a probe states the cost of a reading and the privileges that it needs."""

    @property
    def name(self) -> str:
        """The name under which its figures are stored."""

    @property
    def period(self) -> float:
        """Seconds from one reading to the next; 0 for readings only at both ends of the measured window."""

    def read(self) -> Reading:
        """Read the figures once.

        Raises:
            DialinError: they could not be read; after two failures in a row the probe is not read again in this trial.
        """


_UNKNOWN_COLUMN = (1054,)
_ABSENT = (1109, 1146, 1193)
_FORBIDDEN = (1044, 1142, 1143, 1227)
"""Error numbers of the server, which are the same in all builds from MySQL 5.5.9 to 9.7.4 and MariaDB 11.4.5."""


class ProbeSource:
    """Reads the rows of one table, or of one statement, that notes call `name`.

    The first of `statements` reads the rows, or the next one where this build lacks a column of it. `note` says why there are
    no rows: this server has no such table, or the account lacks the `privilege`.
    """

    def __init__(self, query: Query, name: str, privilege: str, statements: Sequence[str]) -> None:
        self._query = query
        self._name = name
        self._privilege = privilege
        self._statements = list(statements)
        self.note: ProbeNote | None = None

    def rows(self) -> list[tuple[Any, ...]]:
        """Return the rows; none, with a `note`, where this server has no such table or the account may not read it."""
        while self.note is None:
            try:
                return self._query(self._statements[0])
            except ServerError as error:
                number = int(getattr(error, "number", 0))
                if number in _UNKNOWN_COLUMN and len(self._statements) > 1:
                    del self._statements[0]
                elif number in _ABSENT:
                    self.note = ProbeNote(ProbeNoteCode.ABSENT, {"source": self._name})
                elif number in _FORBIDDEN:
                    figures = {"source": self._name, "privilege": self._privilege}
                    self.note = ProbeNote(ProbeNoteCode.NO_PRIVILEGE, figures)
                else:
                    raise
        return []


class PerformanceSchema:
    """Determines whether the performance schema runs, and reads its tables."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._runs: bool | None = None
        self.note: ProbeNote | None = None

    def runs(self) -> bool:
        """Return whether the performance schema runs; where it does not, `note` says so. The server is queried once."""
        if self._runs is None:
            source = ProbeSource(self._query, "performance schema", "", ["SELECT @@performance_schema"])
            rows = source.rows()
            self._runs = bool(rows and whole(rows[0][0]))
            if not self._runs:
                self.note = source.note or ProbeNote(ProbeNoteCode.SCHEMA_OFF)
        return self._runs

    def table(self, name: str, *statements: str) -> ProbeSource:
        """Return one of its tables, read by the given statements; see `ProbeSource`."""
        return ProbeSource(self._query, f"performance_schema.{name}", "SELECT on performance_schema", statements)


def notes_of(*sources: ProbeSource) -> tuple[ProbeNote, ...]:
    """Return the notes of the tables that could not be read."""
    return tuple(source.note for source in sources if source.note)
