"""The rules of advice: a table. Each has a figure of the server that triggers it, and a source that says what it means.

A figure that could not be read triggers nothing. Thresholds without a published source are dialin's own: they are low enough to
show what a server does at all, because the experiment decides whether it matters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from dialin.advice import figures
from dialin.advice.figures import LIMIT_OF, Figure
from dialin.advice.server_reading import ServerReading
from dialin.advice.values import Values, and_recommended, fixed, larger, smaller
from dialin.evidence.reasons import sources
from dialin.model.advice import Weight
from dialin.model.setting import means_off
from dialin.model.workload import TRANSACTION
from dialin.text import counted, number, percent, size

MIB = 2**20

Text = Callable[[float, ServerReading], str]


@dataclass(frozen=True, slots=True)
class AdviceRule:
    """A rule that proposes an experiment with one variable.

    Attributes:
        code: identifies the rule in JSON.
        name: what the figure is, for the table in the docs.
        variables: the variables to try; the experiment is about the first one that the server has.
        figure: the figure that triggers the rule.
        least: the smallest figure that triggers it.
        values: returns the values to try.
        when: a further condition that must hold.
        beside: returns the name of a variable that would otherwise limit the one that is tried, else an empty string. The
            experiment sets it to the largest value tried.
        text: makes the sentence, without its full stop, from the figure and the reading.
    """

    code: str
    name: str
    weight: Weight
    variables: tuple[str, ...]
    figure: Figure
    least: float
    values: Values
    source: str
    when: Callable[[ServerReading], bool] = lambda _reading: True
    beside: Callable[[ServerReading], str] = lambda _reading: ""
    text: Text = field(kw_only=True)


def _limit(code: str, weight: Weight, variables: tuple[str, ...], values: Values) -> AdviceRule:
    """Return a rule on a limit that evidence knows: its figure, its threshold, its source and its sentence."""
    known, figure = LIMIT_OF[code], figures.limit(code)
    name = f"{known.name}, {known.unit}"
    return AdviceRule(code, name, weight, variables, figure, known.hit, values, known.source, text=lambda x, _: _said(code, x))


def _said(code: str, figure: float) -> str:
    return LIMIT_OF[code].sentence(figure, TRANSACTION)


def _limit_of_memory_tables(reading: ServerReading) -> str:
    """Return the variable that limits temporary tables beside tmp_table_size where those in memory are MEMORY tables."""
    return "max_heap_table_size" if reading.text("internal_tmp_mem_storage_engine") in ("", "MEMORY") else ""


def _pool_is_small(reading: ServerReading) -> bool:
    data, pool = reading.situation.data, reading.number("innodb_buffer_pool_size")
    return figures.is_memory_known(reading) and pool is not None and (data is None or data > pool)


def _is_query_cache_on(reading: ServerReading) -> bool:
    return bool(reading.number("query_cache_size")) and not means_off(reading.text("query_cache_type"))


def _known(figure: Figure, reading: ServerReading) -> float:
    return figure(reading) or 0.0


def _pool(reading: ServerReading) -> float:
    return reading.number("innodb_buffer_pool_size") or 0.0


def _pool_misses(x: float, reading: ServerReading) -> str:
    data, missed = reading.situation.data, figures.miss_share(reading)
    seen = "" if data is None else f", and the data that the account sees have {size(data)}"
    share = "" if missed is None else f" ({percent(missed)} of the requests)"
    return f"{number(x)} page reads/s missed the buffer pool{share}, which has {size(_pool(reading))}{seen}"


def _query_cache_misses(x: float, reading: ServerReading) -> str:
    prunes = figures.rate("Qcache_lowmem_prunes")(reading)
    removed = f", and {number(prunes)} results/s were removed for want of memory" if prunes else ""
    return f"The query cache answered {percent(1 - x)} of the SELECTs{removed}; every write must look into it"


def _threads_at_work(_x: float, reading: ServerReading) -> str:
    at_work = number(_known(figures.running, reading))
    return f"{at_work} threads were at work on average on {counted(reading.situation.cpus, 'CPU')}"


_REDO_WRITTEN = figures.rate("Innodb_os_log_written")
_SORTS = figures.rate("Sort_scan", "Sort_range")
_REDO = ("innodb_redo_log_capacity", "innodb_log_file_size")

RULES: tuple[AdviceRule, ...] = (
    # What the server waited for, or a limit that it reached
    AdviceRule("pool_misses", "page reads per second that missed the buffer pool, while the data are larger than it",
        Weight.WAITED, ("innodb_buffer_pool_size",), figures.pool_misses, 10.0, and_recommended(larger(2, 4)),
        sources.BUFFER_POOL, _pool_is_small, text=_pool_misses),
    _limit("no_free_page", Weight.WAITED, ("innodb_lru_scan_depth",), larger(2, 4)),
    _limit("redo_log_full", Weight.WAITED, _REDO, larger(4, 16)),
    _limit("log_buffer_full", Weight.WAITED, ("innodb_log_buffer_size",), larger(4, 16)),
    _limit("io_capacity_max_reached", Weight.WAITED, ("innodb_io_capacity_max", "innodb_io_capacity"), larger(2, 4)),
    _limit("table_cache_full", Weight.WAITED, ("table_open_cache",), and_recommended(larger(2, 4))),
    _limit("queries_queued_for_concurrency", Weight.WAITED, ("innodb_thread_concurrency",), fixed(0)),
    AdviceRule("reads_pending", "pending reads for each read thread", Weight.WAITED, ("innodb_read_io_threads",),
        lambda reading: _per(figures.pending_reads(reading), reading.number("innodb_read_io_threads")), 64.0, larger(2, 4),
        sources.IO_THREADS, text=lambda x, _: f"{number(x)} reads were pending for each read thread"),
    AdviceRule("latch_waits", "sleeps for InnoDB's latches per second, with a pool of 1 GiB or more", Weight.WAITED,
        ("innodb_buffer_pool_instances",), figures.latch_waits, 1000.0, larger(2, 4), sources.POOL_INSTANCES,
        lambda reading: _pool(reading) >= 1024 * MIB,
        text=lambda x, reading: (
            f"Threads slept for latches of InnoDB {number(x)} times/s, with a buffer pool of {size(_pool(reading))}")),
    AdviceRule("memory_short", "share of the time in which some task waited for memory, with a pool above half of it",
        Weight.WAITED, ("innodb_buffer_pool_size",), figures.limit("memory_short"), LIMIT_OF["memory_short"].hit,
        smaller(0.75, 0.5), sources.PRESSURE, lambda reading: _known(figures.pool_of_memory, reading) > 0.5,
        text=lambda x, reading: (f"{_said('memory_short', x)}; the buffer pool may take "
            f"{percent(_known(figures.pool_of_memory, reading))} of it")),
    # Work that another value may save
    AdviceRule("redo_hours", "times per hour that the load's writes would fill the redo log", Weight.WORK, _REDO,
        figures.redo_hours, 1.5, and_recommended(larger(4)),
        f"{sources.LOG_BUFFER}; that it holds an hour of this load's writes is ours",
        text=lambda x, reading: (f"The load writes {size(_known(_REDO_WRITTEN, reading))}/s of redo log: an hour of it is "
            f"{number(x)} times the redo log of {size(_known(figures.redo_capacity, reading))}")),
    AdviceRule("temporary_tables_on_disk", "temporary tables on disk, of all", Weight.WORK, ("tmp_table_size",),
        figures.limit("temporary_tables_on_disk"), LIMIT_OF["temporary_tables_on_disk"].hit, larger(4, 16), sources.TEMPORARY,
        beside=_limit_of_memory_tables,
        text=lambda x, reading: (f"{_said('temporary_tables_on_disk', x)} "
            f"({number(_known(figures.rate('Created_tmp_disk_tables'), reading))}/s)")),
    AdviceRule("sort_merge_passes", "merge passes of sorts per second", Weight.WORK, ("sort_buffer_size",),
        figures.rate("Sort_merge_passes"), 0.5, larger(4, 16), sources.SORT_BUFFER,
        text=lambda x, _: f"Sorts did not fit their buffer: {number(x)} merge passes/s"),
    AdviceRule("sort_buffer_large", "bytes of the buffer, with a sort per second or more", Weight.WORK, ("sort_buffer_size",),
        figures.variable("sort_buffer_size"), 2.0 * MIB + 1, fixed(2 * MIB, 262_144), sources.SORT_BUFFER,
        lambda reading: _known(_SORTS, reading) >= 1.0,
        text=lambda x, reading: (f"{number(_known(_SORTS, reading))} sorts/s may each take a buffer of {size(x)}; above 2 MiB "
            "its allocation is slower")),
    AdviceRule("full_joins", "joins without an index per second", Weight.WORK, ("join_buffer_size",),
        figures.rate("Select_full_join"), 0.5, larger(4, 16), sources.JOIN_BUFFER,
        text=lambda x, _: f"{number(x)} joins/s used no index; an index may help more than a buffer"),
    AdviceRule("threads_created", "threads created per second", Weight.WORK, ("thread_cache_size",),
        figures.rate("Threads_created"), 1.0, and_recommended(larger(2, 4)), sources.THREAD_CACHE,
        text=lambda x, reading: (
            f"{number(x)} threads/s were created for {number(_known(figures.rate('Connections'), reading))} connections/s")),
    AdviceRule("tables_opened", "tables opened per second", Weight.WORK, ("table_open_cache",), figures.rate("Opened_tables"),
        5.0, and_recommended(larger(2, 4)), sources.TABLE_CACHE, text=lambda x, _: f"{number(x)} tables/s were opened"),
    AdviceRule("key_cache_misses", "index blocks of MyISAM read from disk, of those requested", Weight.WORK,
        ("key_buffer_size",), figures.share("Key_reads", "Key_read_requests", least=10.0), 0.01, and_recommended(larger(4, 16)),
        sources.KEY_CACHE, figures.is_memory_known,
        text=lambda x, _: f"{percent(x)} of the requests for index blocks of MyISAM read from disk"),
    AdviceRule("aria_page_cache_misses", "pages of Aria read from disk, of those requested", Weight.WORK,
        ("aria_pagecache_buffer_size",), figures.share("Aria_pagecache_reads", "Aria_pagecache_read_requests", least=10.0),
        0.01, larger(4, 16), sources.ARIA_PAGE_CACHE, figures.is_memory_known,
        text=lambda x, _: f"{percent(x)} of the requests for pages of Aria read from disk"),
    AdviceRule("binlog_cache_spills", "transactions that did not fit the cache, of all", Weight.WORK, ("binlog_cache_size",),
        figures.share("Binlog_cache_disk_use", "Binlog_cache_use"), 0.01, larger(4, 16), sources.BINLOG_CACHE,
        text=lambda x, _: f"{percent(x)} of the transactions did not fit the binary log cache"),
    AdviceRule("query_cache_misses", "SELECTs that the query cache did not answer, of all", Weight.WORK, ("query_cache_size",),
        figures.query_cache_misses, 0.8, fixed(0), sources.QUERY_CACHE, _is_query_cache_on, text=_query_cache_misses),
    AdviceRule("hash_index_misses", "searches that the adaptive hash index did not answer, of all", Weight.WORK,
        ("innodb_adaptive_hash_index",), figures.hash_misses, 0.5, fixed("OFF"), sources.ADAPTIVE_HASH,
        lambda reading: reading.is_on("innodb_adaptive_hash_index"),
        text=lambda x, reading: (f"The adaptive hash index answered {percent(1 - x)} of the searches; "
            f"{number(_known(figures.tree_searches, reading))} searches/s went to the B-trees all the same")),
    # "enough memory for the buffer pool": next to nothing is read from the disk
    AdviceRule("hash_index_off", "searches of B-trees per second, next to none of which read from disk", Weight.WORK,
        ("innodb_adaptive_hash_index",), figures.tree_searches, 1000.0, fixed("ON"), sources.ADAPTIVE_HASH,
        lambda reading: means_off(reading.text("innodb_adaptive_hash_index")) and _is_in_memory(reading),
        text=lambda x, reading: (f"{number(x)} searches/s of B-trees, next to none of which read from the disk "
            f"({percent(_known(figures.miss_share, reading))} of the requests): a hash index may answer them")),
    AdviceRule("binlog_syncs", "commits to the binary log per second, with sync_binlog=1 and 4 or more threads at work",
        Weight.WORK, ("binlog_group_commit_sync_delay",), figures.commits, 50.0, fixed(100, 1000), sources.GROUP_COMMIT,
        lambda reading: (
            reading.is_on("log_bin") and reading.number("sync_binlog") == 1 and _known(figures.running, reading) >= 4),
        text=lambda x, reading: (f"{number(x)} commits/s reach the binary log with sync_binlog=1, "
            f"{number(_known(figures.running, reading))} threads at work: a short wait lets commits share a sync")),
    AdviceRule("threads_per_cpu", "threads at work for each CPU, with innodb_thread_concurrency=0", Weight.WORK,
        ("innodb_thread_concurrency",), figures.running_per_cpu, 4.0, fixed(16, 32), sources.CONCURRENCY,
        lambda reading: reading.number("innodb_thread_concurrency") == 0, text=_threads_at_work),
    AdviceRule("thread_pool", "threads at work for each CPU", Weight.WORK, ("thread_handling",), figures.running_per_cpu, 4.0,
        fixed("pool-of-threads"), sources.THREAD_POOL, lambda reading: "thread_pool_size" in reading.variables,
        text=_threads_at_work),
    AdviceRule("purge_behind", "growth of the history list per second", Weight.WORK, ("innodb_purge_threads",),
        figures.history_growth, 50.0, larger(2, 4), sources.PURGE,
        text=lambda x, _: f"Purge did not keep up: the history list grew by {number(x)}/s"),
    # What does not suit the machine
    AdviceRule("flush_neighbors", "pages written per second, on a disk that does not seek", Weight.MACHINE,
        ("innodb_flush_neighbors",), figures.pages_written, 1.0, fixed(0), sources.FLUSHING, figures.is_solid_state,
        text=lambda x, _: f"{number(x)} pages/s are written to a disk that does not seek, and their neighbours with them"),
    AdviceRule("change_buffer", "merges of buffered changes per second, on a disk that does not seek", Weight.MACHINE,
        ("innodb_change_buffering",), figures.ibuf_merges, 1.0, fixed("none"), sources.CHANGE_BUFFER, figures.is_solid_state,
        text=lambda x, _: f"{number(x)} buffered changes/s were merged, on a disk that does not seek"),
    AdviceRule("pages_through_file_cache", "pages read and written per second, without O_DIRECT", Weight.MACHINE,
        ("innodb_flush_method",), figures.page_io, 10.0, fixed("O_DIRECT"), sources.DISK_IO,
        lambda reading: not reading.text("innodb_flush_method").startswith("O_DIRECT"),
        text=lambda x, _: f"{number(x)} pages/s were read or written through the file cache of the operating system"),
    AdviceRule("log_writer_threads", "bytes of redo log per second, on 8 CPUs or fewer", Weight.MACHINE,
        ("innodb_log_writer_threads",), _REDO_WRITTEN, 10_000.0, fixed("OFF"), sources.LOG_WRITERS,
        lambda reading: reading.is_on("innodb_log_writer_threads") and 0 < reading.situation.cpus <= 8,
        text=lambda x, reading: (
            f"{size(x)}/s of redo log are written by separate threads on {counted(reading.situation.cpus, 'CPU')}")),
    # Durability that was given up: what does it gain?
    AdviceRule("weaker_commit", "commits per second, with a value other than 1", Weight.CHANGED,
        ("innodb_flush_log_at_trx_commit",), figures.commits, 1.0, fixed(1), sources.DURABILITY,
        lambda reading: reading.number("innodb_flush_log_at_trx_commit") != 1,
        text=lambda x, _: f"{number(x)} commits/s may be lost in a crash for a second: what does that gain?"),
    AdviceRule("weaker_binlog", "commits per second, with a value other than 1", Weight.CHANGED, ("sync_binlog",),
        figures.commits, 1.0, fixed(1), sources.GROUP_COMMIT,
        lambda reading: reading.is_on("log_bin") and reading.number("sync_binlog") != 1,
        text=lambda x, _: (
            f"{number(x)} commits/s reach the binary log unsynced, and may be lost in a crash: what does that gain?")),
)  # fmt: skip
"""All rules but `rule_of_thumb` and `changed_default`, which apply to any variable of the table of performance variables."""

RULE_OF_THUMB, CHANGED_DEFAULT = "rule_of_thumb", "changed_default"


def _per(figure: float | None, count: float | None) -> float | None:
    return None if figure is None or not count else figure / count


def _is_in_memory(reading: ServerReading) -> bool:
    share = figures.miss_share(reading)
    return share is not None and share < 0.001
