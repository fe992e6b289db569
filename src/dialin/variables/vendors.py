"""The variables that only some vendors' servers have, those that newer builds no longer have, and what is in their place.

An option file that moves from one server to another names them. A build itself reports what it has: these tables are asked only
for the variables that it lacks. Read from the values that running servers listed: Percona Server 5.6.45-86.1 and 8.0.40-31 as
their users published them, because none could be had here, against 5.6.24, 8.0.33 and 9.7.4, and MariaDB 10.1.23 and 10.11.19
here. What was removed: MySQL Server Version Reference ("Option and Variable Changes"), MariaDB's list of system variables; for
Percona Server, Changed in Percona Server 5.7 and 8.0, Thread Pool, XtraDB Changed Page Tracking, and the notes of releases
8.0.15-5 and 8.3.0-1. `percona` is the documentation of Percona Server 5.7 to 8.4, `kb` that of MariaDB, `manual` the MySQL
Reference Manual.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dialin.model.build import VENDOR_TITLES, BuildReference, Family, Vendor, Version
from dialin.model.setting import Value
from dialin.text import listed

_ORACLE, _PERCONA, _MARIADB = Vendor.ORACLE, Vendor.PERCONA, Vendor.MARIADB

_NAMES: Mapping[tuple[Vendor, ...], frozenset[str]] = {
    (_PERCONA,): frozenset(
        {
            "binlog_ddl_skip_rewrite", "binlog_skip_flush_commands", "buffered_error_log_filename", "buffered_error_log_size",
            "csv_mode", "expand_fast_index_creation", "ft_query_extra_word_chars", "innodb_compressed_columns_threshold",
            "innodb_compressed_columns_zip_level", "innodb_encrypt_online_alter_logs", "innodb_force_index_records_in_range",
            "innodb_parallel_dblwr_encrypt", "innodb_parallel_doublewrite_path", "innodb_print_lock_wait_timeout_info",
            "innodb_records_in_range", "innodb_sys_tablespace_encrypt", "innodb_temp_tablespace_encrypt", "jemalloc_profiling",
            "kill_idle_transaction", "log_query_errors", "log_slow_rate_type", "log_slow_sp_statements",
            "log_warnings_suppress", "max_binlog_files", "max_slowlog_files", "max_slowlog_size", "net_buffer_shrink_interval",
            "percona_telemetry_disable", "pseudo_server_id", "replica_enable_event", "secure_log_path",
            "slow_query_log_always_write_time", "slow_query_log_timestamp_always", "slow_query_log_timestamp_precision",
            "slow_query_log_use_global_control", "thread_pool_high_prio_mode", "thread_pool_high_prio_tickets",
            "thread_statistics",
        }
    ),
    (_PERCONA, _MARIADB): frozenset(
        {
            "binlog_space_limit", "encrypt_binlog", "enforce_storage_engine", "extra_max_connections", "extra_port",
            "innodb_buffer_pool_populate", "innodb_cleaner_lsn_age_factor", "innodb_corrupt_table_action",
            "innodb_empty_free_list_algorithm", "innodb_encrypt_tables", "innodb_encryption_rotation_iops",
            "innodb_encryption_threads", "innodb_fake_changes", "innodb_foreground_preflush", "innodb_kill_idle_transaction",
            "innodb_locking_fake_changes", "innodb_log_arch_dir", "innodb_log_arch_expire_sec", "innodb_log_block_size",
            "innodb_log_checksum_algorithm", "innodb_max_bitmap_file_size", "innodb_max_changed_pages",
            "innodb_sched_priority_cleaner", "innodb_show_locks_held", "innodb_show_verbose_locks",
            "innodb_track_changed_pages", "innodb_use_atomic_writes", "innodb_use_global_flush_log_at_trx_commit",
            "log_slow_filter", "log_slow_rate_limit", "log_slow_verbosity", "proxy_protocol_networks",
            "query_cache_strip_comments", "query_response_time_range_base", "query_response_time_stats",
            "thread_pool_idle_timeout", "thread_pool_max_threads", "thread_pool_oversubscribe", "userstat",
        }
    ),
    (_MARIADB,): frozenset(
        {
            "analyze_sample_percentage", "aria_block_size", "aria_checkpoint_interval", "aria_group_commit",
            "aria_group_commit_interval", "aria_log_file_size", "aria_page_checksum", "aria_pagecache_buffer_size",
            "aria_recover_options", "aria_sort_buffer_size", "aria_used_for_temp_tables", "binlog_annotate_row_events",
            "binlog_commit_wait_count", "binlog_commit_wait_usec", "binlog_file_cache_size",
            "binlog_optimize_thread_scheduling", "column_compression_threshold", "deadlock_search_depth_long",
            "deadlock_search_depth_short", "deadlock_timeout_long", "deadlock_timeout_short", "encrypt_tmp_disk_tables",
            "expensive_subquery_limit", "gtid_domain_id", "gtid_ignore_duplicates", "gtid_strict_mode", "histogram_size",
            "histogram_type", "idle_readonly_transaction_timeout", "idle_transaction_timeout", "idle_write_transaction_timeout",
            "in_predicate_conversion_threshold", "innodb_alter_copy_bulk", "innodb_compression_algorithm",
            "innodb_compression_default", "innodb_deadlock_report", "innodb_defragment", "innodb_encrypt_log",
            "innodb_force_primary_key", "innodb_log_file_buffering", "innodb_log_file_mmap", "innodb_log_spin_wait_delay",
            "innodb_lru_flush_size", "innodb_snapshot_isolation", "innodb_stats_modified_counter", "innodb_stats_traditional",
            "join_buffer_space_limit", "join_cache_level", "key_cache_segments", "log_bin_compress", "log_bin_compress_min_len",
            "log_slow_disabled_statements", "log_slow_max_warnings", "max_rowid_filter_size", "max_session_mem_used",
            "mrr_buffer_size", "note_verbosity", "old_mode", "optimizer_max_sel_arg_weight",
            "optimizer_selectivity_sampling_limit", "optimizer_use_condition_selectivity", "read_binlog_speed_limit",
            "rowid_merge_buff_size", "slave_domain_parallel_threads", "slave_parallel_max_queued", "slave_parallel_mode",
            "slave_parallel_threads", "slave_run_triggers_for_rbr", "strict_password_validation",
            "thread_pool_dedicated_listener", "thread_pool_exact_stats", "thread_pool_priority", "tmp_disk_table_size",
            "tmp_memory_table_size", "use_stat_tables",
        }
    ),
    (_ORACLE, _PERCONA): frozenset(
        {
            "admin_address", "admin_port", "authentication_policy", "binlog_encryption", "binlog_group_commit_sync_delay",
            "binlog_group_commit_sync_no_delay_count", "binlog_transaction_compression",
            "binlog_transaction_dependency_history_size", "enforce_gtid_consistency", "gtid_mode",
            "information_schema_stats_expiry", "innodb_dedicated_server", "innodb_doublewrite_batch_size",
            "innodb_doublewrite_dir", "innodb_doublewrite_files", "innodb_doublewrite_pages", "innodb_extend_and_initialize",
            "innodb_fsync_threshold", "innodb_log_spin_cpu_abs_lwm", "innodb_log_spin_cpu_pct_hwm",
            "innodb_log_wait_for_flush_spin_hwm", "innodb_log_writer_threads", "innodb_parallel_read_threads",
            "innodb_redo_log_capacity", "innodb_undo_log_encrypt", "innodb_use_fdatasync", "internal_tmp_mem_storage_engine",
            "log_error_services", "log_error_verbosity", "log_slow_extra", "log_throttle_queries_not_using_indexes",
            "log_timestamps", "max_execution_time", "offline_mode", "range_optimizer_max_mem_size", "replica_parallel_workers",
            "replica_preserve_commit_order", "super_read_only", "temptable_max_mmap", "temptable_max_ram",
        }
    ),
    (_ORACLE, _MARIADB): frozenset({"thread_pool_prio_kickup_timer"}),
}  # fmt: skip
"""By the vendors that have them, in some version: variables that people write into option files."""

_VENDORS = {name: vendors for vendors, names in _NAMES.items() for name in names}

_INSTEAD: Mapping[Family, Mapping[str, str]] = {
    Family.MARIADB: {
        "binlog_group_commit_sync_delay": "binlog_commit_wait_usec",
        "binlog_group_commit_sync_no_delay_count": "binlog_commit_wait_count",
        "binlog_transaction_compression": "log_bin_compress", "binlog_encryption": "encrypt_binlog",
        "admin_port": "extra_port", "innodb_kill_idle_transaction": "idle_transaction_timeout",
        "innodb_redo_log_capacity": "innodb_log_file_size", "kill_idle_transaction": "idle_transaction_timeout",
        "log_slow_extra": "log_slow_verbosity", "log_slow_sp_statements": "log_slow_disabled_statements",
        "max_execution_time": "max_statement_time, in seconds", "replica_parallel_workers": "slave_parallel_threads",
    },
    Family.MYSQL: {
        "binlog_commit_wait_count": "binlog_group_commit_sync_no_delay_count",
        "binlog_commit_wait_usec": "binlog_group_commit_sync_delay", "encrypt_binlog": "binlog_encryption",
        "extra_port": "admin_port", "innodb_parallel_doublewrite_path": "innodb_doublewrite_dir",
        "log_bin_compress": "binlog_transaction_compression", "max_statement_time": "max_execution_time, in milliseconds",
        "slave_parallel_threads": "replica_parallel_workers",
    },
}  # fmt: skip
"""By the family that lacks a variable: what its newer versions have for the same task. Sources: the pages of both variables."""


@dataclass(frozen=True, slots=True)
class Removal:
    """A variable's end: the first version without it, and what to write instead.

    Attributes:
        successor: the variable that has its task now; empty where there is none.
        advice: how the value is to be converted, as a clause; empty where it can be taken over as it is.
        is_ignored: whether builds still take the option and do nothing with it, as MariaDB does ("exists only for
            compatibility with old my.cnf files", read on 10.11.19); MySQL does not start with it.
    """

    vendor: Vendor
    version: Version
    successor: str = ""
    advice: str = ""
    is_ignored: bool = False

    def __str__(self) -> str:
        removed = f"removed in {VENDOR_TITLES[self.vendor]} {'.'.join(map(str, self.version))}"
        renamed = f"renamed to {self.successor}" if self.successor else ""
        return "; ".join(filter(None, (renamed, self.advice, removed)))


_REDO = "innodb_redo_log_capacity"
_ALL_FILES = "its value is the size of all log files together"

_REMOVED: dict[Vendor, Mapping[Version, Mapping[str, str]]] = {}
"""By vendor and its first version without them: the variables, each with its successor."""

_REMOVED[_ORACLE] = {
    (5, 6): {
        "innodb_file_io_threads": "innodb_read_io_threads", "log_slow_queries": "slow_query_log",
        "table_cache": "table_open_cache",
    },
    (5, 7): {
        "storage_engine": "default_storage_engine", "thread_concurrency": "innodb_thread_concurrency",
        **dict.fromkeys((
            "innodb_additional_mem_pool_size", "innodb_mirrored_log_groups", "innodb_use_sys_malloc", "timed_mutexes"
        ), ""),
    },
    (8, 0): {
        "binlogging_impossible_mode": "binlog_error_action", "innodb_checksums": "innodb_checksum_algorithm",
        "innodb_stats_sample_pages": "innodb_stats_transient_sample_pages", "innodb_undo_logs": "innodb_rollback_segments",
        "log_warnings": "log_error_verbosity", "simplified_binlog_gtid_recovery": "binlog_gtid_simple_recovery",
        "tx_isolation": "transaction_isolation", "tx_read_only": "transaction_read_only",
        **dict.fromkeys((
            "bootstrap", "date_format", "datetime_format", "des_key_file", "have_crypt", "ignore_builtin_innodb",
            "ignore_db_dirs", "innodb_file_format", "innodb_file_format_check", "innodb_file_format_max", "innodb_large_prefix",
            "innodb_locks_unsafe_for_binlog", "innodb_support_xa", "internal_tmp_disk_storage_engine",
            "log_builtin_as_identified_by_password", "log_syslog", "max_tmp_tables", "metadata_locks_cache_size",
            "metadata_locks_hash_instances", "multi_range_count", "old_passwords", "query_cache_limit",
            "query_cache_min_res_unit", "query_cache_size", "query_cache_type", "query_cache_wlock_invalidate", "secure_auth",
            "show_compatibility_56", "sync_frm", "time_format"
        ), ""),
    },
    (8, 4): {
        "default_authentication_plugin": "authentication_policy", "expire_logs_days": "binlog_expire_logs_seconds",
        **dict.fromkeys((
            "avoid_temporal_upgrade", "binlog_transaction_dependency_tracking", "have_openssl", "have_ssl",
            "log_bin_use_v1_row_events", "master_info_repository", "myisam_repair_threads", "new", "old",
            "old_style_user_limits", "relay_log_info_file", "relay_log_info_repository", "show_old_temporals",
            "slave_rows_search_algorithms", "temptable_use_mmap", "transaction_write_set_extraction"
        ), ""),
    },
    # The exact versions are not documented; 8.4 has them, 9.7.4 does not.
    (9,): {
        "innodb_log_file_size": _REDO, "innodb_log_files_in_group": _REDO,
        **dict.fromkeys(("innodb_undo_tablespaces", "replica_parallel_type", "slave_parallel_type"), ""),
    },
}  # fmt: skip

# Some were without effect before.
_REMOVED[_MARIADB] = {
    (10, 3): {
        "innodb_kill_idle_transaction": "idle_transaction_timeout",
        **dict.fromkeys((
            "innodb_additional_mem_pool_size", "innodb_buffer_pool_populate", "innodb_cleaner_lsn_age_factor",
            "innodb_corrupt_table_action", "innodb_empty_free_list_algorithm", "innodb_fake_changes",
            "innodb_foreground_preflush", "innodb_locking_fake_changes", "innodb_log_arch_dir", "innodb_log_arch_expire_sec",
            "innodb_log_block_size", "innodb_log_checksum_algorithm", "innodb_max_bitmap_file_size", "innodb_max_changed_pages",
            "innodb_mirrored_log_groups", "innodb_sched_priority_cleaner", "innodb_show_locks_held",
            "innodb_show_verbose_locks", "innodb_support_xa", "innodb_track_changed_pages",
            "innodb_use_global_flush_log_at_trx_commit", "innodb_use_sys_malloc"
        ), ""),
    },
    (10, 5): {
        "innodb_checksums": "innodb_checksum_algorithm", "innodb_stats_sample_pages": "innodb_stats_transient_sample_pages",
        **dict.fromkeys(("innodb_locks_unsafe_for_binlog", "multi_range_count", "thread_concurrency", "timed_mutexes"), ""),
    },
    (10, 5, 9): {"innodb_idle_flush_pct": ""},
    (10, 6): {
        **dict.fromkeys((
            "innodb_adaptive_max_sleep_delay", "innodb_background_scrub_data_uncompressed", "innodb_buffer_pool_instances",
            "innodb_commit_concurrency", "innodb_file_format", "innodb_large_prefix", "innodb_log_checksums",
            "innodb_log_files_in_group", "innodb_log_optimize_ddl", "innodb_page_cleaners", "innodb_replication_delay",
            "innodb_rollback_segments", "innodb_scrub_log", "innodb_thread_concurrency", "innodb_thread_sleep_delay",
            "innodb_undo_logs"
        ), ""),
    },
}  # fmt: skip

# Variables that Oracle's never had. It lost those of MySQL as well.
_REMOVED[_PERCONA] = {
    (5, 7): {
        "innodb_adaptive_hash_index_partitions": "innodb_adaptive_hash_index_parts",
        "innodb_buffer_pool_populate": "innodb_numa_interleave", "innodb_log_block_size": "innodb_log_write_ahead_size",
        "innodb_log_checksum_algorithm": "innodb_log_checksums", "max_statement_time": "max_execution_time",
        **dict.fromkeys((
            "innodb_fake_changes", "innodb_foreground_preflush", "innodb_locking_fake_changes", "innodb_log_arch_dir",
            "innodb_log_arch_expire_sec", "innodb_sched_priority_cleaner", "innodb_use_atomic_writes",
            "slow_query_log_timestamp_always", "slow_query_log_timestamp_precision"
        ), ""),
    },
    (8, 0): {
        "innodb_kill_idle_transaction": "kill_idle_transaction",
        **dict.fromkeys((
            "csv_mode", "innodb_show_verbose_locks", "innodb_use_global_flush_log_at_trx_commit", "max_binlog_files",
            "pseudo_server_id", "query_cache_strip_comments", "query_response_time_range_base", "query_response_time_stats"
        ), ""),
    },
    (8, 0, 14): {"extra_port": "admin_port", **dict.fromkeys(("extra_max_connections",), "")},
    (8, 0, 15): {"encrypt_binlog": "binlog_encryption"},
    (8, 0, 30): dict.fromkeys(("innodb_max_bitmap_file_size", "innodb_max_changed_pages", "innodb_track_changed_pages"), ""),
    (8, 0, 31): dict.fromkeys(("innodb_encryption_rotation_iops", "innodb_encryption_threads"), ""),
    (8, 3): {
        "innodb_parallel_doublewrite_path": "innodb_doublewrite_dir",
        **dict.fromkeys(("innodb_parallel_dblwr_encrypt",), ""),
    },
}  # fmt: skip

_REFUSED = frozenset(_REMOVED[_MARIADB][10, 3])
"""What MariaDB does not take either, read on 10.11.19: innodb_support_xa, and what was XtraDB's."""

_ADVICE = {
    "innodb_log_file_size": _ALL_FILES,
    "innodb_log_files_in_group": _ALL_FILES,
    "expire_logs_days": "in seconds, not days",
    "log_warnings": "1 is 2, and 2 or more is 3",
    "innodb_checksums": "OFF is none",
}


_OF_CHARACTERS = ("character_set_server", "collation_server", "character_set_filesystem")
_UTF8 = re.compile(r"utf8(_\w+)?", re.IGNORECASE)
"""The old name of utf8mb3, which 9.7.4 refuses and 8.0.33 takes (read on both)."""

_MODES = (
    "DB2", "MAXDB", "MSSQL", "MYSQL323", "MYSQL40", "NO_AUTO_CREATE_USER", "NO_FIELD_OPTIONS", "NO_KEY_OPTIONS",
    "NO_TABLE_OPTIONS", "ORACLE", "POSTGRESQL",
)  # fmt: skip
"""The words of sql_mode that MySQL 8.0 does not take any more; source: MySQL 8.0 manual, What Is New."""


def removed_words(name: str, value: Value, build_id: str) -> list[str]:
    """Return the words of a value that a build no longer takes, such as NO_AUTO_CREATE_USER in sql_mode."""
    if name == "sql_mode" and _is_from(build_id, Family.MYSQL, (8, 0)):
        return [word for word in str(value).split(",") if word.strip().upper() in _MODES]
    if name in _OF_CHARACTERS and _is_from(build_id, Family.MYSQL, (9,)):
        return [str(value)] if _UTF8.fullmatch(str(value)) else []
    return []


def removal(name: str, build_id: str) -> Removal | None:
    """Return why a build such as `mysql@9.7.4` no longer has a variable; None where that is not known."""
    build = BuildReference.of(build_id)
    if build is None:
        return None
    for vendor in dict.fromkeys((build.vendor, Vendor(build.family))):
        for version, names in _REMOVED.get(vendor, {}).items():
            if name in names and build.version >= version:
                is_ignored = vendor.family is Family.MARIADB and name not in _REFUSED
                return Removal(vendor, version, names[name], _ADVICE.get(name, ""), is_ignored)
    return None


def owners(name: str, build_id: str) -> str:
    """Return the vendors whose variable one is, where the vendor of a build, such as `mysql@9.7.4`, never had it.

    Empty where it had, and where nothing is known.
    """
    vendors, build = _VENDORS.get(name, ()), BuildReference.of(build_id)
    return "" if not vendors or build is None or build.vendor in vendors else listed([VENDOR_TITLES[each] for each in vendors])


def counterpart(name: str, build_id: str) -> str:
    """Return what a build's family has for the task of another vendor's variable; empty where nothing is known."""
    build = BuildReference.of(build_id)
    return _INSTEAD[build.family].get(name, "") if build is not None else ""


def _is_from(build_id: str, family: Family, version: Version) -> bool:
    build = BuildReference.of(build_id)
    return build is not None and build.family is family and build.version >= version
