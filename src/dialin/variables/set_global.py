"""Dynamic variables for which SET GLOBAL does not leave a server in the state of one that was started with the value.

A trial that follows another by SET GLOBAL must find the server as if it had just been started with the value: with no size that
was read at an earlier start, and nothing left behind by the previous trial. Effects that settle within a warm-up (dirty pages,
the thread cache, the order of pages in the pool) are no reason for a restart. Nor are values that each connection reads when it
is opened, because a load opens its own connections.

`manual` is the MySQL Reference Manual, `kb` the MariaDB documentation; `read on` means that it was observed on a running build;
`caution` that the same state as after a start was not shown, and that a restart costs only a little time.
"""

from __future__ import annotations

from dialin.variables.catalogue import Variable
from dialin.variables.rules import COMMANDS, SHAPES_DATA, NameRule, first_rule

ONLY_AT_START = (
    # Sizes that are changed gradually, or are read at startup.
    NameRule(r"innodb_buffer_pool_(size(_.*)?|chunk_size|instances)",
        "is resized chunk by chunk while the server runs: its instances stay, and some of its pages",
        "manual, Configuring InnoDB Buffer Pool Size; kb, innodb_buffer_pool_size"),
    NameRule(r"innodb_redo_log_capacity|innodb_log_files?_(size|in_group)",
        "is resized in the background, depending on what the previous trial left in the log",
        "manual, Redo Log; kb, innodb_log_file_size"),
    NameRule(r"table_open_cache(_.*)?|table_definition_cache",
        "does not close open tables, and it sizes other caches at startup",
        "manual, How MySQL Opens and Closes Tables; innodb_open_files and table_definition_cache follow it at the start, read "
            "on 5.6.24, 8.0.33 and 9.7.4"),
    NameRule(r"max_connections", "sizes caches at startup, such as the table cache of the dictionary",
        "manual, Dictionary Object Cache; thread_cache_size and the performance schema follow it at the start, read on 5.6.24 "
            "to 9.7.4"),
    NameRule(r"(schema|tablespace|stored_program)_definition_cache", "sizes a cache of the dictionary at startup",
        "caution; manual, Dictionary Object Cache"),
    NameRule(r"flush_time", "has no effect if the server was started without it: its thread is created only at startup",
        "threads counted on 5.6.24 and 9.7.4"),
    NameRule(r"thread_pool_size", "does not remove the thread groups of a larger value",
        "information_schema.thread_pool_groups on 10.11.19: 8 groups stay when 8 are made 2"),
    NameRule(r"innodb_(read|write)_io_threads", "is changed while its threads are at work",
        "caution; MariaDB 10.11 can, MySQL cannot"),
    # Values that are read when a table or a file is opened, and stay in use for it.
    NameRule(r"delay_key_write|concurrent_insert|myisam_use_mmap|optimizer_(disk_read|index_block|key|row|rowid)_.*",
        "is read when a table is opened, and tables stay open",
        "manual, delay_key_write and myisam_use_mmap; kb, The Optimizer Cost Model from MariaDB 11.0; caution"),
    NameRule(r"aria_log_file_size|binlog_encryption|binlog_gtid_index.*|innodb_log_archive",
        "takes effect with the next file that the server creates", "manual, binlog_encryption; kb, binlog_gtid_index; caution"),
    # State that one trial leaves to the next.
    NameRule(r"innodb_adaptive_hash_index(_.*)?",
        "leaves the index as the previous trial filled or emptied it, and it fills slowly",
        "manual, innodb_adaptive_hash_index: switched off it is emptied at once, switched on it is filled by what is read"),
    NameRule(r"query_cache_.*|key_buffer_size|key_cache_.*|aria_pagecache_.*",
        "leaves the cache as the previous trial filled it, or empties it",
        "manual, The MyISAM Key Cache and The Query Cache; kb, Aria System Variables"),
    NameRule(r"innodb_change_buffer(ing|_.*)", "leaves changes that the previous trial buffered, to be merged in the next one",
        "manual, Change Buffer"),
    NameRule(r"innodb_stats_.*", "leaves table statistics as the previous trial calculated them",
        "manual, Configuring Optimizer Statistics for InnoDB"),
    NameRule(r"innodb_max_purge_lag(_delay)?|innodb_purge_(batch_size|threads)",
        "leaves old row versions that the previous trial did not purge",
        "manual, Purge Configuration: the delay is calculated from them"),
    NameRule(r"innodb_(undo_.*|max_undo_log_size|rollback_segments|purge_rseg_truncate_frequency)",
        "leaves rollback segments and undo files that the previous trial created or grew",
        "manual, Undo Tablespaces, and innodb_rollback_segments: to lower it takes none away"),
    NameRule(r"innodb_(encrypt.*|.*scrub.*|defragment.*|compression_.*|fill_factor|segment_reserve_factor)",
        "leaves pages as the previous trial wrote them",
        "manual, Compression for OLTP Workloads, and innodb_segment_reserve_factor; kb, InnoDB Encryption, Data Scrubbing and "
            "Defragmenting InnoDB Tablespaces"),
    NameRule(r"innodb_data_file_buffering", "leaves data that was read meanwhile in the file cache",
        "kb, innodb_data_file_buffering"),
    NameRule(r"innodb_log_file_buffering|innodb_(data|log)_file_write_through",
        "can be switched on at run time but not off again, and SET gives no error",
        "innodb_log_file_buffering and the flags of open files on 10.11.19 and 11.4.5; caution"),
    # Commands rather than values.
    NameRule(COMMANDS, "is a command that runs when it is set",
        "manual, innodb_monitor_enable and innodb_buffer_pool_load_now; kb, innodb_max_purge_lag_wait"),
)  # fmt: skip
"""Variables that are compared by restarts although they are dynamic; `why` lacks its subject.

All dynamic variables of 5.5.9 to 9.7.4 and MariaDB 10.1 to 11.4 were reviewed; SET GLOBAL is fit for those not listed.
"""


def why_not(name: str, known: Variable | None) -> str | None:
    """Return why a variable cannot be compared by SET GLOBAL on one running server, or None where it can.

    The text lacks its subject and full stop: `can be set only at startup`.
    """
    if known is None or known.dynamic is None:
        return "is not known to be dynamic"
    if not known.dynamic or known.default is None:
        return "can be set only at startup"
    if (rule := rule_of(name)) is not None:
        return rule.why
    return "shapes the prepared data" if name in SHAPES_DATA else None


def rule_of(name: str) -> NameRule | None:
    """Return the rule by which a dynamic variable needs restarts, or None where there is none."""
    plain = name.rpartition(".")[2]  # the size of a key cache named "hot" is `hot.key_buffer_size`
    return first_rule(ONLY_AT_START, plain)
