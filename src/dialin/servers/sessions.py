"""The sessions of a server, from its process list."""

from __future__ import annotations

from dataclasses import dataclass

from dialin.answers import whole
from dialin.model.query import Query

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
