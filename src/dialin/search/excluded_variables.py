"""Which variables a search leaves out though nobody excluded them, and why: data, looked up by name, the first match counts."""

from __future__ import annotations

import re
from enum import StrEnum


class Group(StrEnum):
    """Why a variable is not searched. The first five can be admitted by name of the group, where a range is known."""

    DURABILITY = "durability"
    SECURITY = "security"
    REPLICATION = "replication"
    LOGGING = "logging"
    COMPATIBILITY = "compatibility"
    PLANS = "plans"
    LIMIT = "limit"
    DATA = "data"
    OTHER_TABLES = "other tables"
    STATEMENTS = "statements"
    START = "start and stop"
    REPEATS = "repeated statements"
    DERIVED = "derived"
    IDENTITY = "identity"
    UNTOUCHED = "untouched by the load"
    RESTART = "takes a restart"
    OTHERS = "others are more likely to matter"
    SWITCHED_OFF = "another variable switches it off"
    MACHINE = "no room on this machine"
    UNKNOWN = "no known effect"


REASONS: dict[Group, str] = {
    Group.DURABILITY: "it decides what survives a crash",
    Group.SECURITY: "it decides who may do what",
    Group.REPLICATION: "it concerns replication or the contents of the binary log",
    Group.LOGGING: "it decides what is logged or measured",
    Group.COMPATIBILITY: "it can change what statements return or how they fail",
    Group.PLANS: "it changes execution plans, also of statements that this load does not have",
    Group.LIMIT: "it is a limit: only reaching it has an effect",
    Group.DATA: "it decides how data are stored, so each value would need separate data",
    Group.OTHER_TABLES: "it acts on MyISAM, Aria or MEMORY tables or full-text indexes only",
    Group.STATEMENTS: "it acts on ALTER TABLE and other administrative statements only",
    Group.START: "it acts when the server starts or stops",
    Group.REPEATS: "it answers repeated statements without executing them: a gain in a benchmark that repeats statements says "
    "little of an application",
    Group.DERIVED: "the server derives it from other variables, or it is another name of one",
    Group.IDENTITY: "it names files, addresses or the server itself",
    Group.UNKNOWN: "no rule says that it can change throughput",
}

_PATTERNS: tuple[tuple[Group, str], ...] = (
    (
        Group.DURABILITY,
        r"innodb_(flush_log_at_.*|doublewrite|checksum_algorithm|checksums|log_checksums|support_xa|use_atomic_writes"
        r"|fast_shutdown|force_recovery)|log_bin|sync_(binlog|frm)|delay_key_write|flush|flush_time"
        r"|aria_(sync_log_dir|group_commit.*|checkpoint.*|page_checksum|recover_options)|myisam_recover_options",
    ),
    (
        Group.DERIVED,
        r"innodb_(dedicated_server|open_files|buffer_pool_chunk_size|buffer_pool_size_(max|auto_min)|log_files_in_group"
        r"|(data|log)_file_write_through|data_file_buffering)|tmp_memory_table_size|have_.*|version.*|large_files_support"
        r"|lower_case_file_system|locked_in_memory|license|protocol_version|server_memory|build_id|identity|.*_insert_id|insert_id"
        r"|in_transaction|(error|warning)_count|timestamp|rand_seed\d|pseudo_.*|statement_id|storage_engine",
    ),
    (
        Group.SECURITY,
        r"(admin_)?(ssl|tls)_.*|.*password.*|(caching_)?sha(2|256)_.*|.*encrypt.*|.*auth.*|.*privilege.*|.*_roles.*|keyring.*"
        r"|skip_(grant_tables|name_resolve|networking|show_database)|secure_.*|local_infile|require_secure_transport|init_connect"
        r"|(super_)?read_only|offline_mode|check_proxy_users|partial_revokes|allow_suspicious_udfs|max_connect_errors|auto_generate_certs"
        r"|proxy_.*|external_user|block_encryption_mode|persist_.*|print_identified_with_as_hex|unix_socket|named_pipe.*"
        r"|log_bin_trust_function_creators|create_admin_listener_thread|host_cache_size",
    ),
    (
        Group.REPLICATION,
        r"(re_?)?(replica|slave|master|source|relay|rpl|gtid|group_replication|wsrep|replicate|replication|binlog|semi_sync)_.*"
        r"|log_(bin_.*|slave_.*|replica_.*)|(init|skip)_(replica|slave).*|sync_(master|relay|source).*|report_.*|server_id.*|server_uu?id"
        r"|auto_increment_.*|expire_logs_days|max_(binlog|relay)_.*|enforce_gtid_consistency|sql_(log_bin|replica_.*|slave_.*)"
        r"|innodb_(replication_delay|api_.*|locks_unsafe_for_binlog)|immediate_server_version|original_.*|session_track_.*|last_gtid"
        r"|default_master_connection|terminology_use_previous|read_binlog_speed_limit|xa_detach_on_prepare|binlogging_.*"
        r"|simplified_binlog.*|rbr_exec_mode|require_row_format",
    ),
    (
        Group.LOGGING,
        r"general_log.*|slow_.*|long_query_time|log_.*|performance_schema.*|userstat|profiling.*|innodb_(monitor|status|print)_.*"
        r"|innodb_(cmp_per_index_enabled|buffer_pool_in_core_.*|buf_dump_status_frequency|deadlock_report|fatal_semaphore.*)"
        r"|optimizer_trace.*|min_examined_row_limit|query_response_time.*|core_file|timed_mutexes|max_digest_length|note_verbosity"
        r"|explain_.*|end_markers_in_json|global_connection_memory_.*|connection_memory_.*",
    ),
    (Group.REPEATS, r"query_cache_.*|have_query_cache"),
    (
        Group.PLANS,
        r"optimizer_.*|eq_range_index_dive_limit|max_seeks_for_key|join_cache_level|use_stat_tables|.*histogram.*|range_optimizer_.*"
        r"|in_predicate_conversion_threshold|expensive_subquery_limit|max_length_for_sort_data|rowid_.*|max_rowid_filter_size"
        r"|innodb_stats_.*|analyze_.*|secondary_engine_cost_threshold|multi_range_count|information_schema_stats_expiry|big_tables"
        r"|(enable|use|show_create_table_skip)_secondary_engine.*",
    ),
    (
        Group.DATA,
        r"innodb_(page_size|file_per_table|file_format.*|default_row_format|fill_factor|data_file_path|undo_tablespaces|large_prefix"
        r"|compression_.*|temp_data_file_path|log_block_size|segment_reserve_factor|defragment.*|autoextend_increment"
        r"|log_compressed_pages)|column_compression_.*|lower_case_table_names|default_(tmp_)?storage_engine|aria_block_size"
        r"|myisam_(block_size|data_pointer_size)|large_page.*",
    ),
    (
        Group.OTHER_TABLES,
        r"myisam_.*|aria_.*|key_cache_.*|innodb_(ft_.*|optimize_fulltext_only)|ft_.*|ngram_.*|bulk_insert_buffer_size|concurrent_insert"
        r"|low_priority_updates|delayed_.*|max_(insert_)?delayed_threads|max_write_lock_count|preload_buffer_size|keep_files_on_create"
        r"|(skip_)?external_locking|encrypt_tmp.*|max_tmp_tables|s3_.*",
    ),
    (
        Group.STATEMENTS,
        r"innodb_(ddl_.*|sort_buffer_size|online_alter_log_max_size|alter_copy_bulk|disable_sort_file_cache|tmpdir"
        r"|instant_alter_column_allowed|parallel_read_threads|validate_tablespace_paths|extend_and_initialize|log_checkpoint_now"
        r"|immediate_scrub.*|buffer_pool_(dump|load)_(now|abort))|alter_algorithm|old_alter_table|select_into_.*|system_versioning_.*",
    ),
    (Group.START, r"innodb_buffer_pool_(dump|load|filename)_?.*|event_scheduler|persisted_globals_load|innodb_log_file_mmap"),
    (
        Group.LIMIT,
        r"max_(user_)?connections|extra_max_connections|back_log|open_files_limit|.*_timeout|max_(execution|statement)_time|max_allowed_packet"
        r"|max_prepared_stmt_count|max_join_size|max_sp_recursion_depth|max_recursive_iterations|cte_max_recursion_depth|max_session_mem_used"
        r"|parser_max_mem_size|regexp_.*|metadata_locks_cache_size|thread_stack|tmp_disk_table_size|net_retry_count"
        r"|innodb_(max_purge_lag.*|max_undo_log_size|rollback_segments|undo_logs)|deadlock_.*|tcp_keepalive_.*|connect_timeout",
    ),
    (
        Group.COMPATIBILITY,
        r"sql_.*|character_.*|collation_.*|lc_.*|.*time_zone|(tx|transaction)_(isolation|read_only)|autocommit|completion_type|.*_format"
        r"|default_.*|div_precision_increment|group_concat_max_len|explicit_defaults_for_timestamp|old.*|new|mysql56_temporal_format"
        r"|(foreign_key|unique|check_constraint)_checks|max_(sort_length|error_count|points_in_geometry)|updatable_views_with_limit"
        r"|innodb_(autoinc_lock_mode|deadlock_detect|table_locks|snapshot_isolation|strict_mode|rollback_on_timeout|force_primary_key"
        r"|native_foreign_keys|read_only.*|force_load_corrupted)|avoid_temporal_upgrade|show_.*|restrict_fk_.*|enable_cascade_triggers"
        r"|windowing_use_high_precision|disabled_storage_engines|enforce_storage_engine|idle_.*|interactive_timeout",
    ),
    (
        Group.IDENTITY,
        r".*(_dir|_dirs|_directory|_directories|_file|_path|_index|_address|_port|_filename|tmpdir)|basedir|datadir|language|port|socket"
        r"|hostname|chroot|user|mysqlx_.*",
    ),
)
_COMPILED = tuple((group, re.compile(pattern)) for group, pattern in _PATTERNS)


def group_of(name: str) -> Group:
    """Return why a variable that is in no table of performance variables is left out."""
    return next((group for group, pattern in _COMPILED if pattern.fullmatch(name)), Group.UNKNOWN)
