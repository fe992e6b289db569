"""Control connections: the few statements that dialin itself sends to a server. Never the load."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pymysql
import pymysql.cursors
from pymysql.constants import CR, ER

from dialin.errors import ServerError
from dialin.model.cause import Cause, CauseCode
from dialin.model.query import Query
from dialin.servers.account import Account, TlsMode
from dialin.text import shorten

_TIMEOUT = 10.0
_ACCOUNT_REFUSED = (1044, 1045, 1130, 1251, 1698, 1862, 2059, 4151)
_TLS_FAILED = 2026
_FIRST_SERVER_ERROR = 1000
"""The lowest error number of a server; errors of the operating system have lower numbers."""

_CLIENT_ERRORS = range(2000, 3000)
"""The error numbers of the client itself, such as for a lost connection."""

_SHOWN = 300
"""Characters of a refused statement that its error shows."""

HIDDEN = "<hidden>"
"""Replaces the value of a variable that may hold a secret, such as `report_password`."""

_SECRET = re.compile(r"(^|_)(password|auth|token|secret)$")
_NOT_SECRET = frozenset({"disconnect_on_expired_password", "secure_auth"})
"""Switches that are named like a secret; the only ones in MySQL 5.6 to 9.7 and MariaDB 10.11."""

_NAMES = {number: name.removeprefix("CR_") for part in (ER, CR) for name, number in vars(part).items() if name.isupper()}


def error_name(number: int) -> str | None:
    """Return MySQL's name of an error, such as `DUP_ENTRY` for 1062; None for an unknown number."""
    return _NAMES.get(number)


class RefusedError(ServerError):
    """A statement failed; `number` is the error number of the server or the client, 0 if there is none."""

    def __init__(self, what: str | Cause, remedy: str, number: int) -> None:
        super().__init__(what, remedy)
        self.number = number

    @property
    def is_from_client(self) -> bool:
        """Whether the client reports the error, such as a lost connection, and the server has not answered."""
        return not self.number or self.number in _CLIENT_ERRORS


@contextmanager
def connect(account: Account, *, timeout: float = _TIMEOUT, program: str = "dialin") -> Iterator[Query]:
    """Connect to a server; the timeout, in seconds, is for connecting and for each answer.

    `program` is sent to the server as the connection attribute `program_name`.

    Raises:
        ServerError: the server does not answer, or lacks the TLS that is required.
        RefusedError: the server refuses a statement.
        UserError: a certificate cannot be read.
    """
    with _connection(account, timeout, program) as connection:
        yield _make_query(connection)


def is_reachable(account: Account) -> bool:
    """Return whether a server answers at all, even if only with an error such as too many connections."""
    try:
        with connect(account) as query:
            query("SELECT 1")
    except ServerError as error:
        return is_server_error(error)
    return True


def is_server_error(error: ServerError) -> bool:
    """Return whether an error comes from the server itself, such as too many connections."""
    number = _number(error.__cause__)
    return number >= _FIRST_SERVER_ERROR and number not in _CLIENT_ERRORS


def quote_identifier(name: str) -> str:
    """Return the name of a schema or table as a quoted identifier, safe for any name."""
    return f"`{name.replace('`', '``')}`"


@contextmanager
def open_stream(account: Account) -> Iterator[Stream]:
    """Connect to a server for statements whose rows are counted and dropped, never held in memory together.

    Raises:
        ServerError: the server does not answer, or lacks the TLS that is required.
        UserError: a certificate cannot be read.
    """
    with _connection(account, _TIMEOUT) as connection:
        yield Stream(connection)


class Stream:
    """A connection for statements that may return many rows."""

    def __init__(self, connection: pymysql.Connection[Any]) -> None:
        self._connection = connection
        self.query: Query = _make_query(connection)

    def exhaust(self, statement: str, timeout: float) -> int:
        """Receive and drop all rows of a statement, and return how many; the timeout, in seconds, is for each packet."""
        self._set_read_timeout(timeout)
        try:
            with self._connection.cursor(pymysql.cursors.SSCursor) as cursor:
                cursor.execute(statement)
                return sum(1 for _ in cursor)
        except (pymysql.MySQLError, OSError) as error:
            raise _make_refusal(statement, error) from error
        finally:
            self._set_read_timeout(_TIMEOUT)

    def _set_read_timeout(self, timeout: float) -> None:
        # PyMySQL takes a timeout only when it connects, and one of hours for all statements would hide a server that hangs.
        self._connection._read_timeout = timeout  # type: ignore[attr-defined]


@contextmanager
def _connection(account: Account, timeout: float, program: str = "dialin") -> Iterator[pymysql.Connection[Any]]:
    connection = _open(account, timeout, program)
    try:
        yield connection
    finally:
        if connection.open:
            connection.close()


def _make_query(connection: pymysql.Connection[Any]) -> Query:
    def query(statement: str, arguments: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            with connection.cursor() as cursor:
                cursor.execute(statement, arguments or None)
                return list(cursor.fetchall())
        except (pymysql.MySQLError, OSError) as error:
            raise _make_refusal(statement, error) from error

    return query


def _make_refusal(statement: str, error: BaseException) -> RefusedError:
    return RefusedError(
        Cause(CauseCode.STATEMENT_REFUSED, {"statement": shorten(statement, _SHOWN), "words": _text(error)}),
        "See the server's log",
        _number(error),
    )


def _number(error: BaseException | None) -> int:
    return error.args[0] if error and error.args and isinstance(error.args[0], int) else 0


def _open(account: Account, timeout: float, program: str) -> pymysql.Connection[Any]:
    options: dict[str, Any] = {"unix_socket": str(account.socket)}
    if account.socket is None:
        options = {"host": account.host, "port": account.port}
    tls = account.tls
    if tls.is_required or (tls.certificate and tls.mode is not TlsMode.DISABLED):
        options["ssl"] = tls.context()
    elif account.socket is not None or tls.mode is TlsMode.DISABLED:
        options["ssl_disabled"] = True  # otherwise PyMySQL uses TLS whenever the server has it, even on a socket
    place = account.socket or f"{account.host}:{account.port}"
    try:
        return pymysql.connect(
            **options,
            user=account.user,
            password=account.password.encode(),  # text would be sent as Latin-1
            connect_timeout=max(1, round(timeout)),
            read_timeout=timeout,
            write_timeout=timeout,
            charset="utf8mb4",
            autocommit=True,
            program_name=program,
        )
    except (pymysql.MySQLError, OSError) as error:
        if error.args and error.args[0] in _ACCOUNT_REFUSED:
            refused = {"place": str(place), "user": account.user, "words": _text(error)}
            raise ServerError(
                Cause(CauseCode.ACCOUNT_REFUSED, refused), "See the account's option file or login path"
            ) from error
        remedy = "See ssl-mode, ssl-ca, ssl-cert and ssl-key" if error.args and error.args[0] == _TLS_FAILED else "See its log"
        silent = Cause(CauseCode.NO_ANSWER, {"place": str(place), "words": _text(error)})
        raise ServerError(silent, remedy) from error


def _text(error: BaseException) -> str:
    return str(error.args[1]) if len(error.args) > 1 else str(error)


def global_variables(query: Query) -> dict[str, str]:
    """Return every global variable that the server reports; a value that may be a secret is replaced by `HIDDEN`."""
    shown = ((str(name), str(value)) for name, value, *_ in query("SHOW GLOBAL VARIABLES"))
    return {name: HIDDEN if value and _is_secret(name) else value for name, value in shown}


def _is_secret(name: str) -> bool:
    return _SECRET.search(name) is not None and name not in _NOT_SECRET


def status(query: Query, name: str) -> str | None:
    """Return one status variable, or None if the server lacks it. `name` is not escaped, so it must not come from a user."""
    rows = query(f"SHOW GLOBAL STATUS LIKE '{name}'")
    return str(rows[0][1]) if rows else None
