"""Whether the rows of a study's database have the types of their columns, which SQLite does not enforce."""

from __future__ import annotations

from functools import cache

from sqlalchemy import Boolean, Column, Connection, Float, Integer, Table, text

from dialin.store import schema

_LAST_TIME = 253_402_300_799
"""The end of the year 9999, the last time that has a date."""

_LARGEST = "1e300"


def check(connection: Connection) -> None:
    """Make sure that nobody has altered a row by hand so that a value is of another type than its column.

    SQLite looks at the rows itself: those of a study of hours take some ten milliseconds.

    Raises:
        ValueError: a value is none of its column.
        DatabaseError: a table or a column is missing.
    """
    for table in schema.metadata.sorted_tables:
        if connection.execute(text(_of_other_types(table))).first() is not None:
            raise ValueError(f"a row of {table.name} has a value of another type")


@cache
def _of_other_types(table: Table) -> str:
    conditions = " OR ".join(map(_is_other, table.columns))
    return f"SELECT 1 FROM {table.name} WHERE {conditions} LIMIT 1"  # noqa: S608 - names of the schema


def _is_other(column: Column[object]) -> str:
    name, kind = f'"{column.name}"', column.type
    types, limits = ["text"], ""
    if isinstance(kind, schema.Moment):
        types, limits = ["real", "integer"], f" OR {name} NOT BETWEEN 0 AND {_LAST_TIME}"
    elif isinstance(kind, schema.Amount):
        types, limits = ["real", "integer"], f" OR {name} NOT BETWEEN 0 AND {_LARGEST}"
    elif isinstance(kind, Float):
        types, limits = ["real", "integer"], f" OR {name} NOT BETWEEN -{_LARGEST} AND {_LARGEST}"
    elif isinstance(kind, (Integer, Boolean)):
        types = ["integer"]
    if column.nullable:
        types.append("null")
    return f"typeof({name}) NOT IN ({', '.join(map(repr, types))}){limits}"
