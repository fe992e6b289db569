"""Control connections: the few statements that dialin itself sends to a server. Never the load."""

from __future__ import annotations

import errno
import functools
import re
import ssl
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import pymysql
import pymysql.cursors
from pymysql.constants import CR, ER

from dialin.answers import REMEDY, bad_answer, single, whole
from dialin.errors import LostConnectionError, MachineError, NoAnswerError, ServerError, is_machine_fault
from dialin.model.cause import Cause, CauseCode, Fault
from dialin.model.query import Query
from dialin.servers.account import Account, TlsMode
from dialin.servers.bounded_client import DROPPED, BoundedClient
from dialin.text import shorten

_TIMEOUT = 10.0
_ACCOUNT_REFUSED = (1044, 1045, 1130, 1251, 1698, 1862, 2059, 4151)
_TLS_FAILED = 2026
_LOST_NUMBERS = (CR.CR_SERVER_GONE_ERROR, CR.CR_SERVER_LOST)
_CLOSED = (ConnectionError, ssl.SSLEOFError)
"""The errors of the system for a connection that was closed or reset; one that was refused is a ConnectionError, too."""

_TOO_MANY_CONNECTIONS = 1040
_FIRST_SERVER_ERROR = 1000
"""The lowest error number of a server; errors of the operating system have lower numbers."""

_CLIENT_ERRORS = range(2000, 3000)
"""The error numbers of the client itself, such as for a lost connection."""

_ENDED_BY_OTHERS = frozenset({1053, 1080, 1152, 1158, 1159, 1160, 1161, 1184, 1317, 1927, 4031})
"""Errors of a connection that the server ends, or a statement that somebody kills: they say nothing of the server's setting."""

_NOT_ALLOWED = frozenset({1044, 1045, 1142, 1143, 1203, 1226, 1227, 1290, 1820, 1836, 1862, 3118, 3955})
"""Errors of an account that lacks a privilege or is locked, and of a server that is read-only."""

_FULL_BACKLOG = errno.EAGAIN
"""What connecting to a unix socket returns where the server is too busy to accept the connection."""

_SHOWN = 300
"""Characters of a refused statement that its error shows."""

_LONGEST_TEXT = 500
"""Characters of a server's error that are shown: its own errors are at most 512 bytes long."""

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
    """The server refused a statement; `number` is its error number."""

    def __init__(self, what: str | Cause, remedy: str, number: int) -> None:
        super().__init__(what, remedy)
        self.number = number
        if number in _ENDED_BY_OTHERS:
            self.fault = Fault.CONNECTION
        elif number in _NOT_ALLOWED:
            self.fault = Fault.REQUEST


class TurnedAwayError(ServerError):
    """The server answers, and accepts no connection: there are too many, or it does not accept the account."""

    def __init__(self, what: str | Cause, remedy: str, number: int) -> None:
        super().__init__(what, remedy)
        if number != _TOO_MANY_CONNECTIONS:
            self.fault = Fault.CONNECTION if number in _ENDED_BY_OTHERS else Fault.REQUEST


@contextmanager
def connect(account: Account, *, timeout: float = _TIMEOUT, program: str = "dialin") -> Iterator[Query]:
    """Connect to a server; the timeout, in seconds, is for connecting and for each answer as a whole.

    `program` is sent to the server as the connection attribute `program_name`.

    Raises:
        LostConnectionError: the connection was closed or reset before an answer came.
        NoAnswerError: the server does not answer or lacks a required TLS, or an answer cannot be read or exceeds a limit.
        TurnedAwayError: the server accepts no connection.
        RefusedError: the server refuses a statement.
        MachineError: this machine has no room for another connection.
        UserError: a certificate cannot be read.
    """
    with _client(account, timeout, program) as client:
        yield ServerQuery(client)


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
    return isinstance(error, (RefusedError, TurnedAwayError))


NO_SYSTEM_TABLES = (
    "table_type = 'BASE TABLE' AND table_schema NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema')"
)
"""The condition by which information_schema.tables has the tables of users alone."""


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
    with _client(account, _TIMEOUT) as client:
        yield Stream(client)


class Stream:
    """A connection for statements that may return many rows."""

    def __init__(self, client: BoundedClient) -> None:
        self._client = client
        self.query = ServerQuery(client)

    def exhaust(self, statement: str, timeout: float) -> int:
        """Receive and drop all rows of a statement, and return how many; the timeout, in seconds, is for all of them."""
        client = self._client
        before = client.timeout, client.limits
        client.timeout, client.limits = timeout, DROPPED
        try:
            with _as_refusals(client, statement), client.cursor(pymysql.cursors.SSCursor) as cursor:
                cursor.execute(statement)
                return sum(1 for _ in cursor)
        finally:
            client.timeout, client.limits = before


class ServerQuery:
    """Runs statements on one connection; see `Query`."""

    def __init__(self, client: BoundedClient) -> None:
        self._client = client

    def __call__(self, statement: str, arguments: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        with self._client.cursor() as cursor:
            text = cursor.mogrify(statement, arguments or None)
            with _as_refusals(self._client, statement):
                cursor.execute(text)
                rows = list(cursor.fetchall())
        if not all(has_asked_columns(statement, columns) for columns in set(map(len, rows))):
            raise bad_answer(f"it does not have the columns that {shorten(statement, _SHOWN)!r} asks for")
        return rows

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Limit how long all statements of the `with` block may take together."""
        self._client.ends = time.monotonic() + seconds
        try:
            yield
        finally:
            self._client.ends = None


def within(query: Query, seconds: float) -> AbstractContextManager[None]:
    """Limit how long all statements that a connection runs in the `with` block may take together."""
    return query.within(seconds) if isinstance(query, ServerQuery) else nullcontext()


@contextmanager
def _client(account: Account, timeout: float, program: str = "dialin") -> Iterator[BoundedClient]:
    client = _open(account, timeout, program)
    try:
        yield client
    finally:
        if client.open:
            client.close()


@contextmanager
def _as_refusals(client: BoundedClient, statement: str) -> Iterator[None]:
    """Turn whatever the client raises about an answer into an error of the server.

    Raises:
        RefusedError: the server refuses the statement.
        NoAnswerError: the connection broke, or the answer cannot be read.
        MachineError: this machine failed.
    """
    try:
        yield
    except (pymysql.MySQLError, OSError) as error:
        raise _statement_error(statement, error) from error
    except MemoryError:
        raise
    except Exception as error:
        # PyMySQL reads packets by struct, asserts and decodes: bytes that are no answer raise all kinds of errors.
        client.give_up()
        raise bad_answer(f"{_bad(error)} (to {shorten(statement, _SHOWN)!r})") from error


def _bad(error: Exception) -> str:
    """Return what is wrong with an answer, by what PyMySQL raised about it."""
    match error:
        case RuntimeError():  # of its own accord only for LOAD DATA LOCAL, which it then does not answer
            return "it asks for a file of this machine, which dialin never sends"
        case UnicodeError():
            return "it is not valid UTF-8"
        case _:
            return "it does not follow the protocol of MySQL"


def _statement_error(statement: str, error: Exception) -> ServerError | MachineError:
    """Return the error of a statement, by whose fault it is: the server's, the connection's, or this machine's."""
    if (failed := _of_machine(error)) is not None:
        return MachineError.of(failed, "The server could not be asked")
    if _number(error) == CR.CR_NET_PACKET_TOO_LARGE:
        return bad_answer(f"{_text(error)} (to {shorten(statement, _SHOWN)!r})")
    figures = {"statement": shorten(statement, _SHOWN), "words": _text(error)}
    if _is_from_server(error):
        return RefusedError(Cause(CauseCode.STATEMENT_REFUSED, figures), "See the server's log", _number(error))
    return _no_answer_kind(error)(Cause(CauseCode.CONNECTION_LOST, figures), "See the server's log")


def _is_from_server(error: Exception) -> bool:
    number = _number(error)
    return number >= _FIRST_SERVER_ERROR and number not in _CLIENT_ERRORS


def _of_machine(error: Exception) -> OSError | None:
    """Return the error of this machine behind an error of the client library; None where it is none."""
    failed = next((each for each in _system_errors(error) if is_machine_fault(each)), None)
    return None if failed is None or failed.errno == _FULL_BACKLOG else failed


def _system_errors(error: Exception) -> list[OSError]:
    links = (error, getattr(error, "original_exception", None), error.__cause__, error.__context__)
    return [each for each in links if isinstance(each, OSError)]


def _no_answer_kind(error: Exception) -> type[NoAnswerError]:
    """Return the class of an error without an answer: whether the connection was closed or reset, or nothing came."""
    behind = _system_errors(error)
    if any(isinstance(each, _CLOSED) and not isinstance(each, ConnectionRefusedError) for each in behind):
        return LostConnectionError
    is_end_of_stream = _number(error) in _LOST_NUMBERS and not behind
    return LostConnectionError if is_end_of_stream else NoAnswerError


def _number(error: BaseException | None) -> int:
    return error.args[0] if error and error.args and isinstance(error.args[0], int) else 0


def _open(account: Account, timeout: float, program: str) -> BoundedClient:
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
        return BoundedClient(
            timeout,
            **options,
            user=account.user,
            password=account.password.encode(),  # text would be sent as Latin-1
            charset="utf8mb4",
            autocommit=True,
            program_name=program,
        )
    except (pymysql.MySQLError, OSError) as error:
        raise _connecting_error(account, str(place), error) from error
    except (MemoryError, ImportError):
        raise
    except Exception as error:
        words = f"what listens at {place} does not speak the protocol of MySQL"
        raise NoAnswerError(Cause(CauseCode.BAD_ANSWER, {"words": words}), REMEDY) from error


def _connecting_error(account: Account, place: str, error: Exception) -> ServerError | MachineError:
    number, words = _number(error), _text(error)
    if (failed := _of_machine(error)) is not None:
        return MachineError.of(failed, f"No connection to the server at {place} could be opened")
    if number in _ACCOUNT_REFUSED:
        refused = {"place": place, "user": account.user, "words": words}
        return TurnedAwayError(Cause(CauseCode.ACCOUNT_REFUSED, refused), "See the account's option file or login path", number)
    if _is_from_server(error):
        return TurnedAwayError(Cause(CauseCode.TURNED_AWAY, {"place": place, "words": words}), "See the server's log", number)
    remedy = "See ssl-mode, ssl-ca, ssl-cert and ssl-key" if number == _TLS_FAILED else "See its log"
    return _no_answer_kind(error)(Cause(CauseCode.NO_ANSWER, {"place": place, "words": words}), remedy)


def _text(error: BaseException) -> str:
    return shorten(str(error.args[1]) if len(error.args) > 1 else str(error), _LONGEST_TEXT)


def global_variables(query: Query) -> dict[str, str]:
    """Return every global variable that the server reports; a value that may be a secret is replaced by `HIDDEN`."""
    shown = ((str(name), str(value)) for name, value, *_ in query("SHOW GLOBAL VARIABLES"))
    return {name: HIDDEN if value and _SECRET.search(name) and name not in _NOT_SECRET else value for name, value in shown}


def status(query: Query, name: str) -> str | None:
    """Return one status variable, or None if the server lacks it. `name` is not escaped, so it must not come from a user."""
    rows = query(f"SHOW GLOBAL STATUS LIKE '{name}'")
    return str(rows[0][1]) if rows else None


def connection_id(query: Query) -> int:
    return whole(single(query("SELECT CONNECTION_ID()")))


_SHOW = (
    (re.compile(r"SHOW (GLOBAL |SESSION )?(VARIABLES|STATUS)\b"), 2, 2),
    (re.compile(r"SHOW ENGINE\b"), 3, 3),
    (re.compile(r"SHOW PROCESSLIST\b"), 8, None),
    (re.compile(r"SHOW (REPLICA|SLAVE) STATUS\b"), 33, None),
)
"""The fewest and the most columns of the answers to SHOW, from MySQL 5.5 to 9.7 and MariaDB 10.1 to 11.4."""

_PART = re.compile(r"'(?:[^'\\]|\\.|'')*'|`[^`]*`|[(),*]|\w+", re.DOTALL)


def has_asked_columns(statement: str, columns: int) -> bool:
    """Return whether an answer with that many columns can be the answer to one of dialin's statements."""
    fewest, most = asked_columns(statement)
    return columns >= fewest and (most is None or columns <= most)


@functools.lru_cache(maxsize=512)
def asked_columns(statement: str) -> tuple[int, int | None]:
    """Return the fewest and the most columns of the answer to one of dialin's statements; None for no limit."""
    text = statement.strip()
    for pattern, fewest, most in _SHOW:
        if pattern.match(text):
            return fewest, most
    columns = _selected(part[0] for part in _PART.finditer(text, 6)) if re.match(r"SELECT\b", text) else 0
    return columns, columns or None


def _selected(parts: Iterator[str]) -> int:
    """Return the number of columns between SELECT and FROM; 0 where one of them is `*`."""
    depth, columns, before = 0, 1, ","
    for part in parts:
        word = part.upper()
        if part == "(":
            depth += 1
        elif part == ")":
            depth -= 1
        elif depth == 0 and word in ("FROM", "WHERE", "UNION", "INTO", "LIMIT"):
            break
        elif depth == 0 and part == "*" and before == ",":
            return 0
        elif depth == 0 and part == ",":
            columns += 1
        before = part
    return columns


_INTERNAL_USERS = ("system user", "event_scheduler")


@dataclass(frozen=True, slots=True)
class ServerSession:
    """A row of the process list; `host` has no port, `database` is empty where none is selected."""

    id: int
    user: str
    host: str
    command: str
    database: str = ""

    @property
    def is_client(self) -> bool:
        """Whether this is a client's session: neither a thread of the server nor a replica."""
        is_internal = self.user in _INTERNAL_USERS or self.command == "Daemon"
        return not is_internal and not self.command.startswith("Binlog Dump")

    @property
    def is_idle(self) -> bool:
        return self.command == "Sleep"


def sessions(query: Query) -> list[ServerSession]:
    return [
        ServerSession(
            whole(number), str(user), str(host or "").rpartition(":")[0] or str(host or ""), str(command), str(database or "")
        )
        for number, user, host, database, command, *_ in query("SHOW PROCESSLIST")
    ]
