"""The schema that dialin creates on an attached server, and the mark by which dialin recognises it."""

from __future__ import annotations

from collections.abc import Callable

from dialin.errors import UserError
from dialin.model.query import Query
from dialin.servers.connection import RefusedError, quote_identifier

MARK = "dialin_made_this"
"""The table that names the undo entry which a schema belongs to."""

_DENIED = (1044, 1142, 1227)
_EXISTS = 1007


def check_absent(query: Query, name: str) -> None:
    """Raise UserError where a schema of that name exists."""
    if exists(query, name):
        raise UserError(
            f"The schema {name} already exists, and dialin did not create it for this study",
            "Drop or rename it if it is not needed, or give a schema with the workload's tables as --database",
        )


def exists(query: Query, name: str) -> bool:
    return bool(query("SELECT 1 FROM information_schema.schemata WHERE schema_name = %s", (name,)))


def make(query: Query, name: str, owner: str, was_made: Callable[[], None]) -> None:
    """Create a schema and mark it with its owner, an undo entry; `was_made` is called as soon as it exists, to record that.

    Raises:
        UserError: the account may not create the schema, or it exists already.
        RefusedError: the server refused for another reason.
    """
    try:
        query(f"CREATE DATABASE `{name}`")
        was_made()
        query(f"CREATE TABLE `{name}`.`{MARK}` (entry VARCHAR(64) PRIMARY KEY)")
        query(f"INSERT INTO `{name}`.`{MARK}` VALUES (%s)", (owner,))  # noqa: S608 - the name is dialin's own
    except RefusedError as error:
        if error.number in _DENIED:
            raise UserError(f"The account may not create the schema {name}", f"GRANT ALL ON `{name}`.* to it") from None
        if error.number == _EXISTS:
            raise UserError(f"The schema {name} already exists", "Another client created it just now; try again") from None
        raise


def empty(query: Query, name: str, owner: str) -> None:
    """Drop the tables of a schema that `make` created, so that its data can be prepared again.

    Raises:
        UserError: the schema no longer has the owner's mark.
        RefusedError: the server refused.
    """
    tables = _tables(query, name)
    if not _is_marked(query, name, tables, owner):
        raise UserError(f"The schema {name} is not the one that dialin created", "Find out who replaced it", resumable=True)
    query("SET SESSION foreign_key_checks = 0")
    for table in tables:
        if table != MARK:
            query(f"DROP TABLE `{name}`.{quote_identifier(table)}")


def drop(query: Query, name: str, owner: str, *, made: bool) -> str | None:
    """Drop a schema that `make` created; an empty one only if `made`, that is, if dialin recorded that it created the schema.

    Returns:
        Whether the schema was dropped, as a line of text; None if there is no such schema.

    Raises:
        RefusedError: the server refused.
    """
    if not exists(query, name):
        return None
    tables = _tables(query, name)
    if not (_is_marked(query, name, tables, owner) if tables else made):
        return f"schema {name}: left alone, because dialin did not create it"
    query(f"DROP DATABASE `{name}`")
    return f"schema {name}: dropped"


def _tables(query: Query, name: str) -> list[str]:
    rows = query("SELECT table_name FROM information_schema.tables WHERE table_schema = %s", (name,))
    return [str(table) for (table,) in rows]


def _is_marked(query: Query, name: str, tables: list[str], owner: str) -> bool:
    if MARK not in tables:
        return False
    marks = query(f"SELECT entry FROM `{name}`.`{MARK}`")  # noqa: S608 - the name is dialin's own
    # A mark without a row: dialin died between creating the table and writing into it.
    return [str(mark) for (mark,) in marks] in ([owner], [] if tables == [MARK] else [owner])
