"""The tables of a study's database.

Figures that are queried have columns of their own; what is only ever read back whole (a spec, an inventory, the variables in
force) is JSON. `FORMAT` changes with the tables.
"""

from __future__ import annotations

from sqlalchemy import JSON, Boolean, Column, Float, ForeignKey, Integer, MetaData, String, Table, Text, UniqueConstraint

FORMAT = 1

APPLICATION_ID = 0x6469616C
"""SQLite's mark of the program that a file belongs to: "dial"."""

metadata = MetaData()

study = Table(
    "study",
    metadata,
    Column("format", Integer, nullable=False),
    Column("spec", JSON, nullable=False),
    Column("created", Float, nullable=False),
    Column("dialin_version", String(40), nullable=False),
    Column("command", Text, nullable=False),
    Column("host", JSON, nullable=False),
    Column("servers", JSON, nullable=False),
    Column("catalogues", JSON, nullable=False),
    Column("verdict", JSON),
)

candidate = Table(
    "candidate",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("setting", JSON, nullable=False),
    Column("server", String(200), nullable=False),
    Column("born", Integer, nullable=False),
)
"""The candidates, in the order in which they entered the study."""

block = Table(
    "block",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("number", Integer, nullable=False),
    Column("purpose", String(20), nullable=False),
    Column("candidates", JSON, nullable=False),
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
    Column("started", Float, nullable=False),
    Column("steps", JSON, nullable=False),
    Column("warm_up_end", String(20)),
    Column("in_force", JSON, nullable=False),
    Column("real", JSON, nullable=False),
    Column("costs", JSON),
    Column("failure", JSON),
    Column("purpose", String(20), nullable=False),
    Column("changes", JSON, nullable=False),
    Column("host", String(255), nullable=False),
    Column("driver_choices", JSON, nullable=False),
    Column("transaction_times", JSON, nullable=False),
)

sample = Table(
    "sample",
    metadata,
    Column("trial", Integer, ForeignKey("trial.id"), primary_key=True),
    Column("second", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("step", String(20), nullable=False),
    Column("tps", Float, nullable=False),
    Column("reads", Float, nullable=False),
    Column("writes", Float, nullable=False),
    Column("other", Float, nullable=False),
    Column("latency_ms", Float, nullable=False),
    Column("errors", Float, nullable=False),
    Column("reconnects", Float, nullable=False),
    Column("gap", Float, nullable=False),
    Column("stolen", Float),
    Column("pressure", Float),
    Column("threads", Integer, nullable=False),
    Column("seconds", Float, nullable=False),
)

watched = Table(
    "watched",
    metadata,
    Column("trial", Integer, ForeignKey("trial.id"), primary_key=True),
    Column("probe", String(40), primary_key=True),
    Column("saw", JSON, nullable=False),
)

waits = Table(
    "waits",
    metadata,
    Column("trial", Integer, ForeignKey("trial.id"), primary_key=True),
    Column("summary", JSON, nullable=False),
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
    Column("at", Float, nullable=False),
    Column("text", Text, nullable=False),
)
"""The text of a line is a sentence, or a code with figures in JSON."""

progress = Table(
    "progress",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("stands", JSON, nullable=False),
)
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
    Column("found", JSON, nullable=False),
)
"""One row: what the search has found so far."""
