"""Control connections: the few statements that dialin itself sends to a server. Never the load."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pymysql

from dialin.errors import ServerError


class Query(Protocol):
    """Runs one statement and returns its rows."""

    def __call__(self, statement: str) -> list[tuple[Any, ...]]:
        """Run it."""
        ...


@contextmanager
def connect(socket: Path, *, user: str = "root", password: str = "", timeout: float = 10.0) -> Iterator[Query]:
    """Connect over a unix socket.

    Args:
        socket: the server's socket.
        user: the account.
        password: its password.
        timeout: seconds for connecting and for each statement's answer.

    Raises:
        ServerError: the server does not answer, or refuses the statement.
    """
    try:
        connection = pymysql.connect(
            unix_socket=str(socket),
            user=user,
            password=password,
            connect_timeout=max(1, round(timeout)),
            read_timeout=timeout,
            write_timeout=timeout,
            charset="utf8mb4",
            autocommit=True,
        )
    except (pymysql.MySQLError, OSError) as error:
        raise ServerError(f"The server at {socket} does not answer: {_text(error)}", "See its log") from error

    def query(statement: str) -> list[tuple[Any, ...]]:
        try:
            with connection.cursor() as cursor:
                cursor.execute(statement)
                return list(cursor.fetchall())
        except (pymysql.MySQLError, OSError) as error:
            raise ServerError(f"The server refused {statement!r}: {_text(error)}", "See its log") from error

    try:
        yield query
    finally:
        if connection.open:
            connection.close()


def _text(error: BaseException) -> str:
    return str(error.args[1]) if len(error.args) > 1 else str(error)


def global_variables(query: Query) -> dict[str, str]:
    """Return every variable that the server reports."""
    return {str(name): str(value) for name, value, *_ in query("SHOW GLOBAL VARIABLES")}


def status(query: Query, name: str) -> str | None:
    """Return one status variable, or None where the server lacks it. The name is dialin's own, never a user's."""
    rows = query(f"SHOW GLOBAL STATUS LIKE '{name}'")
    return str(rows[0][1]) if rows else None
