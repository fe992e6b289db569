"""Sets variables of a running server: how SQL writes a value, what a refusal means, and what was set since startup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

from dialin.answers import single
from dialin.errors import DialinError, SettingRefusedError, UserError
from dialin.model.build import Family
from dialin.model.cause import Cause, CauseCode
from dialin.model.query import Query
from dialin.model.setting import Value, as_number
from dialin.servers.capabilities import Capability, Versioned, has
from dialin.servers.connection import RefusedError, global_variables
from dialin.variables.aliases import checked_name, reported_name

Wanted = Mapping[str, Value | None]
"""Variables with values; None is NULL."""

ACCESS_DENIED = 1227
WRONG_VALUE = 1231
WRONG_TYPE = 1232
UNKNOWN = 1193
READ_ONLY = 1238
SESSION_ONLY = 1228
"""Error numbers of refused statements."""

_NOT_ALLOWED = frozenset({ACCESS_DENIED, 3630})

_REFUSED_ASSIGNMENT = "@@GLOBAL.`autocommit` = 'dialin asks'"
"""An assignment that every server refuses. A server checks all assignments of a statement first, so it then makes none."""


class Scope(StrEnum):
    """What a value is set for, as the keyword of SET."""

    GLOBAL = "GLOBAL"
    """The running server."""

    PERSIST_ONLY = "PERSIST_ONLY"
    """The next start of the server."""


class OnlyAtStartError(SettingRefusedError):
    """A variable can be set only at startup."""


def assign(query: Query, scope: Scope, name: str, value: Value | None) -> None:
    """Set one variable; None means NULL. The server may round or clamp the value, so the caller must read it back.

    Raises:
        SettingRefusedError: the variable does not exist, refuses the value, or can be set only at startup.
        UserError: a privilege is missing.
        RefusedError: anything else that the server refused.
        NoAnswerError: the connection broke.
    """
    variable = checked_name(name)
    refusal = _try(query, f"SET @@{scope}.{_quoted(variable)} = %s", value)
    if refusal is not None:
        raise _explain(refusal, scope, variable, value) from None


def is_dynamic(query: Query, name: str, *, may_set: bool = True) -> bool:
    """Return whether a variable can be set at run time: the server is asked, and nothing is changed.

    Without `may_set`, the account need not be allowed to set it: a server says first that a variable is read-only.

    The statement assigns the variable's current value: MariaDB up to 11.4 and MySQL 5.7 begin to resize the buffer pool while
    they still check the statement, and if they then refuse it, they accept no other size until they are restarted.

    Raises:
        UserError: the variable does not exist or is a session variable, or a privilege is missing.
    """
    variable = checked_name(name)
    quoted = _quoted(variable)
    try:
        query(f"SET @@GLOBAL.{quoted} = @@GLOBAL.{quoted}, {_REFUSED_ASSIGNMENT}")
    except RefusedError as error:
        if error.number == READ_ONLY:
            return False
        if error.number in (UNKNOWN, SESSION_ONLY, *(_NOT_ALLOWED if may_set else ())):
            raise _explain(error, Scope.GLOBAL, variable, None) from None
    return True


def exact_values(query: Query, names: Iterable[str]) -> dict[str, Value | None]:
    """Return the values of variables as SET accepts them: complete where SHOW truncates them, None for NULL.

    Raises:
        UserError: the server lacks a variable.
        ServerError: the server does not answer.
    """
    values: dict[str, Value | None] = {}
    shown = global_variables(query)
    for name in (reported_name(name, shown) for name in names):
        if name not in shown:
            raise SettingRefusedError(f"The server has no variable {name}", "`dialin variables` lists them")
        value = single(query(f"SELECT @@GLOBAL.{_quoted(name)}"))
        values[name] = None if value is None else str(value) if isinstance(value, str) and value else shown[name]
    return values


def _try(query: Query, statement: str, value: Value | None) -> RefusedError | None:
    """Run a statement with each form of a value until one has the right type; return the refusal, or None."""
    refusal = None
    for form in _forms(value):
        try:
            query(statement, (form,))
        except RefusedError as error:
            refusal = error
            if error.number != WRONG_TYPE:
                return error
        else:
            return None
    return refusal


def reset_persisted(query: Query, name: str) -> None:
    """Remove the persisted value of a variable.

    Raises:
        UserError: a privilege is missing.
        RefusedError: the server refused for another reason.
    """
    try:
        query(f"RESET PERSIST IF EXISTS {_quoted(checked_name(name))}")
    except RefusedError as error:
        raise _explain(error, Scope.PERSIST_ONLY, name, None) from None


def _quoted(name: str) -> str:
    return ".".join(f"`{part}`" for part in name.split("."))


def _forms(value: Value | None) -> Iterable[Value | None]:
    """Yield the forms of a value, the likelier first: a string variable accepts no number, and a numeric one no string."""
    number = None if value is None else as_number(value)
    if number is not None:
        yield number
    yield value if value is None else str(value)


def _explain(error: RefusedError, scope: Scope, name: str, value: Value | None) -> DialinError:
    reason = str(error.cause.figures["words"]).rstrip(".")
    if error.number == UNKNOWN:
        return SettingRefusedError(Cause(CauseCode.UNKNOWN_VARIABLE, {"variable": name}), "`dialin variables` lists them")
    if error.number == READ_ONLY and scope is Scope.GLOBAL:
        return OnlyAtStartError(
            Cause(CauseCode.STARTUP_ONLY, {"variable": name}),
            "Give a --restart-command (MySQL 8.0 or later) or an --apply-command, or study it on a sandbox with --server",
        )
    if error.number == READ_ONLY:
        return SettingRefusedError(
            Cause(CauseCode.NOT_PERSISTED, {"variable": name, "words": reason}), "Study it on a sandbox with --server"
        )
    if error.number == SESSION_ONLY:
        return SettingRefusedError(Cause(CauseCode.SESSION_VARIABLE, {"variable": name}), "Choose a global variable")
    if error.number in (WRONG_VALUE, WRONG_TYPE):
        refused = Cause(CauseCode.VALUE_REFUSED, {"variable": name, "value": value, "words": reason})
        return SettingRefusedError(refused, "Choose a value that the server accepts")
    if error.number in _NOT_ALLOWED:
        missing = Cause(CauseCode.NO_PRIVILEGE_TO_SET, {"variable": name, "words": error.cause.figures["words"]})
        return UserError(missing, missing_privilege(scope, str(error.cause.figures["words"])))
    return error


def missing_privilege(scope: Scope, words: str) -> str:
    """Return the remedy for an account that may not set variables; `words` is the server's message, which names privileges."""
    if scope is Scope.PERSIST_ONLY:
        return "Grant it SYSTEM_VARIABLES_ADMIN and PERSIST_RO_VARIABLES_ADMIN; docs/privileges.md has all privileges"
    named = re.search(r"the ([A-Z_, ]+(?:or [A-Z_ ]+)?) privilege", words)
    return f"Grant it {named[1] if named else 'the privilege that the server names'}; docs/privileges.md has all privileges"


_STATEMENTS = {
    Family.MYSQL: "SELECT variable_name FROM performance_schema.variables_info WHERE variable_source = 'DYNAMIC'",
    Family.MARIADB: "SELECT variable_name FROM information_schema.system_variables WHERE global_value_origin = 'SQL'",
}


def set_since_start(query: Query, build: Versioned) -> frozenset[str]:
    """Return the variables whose global value was set by a statement since startup; empty if the build does not record this.

    MySQL records it since 8.0, MariaDB since 10.1.
    """
    if not has(build, Capability.VALUE_ORIGIN):
        return frozenset()
    return frozenset(str(name).lower() for (name,) in query(_STATEMENTS[build.family]))


_AT_DEFAULT = {
    Family.MYSQL: "SELECT variable_name FROM performance_schema.variables_info WHERE variable_source = 'COMPILED'",
    Family.MARIADB: "SELECT variable_name FROM information_schema.system_variables"
    " WHERE global_value_origin IN ('COMPILE-TIME', 'AUTO')",
}


def at_default(query: Query, build: Versioned) -> frozenset[str] | None:
    """Return the variables that nobody has set; None if the build does not record this, or the account may not see it."""
    if not has(build, Capability.VALUE_ORIGIN):
        return None
    try:
        return frozenset(str(name).lower() for (name,) in query(_AT_DEFAULT[build.family]))
    except RefusedError:
        return None
