"""Control connections: the few statements that dialin itself sends to a server. Never the load."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import pymysql

from dialin.errors import ServerError
from dialin.servers.account import Account, TlsMode

_ACCOUNT_REFUSED = (1044, 1045, 1130, 1251, 1698, 1862, 2059, 4151)
_TLS_FAILED = 2026


HIDDEN = "<hidden>"
"""Stands for the value of a variable that may hold a secret: such as `report_password`."""

_SECRET = re.compile(r"(^|_)(password|auth|token|secret)$")


class Query(Protocol):
    """Runs one statement and returns its rows."""

    def __call__(self, statement: str, arguments: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Run it; each `%s` stands for an argument, which the client quotes."""
        ...


class RefusedError(ServerError):
    """A statement that the server refused; `number` is the server's own of the error."""

    def __init__(self, what: str, remedy: str, number: int) -> None:
        super().__init__(what, remedy)
        self.number = number


@contextmanager
def connect(account: Account, *, timeout: float = 10.0) -> Iterator[Query]:
    """Connect to a server.

    Args:
        account: where it listens, and as whom.
        timeout: seconds for connecting and for each statement's answer.

    Raises:
        ServerError: the server does not answer, or lacks the TLS that is required.
        RefusedError: it refuses a statement.
        UserError: a certificate cannot be read.
    """
    connection = _open(account, timeout)

    def query(statement: str, arguments: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            with connection.cursor() as cursor:
                cursor.execute(statement, arguments or None)
                return list(cursor.fetchall())
        except (pymysql.MySQLError, OSError) as error:
            number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
            raise RefusedError(f"The server refused {statement!r}: {_text(error)}", "See its log", number) from error

    try:
        yield query
    finally:
        if connection.open:
            connection.close()


def _open(account: Account, timeout: float) -> pymysql.Connection[Any]:
    where: dict[str, Any] = {"unix_socket": str(account.socket)}
    if account.socket is None:
        where = {"host": account.host, "port": account.port}
    tls = account.tls
    if tls.is_required or (tls.certificate and tls.mode is not TlsMode.DISABLED):
        where["ssl"] = tls.context()
    elif account.socket is not None or tls.mode is TlsMode.DISABLED:
        where["ssl_disabled"] = True  # else TLS is used wherever a server has it, on a socket too
    place = account.socket or f"{account.host}:{account.port}"
    try:
        return pymysql.connect(
            **where,
            user=account.user,
            password=account.password.encode(),  # text would be sent as Latin-1
            connect_timeout=max(1, round(timeout)),
            read_timeout=timeout,
            write_timeout=timeout,
            charset="utf8mb4",
            autocommit=True,
        )
    except (pymysql.MySQLError, OSError) as error:
        if error.args and error.args[0] in _ACCOUNT_REFUSED:
            what = f"The server at {place} refuses {account.user}: {_text(error)}"
            raise ServerError(what, "See the account's option file or login path") from error
        remedy = "See ssl-mode, ssl-ca, ssl-cert and ssl-key" if error.args and error.args[0] == _TLS_FAILED else "See its log"
        raise ServerError(f"The server at {place} does not answer: {_text(error)}", remedy) from error


def _text(error: BaseException) -> str:
    return str(error.args[1]) if len(error.args) > 1 else str(error)


def global_variables(query: Query) -> dict[str, str]:
    """Return every variable that the server reports; a secret is not read."""
    shown = ((str(name), str(value)) for name, value, *_ in query("SHOW GLOBAL VARIABLES"))
    return {name: HIDDEN if value and _SECRET.search(name) else value for name, value in shown}


def status(query: Query, name: str) -> str | None:
    """Return one status variable, or None where the server lacks it. The name is dialin's own, never a user's."""
    rows = query(f"SHOW GLOBAL STATUS LIKE '{name}'")
    return str(rows[0][1]) if rows else None
