"""How servers treat variables beyond accepting a value: which depend on others or limit them, and which have no effect.

`manual` is the MySQL Reference Manual, `kb` the MariaDB documentation; `read on` means that it was observed on a running build.
A behaviour of some builds only names the oldest and the newest build for which it was observed or is documented.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dialin.model.build import BuildReference, Family, Vendor, Version
from dialin.model.setting import Value


@dataclass(frozen=True, slots=True)
class Span:
    """A range of builds of a family, or of one vendor; `last` is a prefix of versions, as `(10, 4)` for all of 10.4.

    Without `last` it has no end.
    """

    of: Family | Vendor
    first: Version = ()
    last: Version | None = None

    def holds(self, build: BuildReference) -> bool:
        is_of = self.of is build.vendor or self.of is build.family
        return is_of and build.version >= self.first and (self.last is None or build.version[: len(self.last)] <= self.last)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One behaviour of servers.

    Attributes:
        text: the behaviour, as a sentence without its full stop.
        on: the builds that behave so; all builds where it is empty.
        dies_of: values that can crash the server.
        strands_at: values that do not release threads that the value before made wait: restoring one ends no stall.
        adapts_above_0: the server itself changes the variable while this one is above 0.
        formula: of a derived variable, its value by those of others.
    """

    text: str
    source: str
    on: tuple[Span, ...] = ()
    dies_of: tuple[Value, ...] = ()
    strands_at: tuple[Value, ...] = ()
    adapts_above_0: str = ""
    formula: Callable[[Mapping[str, float]], float] | None = None

    def is_of(self, build_id: str) -> bool:
        """Return whether a build, such as `mysql@9.7.4`, behaves so."""
        build = BuildReference.of(build_id)
        return not self.on or (build is not None and any(span.holds(build) for span in self.on))


_MYSQL, _MARIADB = Family.MYSQL, Family.MARIADB
PERSISTS = Behaviour("SET PERSIST keeps values for the next starts", "manual: SET Syntax", on=(Span(_MYSQL, (8, 0)),))
TAKES_BEGINNINGS = Behaviour(
    "takes the beginning of an option's name for the option, where only one begins so",
    "read on 5.6.24, 9.7.4 and 10.11.19; manual 5.7, Command-Line Options",
    (Span(_MYSQL, (), (5, 6)), Span(_MARIADB)),
)
_CHUNKS = (Span(_MYSQL, (5, 7)), Span(_MARIADB, (10, 2), (10, 4)))
"""Builds whose buffer pool has both chunks and instances."""

_SINCE_5_6 = (Span(_MYSQL, (5, 6)),)
_BEFORE_8_4 = Span(_MYSQL, (5, 6), (8, 3))
_SINCE_8_4 = (Span(_MYSQL, (8, 4)),)
_SINCE_10_11 = (Span(_MARIADB, (10, 11)),)
_SINCE_11 = (Span(_MARIADB, (11, 0)),)
IN_MEMORY_TABLES = (Span(_MYSQL, (), (5, 7)), Span(_MARIADB))
"""The builds whose temporary tables in memory are of the engine MEMORY."""
_WRITTEN_THROUGH = Behaviour("writes go through to the disk under O_DSYNC", "read on 11.4.5", _SINCE_11)


def _host_cache(known: Mapping[str, float]) -> float:
    connections = known["max_connections"]
    return min(128 + min(connections, 500) + max(0, connections - 500) // 20, 2000)


@dataclass(frozen=True, slots=True)
class DerivedVariable:
    """A variable that the server derives from others, most of them only as long as nobody sets it.

    Attributes:
        hold: chooses, from the values that it has in the candidates, the one that pins it for all of them: the smallest or the
            largest. None where it is not pinned to one of its values.
        gives_resources: whether a larger value gives a candidate more resources, so that the comparison is no longer fair. Any
            other derived variable changes wherever the variable under test is set, and is part of that variable's effect.
    """

    of: tuple[str, ...]
    behaviours: tuple[Behaviour, ...]
    hold: Callable[[Sequence[float]], float] | None = max
    gives_resources: bool = False


DERIVED: Mapping[str, DerivedVariable] = {
    "innodb_page_cleaners": DerivedVariable(("innodb_buffer_pool_instances",), (
        Behaviour("never more than buffer pool instances, and as many by default", "read on 9.7.4", _SINCE_8_4),
        Behaviour("never more than buffer pool instances, and at most 4 by default", "read on 8.0.33 and 10.2.11",
            (Span(_MYSQL, (5, 7), (8, 3)), Span(_MARIADB, (10, 2), (10, 4)))),
    ), min),
    "innodb_buffer_pool_size": DerivedVariable(
        ("innodb_buffer_pool_instances", "innodb_buffer_pool_chunk_size", "innodb_dedicated_server"), (
        Behaviour("the pool grows to whole chunks in every instance: 3 instances turn 2G into 2304M",
            "read on 8.0.33, 9.7.4 and 10.2.11; manual, Configuring InnoDB Buffer Pool Size", _CHUNKS),
    ), None, gives_resources=True),
    "innodb_buffer_pool_instances": DerivedVariable(("innodb_buffer_pool_size",), (
        Behaviour("1 below 1 GiB of pool; from there on 8 by default",
            "read on 5.6.24, 8.0.33, 10.1.23 and 10.2.11; manual, innodb_buffer_pool_instances",
            (_BEFORE_8_4, Span(_MARIADB, (10, 0), (10, 4)))),
        Behaviour("1 below 1 GiB of pool; from there on a quarter of the CPUs by default",
            "read on 9.7.4; manual, innodb_buffer_pool_instances", _SINCE_8_4),
    ), min),
    "innodb_buffer_pool_chunk_size": DerivedVariable(("innodb_buffer_pool_instances", "innodb_buffer_pool_size"), (
        Behaviour("it shrinks so that every instance has a chunk: 64 instances of a 2G pool make it 32M",
            "read on 8.0.33, 9.7.4 and 10.2.11", _CHUNKS),
        Behaviour("it is a 64th of the pool", "read on 10.11.5 and 11.4.5", _SINCE_10_11),
    ), min),
    "innodb_log_file_buffering": DerivedVariable(("innodb_flush_log_at_trx_commit",), (
        Behaviour("the redo log is buffered if that is 2", "read on MariaDB 10.11.5, 10.11.19 and 11.4.5"),
    ), None),
    "innodb_data_file_buffering": DerivedVariable(("innodb_flush_method",), (
        Behaviour("data files are buffered under fsync, littlesync and nosync", "read on 11.4.5", _SINCE_11),
    ), None),
    "innodb_data_file_write_through": DerivedVariable(("innodb_flush_method",), (_WRITTEN_THROUGH,), None),
    "innodb_log_file_write_through": DerivedVariable(("innodb_flush_method",), (_WRITTEN_THROUGH,), None),
    "innodb_io_capacity_max": DerivedVariable(("innodb_io_capacity",), (
        Behaviour("it is twice innodb_io_capacity, and at least 2000; a value above it at run time is lowered to it",
            "read on 5.6.24 and 8.0.33", (_BEFORE_8_4,)),
        Behaviour("it is twice innodb_io_capacity; a value above it at run time is lowered to it", "read on 9.7.4", _SINCE_8_4),
        Behaviour("it is twice innodb_io_capacity, and at least 2000; a value above it at run time raises it",
            "read on MariaDB 10.1 to 11.4", (Span(_MARIADB),)),
    )),
    "innodb_io_capacity": DerivedVariable(("innodb_io_capacity_max",), (
        Behaviour("at startup it is lowered to innodb_io_capacity_max; at run time a lower maximum is raised to it",
            "read on 5.6.24, 8.0.33 and 9.7.4", _SINCE_5_6),
        Behaviour("at startup it is lowered to innodb_io_capacity_max; at run time a lower maximum lowers it",
            "read on MariaDB 10.1 to 11.4", (Span(_MARIADB),)),
    ), min),
    "innodb_max_dirty_pages_pct_lwm": DerivedVariable(("innodb_max_dirty_pages_pct",), (
        Behaviour("it is never higher: an innodb_max_dirty_pages_pct below it, at startup or later, lowers it permanently",
            "read on 5.6.24, 8.0.33, 9.7.4 and MariaDB 10.1 to 11.4"),
    ), min),
    "innodb_open_files": DerivedVariable(("table_open_cache",), (
        Behaviour("it is table_open_cache", "read on 5.6.24, 8.0.33, 9.7.4 and MariaDB 10.1 to 11.4",
            (*_SINCE_5_6, Span(_MARIADB)), formula=lambda known: known["table_open_cache"]),
    )),
    "table_definition_cache": DerivedVariable(("table_open_cache",), (
        Behaviour("it is 400 plus half of table_open_cache, at most 2000", "read on 5.6.24, 8.0.33 and 9.7.4", _SINCE_5_6,
            formula=lambda known: min(400 + known["table_open_cache"] // 2, 2000)),
    )),
    "table_open_cache": DerivedVariable(("max_connections", "open_files_limit"), (
        Behaviour("it is lowered to half of the files that max_connections leaves: 2495 of 4000 with 15000 connections and "
                "20000 files", "read on 5.6.24, 8.0.33 and 9.7.4", _SINCE_5_6),
    ), min),
    "table_open_cache_instances": DerivedVariable(("table_open_cache", "max_connections", "open_files_limit"), (
        Behaviour("it is lowered without a warning to what the files allow, two for each table of each instance: with 20000 "
                "files 4 at 2000 tables, 8 at 1000", "read on MariaDB 10.11.5, 10.11.19 and 11.4.5", _SINCE_10_11),
    ), min),
    "thread_cache_size": DerivedVariable(("max_connections",), (
        Behaviour("it is 8 plus a hundredth of max_connections, at most 100", "read on 5.6.24, 8.0.33 and 9.7.4", _SINCE_5_6,
            formula=lambda known: min(8 + known["max_connections"] // 100, 100)),
        Behaviour("it is max_connections, at most 256", "read on MariaDB 10.2 to 11.4", (Span(_MARIADB, (10, 2)),),
            formula=lambda known: min(known["max_connections"], 256)),
    )),
    "host_cache_size": DerivedVariable(("max_connections",), (
        Behaviour("it is 128 plus max_connections up to 500, plus a twentieth of those above 500",
            "read on 5.6.24, 8.0.33, 9.7.4 and MariaDB 10.1 to 11.4", formula=_host_cache),
    )),
    "back_log": DerivedVariable(("max_connections",), (
        Behaviour("it is max_connections", "read on 8.0.33", (Span(_MYSQL, (8, 0), (8,)),),
            formula=lambda known: known["max_connections"]),
        Behaviour("it is 50 plus a fifth of max_connections, at most 900", "read on 5.6.24 and MariaDB 10.1 to 11.4",
            (Span(_MYSQL, (5, 6), (5, 7)), Span(_MARIADB)), formula=lambda known: min(50 + known["max_connections"] // 5, 900)),
    )),
    "open_files_limit": DerivedVariable(("table_open_cache", "max_connections"), (
        Behaviour("it is what the system allows, at most what the tables and connections need: 16184 for 1000 tables",
            "read on 10.11.5, 10.11.19 and 11.4.5", _SINCE_10_11),
        Behaviour("it is what the system allows", "read on 5.5.9 to 9.7.4 and MariaDB 10.1 to 10.2",
            (Span(_MYSQL), Span(_MARIADB, (), (10, 10)))),
    ), None),
    "innodb_redo_log_capacity": DerivedVariable(("innodb_dedicated_server", "innodb_log_file_size"), (
        Behaviour("it is the size of all log files if those are set, and derived from memory on a dedicated server",
            "manual, innodb_redo_log_capacity"),
    ), gives_resources=True),
    "max_long_data_size": DerivedVariable(("max_allowed_packet",), (
        Behaviour("it is max_allowed_packet", "read on MariaDB 10.1.23 and 10.2.11"),
    )),
}  # fmt: skip
"""The variables that change when others are set."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What another variable allows a variable to do.

    Attributes:
        least: the other's value from which on this one has any effect; None where the other's value is the most of this one
            that has an effect.
        is_kept: whether the server fits one to the other when either is set: MySQL cuts a value that exceeds the limit, MariaDB
            raises `innodb_io_capacity_max` instead.
        on: the builds with this limit; all builds where it is empty.
    """

    by: str
    least: float | None = None
    is_kept: bool = False
    on: tuple[Span, ...] = ()


LIMITS: Mapping[str, Limit] = {
    "innodb_page_cleaners": Limit("innodb_buffer_pool_instances"),
    "innodb_buffer_pool_instances": Limit("innodb_buffer_pool_size", least=2.0**30),
    "innodb_io_capacity": Limit("innodb_io_capacity_max", is_kept=True),
    "innodb_max_dirty_pages_pct_lwm": Limit("innodb_max_dirty_pages_pct", is_kept=True),
    "tmp_table_size": Limit("max_heap_table_size", on=IN_MEMORY_TABLES),
}
"""The variables that others limit. `DERIVED` and `cautions.CAUTIONS` have the sentences and their sources."""


def limit_of(variable: str, build_id: str) -> Limit | None:
    """Return what limits a variable on a build; None where nothing does."""
    limit = LIMITS.get(variable)
    return limit if limit is not None and Behaviour("", "", limit.on).is_of(build_id) else None


def related(variable: str) -> frozenset[str]:
    """Return the variables that a variable is derived from, and those that are derived from it."""
    of = DERIVED[variable].of if variable in DERIVED else ()
    return frozenset(of) | {name for name, rule in DERIVED.items() if variable in rule.of}


def derived_value(variable: str, known: Mapping[str, float], build_id: str) -> float | None:
    """Return the value that a build derives for a variable from those of others, where its formula is known."""
    for one in DERIVED[variable].behaviours if variable in DERIVED else ():
        if one.formula is not None and one.is_of(build_id):
            try:
                return one.formula(known)
            except KeyError:
                return None
    return None


WITHOUT_EFFECT: Mapping[str, Behaviour] = {
    "innodb_buffer_pool_instances": Behaviour(
        "there is one pool", "read on 10.11.5, 10.11.19 and 11.4.5", (Span(_MARIADB, (10, 5)),)
    ),
    "table_open_cache_instances": Behaviour(
        "there is one table cache", "read on 10.1.8, 10.1.13 and 10.1.23", (Span(_MARIADB, (10, 1), (10, 1)),)
    ),
}
"""Options that a build accepts with a warning but ignores, because it has no such variable; and why it has none."""
