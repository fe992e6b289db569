"""What each family and version can do: one table, and the only place where the code depends on versions.

Each row has the first version of a family with a capability, and the first one without it again, if any. The facts come from
real builds; `tests_live` checks them against the builds that are installed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from dialin.model.build import Build, Family, Version

MYSQL, MARIADB = Family.MYSQL, Family.MARIADB


class Capability(StrEnum):
    """A feature or behaviour that not every build has."""

    INITIALIZE_INSECURE = "initialize_insecure"
    """Creates a data directory with --initialize-insecure; older builds and MariaDB run SQL files with --bootstrap."""

    VALIDATE_CONFIG = "validate_config"
    """Checks options without starting (--validate-config)."""

    POOL_DUMP = "pool_dump"
    """Writes the list of pages in the buffer pool at shutdown and loads it at start."""

    POOL_DUMP_PCT = "pool_dump_pct"
    """Has an option for the share of the pool that this list covers."""

    REDO_LOG_RESIZE = "redo_log_resize"
    """Recreates its redo log at startup if the size was changed; older builds refuse to start."""

    REDO_LOG_SWITCH = "redo_log_switch"
    """Can stop writing its redo log (ALTER INSTANCE DISABLE INNODB REDO_LOG)."""

    X_PLUGIN = "x_plugin"
    """Opens a second port for the X protocol by default."""

    CERTIFICATE_EACH_BOOT = "certificate_each_boot"
    """Creates a self-signed certificate at every boot, which takes seconds, unless TLS is off."""

    DISABLE_LOG_BIN = "disable_log_bin"
    """Writes a binary log by default."""

    ALTER_USER = "alter_user"
    """Understands ALTER USER ... IDENTIFIED BY."""

    PERSIST = "persist"
    """Can persist variables over SQL for its next starts (SET PERSIST, SET PERSIST_ONLY, RESET PERSIST)."""

    POOL_STATS = "pool_stats"
    """Has information_schema.innodb_buffer_pool_stats, with a row for each real buffer pool."""

    POOL_MUTEX = "pool_mutex"
    """Lacks information_schema.innodb_buffer_pool_stats, but has a countable mutex for each real buffer pool."""

    INSTRUMENT_OPTION = "instrument_option"
    """Knows --performance-schema-instrument; without it every instrument is on as soon as the performance schema is."""

    LOCKS_INSTRUMENTED_AT_START = "locks_instrumented_at_start"
    """Instruments InnoDB's locks only by a startup option: locks that exist already are never counted (true of 5.6.24, 10.1.23
    and 10.2.11; not of 5.5.9, 8.0.33, 9.7.4 and 10.11.5)."""

    STATEMENT_HISTOGRAM = "statement_histogram"
    """Has performance_schema.events_statements_histogram_global and _by_digest."""

    INNODB_METRICS = "innodb_metrics"
    """Has information_schema.innodb_metrics."""

    METRICS_ENABLED_COLUMN = "metrics_enabled_column"
    """Has the column ENABLED (1 or 0) in information_schema.innodb_metrics; otherwise STATUS ('enabled' or 'disabled')."""

    VALUE_ORIGIN = "value_origin"
    """Shows where the value of each variable comes from, such as from a SET statement since startup."""

    GLOBAL_PRIV = "global_priv"
    """Keeps accounts in mysql.global_priv; mysql.user is a view of it."""

    LOG_SLOW_EXTRA = "log_slow_extra"
    """Logs errors, bytes and the start of statements in the slow log with `log_slow_extra`."""

    MICROSECONDS_IN_LOGS = "microseconds_in_logs"
    """Writes times to the microsecond into its logs; to the second otherwise."""

    SESSION_NUMBERS_IN_SLOW_LOG = "session_numbers_in_slow_log"
    """Writes the number of the session above each statement of the slow log; the general log has it on every build."""

    SLOW_LOG_BY_SESSION = "slow_log_by_session"
    """Copies `slow_query_log` to each session: one that begins while it is OFF never logs (observed on 10.11.19)."""

    VARIABLES_BY_THREAD = "variables_by_thread"
    """Shows the variables of each session in performance_schema.variables_by_thread."""

    SPARE_TABLE_CACHE_LOCK = "spare_table_cache_lock"
    """Has one more table cache lock than table cache instances."""


class Versioned(Protocol):
    """Something that has a family and a version: a build, or a server that dialin is attached to."""

    @property
    def family(self) -> Family: ...

    @property
    def version(self) -> Version: ...


@dataclass(frozen=True, slots=True)
class _Row:
    family: Family
    capability: Capability
    since: Version
    until: Version | None = None


_TABLE = (
    _Row(MYSQL, Capability.INITIALIZE_INSECURE, (5, 7, 6)),
    _Row(MYSQL, Capability.VALIDATE_CONFIG, (8, 0, 16)),
    _Row(MYSQL, Capability.POOL_DUMP, (5, 6)),
    _Row(MYSQL, Capability.POOL_DUMP_PCT, (5, 7, 2)),
    _Row(MYSQL, Capability.REDO_LOG_RESIZE, (5, 6)),
    _Row(MARIADB, Capability.REDO_LOG_RESIZE, (10, 0)),
    _Row(MYSQL, Capability.REDO_LOG_SWITCH, (8, 0, 21)),
    _Row(MYSQL, Capability.X_PLUGIN, (8, 0, 11)),
    _Row(MYSQL, Capability.DISABLE_LOG_BIN, (8, 0, 0)),
    _Row(MYSQL, Capability.ALTER_USER, (5, 7, 6)),
    _Row(MYSQL, Capability.PERSIST, (8, 0)),
    _Row(MYSQL, Capability.POOL_STATS, (5, 6)),
    _Row(MYSQL, Capability.POOL_MUTEX, (5, 5), (5, 6)),
    _Row(MYSQL, Capability.INSTRUMENT_OPTION, (5, 6)),
    _Row(MYSQL, Capability.LOCKS_INSTRUMENTED_AT_START, (5, 6), (8, 0)),
    _Row(MYSQL, Capability.STATEMENT_HISTOGRAM, (8, 0, 3)),
    _Row(MYSQL, Capability.INNODB_METRICS, (5, 6)),
    _Row(MYSQL, Capability.LOG_SLOW_EXTRA, (8, 0, 14)),
    _Row(MYSQL, Capability.MICROSECONDS_IN_LOGS, (5, 7, 2)),
    _Row(MYSQL, Capability.VARIABLES_BY_THREAD, (8, 0)),
    _Row(MYSQL, Capability.VALUE_ORIGIN, (8, 0)),
    _Row(MYSQL, Capability.SESSION_NUMBERS_IN_SLOW_LOG, (5, 6)),
    _Row(MARIADB, Capability.SESSION_NUMBERS_IN_SLOW_LOG, (5, 1)),
    _Row(MARIADB, Capability.SLOW_LOG_BY_SESSION, (5, 1)),
    _Row(MARIADB, Capability.VALUE_ORIGIN, (10, 1, 1)),
    _Row(MARIADB, Capability.POOL_DUMP, (10, 0)),
    _Row(MARIADB, Capability.POOL_DUMP_PCT, (10, 1, 10)),
    _Row(MARIADB, Capability.CERTIFICATE_EACH_BOOT, (11, 4)),
    _Row(MARIADB, Capability.ALTER_USER, (10, 2)),
    _Row(MARIADB, Capability.POOL_STATS, (10, 0)),
    _Row(MARIADB, Capability.INSTRUMENT_OPTION, (10, 0)),
    _Row(MARIADB, Capability.LOCKS_INSTRUMENTED_AT_START, (10, 0), (10, 11)),
    _Row(MARIADB, Capability.INNODB_METRICS, (10, 0)),
    _Row(MARIADB, Capability.METRICS_ENABLED_COLUMN, (10, 5)),
    _Row(MARIADB, Capability.GLOBAL_PRIV, (10, 4)),
    _Row(MARIADB, Capability.SPARE_TABLE_CACHE_LOCK, (10, 2)),
)


def has(build: Versioned, capability: Capability) -> bool:
    return any(
        row.capability is capability
        and row.family is build.family
        and build.version >= row.since
        and (row.until is None or build.version < row.until)
        for row in _TABLE
    )


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
