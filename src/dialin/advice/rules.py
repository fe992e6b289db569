"""The rules of advice: a table. Each has a figure of the server that triggers it, and a source that says what it means.

A figure that could not be read triggers nothing. Thresholds without a published source are dialin's own: they are low enough to
show what a server does at all, because the experiment decides whether it matters.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from dialin.advice import figures
from dialin.advice.figures import LIMIT_OF, Figure
from dialin.advice.server_reading import ServerReading
from dialin.advice.values import Values, and_recommended, fixed, larger, smaller
from dialin.evidence.reasons import sources
from dialin.model.advice import Weight

MIB = 2**20


def _always(_reading: ServerReading) -> bool:
    return True


def _nothing(_reading: ServerReading) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class AdviceRule:
    """A rule that proposes an experiment with one variable.

    Attributes:
        code: identifies the rule in JSON, and selects its sentence.
        name: what the figure is, for the table in the docs.
        variables: the variables to try; the experiment is about the first one that the server has.
        figure: the figure that triggers the rule.
        least: the smallest figure that triggers it.
        values: returns the values to try.
        when: a further condition that must hold.
        more: further figures of its sentence.
        beside: returns the name of a variable that would otherwise limit the one that is tried, else an empty string. The
            experiment sets it to the largest value tried.
    """

    code: str
    name: str
    weight: Weight
    variables: tuple[str, ...]
    figure: Figure
    least: float
    values: Values
    source: str
    when: Callable[[ServerReading], bool] = _always
    more: Mapping[str, Figure] = field(default_factory=dict)
    beside: Callable[[ServerReading], str] = _nothing


def _limit(
    code: str, weight: Weight, variables: tuple[str, ...], values: Values, when: Callable[[ServerReading], bool] = _always
) -> AdviceRule:
    """Return a rule on a limit that evidence knows: its figure, its threshold and its source."""
    known = LIMIT_OF[code]
    name = f"{known.name}, {known.unit}"
    return AdviceRule(code, name, weight, variables, figures.limit(code), known.hit, values, known.source, when)


def _limit_of_memory_tables(reading: ServerReading) -> str:
    """Return the variable that limits temporary tables beside tmp_table_size where those in memory are MEMORY tables."""
    return "max_heap_table_size" if reading.text("internal_tmp_mem_storage_engine") in ("", "MEMORY") else ""


def _pool_is_small(reading: ServerReading) -> bool:
    data, pool = reading.situation.data, reading.number("innodb_buffer_pool_size")
    return figures.is_memory_known(reading) and pool is not None and (data is None or data > pool)


def _is_query_cache_on(reading: ServerReading) -> bool:
    return bool(reading.number("query_cache_size")) and reading.text("query_cache_type") not in ("OFF", "0")


_REDO = ("innodb_redo_log_capacity", "innodb_log_file_size")

RULES: tuple[AdviceRule, ...] = (
    # What the server waited for, or a limit that it reached
    AdviceRule(
        "pool_misses",
        "page reads per second that missed the buffer pool, while the data are larger than it",
        Weight.WAITED,
        ("innodb_buffer_pool_size",),
        figures.pool_misses,
        10.0,
        and_recommended(larger(2, 4)),
        sources.BUFFER_POOL,
        _pool_is_small,
        more={
            "share": figures.miss_share,
            "pool": figures.variable("innodb_buffer_pool_size"),
            "data": lambda reading: reading.situation.data,
        },
    ),
    _limit("no_free_page", Weight.WAITED, ("innodb_lru_scan_depth",), larger(2, 4)),
    _limit("redo_log_full", Weight.WAITED, _REDO, larger(4, 16)),
    _limit("log_buffer_full", Weight.WAITED, ("innodb_log_buffer_size",), larger(4, 16)),
    _limit(
        "io_capacity_max_reached",
        Weight.WAITED,
        ("innodb_io_capacity_max", "innodb_io_capacity"),
        larger(2, 4),
    ),
    _limit("table_cache_full", Weight.WAITED, ("table_open_cache",), and_recommended(larger(2, 4))),
    _limit("queries_queued_for_concurrency", Weight.WAITED, ("innodb_thread_concurrency",), fixed(0)),
    AdviceRule(
        "reads_pending",
        "pending reads for each read thread",
        Weight.WAITED,
        ("innodb_read_io_threads",),
        lambda reading: _per(figures.pending_reads(reading), reading.number("innodb_read_io_threads")),
        64.0,
        larger(2, 4),
        sources.IO_THREADS,
    ),
    AdviceRule(
        "latch_waits",
        "sleeps for InnoDB's latches per second, with a pool of 1 GiB or more",
        Weight.WAITED,
        ("innodb_buffer_pool_instances",),
        figures.latch_waits,
        1000.0,
        larger(2, 4),
        sources.POOL_INSTANCES,
        lambda reading: (reading.number("innodb_buffer_pool_size") or 0) >= 1024 * MIB,
        more={"pool": figures.variable("innodb_buffer_pool_size")},
    ),
    AdviceRule(
        "memory_short",
        "share of the time in which some task waited for memory, with a pool above half of it",
        Weight.WAITED,
        ("innodb_buffer_pool_size",),
        figures.limit("memory_short"),
        LIMIT_OF["memory_short"].hit,
        smaller(0.75, 0.5),
        sources.PRESSURE,
        lambda reading: (figures.pool_of_memory(reading) or 0.0) > 0.5,
        more={"share": figures.pool_of_memory},
    ),
    # Work that another value may save
    AdviceRule(
        "redo_hours",
        "times per hour that the load's writes would fill the redo log",
        Weight.WORK,
        _REDO,
        figures.redo_hours,
        1.5,
        and_recommended(larger(4)),
        f"{sources.LOG_BUFFER}; that it holds an hour of this load's writes is ours",
        more={"capacity": figures.redo_capacity, "written": figures.rate("Innodb_os_log_written")},
    ),
    AdviceRule(
        "temporary_tables_on_disk",
        "temporary tables on disk, of all",
        Weight.WORK,
        ("tmp_table_size",),
        figures.limit("temporary_tables_on_disk"),
        LIMIT_OF["temporary_tables_on_disk"].hit,
        larger(4, 16),
        sources.TEMPORARY,
        more={"rate": figures.rate("Created_tmp_disk_tables")},
        beside=_limit_of_memory_tables,
    ),
    AdviceRule(
        "sort_merge_passes",
        "merge passes of sorts per second",
        Weight.WORK,
        ("sort_buffer_size",),
        figures.rate("Sort_merge_passes"),
        0.5,
        larger(4, 16),
        sources.SORT_BUFFER,
    ),
    AdviceRule(
        "sort_buffer_large",
        "bytes of the buffer, with a sort per second or more",
        Weight.WORK,
        ("sort_buffer_size",),
        figures.variable("sort_buffer_size"),
        2.0 * MIB + 1,
        fixed(2 * MIB, 262_144),
        sources.SORT_BUFFER,
        lambda reading: (figures.rate("Sort_scan", "Sort_range")(reading) or 0.0) >= 1.0,
        more={"rate": figures.rate("Sort_scan", "Sort_range")},
    ),
    AdviceRule(
        "full_joins",
        "joins without an index per second",
        Weight.WORK,
        ("join_buffer_size",),
        figures.rate("Select_full_join"),
        0.5,
        larger(4, 16),
        sources.JOIN_BUFFER,
    ),
    AdviceRule(
        "threads_created",
        "threads created per second",
        Weight.WORK,
        ("thread_cache_size",),
        figures.rate("Threads_created"),
        1.0,
        and_recommended(larger(2, 4)),
        sources.THREAD_CACHE,
        more={"connections": figures.rate("Connections")},
    ),
    AdviceRule(
        "tables_opened",
        "tables opened per second",
        Weight.WORK,
        ("table_open_cache",),
        figures.rate("Opened_tables"),
        5.0,
        and_recommended(larger(2, 4)),
        sources.TABLE_CACHE,
    ),
    AdviceRule(
        "key_cache_misses",
        "index blocks of MyISAM read from disk, of those requested",
        Weight.WORK,
        ("key_buffer_size",),
        figures.share("Key_reads", "Key_read_requests", least=10.0),
        0.01,
        and_recommended(larger(4, 16)),
        sources.KEY_CACHE,
        figures.is_memory_known,
    ),
    AdviceRule(
        "aria_page_cache_misses",
        "pages of Aria read from disk, of those requested",
        Weight.WORK,
        ("aria_pagecache_buffer_size",),
        figures.share("Aria_pagecache_reads", "Aria_pagecache_read_requests", least=10.0),
        0.01,
        larger(4, 16),
        sources.ARIA_PAGE_CACHE,
        figures.is_memory_known,
    ),
    AdviceRule(
        "binlog_cache_spills",
        "transactions that did not fit the cache, of all",
        Weight.WORK,
        ("binlog_cache_size",),
        figures.share("Binlog_cache_disk_use", "Binlog_cache_use"),
        0.01,
        larger(4, 16),
        sources.BINLOG_CACHE,
    ),
    AdviceRule(
        "query_cache_misses",
        "SELECTs that the query cache did not answer, of all",
        Weight.WORK,
        ("query_cache_size",),
        figures.query_cache_misses,
        0.8,
        fixed(0),
        sources.QUERY_CACHE,
        _is_query_cache_on,
        more={"prunes": figures.rate("Qcache_lowmem_prunes")},
    ),
    AdviceRule(
        "hash_index_misses",
        "searches that the adaptive hash index did not answer, of all",
        Weight.WORK,
        ("innodb_adaptive_hash_index",),
        figures.hash_misses,
        0.5,
        fixed("OFF"),
        sources.ADAPTIVE_HASH,
        lambda reading: reading.is_on("innodb_adaptive_hash_index"),
        more={"rate": figures.tree_searches},
    ),
    AdviceRule(
        "hash_index_off",
        "searches of B-trees per second, next to none of which read from disk",
        Weight.WORK,
        ("innodb_adaptive_hash_index",),
        figures.tree_searches,
        1000.0,
        fixed("ON"),
        sources.ADAPTIVE_HASH,
        # "enough memory for the buffer pool": next to nothing is read from the disk
        lambda reading: reading.text("innodb_adaptive_hash_index") in ("OFF", "0") and _is_in_memory(reading),
        more={"share": figures.miss_share},
    ),
    AdviceRule(
        "binlog_syncs",
        "commits to the binary log per second, with sync_binlog=1 and 4 or more threads at work",
        Weight.WORK,
        ("binlog_group_commit_sync_delay",),
        figures.commits,
        50.0,
        fixed(100, 1000),
        sources.GROUP_COMMIT,
        lambda reading: (
            reading.is_on("log_bin") and reading.number("sync_binlog") == 1 and (figures.running(reading) or 0.0) >= 4
        ),
        more={"running": figures.running},
    ),
    AdviceRule(
        "threads_per_cpu",
        "threads at work for each CPU, with innodb_thread_concurrency=0",
        Weight.WORK,
        ("innodb_thread_concurrency",),
        figures.running_per_cpu,
        4.0,
        fixed(16, 32),
        sources.CONCURRENCY,
        lambda reading: reading.number("innodb_thread_concurrency") == 0,
        more={"running": figures.running, "cpus": lambda reading: float(reading.situation.cpus)},
    ),
    AdviceRule(
        "thread_pool",
        "threads at work for each CPU",
        Weight.WORK,
        ("thread_handling",),
        figures.running_per_cpu,
        4.0,
        fixed("pool-of-threads"),
        sources.THREAD_POOL,
        lambda reading: "thread_pool_size" in reading.variables,
        more={"running": figures.running, "cpus": lambda reading: float(reading.situation.cpus)},
    ),
    AdviceRule(
        "purge_behind",
        "growth of the history list per second",
        Weight.WORK,
        ("innodb_purge_threads",),
        figures.history_growth,
        50.0,
        larger(2, 4),
        sources.PURGE,
    ),
    # What does not suit the machine
    AdviceRule(
        "flush_neighbors",
        "pages written per second, on a disk that does not seek",
        Weight.MACHINE,
        ("innodb_flush_neighbors",),
        figures.pages_written,
        1.0,
        fixed(0),
        sources.FLUSHING,
        figures.is_solid_state,
    ),
    AdviceRule(
        "change_buffer",
        "merges of buffered changes per second, on a disk that does not seek",
        Weight.MACHINE,
        ("innodb_change_buffering",),
        figures.ibuf_merges,
        1.0,
        fixed("none"),
        sources.CHANGE_BUFFER,
        figures.is_solid_state,
    ),
    AdviceRule(
        "pages_through_file_cache",
        "pages read and written per second, without O_DIRECT",
        Weight.MACHINE,
        ("innodb_flush_method",),
        figures.page_io,
        10.0,
        fixed("O_DIRECT"),
        sources.DISK_IO,
        lambda reading: not reading.text("innodb_flush_method").startswith("O_DIRECT"),
    ),
    AdviceRule(
        "log_writer_threads",
        "bytes of redo log per second, on 8 CPUs or fewer",
        Weight.MACHINE,
        ("innodb_log_writer_threads",),
        figures.rate("Innodb_os_log_written"),
        10_000.0,
        fixed("OFF"),
        sources.LOG_WRITERS,
        lambda reading: reading.is_on("innodb_log_writer_threads") and 0 < reading.situation.cpus <= 8,
        more={"cpus": lambda reading: float(reading.situation.cpus)},
    ),
    # Durability that was given up: what does it gain?
    AdviceRule(
        "weaker_commit",
        "commits per second, with a value other than 1",
        Weight.CHANGED,
        ("innodb_flush_log_at_trx_commit",),
        figures.commits,
        1.0,
        fixed(1),
        sources.DURABILITY,
        lambda reading: reading.number("innodb_flush_log_at_trx_commit") != 1,
    ),
    AdviceRule(
        "weaker_binlog",
        "commits per second, with a value other than 1",
        Weight.CHANGED,
        ("sync_binlog",),
        figures.commits,
        1.0,
        fixed(1),
        sources.GROUP_COMMIT,
        lambda reading: reading.is_on("log_bin") and reading.number("sync_binlog") != 1,
    ),
)
"""All rules but `rule_of_thumb` and `changed_default`, which apply to any variable of the table of performance variables."""

RULE_OF_THUMB, CHANGED_DEFAULT = "rule_of_thumb", "changed_default"


def _per(figure: float | None, count: float | None) -> float | None:
    return None if figure is None or not count else figure / count


def _is_in_memory(reading: ServerReading) -> bool:
    share = figures.miss_share(reading)
    return share is not None and share < 0.001
