"""Restores the baseline of a live server at once, over a connection that is open already.

A server in trouble may accept no more connections, or accept them slowly. The undo of the study still follows: a change that is
not undone here stays recorded.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress

from dialin.clock import Clock
from dialin.errors import DialinError, ServerError
from dialin.model.query import Query
from dialin.servers.assign import Wanted
from dialin.servers.attached.server import Attached
from dialin.servers.attached.undo_journal import is_known, same
from dialin.servers.connection import connection_id, global_variables
from dialin.servers.setter import Setter
from dialin.text import listed

_ANSWER_WITHIN = 5.0
_LONGEST_IDLE = 86_400


class QuickRestore:
    """Restores the variables that dialin set, and no others; use it as a context manager.

    Args:
        clock: times the wait for values that come into force later.

    Attributes:
        connection: the server's number of its connection; None while it has none.
    """

    def __init__(self, attached: Attached, clock: Clock) -> None:
        self._attached = attached
        self._clock = clock
        self._open = ExitStack()
        self._query: Query | None = None
        self.connection: int | None = None

    def __enter__(self) -> QuickRestore:
        self._connect()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._query = self.connection = None
        with suppress(ServerError):
            self._open.close()

    def _connect(self) -> Query:
        with ExitStack() as opened:
            query, _ = opened.enter_context(self._attached.connect_to_change(_ANSWER_WITHIN))
            query(f"SET SESSION wait_timeout = {_LONGEST_IDLE}")
            self.connection = connection_id(query)
            self._query, self._open = query, opened.pop_all()
        return query

    def restore(self) -> dict[str, str]:
        """Restore every variable that has a value from dialin; one that somebody else has set meanwhile is left alone.

        Returns:
            Every variable of the server, read after the last was set.

        Raises:
            ServerError: the server does not answer, or a value could not be restored.
        """
        try:
            return self._restore(self._query or self._connect())
        except DialinError:
            self.close()
            return self._restore(self._connect())

    def _restore(self, query: Query) -> dict[str, str]:
        journal = self._attached.journal
        if journal is None:
            raise RuntimeError("an attached server is changed only when its undo is recorded")
        entry, now = journal.entry, global_variables(query)
        wanted: Wanted = {
            name: entry.exact.get(name, entry.before[name])
            for name in (*entry.exact, *entry.also_changed)
            if name in now
            and not same(entry.before[name], now[name])
            and (name in entry.pending or is_known(entry, name, now[name]))
        }
        if not wanted:
            return now
        setter = Setter(query, self._clock, _ANSWER_WITHIN, str)
        refused = setter.set_what_can_be(wanted)
        left = [name for name in wanted if not same(entry.before[name], setter.last_read.get(name, ""))]
        if left:
            why = next(iter(refused.values())).what if refused else "it still has another value"
            raise ServerError(f"{listed(left)} could not be restored: {why}", "Run `dialin restore`")
        return setter.last_read
