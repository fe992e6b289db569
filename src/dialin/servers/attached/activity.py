"""Signs that a server is in use: it has replicas, is a replica, is a node of a cluster, or serves other clients.

Replication and clients are read from the process list, so that PROCESS is the only privilege needed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from dialin.answers import whole
from dialin.clock import Clock
from dialin.errors import UserError
from dialin.model.query import Query
from dialin.model.setting import means_off, means_on
from dialin.servers.assign import ACCESS_DENIED
from dialin.servers.connection import RefusedError, ServerSession, connection_id, sessions, status
from dialin.text import counted, listed, visible

WATCHED = 1.5
"""Seconds between the two readings of how many statements a server has received."""

_MOST_NAMED = 3


def reasons(query: Query, variables: Mapping[str, str], clock: Clock, *, not_others: int | None = None) -> list[str]:
    """Return the reasons why a server counts as in use, each a sentence without its full stop; empty if it is idle.

    This takes `WATCHED` seconds. `not_others` is the id of another connection of dialin, which does not count. An idle
    connection that ends in the meantime does not count either: it may be one that dialin itself has just closed, which a busy
    server still lists for a moment.

    Raises:
        UserError: the account may not see other sessions.
    """
    check_sees_others(query)
    ours = (connection_id(query), not_others)
    before = {session.id: session for session in sessions(query) if session.id not in ours}
    statements = _questions(query)
    clock.sleep(WATCHED)
    sent = _questions(query) - statements - 1  # the second reading is a statement itself
    after = {session.id: session for session in sessions(query) if session.id not in ours}
    ended = [number for number in before.keys() - after.keys() if before[number].is_idle]
    connections = [session for number, session in (before | after).items() if number not in ended]
    # Each connection that ended sent one last command.
    return [*_replication(connections), *_clusters(query, variables), *_clients(connections, max(0, sent - len(ended)))]


def check_sees_others(query: Query) -> None:
    """Raise UserError if the account lacks PROCESS: the process list would then silently omit other users' sessions."""
    try:
        query("SHOW ENGINE INNODB STATUS")
    except RefusedError as error:
        if error.number != ACCESS_DENIED:
            raise
        raise UserError(
            "The account cannot see whether others use the server", "Grant it PROCESS; docs/privileges.md has all privileges"
        ) from None


def read_only_by(variables: Mapping[str, str]) -> str:
    """Return the variable that makes the server read-only, the strongest first; empty where it takes writes."""
    names = ("super_read_only", "read_only", "innodb_read_only")
    return next((name for name in names if not means_off(variables.get(name, "OFF"))), "")


def check_writable(variables: Mapping[str, str]) -> None:
    """Raise UserError if the server is read-only."""
    if name := read_only_by(variables):
        raise UserError(
            f"The server is read-only: {name} is {variables[name]}",
            "It may be a replica; study another server, or a sandbox with --server",
        )


def _questions(query: Query) -> int:
    return whole(status(query, "Questions") or 0)


def _replication(connections: Sequence[ServerSession]) -> list[str]:
    signs = []
    replicas = [session for session in connections if session.command.startswith("Binlog Dump")]
    if replicas:
        signs.append(f"{counted(len(replicas), 'replica')} of it read its binary log ({_names(replicas)})")
    if any(session.user == "system user" and session.command != "Daemon" for session in connections):
        signs.append("it is a replica, and its replication runs")
    return signs


def _clusters(query: Query, variables: Mapping[str, str]) -> list[str]:
    signs = []
    if group := variables.get("group_replication_group_name"):
        signs.append(f"it is set up as a member of the replication group {visible(group)}")
    if means_on(status(query, "wsrep_connected")):
        signs.append(f"it is a node of the Galera cluster {visible(variables.get('wsrep_cluster_name', ''))}")
    return signs


def _clients(connections: Sequence[ServerSession], sent: int) -> list[str]:
    clients = [session for session in connections if session.is_client]
    signs = []
    if clients:
        busy = sum(not session.is_idle for session in clients)
        what = f"{busy} of them at work" if busy else "idle at the moment"
        signs.append(f"{counted(len(clients), 'other connection')} to it: {_names(clients)}; {what}")
    if sent:
        signs.append(f"others sent it {counted(sent, 'statement')} within {WATCHED:g} s")
    return signs


def _names(connections: Sequence[ServerSession]) -> str:
    names = Counter(f"{visible(session.user)} from {visible(session.host) or 'nowhere'}" for session in connections)
    named = [f"{name} ({count})" if count > 1 else name for name, count in names.most_common(_MOST_NAMED)]
    rest = len(names) - len(named)
    return listed([*named, f"{rest} more"] if rest else named)
