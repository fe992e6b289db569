"""dialin's own data about variables: what servers do not report. Each rule names its source.

`manual` is the MySQL Reference Manual (8.0 to 9.7, "Server System Variables" and "InnoDB Startup Options and System
Variables"), `kb` the MariaDB documentation; `read on` means that it was observed on a running build.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from dialin.model.setting import Setting, Value
from dialin.variables import reserved_variables

MOST_VARIABLES = 4096
"""Names of which is kept what the rules say, because each trial asks for all of them: several times what a server has."""

CHOICES: Mapping[str, tuple[str, ...]] = {
    # In the order of the numbers that servers take for them; read on 9.7.4, and as MariaDB lists them.
    "innodb_flush_method": ("fsync", "O_DSYNC", "littlesync", "nosync", "O_DIRECT", "O_DIRECT_NO_FSYNC"),
    "innodb_doublewrite": ("OFF", "ON", "DETECT_ONLY", "DETECT_AND_RECOVER", "FALSE", "TRUE"),
    "innodb_change_buffering": ("none", "inserts", "deletes", "changes", "purges", "all"),
}
"""The values of enumerations that MySQL 8.0 and later report as plain strings."""

WORDS_OF_TEXT: Mapping[str, tuple[str, ...]] = {
    "innodb_flush_method": (
        "fsync", "O_DSYNC", "littlesync", "nosync", "O_DIRECT", "O_DIRECT_NO_FSYNC", "ALL_O_DIRECT"
    ),
    "innodb_change_buffering": CHOICES["innodb_change_buffering"],
}  # fmt: skip
"""The values of text variables that older servers check only when InnoDB starts, and die of any other value.

Each value is accepted by at least one of the builds on which this was read: 5.5.9, 5.6.24 and MariaDB 10.1 and 10.2. They take
no numbers instead of the words. Not every build accepts every value: 5.5.9 dies of O_DIRECT_NO_FSYNC, and ALL_O_DIRECT belongs
to MariaDB 10.1 and to Percona Server up to 5.7 (its documentation, Improved InnoDB I/O Scalability). A study finds out what its
build dies of when it inspects its candidates.
"""

SPELLED_EXACTLY = frozenset({"innodb_flush_method"})
"""The variables of `WORDS_OF_TEXT` whose values are case-sensitive: the same builds die of o_direct."""

SEVERAL_VALUES = frozenset(
    {
        "delay_key_write", "enforce_gtid_consistency", "event_scheduler", "gtid_mode", "innodb_doublewrite",
        "innodb_log_writer_threads", "myisam_recover_options", "replica_skip_errors", "session_track_gtids",
        "session_track_transaction_info", "slave_skip_errors", "ssl_fips_mode",
    }
)  # fmt: skip
"""Variables that report ON or OFF but take other values too; source: variables_metadata of 9.7.4."""

_NOT_AT_START = frozenset(
    {
        "build_id", "character_set_client", "character_set_connection", "character_set_database", "character_set_results",
        "character_set_system", "check_constraint_checks", "collation_connection", "collation_database",
        "default_collation_for_utf8mb4", "foreign_key_checks", "innodb_version", "keyring_operations", "large_files_support",
        "large_page_size", "license", "locked_in_memory", "lower_case_file_system", "max_insert_delayed_threads", "profiling",
        "protocol_version", "rbr_exec_mode", "sql_auto_is_null", "sql_big_selects", "sql_buffer_result", "sql_if_exists",
        "sql_log_bin", "sql_log_off", "sql_notes", "sql_quote_show_create", "sql_replica_skip_counter", "sql_select_limit",
        "sql_slave_skip_counter", "sql_warnings", "storage_engine", "system_time_zone", "unique_checks", "wsrep_patch_version",
    }
)  # fmt: skip
_NOT_AT_START_PATTERN = re.compile(r"(have|version)(_.*)?|gtid_(executed|owned|purged|(binlog|current|slave)_pos|binlog_state)")


def at_start(variable: str) -> bool:
    """Return whether a variable can be given when a server starts; others are read-only facts, or belong to a session.

    Source: the options that `--verbose --help` of 9.7.4 and 10.11.19 leaves out, and that both refuse.
    """
    return variable not in _NOT_AT_START and not _NOT_AT_START_PATTERN.fullmatch(variable)


@dataclass(frozen=True, slots=True)
class NameRule:
    """What is true of all variables whose whole names a pattern matches; `why` has no full stop."""

    names: str
    why: str
    source: str = ""


def first_rule(rules: Iterable[NameRule], variable: str) -> NameRule | None:
    """Return the first of the rules that a variable's name matches."""
    return next((rule for rule in rules if re.fullmatch(rule.names, variable)), None)


COMMANDS = r"innodb_.*_(now|abort)|innodb_monitor_.*|innodb_max_purge_lag_wait"
"""The names of variables that are commands, which run when they are set."""


# What differs but is not under test

INERT = (
    NameRule("innodb_buffer_pool_chunk_size", "it only sets the step in which the pool can be resized", "manual"),
    NameRule("open_files_limit", "it is a limit, without effect until it is reached", "manual"),
    NameRule("host_cache_size", "it caches host names, and the load comes from one host", "manual"),
    NameRule("back_log", "it queues new connections, and the load reuses its connections", "manual"),
    NameRule("log_statements_unsafe_for_binlog", "it only affects the error log", "manual"),
    NameRule(
        r"performance_schema_.*",
        "it sizes a table of the performance schema, which uses memory but no time",
        "manual; read on 5.6.24, 9.7.4 and 10.11.19: sized from table_open_cache and max_connections",
    ),
    NameRule(
        r"(log_)?(replica|slave|relay|rpl(?!_semi_sync_(master|source)_))_.*|sync_(relay|master|source).*",
        "it affects replicas only",
        "manual, Replica Server Options and Variables",
    ),
)
"""Variables that may differ between candidates and cannot explain a difference of throughput, and why."""


def inert(variable: str) -> str | None:
    """Return why a variable cannot explain a difference between candidates, or None where it could."""
    rule = inert_rule(variable)
    return rule.why if rule else None


@lru_cache(MOST_VARIABLES)
def inert_rule(variable: str) -> NameRule | None:
    """Return the rule that a variable cannot explain a difference, or None where it could."""
    return first_rule(INERT, variable)


def part_of(variable: str) -> str | None:
    """Return the variable that switches a variable's subsystem, or None; where the switch is under test, its parts are too."""
    return "performance_schema" if variable.startswith("performance_schema_") else None


_IDENTITY = re.compile(
    r"gtid_(executed|owned|purged|next|seq_no|domain_id|(binlog|current|slave)_pos|binlog_state)|(pseudo_|last_)?(thread_id|insert_id|gtid)|identity|timestamp|rand_seed\d|in_transaction|version(_.*)?"
    r"|(error|warning)_count|innodb_buffer_pool_(load|dump)_(now|abort)|innodb_monitor_.*|.*_(private|public)_key_path"
)


@lru_cache(MOST_VARIABLES)
def identifies_instance(variable: str) -> bool:
    """Return whether a variable only identifies an instance or shows its current state; such variables are never compared."""
    return reserved_variables.reason(variable) is not None or _IDENTITY.fullmatch(variable) is not None


_OF_ONE_INSTANCE = frozenset({"hostname", "server_uid", "server_uuid", "wsrep_start_position"})


def is_identity(variable: str) -> bool:
    """Return whether a variable identifies an instance or shows its current state, and is never set back."""
    return variable in _OF_ONE_INSTANCE or _IDENTITY.fullmatch(variable) is not None


# Data

SHAPES_DATA = frozenset(
    {
        "aria_block_size", "character_set_server", "collation_server", "default_storage_engine", "default_table_encryption",
        "enforce_storage_engine", "ft_max_word_len", "ft_min_word_len", "ft_stopword_file", "innodb_checksum_algorithm",
        "innodb_checksums", "innodb_compressed_columns_threshold", "innodb_compressed_columns_zip_level",
        "innodb_compression_algorithm", "innodb_compression_default", "innodb_compression_level", "innodb_data_file_path",
        "innodb_default_encryption_key_id", "innodb_default_row_format", "innodb_encrypt_log", "innodb_encrypt_tables",
        "innodb_file_format", "innodb_file_per_table", "innodb_fill_factor", "innodb_ft_enable_stopword",
        "innodb_ft_max_token_size", "innodb_ft_min_token_size", "innodb_large_prefix", "innodb_log_block_size",
        "innodb_log_file_size", "innodb_log_files_in_group", "innodb_page_size", "innodb_redo_log_encrypt",
        "innodb_stats_persistent", "innodb_stats_persistent_sample_pages", "innodb_undo_log_encrypt",
        "innodb_undo_tablespaces", "lower_case_table_names", "myisam_block_size", "myisam_data_pointer_size",
        "ngram_token_size", "sql_generate_invisible_primary_key", "sql_mode",
    }
)  # fmt: skip
"""Variables that decide what prepared data looks like, on disk or in its rows: part of a dataset's key.

The size of the redo log is one of them because 5.5 does not start when it finds log files of another size (manual 5.5).
"""


def shapes_data(setting: Setting) -> dict[str, Value]:
    """Return the part of a setting that determines prepared data, sorted by name."""
    return {name: setting[name] for name in sorted(setting) if name in SHAPES_DATA}
