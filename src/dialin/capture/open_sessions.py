"""The sessions that are open when a log begins: what each has set, and whether it has a transaction open."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from dialin.answers import whole
from dialin.errors import ServerError
from dialin.model.capture import OpenSession, OpenSessions
from dialin.model.query import Query
from dialin.servers.capabilities import Capability, Versioned, has
from dialin.servers.connection import sessions

_VARIABLES = (
    "SELECT t.PROCESSLIST_ID, v.VARIABLE_NAME, v.VARIABLE_VALUE FROM performance_schema.variables_by_thread v "
    "JOIN performance_schema.threads t ON t.THREAD_ID = v.THREAD_ID WHERE t.PROCESSLIST_ID IS NOT NULL AND v.VARIABLE_NAME IN "
    "('autocommit', 'transaction_isolation', 'sql_mode', 'time_zone', "
    "'character_set_client', 'character_set_results', 'collation_connection')"
)
_OF_CLIENT = ("autocommit", "character_set_client", "character_set_results", "collation_connection")
"""Variables that clients choose when they log in. The others count where a session has another value than the server:
otherwise the server of a replay decides."""

_TRANSACTIONS = "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx"

Rows = TypeVar("Rows")


def read_open_sessions(
    query: Query, build: Versioned, variables: Mapping[str, str], armed: ArmedSessions | None
) -> OpenSessions:
    """Read the sessions that are open.

    Args:
        query: a connection.
        build: what the server runs.
        variables: the server's global variables.
        armed: which sessions the slow log misses; None for a log that has all.

    Raises:
        ServerError: the server does not answer.
    """
    known: dict[int, dict[str, str]] = defaultdict(dict)
    if has(build, Capability.VARIABLES_BY_THREAD):
        # Nothing without SELECT on performance_schema, or with it switched off.
        for number, name, value in _or_nothing(lambda: query(_VARIABLES)):
            counts = bool(value) if name in _OF_CLIENT else value != variables.get(str(name))
            if counts:
                known[whole(number)][str(name)] = str(value)
    transactions = {whole(number) for (number,) in _or_nothing(lambda: query(_TRANSACTIONS))}
    return OpenSessions(
        autocommit=variables.get("autocommit", "ON") == "ON",
        sessions=[
            _session(session.id, known.get(session.id, {}), in_transaction=session.id in transactions)
            for session in sessions(query)
            if session.is_client
        ],
        clients=armed.total if armed else 0,
        unarmed=list(armed.numbers) if armed else [],
        is_exact=armed.is_exact if armed else True,
    )


def _session(number: int, known: Mapping[str, str], *, in_transaction: bool) -> OpenSession:
    settings = dict(known)
    autocommit = settings.pop("autocommit", None)
    is_on = None if autocommit is None else autocommit == "ON"
    return OpenSession(id=number, autocommit=is_on, in_transaction=in_transaction, settings=settings)


def _or_nothing(read: Callable[[], Iterable[Rows]]) -> Iterable[Rows]:
    try:
        return read()
    except ServerError:
        return []


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
