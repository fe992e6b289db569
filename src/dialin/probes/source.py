"""A table of the server that a probe reads for as long as the server lets it; a note says what stands in the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dialin.errors import ServerError
from dialin.model.query import Query

_UNKNOWN_COLUMN = (1054,)
_ABSENT = (1109, 1146, 1193)
_FORBIDDEN = (1044, 1142, 1143, 1227)
"""The server's own numbers of errors; they are the same in every build from MySQL 5.5.9 to 9.7.4 and MariaDB 11.4.5."""


class Source:
    """Rows of one table, whose `name` holds its schema.

    The first of `statements` reads it, the next one where this build lacks a column of the one before. `contents` (in the
    plural) and `without` say in notes what is not available without the table, or without the `privilege`.
    """

    def __init__(
        self, query: Query, name: str, contents: str, privilege: str, statements: Sequence[str], without: str = ""
    ) -> None:
        self._query = query
        self._name = name
        self._contents = contents
        self._privilege = privilege
        self._statements = list(statements)
        self._without = without or contents
        self.note: str | None = None

    def rows(self) -> list[tuple[Any, ...]]:
        """Return its rows; none, and a `note`, where this server has no such table or the account may not read it."""
        while self.note is None:
            try:
                return self._query(self._statements[0])
            except ServerError as error:
                number = number_of(error)
                if number in _UNKNOWN_COLUMN and len(self._statements) > 1:
                    del self._statements[0]
                elif number in _ABSENT:
                    self.note = f"This server has no {self._name}, so {self._contents} are not available"
                elif number in _FORBIDDEN:
                    self.note = f"The account lacks {self._privilege}, so {self._without} are not available"
                else:
                    raise
        return []


def number_of(error: ServerError) -> int:
    """Return the server's own number of an error; 0 where it is none of the server's."""
    return int(getattr(error, "number", 0))


_ALL_OF_IT = "waits and statements"


class PerformanceSchema:
    """Tells whether the performance schema runs, and reads its tables."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._runs: bool | None = None
        self.note: str | None = None

    def runs(self) -> bool:
        """Tell whether it runs; the `note` says so where it does not. The server is asked once."""
        if self._runs is None:
            source = Source(self._query, "performance schema", _ALL_OF_IT, "", ["SELECT @@performance_schema"])
            rows = source.rows()
            self._runs = bool(rows and int(rows[0][0]))
            if not self._runs:
                off = f"The performance schema is off (performance_schema=OFF), so {_ALL_OF_IT} are not available"
                self.note = source.note or off
        return self._runs

    def table(self, name: str, contents: str, *statements: str) -> Source:
        """Return one of its tables; see `Source`. What an account may not read is one sentence for all of them."""
        privilege = "SELECT on performance_schema"
        return Source(self._query, f"performance_schema.{name}", contents, privilege, statements, without=_ALL_OF_IT)


def notes_of(*sources: Source) -> tuple[str, ...]:
    """Return what stands in the way of some tables, each sentence once."""
    return tuple(dict.fromkeys(source.note for source in sources if source.note))
