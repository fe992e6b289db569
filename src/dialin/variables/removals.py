"""Variables that newer builds no longer have, and what replaced them.

Sources: MySQL Server Version Reference ("Option and Variable Changes"), MariaDB's list of system variables; the names were
compared with the catalogues of 5.6.24, 8.0.33, 9.7.4 and 10.11.19. For Percona Server, its documentation: Changed in Percona
Server 5.7 and 8.0, Thread Pool, XtraDB Changed Page Tracking, and the notes of releases 8.0.15-5 and 8.3.0-1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dialin.model.build import VENDOR_TITLES, BuildReference, Family, Vendor, Version
from dialin.model.setting import Value


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

_MYSQL: Mapping[Version, Mapping[str, str]] = {
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
"""By the first version of MySQL without them: the variables, each with its successor."""

_MARIADB: Mapping[Version, Mapping[str, str]] = {
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
"""By the first version of MariaDB without them; some were without effect before."""

_PERCONA: Mapping[Version, Mapping[str, str]] = {
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
"""By the first version of Percona Server without them: variables that Oracle's never had. It lost those of MySQL as well."""

_REFUSED = frozenset(_MARIADB[10, 3])
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
    try:
        build = BuildReference.parse(build_id)
    except ValueError:
        return None
    for vendor, table in ((Vendor.PERCONA, _PERCONA), (Vendor.ORACLE, _MYSQL), (Vendor.MARIADB, _MARIADB)):
        for version, names in table.items():
            is_of = build.vendor is vendor or (vendor is Vendor.ORACLE and build.family is Family.MYSQL)
            if name in names and is_of and build.version >= version:
                is_ignored = vendor is Vendor.MARIADB and name not in _REFUSED
                return Removal(vendor, version, names[name], _ADVICE.get(name, ""), is_ignored)
    return None


def _is_from(build_id: str, family: Family, version: Version) -> bool:
    try:
        build = BuildReference.parse(build_id)
    except ValueError:
        return False
    return build.family is family and build.version >= version
