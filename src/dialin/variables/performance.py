"""The variables that can change throughput: what each decides, where its range ends on a machine, and where a search starts.

A table of data; `variable_choice` reads it. Each build has some of these variables. Sources are titles of the MySQL Reference
Manual and of the MariaDB documentation, and for Percona Server's own variables its documentation; where a rule is ours it says
so. The order is that of importance.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dialin.model.setting import Value


class Fact(StrEnum):
    """A number that describes the machine, the load or the baseline; each may be unknown."""

    MEMORY = "memory"
    CPUS = "cpus"
    DATA = "data"
    DISK = "disk"
    IOPS = "iops"
    SPINNING = "spinning"
    CONNECTIONS = "connections"
    TABLES = "tables"
    OPEN_TABLES = "open_tables"
    """Tables times connections: each connection opens a table for itself."""
    HOURLY_REDO = "hourly_redo"
    DEFAULT = "default"
    POOL = "pool"
    """What a rule of thumb recommends for the buffer pool."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A multiple of a fact, and no less than `at_least`."""

    fact: Fact
    times: float = 1.0
    at_least: float = 0.0


Limit = tuple[Amount | float, ...]
"""The smallest of the amounts that are known; none where no amount is known."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of thumb: where a search starts.

    Attributes:
        source: the title of the page that it is from.
        limit: the recommended number; empty where the rule recommends a word.
        word: the recommended word; None where the rule recommends a number.
        when: facts with the lowest and the highest figure at which the rule applies; it does not apply where one is unknown.
    """

    source: str
    limit: Limit = ()
    word: Value | None = None
    when: tuple[tuple[Fact, float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class PerformanceVariable:
    """What is known of a variable that can change throughput.

    Attributes:
        why: what it decides, a sentence without its full stop.
        lowest: where the range begins; the values that the server accepts limit it further.
        highest: where the range ends.
        words: the words that it takes instead of a range; those that the build has are searched.
        special: values that have a meaning of their own, outside of the range.
        step: what a number is rounded to a multiple of; None for the server's block, else 1.
        touch: status counters, in lower case; a load touches the variable if together they grow at least once per 500
            statements. Every load does where there are none.
        needs: variables that must each have one of some values for this one to act; no values stand for all but 0 and OFF. One
            that the build lacks counts as OFF.
        waits: whether it acts only where connections compete.
        more_only: whether less than the default is pointless; then a range that does not exceed the default leaves it out.
    """

    why: str
    lowest: Limit = ()
    highest: Limit = ()
    words: tuple[Value, ...] = ()
    special: tuple[Value, ...] = ()
    step: float | None = None
    touch: tuple[str, ...] = ()
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    waits: bool = False
    more_only: bool = False
    rule: Rule | None = None


KIB, MIB, GIB = 2.0**10, 2.0**20, 2.0**30
_SWITCH: tuple[Value, ...] = ("OFF", "ON")

_WRITES = (
    "com_insert", "com_update", "com_delete", "com_replace", "com_load", "com_insert_select", "com_replace_select",
    "com_update_multi", "com_delete_multi",
)  # fmt: skip
_DISK_READS = ("innodb_buffer_pool_reads",)
_SORTS = ("sort_scan", "sort_range")
_TMP_TABLES = ("created_tmp_tables", "created_tmp_disk_tables")
_DISK_TMP_TABLES = ("created_tmp_disk_tables",)
_JOINS = ("select_full_join", "select_range_check")
_ROW_ORDER = ("handler_read_rnd", "handler_mrr_init")
_TABLES = ("opened_tables", "table_open_cache_misses", "table_open_cache_overflows")
_DEFINITIONS = ("opened_table_definitions",)
_THREADS = ("connections", "threads_created")
_BINLOG = ("binlog_cache_use",)
_MYISAM = ("key_read_requests", "key_write_requests")
_ARIA = ("aria_pagecache_read_requests", "aria_pagecache_write_requests")
_PROCEDURES = ("com_call_procedure",)
_HAS_BINLOG: Mapping[str, tuple[str, ...]] = {"log_bin": ()}
_HAS_POOL: Mapping[str, tuple[str, ...]] = {"thread_handling": ("pool-of-threads",)}

_SSD = ((Fact.SPINNING, 0.0, 0.0),)
_STARTUP = "MySQL manual, InnoDB Startup Options and System Variables"
_FLUSHING = "MySQL manual, Configuring Buffer Pool Flushing"

TABLE: Mapping[str, PerformanceVariable] = {
    "innodb_buffer_pool_size": PerformanceVariable("it decides how much data stays in memory", lowest=(Amount(Fact.DEFAULT),),
        highest=(Amount(Fact.MEMORY, 0.75), Amount(Fact.DATA, 1.5)), step=MIB, more_only=True,
        rule=Rule("MySQL manual, InnoDB Startup Configuration",
            (Amount(Fact.MEMORY, 0.6), Amount(Fact.DATA, 1.15, at_least=128 * MIB)))),
    "innodb_redo_log_capacity": PerformanceVariable("a small redo log forces pages to be flushed early", lowest=(64 * MIB,),
        highest=(Amount(Fact.DISK, 0.05), 32 * GIB), step=MIB, touch=_WRITES,
        rule=Rule("MySQL manual, Optimizing InnoDB Redo Logging; that it holds an hour of this load's writes is ours",
            (Amount(Fact.HOURLY_REDO, 1.0, at_least=128 * MIB), Amount(Fact.DISK, 0.05)))),
    "innodb_log_file_size": PerformanceVariable("a small redo log forces pages to be flushed early", lowest=(48 * MIB,),
        highest=(Amount(Fact.DISK, 0.025), 16 * GIB), step=MIB, touch=_WRITES,
        rule=Rule("MySQL manual, Optimizing InnoDB Redo Logging; that two files hold an hour of this load's writes is ours",
            (Amount(Fact.HOURLY_REDO, 0.5, at_least=96 * MIB), Amount(Fact.DISK, 0.025)))),
    "innodb_flush_log_at_trx_commit": PerformanceVariable("it decides when commits reach the disk", words=(1, 2, 0),
        touch=_WRITES),
    "sync_binlog": PerformanceVariable("it decides after how many commits the binary log reaches the disk",
        words=(1, 0, 100, 1000), touch=_BINLOG, needs=_HAS_BINLOG),
    "innodb_doublewrite": PerformanceVariable("with it each page is written twice", words=("ON", "OFF"), touch=_WRITES),
    "innodb_flush_method": PerformanceVariable("it decides whether data files go through the cache of the operating system",
        words=("fsync", "O_DIRECT", "O_DIRECT_NO_FSYNC"),
        rule=Rule("MySQL manual, Optimizing InnoDB Disk I/O", word="O_DIRECT")),
    "innodb_io_capacity": PerformanceVariable("it limits how many pages are flushed per second in the background",
        lowest=(100.0,), highest=(Amount(Fact.IOPS, 1.0, at_least=2000), 40_000.0), touch=_WRITES,
        rule=Rule("MySQL manual, Configuring InnoDB I/O Capacity; half of what a probe reached is ours",
            (Amount(Fact.IOPS, 0.5, at_least=200), 20_000.0))),
    "innodb_io_capacity_max": PerformanceVariable("it limits how many pages are flushed per second when flushing falls behind",
        lowest=(200.0,), highest=(Amount(Fact.IOPS, 2.0, at_least=4000), 80_000.0), touch=_WRITES,
        rule=Rule("MySQL manual, Configuring InnoDB I/O Capacity; all of what a probe reached is ours",
            (Amount(Fact.IOPS, 1.0, at_least=2000), 40_000.0))),
    "innodb_adaptive_hash_index": PerformanceVariable(
        "a hash index speeds up look-ups and costs latches where many threads use it", words=_SWITCH),
    "innodb_flush_neighbors": PerformanceVariable("flushing neighbouring pages together helps disks that seek", words=(0, 1, 2),
        touch=_WRITES, rule=Rule(_FLUSHING, word=0, when=_SSD)),
    "innodb_log_buffer_size": PerformanceVariable("transactions that exceed it write the redo log before they commit",
        lowest=(4 * MIB,), highest=(Amount(Fact.MEMORY, 0.05), 256 * MIB), step=MIB, touch=_WRITES,
        rule=Rule("MySQL manual, Optimizing InnoDB Redo Logging", (64 * MIB, Amount(Fact.MEMORY, 0.05)))),
    "innodb_log_writer_threads": PerformanceVariable(
        "separate threads write the redo log, which helps where many connections commit", words=_SWITCH, touch=_WRITES,
        rule=Rule(f"{_STARTUP}; up to 8 CPUs is ours", word="OFF", when=((Fact.CPUS, 1, 8),))),
    "thread_handling": PerformanceVariable("a pool of threads serves more connections than there are CPUs",
        words=("one-thread-per-connection", "pool-of-threads"), waits=True),
    "innodb_thread_concurrency": PerformanceVariable("it limits how many threads are inside InnoDB at a time; 0 is no limit",
        lowest=(1.0,), highest=(Amount(Fact.CPUS, 4, at_least=8), 256.0), special=(0,), waits=True),
    "innodb_buffer_pool_instances": PerformanceVariable(
        "threads that use different parts of the pool do not wait for each other", lowest=(1.0,),
        highest=(Amount(Fact.CPUS, 2, at_least=2), Amount(Fact.MEMORY, 0.75 / GIB), 64.0), waits=True,
        rule=Rule("MySQL manual, Configuring Multiple Buffer Pool Instances",
            (Amount(Fact.POOL, 1 / GIB, at_least=1), Amount(Fact.CPUS), 8.0))),
    "innodb_page_cleaners": PerformanceVariable("it is the number of threads that flush pages", lowest=(1.0,),
        highest=(Amount(Fact.CPUS, 2, at_least=4), 64.0), touch=_WRITES),
    "innodb_read_io_threads": PerformanceVariable("it is the number of threads that read pages ahead", lowest=(1.0,),
        highest=(Amount(Fact.CPUS, 4, at_least=8), 64.0), touch=_DISK_READS,
        rule=Rule(_STARTUP, (Amount(Fact.CPUS, 0.5, at_least=4), 64.0))),
    "innodb_write_io_threads": PerformanceVariable("it is the number of threads that write pages", lowest=(1.0,),
        highest=(Amount(Fact.CPUS, 4, at_least=8), 64.0), touch=_WRITES),
    "innodb_lru_scan_depth": PerformanceVariable("it sets how many free pages stay ready for reads from disk", lowest=(100.0,),
        highest=(16_384.0,), touch=_DISK_READS),
    "innodb_max_dirty_pages_pct": PerformanceVariable("it limits how much of the pool waits to be flushed", lowest=(10.0,),
        highest=(99.0,), step=1, touch=_WRITES),
    "innodb_max_dirty_pages_pct_lwm": PerformanceVariable(
        "from this share of dirty pages on flushing begins; 0 switches that off", lowest=(1.0,), highest=(90.0,), special=(0,),
        step=1, touch=_WRITES),
    "innodb_adaptive_flushing": PerformanceVariable("with it flushing follows the rate of the redo log", words=_SWITCH,
        touch=_WRITES),
    "innodb_adaptive_flushing_lwm": PerformanceVariable("from this share of the redo log on flushing adapts", lowest=(0.0,),
        highest=(70.0,), step=1, touch=_WRITES, needs={"innodb_adaptive_flushing": ()}),
    "innodb_flush_sync": PerformanceVariable("with it flushing at a checkpoint ignores innodb_io_capacity", words=_SWITCH,
        touch=_WRITES),
    "innodb_change_buffering": PerformanceVariable(
        "changes of secondary indexes wait in memory instead of reading index pages at once",
        words=("none", "inserts", "changes", "all"), touch=_WRITES, rule=Rule(_STARTUP, word="none", when=_SSD)),
    "innodb_log_file_buffering": PerformanceVariable(
        "it decides whether the redo log goes through the cache of the operating system", words=_SWITCH, touch=_WRITES),
    "innodb_use_fdatasync": PerformanceVariable("fdatasync() leaves out metadata that need no flush", words=_SWITCH,
        touch=_WRITES),
    "innodb_purge_threads": PerformanceVariable("it is the number of threads that remove old versions of rows", lowest=(1.0,),
        highest=(Amount(Fact.CPUS, 2, at_least=4), 32.0), touch=_WRITES),
    "table_open_cache": PerformanceVariable("tables beyond it are closed and opened again", lowest=(400.0,),
        highest=(Amount(Fact.DEFAULT, 16), 65_536.0), touch=_TABLES,
        rule=Rule("MySQL manual, How MySQL Opens and Closes Tables", (Amount(Fact.OPEN_TABLES, 1, at_least=400), 65_536.0))),
    "table_open_cache_instances": PerformanceVariable(
        "connections that use different parts of the table cache do not wait for each other", lowest=(1.0,),
        highest=(Amount(Fact.CPUS, 2, at_least=8), 64.0), waits=True,
        rule=Rule("MySQL manual, Server System Variables", (16.0,), when=((Fact.CPUS, 16, 4096),))),
    "tmp_table_size": PerformanceVariable("temporary tables that exceed it go to disk", lowest=(MIB,),
        highest=(Amount(Fact.MEMORY, 0.05), GIB), step=MIB, touch=_TMP_TABLES),
    "max_heap_table_size": PerformanceVariable("temporary tables of the MEMORY engine that exceed it go to disk", lowest=(MIB,),
        highest=(Amount(Fact.MEMORY, 0.05), GIB), step=MIB, touch=_TMP_TABLES,
        needs={"internal_tmp_mem_storage_engine": ("MEMORY", "OFF")}),
    "internal_tmp_mem_storage_engine": PerformanceVariable("it is the engine of temporary tables in memory",
        words=("TempTable", "MEMORY"), touch=_TMP_TABLES),
    "temptable_max_ram": PerformanceVariable("temporary tables beyond it, all together, go to disk", lowest=(16 * MIB,),
        highest=(Amount(Fact.MEMORY, 0.25),), step=MIB, touch=_DISK_TMP_TABLES,
        needs={"internal_tmp_mem_storage_engine": ("TempTable",)}),
    "sort_buffer_size": PerformanceVariable("sorts that exceed it are merged from disk; a large one costs time to allocate",
        lowest=(32 * KIB,), highest=(Amount(Fact.MEMORY, 0.01), 64 * MIB), step=4096, touch=_SORTS),
    "join_buffer_size": PerformanceVariable("joins that use no index read a table once for each buffer", lowest=(32 * KIB,),
        highest=(Amount(Fact.MEMORY, 0.01), 64 * MIB), step=4096, touch=_JOINS),
    "read_rnd_buffer_size": PerformanceVariable("rows that are read in the order of a sort are fetched in blocks of this size",
        lowest=(32 * KIB,), highest=(Amount(Fact.MEMORY, 0.01), 16 * MIB), step=4096, touch=_ROW_ORDER),
    "binlog_cache_size": PerformanceVariable(
        "transactions that exceed it write a temporary file before they reach the binary log", lowest=(32 * KIB,),
        highest=(16 * MIB,), step=4096, touch=_BINLOG, needs=_HAS_BINLOG),
    "binlog_group_commit_sync_delay": PerformanceVariable(
        "commits wait this many microseconds for others, to share a flush of the binary log; 0 is no wait", lowest=(10.0,),
        highest=(10_000.0,), special=(0,), touch=_BINLOG, needs=_HAS_BINLOG, waits=True),
    "binlog_commit_wait_count": PerformanceVariable(
        "commits wait for this many others, to share a flush of the binary log; 0 is no wait", lowest=(1.0,),
        highest=(Amount(Fact.CONNECTIONS, 1, at_least=4), 256.0), special=(0,), touch=_BINLOG,
        needs={**_HAS_BINLOG, "binlog_commit_wait_usec": ()}, waits=True),
    "binlog_order_commits": PerformanceVariable("without it commits do not wait for each other's order", words=_SWITCH,
        touch=_BINLOG, needs=_HAS_BINLOG, waits=True),
    "thread_cache_size": PerformanceVariable("each connection beyond it starts a new thread", lowest=(1.0,),
        highest=(Amount(Fact.CONNECTIONS, 2, at_least=64), 1024.0), special=(0,), touch=_THREADS,
        rule=Rule("MySQL manual, Server System Variables", (Amount(Fact.CONNECTIONS), 1024.0))),
    "innodb_sync_spin_loops": PerformanceVariable("it is how often a thread tries to get a latch before it sleeps",
        lowest=(0.0,), highest=(1000.0,), waits=True),
    "innodb_spin_wait_delay": PerformanceVariable("it is the pause between two tries for a latch", lowest=(0.0,),
        highest=(100.0,), waits=True, needs={"innodb_sync_spin_loops": ()}),
    "innodb_sync_array_size": PerformanceVariable(
        "it is the number of lists over which threads that wait for latches are spread", lowest=(1.0,), highest=(64.0,),
        waits=True),
    "innodb_concurrency_tickets": PerformanceVariable("it is how often a thread may enter InnoDB before others have a turn",
        lowest=(1.0,), highest=(100_000.0,), waits=True, needs={"innodb_thread_concurrency": ()}),
    "innodb_log_spin_wait_delay": PerformanceVariable("it is the pause between two tries for the log latch; 0 does not spin",
        lowest=(1.0,), highest=(1000.0,), special=(0,), touch=_WRITES, waits=True),
    "innodb_log_wait_for_flush_spin_hwm": PerformanceVariable(
        "a commit spins while flushes of the redo log take less than this many microseconds", lowest=(1.0,),
        highest=(10_000.0,), special=(0,), touch=_WRITES, waits=True),
    "innodb_log_write_ahead_size": PerformanceVariable(
        "the redo log is written in blocks of this size, which should be that of the file system",
        words=(512, 4096, 8192, 16_384), touch=_WRITES),
    "innodb_random_read_ahead": PerformanceVariable("pages near those in the pool are read ahead", words=_SWITCH,
        touch=_DISK_READS),
    "innodb_read_ahead_threshold": PerformanceVariable("after this many pages in a row the next ones are read ahead",
        lowest=(0.0,), highest=(64.0,), touch=_DISK_READS),
    "innodb_old_blocks_pct": PerformanceVariable("it is the share of the pool for pages that were read once", lowest=(5.0,),
        highest=(95.0,), touch=_DISK_READS),
    "innodb_old_blocks_time": PerformanceVariable(
        "a page must stay this many milliseconds before it counts as used again; 0 is at once", lowest=(10.0,),
        highest=(10_000.0,), special=(0,), touch=_DISK_READS),
    "innodb_change_buffer_max_size": PerformanceVariable("it is the share of the pool for changes of secondary indexes",
        lowest=(0.0,), highest=(50.0,), touch=_DISK_READS,
        needs={"innodb_change_buffering": ("inserts", "deletes", "changes", "purges", "all")}),
    "innodb_flushing_avg_loops": PerformanceVariable("flushing follows a change of load after this many rounds", lowest=(1.0,),
        highest=(1000.0,), touch=_WRITES),
    "innodb_purge_batch_size": PerformanceVariable("old versions of rows are removed in batches of this size", lowest=(10.0,),
        highest=(5000.0,), touch=_WRITES),
    "innodb_undo_log_truncate": PerformanceVariable("shrinking undo tablespaces costs writes", words=_SWITCH, touch=_WRITES),
    "innodb_doublewrite_pages": PerformanceVariable("it is how many pages of a batch are written twice together", lowest=(8.0,),
        highest=(512.0,), touch=_WRITES, needs={"innodb_doublewrite": ()}),
    "innodb_lru_flush_size": PerformanceVariable(
        "this many pages are freed at a time for reads from disk; 0 is innodb_lru_scan_depth", lowest=(16.0,),
        highest=(16_384.0,), special=(0,), touch=_DISK_READS),
    "thread_pool_size": PerformanceVariable("it is the number of groups of the thread pool", lowest=(1.0,),
        highest=(Amount(Fact.CPUS, 4, at_least=4), 128.0), needs=_HAS_POOL,
        rule=Rule("MariaDB, Thread Pool in MariaDB", (Amount(Fact.CPUS),))),
    "thread_pool_stall_limit": PerformanceVariable("after this many milliseconds a stalled group gets another thread",
        lowest=(10.0,), highest=(1000.0,), needs=_HAS_POOL),
    "thread_pool_oversubscribe": PerformanceVariable(
        "this many threads of a group may run at once while it is stalled", lowest=(1.0,), highest=(64.0,), needs=_HAS_POOL),
    "thread_pool_high_prio_mode": PerformanceVariable("it decides which statements the thread pool runs first",
        words=("transactions", "statements", "none"), needs=_HAS_POOL),
    "thread_pool_dedicated_listener": PerformanceVariable(
        "with it a thread of each group only waits for statements and runs none", words=_SWITCH, needs=_HAS_POOL),
    "innodb_empty_free_list_algorithm": PerformanceVariable(
        "it decides whether threads that find no free page flush one or wait for it", words=("legacy", "backoff"),
        touch=_DISK_READS),
    "innodb_cleaner_lsn_age_factor": PerformanceVariable("it is the formula by which adaptive flushing follows the redo log",
        words=("high_checkpoint", "legacy"), touch=_WRITES, needs={"innodb_adaptive_flushing": ()}),
    "key_buffer_size": PerformanceVariable("it holds index blocks of MyISAM tables", lowest=(8 * MIB,),
        highest=(Amount(Fact.MEMORY, 0.25),), step=MIB, touch=_MYISAM,
        rule=Rule("MySQL manual, The MyISAM Key Cache", (Amount(Fact.MEMORY, 0.1), Amount(Fact.DATA, 0.25, at_least=8 * MIB)))),
    "read_buffer_size": PerformanceVariable("scans of MyISAM tables read in blocks of this size", lowest=(32 * KIB,),
        highest=(16 * MIB,), step=4096, touch=_MYISAM),
    "aria_pagecache_buffer_size": PerformanceVariable("it holds pages of Aria tables, temporary ones on disk included",
        lowest=(8 * MIB,), highest=(Amount(Fact.MEMORY, 0.25),), step=MIB, touch=_ARIA),
    "table_definition_cache": PerformanceVariable("table definitions beyond it are read again", lowest=(400.0,),
        highest=(Amount(Fact.TABLES, 4, at_least=8192), 65_536.0), touch=_DEFINITIONS,
        rule=Rule("MySQL manual, How MySQL Opens and Closes Tables", (Amount(Fact.TABLES, 1, at_least=400), 65_536.0))),
    "innodb_adaptive_hash_index_parts": PerformanceVariable(
        "threads that use different parts of the hash index do not wait for each other", lowest=(1.0,), highest=(64.0,),
        needs={"innodb_adaptive_hash_index": ()}, waits=True),
    "innodb_spin_wait_pause_multiplier": PerformanceVariable("it is the unit of the pause between two tries for a latch",
        lowest=(1.0,), highest=(100.0,), waits=True, needs={"innodb_sync_spin_loops": ()}),
    "net_buffer_length": PerformanceVariable("results that exceed it are sent in parts", lowest=(KIB,), highest=(MIB,),
        step=1024),
    "stored_program_cache": PerformanceVariable("stored programs beyond it are compiled again", lowest=(16.0,),
        highest=(4096.0,), touch=_PROCEDURES),
}  # fmt: skip
"""All of them, the most important first."""
