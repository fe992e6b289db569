"""The claim on an attached server: a lock on the server itself, which dialins on other machines and with other homes see."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress

from dialin.answers import single
from dialin.errors import ServerError, UserError
from dialin.model.query import Query
from dialin.servers.attached.entry import study_text
from dialin.servers.connection import RefusedError, connection_id, sessions

LOCK = "dialin study"
"""The name of the lock (GET_LOCK) on the server that a dialin holds while it studies or restores the server."""

CHANGE = "dialin change"
"""The name of the lock that a connection holds while it sets variables. The server frees it when that connection is gone: then
nothing that a dialin sent before it was killed can take effect any more."""

_GONE_WITHIN = 10
"""Seconds that a busy server may take to notice that the connection of a killed dialin is gone."""

_LONGEST_IDLE = 86_400
"""Seconds after which the server ends a silent connection, such as that of a dialin whose network failed."""

_NOT_IN_A_CLUSTER = (1105, 1235)
"""Error numbers of nodes of Galera clusters that allow no such locks; there, only the undo entry shows a study."""

_PROGRAM = "dialin study "


def study_program(directory: str) -> str:
    """Return the program name of the connection that holds the lock, which tells others the directory of the study."""
    return f"{_PROGRAM}{directory}".rstrip()[:_LONGEST_NAME]


_LONGEST_NAME = 400
"""Bytes of the program name: a server keeps 512 bytes of connection attributes by default, the client's own included."""


def take_lock(query: Query, name: str, seconds: int) -> bool | None:
    """Take a named lock for this connection, and wait for another holder; None if the server has no such locks.

    The server waits for a second at a time, because each answer has to come within the time that the connection allows it.
    """
    try:
        waits = max(1, seconds)
        return any(single(query("SELECT GET_LOCK(%s, %s)", (name, min(seconds, 1)))) == 1 for _ in range(waits))
    except RefusedError as error:
        if error.number in _NOT_IN_A_CLUSTER:
            return None
        raise


class Claim:
    """The one connection that holds the lock; it does nothing else."""

    def __init__(self, connect: Callable[[], AbstractContextManager[Query]]) -> None:
        self._connect = connect
        self._open = ExitStack()
        self._query: Query | None = None
        self.connection: int | None = None

    def take(self) -> None:
        """Take the lock, or make sure that it is still held; a server that has no such locks is left without one.

        Raises:
            UserError: another dialin holds the lock.
            ServerError: the server does not answer.
        """
        if self._query is not None and self._is_held(self._query):
            return
        self.release()
        with ExitStack() as opened:
            query = opened.enter_context(self._connect())
            query(f"SET SESSION wait_timeout = {_LONGEST_IDLE}")
            taken = take_lock(query, LOCK, _GONE_WITHIN)
            if taken is None:
                return
            if not taken:
                holder = single(query("SELECT IS_USED_LOCK(%s)", (LOCK,)))
                raise UserError(
                    f"The server is being studied by another dialin: {_study_of(query, holder)} holds the lock "
                    f"'{LOCK}' there by connection {holder}",
                    "Wait for it to end; if its process and its network are gone, KILL that connection",
                )
            self.connection = connection_id(query)
            self._query, self._open = query, opened.pop_all()

    def release(self) -> None:
        self._query = self.connection = None
        self._open.close()

    def _is_held(self, query: Query) -> bool:
        try:
            return bool(single(query("SELECT IS_USED_LOCK(%s)", (LOCK,))) == self.connection)
        except ServerError:
            return False  # the server was restarted, or ended the connection


def _study_of(query: Query, connection: object) -> str:
    """Return which study a connection belongs to; its directory is known only if the performance schema is on."""
    attributes: dict[str, str] = {}
    host = ""
    with suppress(ServerError):
        host = next((session.host for session in sessions(query) if session.id == connection), "")
    with suppress(ServerError):
        rows = query(
            "SELECT attr_name, attr_value FROM performance_schema.session_account_connect_attrs WHERE processlist_id = %s",
            (connection,),
        )
        attributes = {str(name): str(value) for name, value in rows}
    program = attributes.get("program_name", "")
    directory = program.removeprefix(_PROGRAM) if program.startswith(_PROGRAM) else ""
    return study_text(directory, attributes.get("_pid", ""), host)
