"""The variables that only some vendors' servers have, and what the others have for the same task.

An option file that moves from one vendor's server to another's names them. A build itself reports what it has: this table is
asked only for the variables that it lacks. Read from the values that running servers listed: Percona Server 5.6.45-86.1 and
8.0.40-31 as their users published them, because none could be had here, against 5.6.24, 8.0.33 and 9.7.4, and MariaDB 10.1.23
and 10.11.19 here. `percona` is the documentation of Percona Server 5.7 to 8.4, `kb` that of MariaDB, `manual` the MySQL
Reference Manual.
"""

from __future__ import annotations

from collections.abc import Mapping

from dialin.model.build import VENDOR_TITLES, BuildReference, Family, Vendor
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
        "binlog_transaction_compression": "log_bin_compress",
        "binlog_encryption": "encrypt_binlog",
        "admin_port": "extra_port",
        "innodb_kill_idle_transaction": "idle_transaction_timeout",
        "innodb_redo_log_capacity": "innodb_log_file_size",
        "kill_idle_transaction": "idle_transaction_timeout",
        "log_slow_extra": "log_slow_verbosity",
        "log_slow_sp_statements": "log_slow_disabled_statements",
        "max_execution_time": "max_statement_time, in seconds",
        "replica_parallel_workers": "slave_parallel_threads",
    },
    Family.MYSQL: {
        "binlog_commit_wait_count": "binlog_group_commit_sync_no_delay_count",
        "binlog_commit_wait_usec": "binlog_group_commit_sync_delay",
        "encrypt_binlog": "binlog_encryption",
        "extra_port": "admin_port",
        "innodb_parallel_doublewrite_path": "innodb_doublewrite_dir",
        "log_bin_compress": "binlog_transaction_compression",
        "max_statement_time": "max_execution_time, in milliseconds",
        "slave_parallel_threads": "replica_parallel_workers",
    },
}
"""By the family that lacks a variable: what its newer versions have for the same task. Sources: the pages of both variables."""


def owners(name: str, build_id: str) -> str:
    """Return the vendors whose variable one is, where the vendor of a build, such as `mysql@9.7.4`, never had it.

    Empty where it had, and where nothing is known.
    """
    vendors, vendor = _VENDORS.get(name, ()), _vendor(build_id)
    return "" if not vendors or vendor is None or vendor in vendors else listed([VENDOR_TITLES[each] for each in vendors])


def counterpart(name: str, build_id: str) -> str:
    """Return what a build's family has for the task of another vendor's variable; empty where nothing is known."""
    vendor = _vendor(build_id)
    return _INSTEAD[vendor.family].get(name, "") if vendor is not None else ""


def _vendor(build_id: str) -> Vendor | None:
    try:
        return BuildReference.parse(build_id).vendor
    except ValueError:
        return None
