"""The tables of a study's database.

Figures that are queried have columns of their own; what is only ever read back whole (a spec, an inventory, the variables in
force) is JSON. `FORMAT` changes with the tables.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Connection,
    Dialect,
    Float,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)

FORMAT = 2

APPLICATION_ID = 0x6469616C
"""SQLite's mark of the program that a file belongs to: "dial"."""

metadata = MetaData()


class Moment(Float[float]):
    """A time in seconds since 1970."""


class Amount(Float[float]):
    """A number of zero or more."""


class Object(TypeDecorator[dict[str, Any]]):
    """A JSON object."""

    impl = JSON
    cache_ok = True
    kind: type = dict

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:  # noqa: ARG002 - as SQLAlchemy calls it
        if value is not None and not isinstance(value, self.kind):
            raise TypeError(f"it is no {self.kind.__name__}")
        return value


class Array(Object):
    """A JSON array."""

    cache_ok = True
    kind = list


study = Table(
    "study",
    metadata,
    Column("format", Integer, nullable=False),
    Column("spec", Object, nullable=False),
    Column("created", Moment, nullable=False),
    Column("dialin_version", String(40), nullable=False),
    Column("command", Text, nullable=False),
    Column("host", Object, nullable=False),
    Column("servers", Object, nullable=False),
    Column("catalogues", Object, nullable=False),
    Column("verdict", Object),
)

candidate = Table(
    "candidate",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("setting", Object, nullable=False),
    Column("server", String(200), nullable=False),
    Column("memory", Integer),
)
"""The candidates, in the order in which they entered the study."""

block = Table(
    "block",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("number", Integer, nullable=False),
    Column("purpose", String(20), nullable=False),
    Column("candidates", Array, nullable=False),
    UniqueConstraint("number", "purpose"),
)
"""A block is stored before its first trial begins: the names of its candidates, in the order in which their trials run."""

trial = Table(
    "trial",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("block", Integer, nullable=False),
    Column("session", Integer, nullable=False),
    Column("position", Integer, nullable=False),
    Column("candidate", String(200), nullable=False),
    Column("state", String(20), nullable=False),
    Column("started", Moment, nullable=False),
    Column("steps", Object, nullable=False),
    Column("warm_up_end", String(20)),
    Column("in_force", Object, nullable=False),
    Column("real", Object, nullable=False),
    Column("costs", Object),
    Column("failure", Object),
    Column("purpose", String(20), nullable=False),
    Column("changes", Array, nullable=False),
    Column("host", String(255), nullable=False),
    Column("driver_choices", Array, nullable=False),
    Column("transaction_times", Array, nullable=False),
)

sample = Table(
    "sample",
    metadata,
    Column("trial", Integer, ForeignKey("trial.id"), primary_key=True),
    Column("second", Integer, primary_key=True),
    Column("at", Moment, nullable=False),
    Column("step", String(20), nullable=False),
    Column("tps", Amount, nullable=False),
    Column("reads", Float, nullable=False),
    Column("writes", Float, nullable=False),
    Column("other", Float, nullable=False),
    Column("latency_ms", Amount, nullable=False),
    Column("errors", Float, nullable=False),
    Column("reconnects", Float, nullable=False),
    Column("gap", Float, nullable=False),
    Column("stolen", Float),
    Column("pressure", Float),
    Column("threads", Integer, nullable=False),
    Column("seconds", Amount, nullable=False),
)

watched = Table(
    "watched",
    metadata,
    Column("trial", Integer, ForeignKey("trial.id"), primary_key=True),
    Column("probe", String(40), primary_key=True),
    Column("saw", Object, nullable=False),
)

waits = Table(
    "waits",
    metadata,
    Column("trial", Integer, ForeignKey("trial.id"), primary_key=True),
    Column("summary", Object, nullable=False),
)

look = Table(
    "look",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("blocks", Integer, nullable=False),
    Column("decided", Boolean),
    Column("trials", Integer, nullable=False),
)

log = Table(
    "log",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Moment, nullable=False),
    Column("text", Text, nullable=False),
)
"""The text of a line is a sentence, or a code with figures in JSON."""

progress = Table("progress", metadata, Column("id", Integer, primary_key=True), Column("stands", Object, nullable=False))
"""One row: the current progress of the study."""

tune_ask = Table(
    "tune_ask",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("candidate", String(200), nullable=False),
    Column("stage", String(20), nullable=False),
    Column("seconds", Float, nullable=False),
    Column("improvement", Float),
    Column("block", Integer, nullable=False),
    Column("subset", String(40), nullable=False),
)
"""The trials that a tune asked for, each stored before it begins. Only tunes use this table and the next."""

tune_findings = Table(
    "tune_findings",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("found", Object, nullable=False),
)
"""One row: what the search has found so far."""


_LAST_TIME = 253_402_300_799
"""The end of the year 9999, the last time that has a date."""

_LARGEST = "1e300"


def check_rows(connection: Connection) -> None:
    """Make sure that nobody has altered a row by hand so that a value is of another type than its column.

    SQLite looks at the rows itself: those of a study of hours take some ten milliseconds.

    Raises:
        ValueError: a value is none of its column.
        DatabaseError: a table or a column is missing.
    """
    for table in metadata.sorted_tables:
        if connection.execute(text(_of_other_types(table))).first() is not None:
            raise ValueError(f"a row of {table.name} has a value of another type")


@cache
def _of_other_types(table: Table) -> str:
    conditions = " OR ".join(map(_is_other, table.columns))
    return f"SELECT 1 FROM {table.name} WHERE {conditions} LIMIT 1"  # noqa: S608 - names of the schema


def _is_other(column: Column[object]) -> str:
    name, kind = f'"{column.name}"', column.type
    types, limits = ["text"], ""
    if isinstance(kind, Moment):
        types, limits = ["real", "integer"], f" OR {name} NOT BETWEEN 0 AND {_LAST_TIME}"
    elif isinstance(kind, Amount):
        types, limits = ["real", "integer"], f" OR {name} NOT BETWEEN 0 AND {_LARGEST}"
    elif isinstance(kind, Float):
        types, limits = ["real", "integer"], f" OR {name} NOT BETWEEN -{_LARGEST} AND {_LARGEST}"
    elif isinstance(kind, (Integer, Boolean)):
        types = ["integer"]
    if column.nullable:
        types.append("null")
    return f"typeof({name}) NOT IN ({', '.join(map(repr, types))}){limits}"
