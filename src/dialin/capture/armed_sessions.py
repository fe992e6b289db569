"""Which sessions of a server are not in its slow log: those that began before `long_query_time` was 0."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from dialin.answers import whole
from dialin.errors import ServerError
from dialin.model.query import Query
from dialin.servers.capabilities import Capability, Versioned, has
from dialin.servers.sessions import sessions

_BY_THREAD = (
    "SELECT DISTINCT t.PROCESSLIST_ID FROM performance_schema.variables_by_thread v "
    "JOIN performance_schema.threads t ON t.THREAD_ID = v.THREAD_ID WHERE t.PROCESSLIST_ID IS NOT NULL "
    "AND v.VARIABLE_NAME IN ('long_query_time', 'min_examined_row_limit') AND v.VARIABLE_VALUE + 0 <> 0"
)


@dataclass(frozen=True, slots=True)
class ArmedSessions:
    """How many sessions of clients there are.

    Attributes:
        numbers: of those whose statements the slow log will not have; of at most these where `is_exact` is false.
        is_exact: the server shows each session's own value. Otherwise sessions are counted by their IDs, and one that a pool
            has reset, which has the new value, still counts as unarmed.
    """

    total: int
    numbers: tuple[int, ...]
    is_exact: bool

    @property
    def unarmed(self) -> int:
        """How many sessions are not in the slow log, at most where `is_exact` is false."""
        return len(self.numbers)

    @property
    def unarmed_share(self) -> float:
        return self.unarmed / self.total if self.total else 0.0


def count_armed(query: Query, build: Versioned, *, armed_since: int, not_ours: Collection[int]) -> ArmedSessions:
    """Count the sessions of clients.

    Args:
        query: a connection.
        build: what the server runs.
        armed_since: the ID of a session that began just after the server was armed.
        not_ours: IDs of sessions that do not count: those of dialin.

    Raises:
        ServerError: the server does not answer.
    """
    clients = {session.id for session in sessions(query) if session.is_client and session.id not in not_ours}
    if has(build, Capability.VARIABLES_BY_THREAD):
        try:
            old_values = {whole(number) for (number,) in query(_BY_THREAD)}
        except ServerError:  # without SELECT on performance_schema, or with it switched off
            pass
        else:
            if old_values:  # dialin's own sessions are among them, unless nothing is shown
                return ArmedSessions(len(clients), tuple(sorted(clients & old_values)), is_exact=True)
    return ArmedSessions(len(clients), tuple(sorted(number for number in clients if number < armed_since)), is_exact=False)
