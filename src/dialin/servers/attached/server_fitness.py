"""What SQL shows of an attached server before a study. Nothing is changed.

Cost: a few statements, and two seconds. Privileges: none; without PROCESS it is not known whether others use the server.
"""

from __future__ import annotations

from contextlib import suppress

from dialin.clock import Clock
from dialin.errors import ServerError, UserError
from dialin.model.fitness import ServerFacts
from dialin.model.query import Query
from dialin.model.setting import means_on
from dialin.servers.attached import activity
from dialin.servers.attached.server import Attached

_TRIES = 21
_SETTING = frozenset({"SUPER", "SYSTEM_VARIABLES_ADMIN"})
_PRIVILEGES = (
    "SELECT privilege_type FROM information_schema.user_privileges"
    " WHERE grantee = CONCAT('''', REPLACE(CURRENT_USER(), '@', '''@'''), '''')"
)


def server_facts(attached: Attached, clock: Clock) -> ServerFacts:
    """Read an attached server; raise ServerError where it does not answer."""
    variables = attached.variables()
    with attached.connect() as query:
        trips = [_round_trip(query, clock) for _ in range(_TRIES)]
        may_set = may_set_globals(query)
    try:
        in_use: tuple[str, ...] | None = tuple(attached.live_reasons())
    except UserError:
        in_use = None
    return ServerFacts(
        server=f"{attached.build.id}, {attached.account}",
        round_trips=tuple(trips),
        in_use=in_use,
        read_only=activity.read_only_by(variables),
        may_set=may_set,
        performance_schema=means_on(variables.get("performance_schema")),
        is_here=attached.pid is not None,
    )


def _round_trip(query: Query, clock: Clock) -> float:
    begun = clock.monotonic()
    query("SELECT 1")
    return clock.monotonic() - begun


def may_set_globals(query: Query) -> bool | None:
    """Return whether the account may change global variables; None where the server does not say, or a role may allow it."""
    try:
        held = {str(name).upper() for (name,) in query(_PRIVILEGES)}
    except ServerError:
        return None
    return True if held & _SETTING else None if _has_role(query) else False


def _has_role(query: Query) -> bool:
    with suppress(ServerError):  # builds before 8.0 and MariaDB 10.0 have no roles
        return any(str(role).upper() not in ("NONE", "NULL", "") for (role,) in query("SELECT CURRENT_ROLE()") if role)
    return False
