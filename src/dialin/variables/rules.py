"""Our own data about relations between variables: what servers do not tell of themselves. Each rule names its source.

`manual` is the MySQL Reference Manual (8.0 to 9.7, "Server System Variables" and "InnoDB Startup Options and System
Variables"), `kb` the MariaDB documentation; `read on` means that a running build was seen to do it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dialin.model.setting import Setting, Value, as_number
from dialin.variables import owned

CHOICES: Mapping[str, tuple[str, ...]] = {
    # In the order of the numbers that servers take for them; read on 9.7.4, and as MariaDB lists them.
    "innodb_flush_method": ("fsync", "O_DSYNC", "littlesync", "nosync", "O_DIRECT", "O_DIRECT_NO_FSYNC"),
    "innodb_doublewrite": ("OFF", "ON", "DETECT_ONLY", "DETECT_AND_RECOVER", "FALSE", "TRUE"),
    "innodb_change_buffering": ("none", "inserts", "deletes", "changes", "purges", "all"),
}
"""The values of enumerations that MySQL 8.0 and later call plain strings."""

SEVERAL_VALUES = frozenset(
    {
        "delay_key_write",
        "enforce_gtid_consistency",
        "event_scheduler",
        "gtid_mode",
        "innodb_doublewrite",
        "innodb_log_writer_threads",
        "myisam_recover_options",
        "replica_skip_errors",
        "session_track_gtids",
        "session_track_transaction_info",
        "slave_skip_errors",
        "ssl_fips_mode",
    }
)
"""Variables that read ON or OFF and yet take other values; source: variables_metadata of 9.7.4."""

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
    """Tell whether a variable can be given when a server starts; others only tell something, or belong to a session.

    Source: the options that `--verbose --help` of 9.7.4 and 10.11.19 leaves out, and that both refuse.
    """
    return variable not in _NOT_AT_START and not _NOT_AT_START_PATTERN.fullmatch(variable)


# Durability


@dataclass(frozen=True, slots=True)
class DurabilityRule:
    """How a variable decides what survives a crash.

    Attributes:
        variable: its name.
        strength: how safe the values in force are in this respect; higher keeps more.
        loses: what can be lost with a weaker value, in a sentence without its full stop.
        source: where this is said.
    """

    variable: str
    strength: Callable[[Mapping[str, str]], float]
    loses: str
    source: str


def _rank(variable: str, ranks: Mapping[str, float], *, otherwise: float) -> Callable[[Mapping[str, str]], float]:
    def strength(values: Mapping[str, str]) -> float:
        text = str(values[variable]).strip()
        named = CHOICES.get(variable, ())
        if named and text.isdecimal() and int(text) < len(named):
            text = named[int(text)]
        return ranks.get(text.lower(), otherwise)

    return strength


def _is_off(text: str) -> bool:
    return text.strip().lower() in ("off", "0", "false")


def _sync_binlog(values: Mapping[str, str]) -> float:
    """Return how soon the binary log is synced: without one nothing waits for it; 0 leaves it to the system, N is N commits."""
    every = as_number(values["sync_binlog"])
    if _is_off(str(values.get("log_bin", "ON"))) or every is None:
        return 1.0
    return 1 / every if every > 0 else 0.0


_ON_IS_SAFE = {"off": 0.0, "0": 0.0, "false": 0.0}

WEAKER: tuple[DurabilityRule, ...] = (
    DurabilityRule(
        "innodb_flush_log_at_trx_commit",
        _rank("innodb_flush_log_at_trx_commit", {"0": 0, "2": 1, "1": 2, "3": 2}, otherwise=0),
        "a crash can lose the last second or so of commits: a crash of the machine with 2, of the server alone with 0",
        "manual; kb: 3 flushes at prepare and at commit, so it is as safe as 1",
    ),
    DurabilityRule(
        "log_bin",
        _rank("log_bin", _ON_IS_SAFE, otherwise=1),
        "there is no binary log to bring a backup up to date with, or to replicate from",
        "manual, Point-in-Time Recovery",
    ),
    DurabilityRule(
        "sync_binlog",
        _sync_binlog,
        "a crash of the machine can lose commits from the binary log, and InnoDB rolls back what is not in it",
        "manual, sync_binlog",
    ),
    DurabilityRule(
        "innodb_doublewrite",
        _rank("innodb_doublewrite", {**_ON_IS_SAFE, "detect_only": 1, "fast": 1}, otherwise=2),
        "a page that was half written in a crash cannot be restored, and its table may be lost",
        "manual; DETECT_ONLY writes what was being written, not the pages",
    ),
    DurabilityRule(
        "innodb_flush_method",
        _rank("innodb_flush_method", {"nosync": 0, "littlesync": 1, "o_direct_no_fsync": 2, "all_o_direct": 2}, otherwise=3),
        "the server does not wait for the disk everywhere, so a crash of the machine can lose commits or whole pages",
        "manual: nosync and littlesync are for testing, O_DIRECT_NO_FSYNC skips fsync() after writing pages",
    ),
    DurabilityRule(
        "innodb_checksum_algorithm",
        _rank("innodb_checksum_algorithm", {"none": 0, "strict_none": 0}, otherwise=1),
        "pages that the disk returns damaged are not noticed",
        "manual, innodb_checksum_algorithm",
    ),
    DurabilityRule(
        "innodb_checksums",
        _rank("innodb_checksums", _ON_IS_SAFE, otherwise=1),
        "pages that the disk returns damaged are not noticed",
        "manual 5.6, innodb_checksums",
    ),
    DurabilityRule(
        "innodb_log_checksums",
        _rank("innodb_log_checksums", _ON_IS_SAFE, otherwise=1),
        "damage in the redo log is not noticed when a crash is recovered from",
        "manual, innodb_log_checksums",
    ),
)
"""What decides how much survives a crash, the gravest first."""


def weaker_durability(candidate: Mapping[str, str], baseline: Mapping[str, str]) -> list[str]:
    """Return the variables by which a candidate can lose commits or pages that the baseline keeps.

    Args:
        candidate: all its values in force.
        baseline: those of the baseline.
    """
    return [
        rule.variable
        for rule in WEAKER
        if rule.variable in candidate and rule.variable in baseline and rule.strength(candidate) < rule.strength(baseline)
    ]


def loses(variable: str) -> str:
    """Return in a sentence, without its full stop, what can be lost with a weaker value of one of the variables of `WEAKER`."""
    return next((rule.loses for rule in WEAKER if rule.variable == variable), "a crash can lose what the baseline keeps")


# What differs without being asked for

INERT: Mapping[str, str] = {
    "innodb_buffer_pool_chunk_size": "it only sets the grain in which the pool can be resized",  # manual
    "open_files_limit": "it is a limit; only reaching it is felt",  # manual
    "host_cache_size": "it holds names of hosts, and the load comes from one",  # manual
    "back_log": "it queues new connections, and the load keeps the ones it has",  # manual
    "log_statements_unsafe_for_binlog": "it only decides what the error log says",  # manual
}
"""Variables that may differ between candidates and cannot explain a difference of throughput, with the reason."""

_INERT_PATTERNS = (
    # Sized from table_open_cache and max_connections; read on 9.7.4 and 10.11.19.
    (re.compile(r"performance_schema_.*"), "it sizes a table of the performance schema, which takes memory and no time"),
    (re.compile(r"(log_)?(replica|slave|relay|rpl)_.*|sync_(relay|master|source).*"), "it acts on replicas only"),
)


def inert(variable: str) -> str | None:
    """Return why a variable cannot explain a difference between candidates, or None where it could."""
    if variable in INERT:
        return INERT[variable]
    return next((why for pattern, why in _INERT_PATTERNS if pattern.fullmatch(variable)), None)


def part_of(variable: str) -> str | None:
    """Return the switch of the subsystem that a variable is part of, or None; who asks for the switch asks for its parts."""
    return "performance_schema" if variable.startswith("performance_schema_") else None


@dataclass(frozen=True, slots=True)
class Follows:
    """A variable that the server derives from others as long as nobody sets it.

    Attributes:
        of: those that it is derived from.
        hold: which of its values can be set for all candidates alike, to keep it still: the smallest, the largest, or none.
        gives_resources: a candidate in which it is larger has more to work with, so that the comparison is no longer one of
            like with like. What is merely derived comes along wherever the variable is set, and is part of its effect.
    """

    of: tuple[str, ...]
    hold: Callable[[Sequence[float]], float] | None = max
    gives_resources: bool = False


FOLLOWS: Mapping[str, Follows] = {
    # Read on 9.7.4: as many cleaners as instances, and never more. On 10.2.11 too: the pool grows to whole
    # chunks of all instances.
    "innodb_page_cleaners": Follows(("innodb_buffer_pool_instances",), min),
    "innodb_buffer_pool_size": Follows(
        ("innodb_buffer_pool_instances", "innodb_buffer_pool_chunk_size", "innodb_dedicated_server"),
        None,
        gives_resources=True,
    ),
    "innodb_buffer_pool_chunk_size": Follows(("innodb_buffer_pool_instances", "innodb_buffer_pool_size"), min),
    # Read on MariaDB 10.11.19: the redo log is buffered where commits are not flushed.
    "innodb_log_file_buffering": Follows(("innodb_flush_log_at_trx_commit",), None),
    # Read on 9.7.4, 5.6.24 and MariaDB.
    "innodb_io_capacity_max": Follows(("innodb_io_capacity",)),
    "innodb_io_capacity": Follows(("innodb_io_capacity_max",), min),
    "innodb_open_files": Follows(("table_open_cache",)),
    "table_definition_cache": Follows(("table_open_cache",)),
    "table_open_cache": Follows(("max_connections", "open_files_limit"), min),
    "table_open_cache_instances": Follows(("table_open_cache", "open_files_limit"), min),
    "thread_cache_size": Follows(("max_connections",)),
    "host_cache_size": Follows(("max_connections",)),
    "back_log": Follows(("max_connections",)),
    "open_files_limit": Follows(("table_open_cache", "max_connections"), None),
    "innodb_redo_log_capacity": Follows(("innodb_dedicated_server", "innodb_log_file_size"), gives_resources=True),
}

_IDENTITY = re.compile(
    r"gtid_(executed|owned|purged|next|seq_no|domain_id|(binlog|current|slave)_pos|binlog_state)|(pseudo_|last_)?(thread_id|insert_id|gtid)|identity|timestamp|rand_seed\d|in_transaction|version(_.*)?"
    r"|(error|warning)_count|innodb_buffer_pool_(load|dump)_(now|abort)|innodb_monitor_.*|.*_(private|public)_key_path"
)


def identifies_instance(variable: str) -> bool:
    """Tell whether a variable says which instance this is, or what it is doing now; such are never compared."""
    return owned.reason(variable) is not None or _IDENTITY.fullmatch(variable) is not None


# Data

SHAPES_DATA = frozenset(
    {
        "aria_block_size", "character_set_server", "collation_server", "default_storage_engine", "default_table_encryption",
        "ft_max_word_len", "ft_min_word_len", "ft_stopword_file", "innodb_checksum_algorithm", "innodb_checksums",
        "innodb_compression_algorithm", "innodb_compression_default", "innodb_compression_level", "innodb_data_file_path",
        "innodb_default_encryption_key_id", "innodb_default_row_format", "innodb_encrypt_log", "innodb_encrypt_tables",
        "innodb_file_format", "innodb_file_per_table", "innodb_fill_factor", "innodb_ft_enable_stopword",
        "innodb_ft_max_token_size", "innodb_ft_min_token_size", "innodb_large_prefix", "innodb_log_block_size",
        "innodb_log_file_size", "innodb_log_files_in_group", "innodb_page_size", "innodb_redo_log_encrypt",
        "innodb_stats_persistent", "innodb_stats_persistent_sample_pages", "innodb_undo_log_encrypt", "innodb_undo_tablespaces",
        "lower_case_table_names", "myisam_block_size", "myisam_data_pointer_size", "ngram_token_size",
        "sql_generate_invisible_primary_key", "sql_mode",
    }
)  # fmt: skip
"""Variables that decide what prepared data looks like, on disk or in its rows: part of a dataset's key.

The redo log's size is one because 5.5 does not start when it finds log files of another size (manual 5.5).
"""


def shapes_data(setting: Setting) -> dict[str, Value]:
    """Return the part of a setting that decides what prepared data looks like, by name in alphabetical order."""
    return {name: setting[name] for name in sorted(setting) if name in SHAPES_DATA}


# Memory

_POOL_OVERHEAD = 1.02
"""A pool of 1 GiB took 1047 MiB on 9.7.4; the manual's "about 10 %" is not reached, and what would fit must not be refused."""

_SHARED = {
    "key buffer": "key_buffer_size",
    "InnoDB log buffer": "innodb_log_buffer_size",
    "Aria page cache": "aria_pagecache_buffer_size",
    "query cache": "query_cache_size",
}
_SESSION = ("sort_buffer_size", "join_buffer_size", "read_buffer_size", "read_rnd_buffer_size")
_CONNECTION = ("net_buffer_length", "binlog_cache_size")
_SERVER = 64 * 2**20
_PERFORMANCE_SCHEMA = 96 * 2**20


def memory_needed(values: Mapping[str, Value | str], threads: int) -> dict[str, int]:
    """Return an estimate of the memory that a server takes under load, in bytes by part.

    It is cautious: buffers of a session are taken only when a query needs them, so of these the largest one counts once for
    each thread (manual, How MySQL Uses Memory), and what is allotted lazily (temporary tables, thread stacks) does not count.
    The shares of the server itself and of its performance schema lie below those seen on idle servers (10.11.19: 108 MiB in
    all; 9.7.4: 244 MiB for the performance schema).

    Args:
        values: what is asked for, over the build's defaults.
        threads: connections that work at once.
    """
    sizes = {name: max(0, int(as_number(value) or 0)) for name, value in values.items() if as_number(value) is not None}
    needed = {"buffer pool": int(sizes.get("innodb_buffer_pool_size", 0) * _POOL_OVERHEAD)}
    needed |= {part: sizes.get(name, 0) for part, name in _SHARED.items()}
    if str(values.get("query_cache_type", "ON")).upper() in ("OFF", "0"):
        needed["query cache"] = 0
    largest = max(sizes.get(name, 0) for name in _SESSION)
    needed["session buffers"] = threads * (largest + sum(sizes.get(name, 0) for name in _CONNECTION))
    schema = str(values.get("performance_schema", "OFF")).upper() in ("ON", "1")
    needed["server itself"] = _SERVER + (_PERFORMANCE_SCHEMA if schema else 0)
    return {part: size for part, size in needed.items() if size}
