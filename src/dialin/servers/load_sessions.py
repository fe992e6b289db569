"""The sessions of a load on its server, on record while they may execute something, so that no statement outlives its load.

A server notices that a client is gone only when it sends the result. dialin-load ends its own statements; this ends those of a
driver that was killed, and of one that cannot do so itself. The record is a file of lines with the server's number of a
session, as KILL takes it, and the Unix time at which it was opened, by the machine's clock, which all processes share. A number
belongs to one session while the server runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from dialin.answers import number, whole
from dialin.clock import Clock, SystemClock
from dialin.errors import ServerError
from dialin.model.query import Query
from dialin.servers.account import Account
from dialin.servers.connection import RefusedError, ServerSession, connect, connection_id, sessions, status

_GONE_WITHIN = 10.0
"""Seconds that a server may take to end a statement after KILL; it may roll back for longer."""

_ANSWERS_WITHIN = 5.0
_POLL = 0.05

_SAME_START = 1.0
"""Seconds by which the start of a server, computed from its Uptime, may be too late."""

_BY_PROCESS = (
    "SELECT processlist_id FROM performance_schema.session_account_connect_attrs WHERE attr_name = '_pid' AND attr_value = %s"
)


@dataclass(frozen=True, slots=True)
class LoadSession:
    """A session by its number on the server; `opened` is a Unix time."""

    number: int
    opened: float


@dataclass(frozen=True, slots=True)
class Ended:
    """How many statements KILL ended, and how many sessions the server has yet to end or roll back."""

    ended: int
    left: int


def record(path: Path, numbers: Collection[int], opened: float) -> None:
    """Add sessions to a record; raise OSError where it cannot be written."""
    with path.open("a", encoding="ascii") as file:
        file.writelines(f"{session} {opened:.3f}\n" for session in numbers)


def recorded(path: Path) -> list[LoadSession]:
    """Return the sessions on record; none where there is no record."""
    try:
        lines = path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        with suppress(ValueError):  # the last line of a driver that was killed may be incomplete
            session, opened = line.split()
            found.append(LoadSession(int(session), float(opened)))
    return found


def forget(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)


def end_recorded(query: Query, path: Path, clock: Clock) -> Ended:
    """End the sessions on record by KILL, and wait until they are gone; an idle one may be about to execute what was sent last.

    A session is left alone if it belongs to another user than `query`, or if the server was started after it was opened: then
    its number is that of another session by now.

    Raises:
        ServerError: the server does not answer; the record is kept.
    """
    known = recorded(path)
    if not known:
        return Ended(0, 0)
    started = clock.wall() - number(status(query, "Uptime") or 0) - _SAME_START
    numbers = {session.number for session in known if session.opened >= started}
    still = _present(query, numbers)
    executing = sum(not session.is_idle for session in still)
    for session in still:
        with suppress(RefusedError):  # it has ended meanwhile
            query(f"KILL {session.id}")
    limit = clock.monotonic() + _GONE_WITHIN
    while still and clock.monotonic() < limit:
        clock.sleep(_POLL)
        still = _present(query, numbers)
    forget(path)
    return Ended(max(0, executing - len(still)), len(still))


def _present(query: Query, numbers: Collection[int]) -> list[ServerSession]:
    me, others = _shown(query)
    return [each for each in others if each.id in numbers and each.user == me.user]


def end_left(account: Account, path: Path) -> None:
    """End what the sessions on record still execute, if their server answers within seconds; otherwise the record is kept."""
    if recorded(path):
        with suppress(ServerError), connect(account, timeout=_ANSWERS_WITHIN) as query:
            end_recorded(query, path, SystemClock())


@contextmanager
def on_record(account: Account, query: Query, path: Path) -> Iterator[None]:
    """Record the session of `query` during a `with` block; if that fails or is interrupted, end what the session executes."""
    record(path, [connection_id(query)], SystemClock().wall())
    try:
        yield
    except BaseException:
        end_left(account, path)
        raise
    forget(path)


class UnreportedSessions:
    """The sessions of a driver that does not report them, such as sysbench.

    They are those which the server shows as opened by the driver's process. A server without a performance schema does not show
    that: there they are the sessions of this account, host and schema since the driver was started, if these are as many as
    the driver opens. Otherwise somebody else uses the same account, and none of them is recorded.

    Raises:
        ServerError: the server does not answer.
    """

    def __init__(self, account: Account, database: str, count: int, path: Path) -> None:
        self._account, self._database, self._count, self._path = account, database, count, path
        self._is_recorded = False
        with connect(account, timeout=_ANSWERS_WITHIN) as query:
            self._before = connection_id(query)

    def record(self, pid: int) -> bool:
        """Record the sessions of the driver with this process ID, if they are open; return whether they are on record now."""
        if not self._is_recorded:
            with suppress(ServerError, OSError), connect(self._account, timeout=_ANSWERS_WITHIN) as query:
                if numbers := self._find(query, pid):
                    record(self._path, numbers, SystemClock().wall())
                    self._is_recorded = True
        return self._is_recorded

    def _find(self, query: Query, pid: int) -> list[int]:
        me, others = _shown(query)
        same = [
            each.id
            for each in others
            if each.id > self._before and (each.user, each.host, each.database) == (me.user, me.host, self._database)
        ]
        with suppress(RefusedError):  # no performance schema, or no privilege
            by_process = {whole(session) for (session,) in query(_BY_PROCESS, (str(pid),))}
            if by_process:
                return [session for session in same if session in by_process]
        return same if len(same) == self._count else []


def _shown(query: Query) -> tuple[ServerSession, list[ServerSession]]:
    """Return the session of `query`, and all others."""
    own = connection_id(query)
    everyone = sessions(query)
    me = next((each for each in everyone if each.id == own), None)
    if me is None:
        raise ServerError("The server does not show dialin's own session in its process list", "Check what is between them")
    return me, [each for each in everyone if each.id != own]
