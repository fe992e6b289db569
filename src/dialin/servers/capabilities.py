"""What each family and version can do: the only place where the code depends on versions.

The facts come from real builds; `tests_live` checks them against the builds that are installed.
"""
# ruff: noqa: PIE796 - two capabilities may have the same builds; they are two, because `_Builds` are never equal

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from dialin.model.build import Build, Family, Version


@dataclass(frozen=True, slots=True, eq=False)
class _Builds:
    """By family, the first version with a capability, and the first one without it again, if any."""

    mysql: Version | None = None
    mariadb: Version | None = None
    mysql_until: Version | None = None
    mariadb_until: Version | None = None


class Capability(Enum):
    """A feature or behaviour that not every build has."""

    INITIALIZE_INSECURE = _Builds(mysql=(5, 7, 6))
    """Creates a data directory with --initialize-insecure; older builds and MariaDB run SQL files with --bootstrap."""

    VALIDATE_CONFIG = _Builds(mysql=(8, 0, 16))
    """Checks options without starting (--validate-config)."""

    POOL_DUMP = _Builds(mysql=(5, 6), mariadb=(10, 0))
    """Writes the list of pages in the buffer pool at shutdown and loads it at start."""

    POOL_DUMP_PCT = _Builds(mysql=(5, 7, 2), mariadb=(10, 1, 10))
    """Has an option for the share of the pool that this list covers."""

    REDO_LOG_RESIZE = _Builds(mysql=(5, 6), mariadb=(10, 0))
    """Recreates its redo log at startup if the size was changed; older builds refuse to start."""

    REDO_LOG_SWITCH = _Builds(mysql=(8, 0, 21))
    """Can stop writing its redo log (ALTER INSTANCE DISABLE INNODB REDO_LOG)."""

    X_PLUGIN = _Builds(mysql=(8, 0, 11))
    """Opens a second port for the X protocol by default."""

    CERTIFICATE_EACH_BOOT = _Builds(mariadb=(11, 4))
    """Creates a self-signed certificate at every boot, which takes seconds, unless TLS is off."""

    DISABLE_LOG_BIN = _Builds(mysql=(8, 0, 0))
    """Writes a binary log by default."""

    ALTER_USER = _Builds(mysql=(5, 7, 6), mariadb=(10, 2))
    """Understands ALTER USER ... IDENTIFIED BY."""

    PERSIST = _Builds(mysql=(8, 0))
    """Can persist variables over SQL for its next starts (SET PERSIST, SET PERSIST_ONLY, RESET PERSIST)."""

    POOL_STATS = _Builds(mysql=(5, 6), mariadb=(10, 0))
    """Has information_schema.innodb_buffer_pool_stats, with a row for each real buffer pool."""

    POOL_MUTEX = _Builds(mysql=(5, 5), mysql_until=(5, 6))
    """Lacks information_schema.innodb_buffer_pool_stats, but has a countable mutex for each real buffer pool."""

    INSTRUMENT_OPTION = _Builds(mysql=(5, 6), mariadb=(10, 0))
    """Knows --performance-schema-instrument; without it every instrument is on as soon as the performance schema is."""

    LOCKS_INSTRUMENTED_AT_START = _Builds(mysql=(5, 6), mariadb=(10, 0), mysql_until=(8, 0), mariadb_until=(10, 11))
    """Instruments InnoDB's locks only by a startup option: locks that exist already are never counted (true of 5.6.24, 10.1.23
    and 10.2.11; not of 5.5.9, 8.0.33, 9.7.4 and 10.11.5)."""

    STATEMENT_HISTOGRAM = _Builds(mysql=(8, 0, 3))
    """Has performance_schema.events_statements_histogram_global and _by_digest."""

    INNODB_METRICS = _Builds(mysql=(5, 6), mariadb=(10, 0))
    """Has information_schema.innodb_metrics."""

    METRICS_ENABLED_COLUMN = _Builds(mariadb=(10, 5))
    """Has the column ENABLED (1 or 0) in information_schema.innodb_metrics; otherwise STATUS ('enabled' or 'disabled')."""

    VALUE_ORIGIN = _Builds(mysql=(8, 0), mariadb=(10, 1, 1))
    """Shows where the value of each variable comes from, such as from a SET statement since startup."""

    GLOBAL_PRIV = _Builds(mariadb=(10, 4))
    """Keeps accounts in mysql.global_priv; mysql.user is a view of it."""

    LOG_SLOW_EXTRA = _Builds(mysql=(8, 0, 14))
    """Logs errors, bytes and the start of statements in the slow log with `log_slow_extra`."""

    MICROSECONDS_IN_LOGS = _Builds(mysql=(5, 7, 2))
    """Writes times to the microsecond into its logs; to the second otherwise."""

    SESSION_NUMBERS_IN_SLOW_LOG = _Builds(mysql=(5, 6), mariadb=(5, 1))
    """Writes the number of the session above each statement of the slow log; the general log has it on every build."""

    SLOW_LOG_BY_SESSION = _Builds(mariadb=(5, 1))
    """Copies `slow_query_log` to each session: one that begins while it is OFF never logs (observed on 10.11.19)."""

    VARIABLES_BY_THREAD = _Builds(mysql=(8, 0))
    """Shows the variables of each session in performance_schema.variables_by_thread."""

    SPARE_TABLE_CACHE_LOCK = _Builds(mariadb=(10, 2))
    """Has one more table cache lock than table cache instances."""


class Versioned(Protocol):
    """Something that has a family and a version: a build, or a server that dialin is attached to."""

    @property
    def family(self) -> Family: ...

    @property
    def version(self) -> Version: ...


def has(build: Versioned, capability: Capability) -> bool:
    builds: _Builds = capability.value
    is_mysql = build.family is Family.MYSQL
    since, until = (builds.mysql, builds.mysql_until) if is_mysql else (builds.mariadb, builds.mariadb_until)
    return since is not None and build.version >= since and (until is None or build.version < until)


def base_options(build: Build) -> dict[str, str]:
    """Return the options that a build is always started with: where its files are, no X Plugin, no TLS if that is slow."""
    options = {}
    if build.basedir:
        options["basedir"] = str(build.basedir)
    if build.messages:
        options["lc_messages_dir"] = str(build.messages)
    if has(build, Capability.X_PLUGIN):
        options["mysqlx"] = "OFF"
    if has(build, Capability.CERTIFICATE_EACH_BOOT):
        options["ssl"] = "OFF"
    return options
