"""The sessions that are open when a log begins: each one's autocommit, and whether it has a transaction open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from dialin.answers import whole
from dialin.capture.armed_sessions import ArmedSessions
from dialin.errors import ServerError
from dialin.model.capture import OpenSession, OpenSessions
from dialin.model.query import Query
from dialin.servers.capabilities import Capability, Versioned, has
from dialin.servers.sessions import sessions

_AUTOCOMMIT = (
    "SELECT t.PROCESSLIST_ID, v.VARIABLE_VALUE FROM performance_schema.variables_by_thread v "
    "JOIN performance_schema.threads t ON t.THREAD_ID = v.THREAD_ID "
    "WHERE t.PROCESSLIST_ID IS NOT NULL AND v.VARIABLE_NAME = 'autocommit'"
)
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
    autocommit: dict[int, bool] = {}
    if has(build, Capability.VARIABLES_BY_THREAD):
        rows = _or_nothing(lambda: query(_AUTOCOMMIT))  # without SELECT on performance_schema, or with it switched off
        autocommit = {whole(number): value == "ON" for number, value in rows}
    transactions = {whole(number) for (number,) in _or_nothing(lambda: query(_TRANSACTIONS))}
    return OpenSessions(
        autocommit=variables.get("autocommit", "ON") == "ON",
        sessions=[
            OpenSession(id=session.id, autocommit=autocommit.get(session.id), in_transaction=session.id in transactions)
            for session in sessions(query)
            if session.is_client
        ],
        clients=armed.total if armed else 0,
        unarmed=list(armed.numbers) if armed else [],
        is_exact=armed.is_exact if armed else True,
    )


def _or_nothing(read: Callable[[], Iterable[Rows]]) -> Iterable[Rows]:
    try:
        return read()
    except ServerError:
        return []
