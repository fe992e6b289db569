"""A table of the rules on the counters that the server reports."""

from __future__ import annotations

from dialin.evidence.reasons import shared_figures, sources
from dialin.evidence.reasons.rule import ReasonRule, by_transaction, first_of, mean_of, per_second, per_transaction
from dialin.text import percent, size

_PER_TRANSACTION = "per {one}"
_STATUS = sources.STATUS


def _status(
    code: str, theme: str, name: str, *counters: str, floor: float = 0.01, source: str = _STATUS, paced: bool = False
) -> ReasonRule:
    """Return a rule on status counters per transaction; `paced` counters, which rise with time, must change per second too."""
    guard = per_second("status", *counters) if paced else None
    figure = per_transaction("status", *counters)
    return ReasonRule(code, theme, name, _PER_TRANSACTION, source, figure, floor=floor, guard=guard)


RULES: tuple[ReasonRule, ...] = (
    # the redo log and durability
    _status("log_fsyncs", "syncs", "redo log fsyncs", "Innodb_os_log_fsyncs", source=sources.DURABILITY, paced=True),
    _status("log_write_calls", "log", "writes of the redo log", "Innodb_log_writes", source=sources.LOG_BUFFER),
    ReasonRule("log_bytes", "log", "redo log written", _PER_TRANSACTION, _STATUS,
        by_transaction(first_of(per_second("status", "Innodb_os_log_written"), per_second("innodb", "log_bytes"))), floor=64,
        form=size),
    _status("log_waits", "log", "log buffer waits", "Innodb_log_waits", source=sources.LOG_BUFFER),
    _status("data_fsyncs", "syncs", "InnoDB data file fsyncs", "Innodb_data_fsyncs", paced=True),
    _status("doublewrites", "flushing", "doublewrite operations", "Innodb_dblwr_writes", paced=True),
    ReasonRule("checkpoint_age", "flushing", "checkpoint age", "of the redo log on average", sources.REDO_LOG,
        shared_figures.checkpoint_share, floor=0.1, least=0.1, form=percent),
    # the buffer pool
    _status("pool_misses", "pool", "buffer pool misses", "Innodb_buffer_pool_reads", source=sources.BUFFER_POOL),
    _status("pages_read", "pool", "pages read from disk", "Innodb_pages_read", source=sources.BUFFER_POOL),
    _status("read_ahead", "pool", "pages read ahead", "Innodb_buffer_pool_read_ahead", source=sources.BUFFER_POOL),
    _status("page_requests", "pool", "buffer pool read requests", "Innodb_buffer_pool_read_requests", floor=1.0),
    ReasonRule("emptiest_instance", "pool", "lowest free share of the emptiest buffer pool instance", "of its pages",
        sources.BUFFER_POOL, shared_figures.emptiest_instance, floor=0.01, least=0.2, form=percent),
    _status("wait_free", "pool", "waits for a free page", "Innodb_buffer_pool_wait_free", floor=0.001),
    ReasonRule("pages_flushed", "flushing", "pages flushed from the buffer pool", _PER_TRANSACTION, sources.FLUSHING,
        by_transaction(shared_figures.pages_written), floor=0.01, guard=shared_figures.pages_written),
    ReasonRule("dirty_pages", "flushing", "dirty pages", "of the buffer pool on average", sources.FLUSHING,
        shared_figures.dirty_share, floor=0.02, least=0.1, form=percent),
    ReasonRule("adaptive_hash", "adaptive hash", "searches answered by the adaptive hash index", "of all",
        sources.ADAPTIVE_HASH, shared_figures.hash_share, floor=0.05, form=percent),
    ReasonRule("tree_searches", "adaptive hash", "B-tree searches", _PER_TRANSACTION, sources.ADAPTIVE_HASH,
        by_transaction(shared_figures.tree_searches), floor=0.5),
    ReasonRule("change_buffer_merges", "change buffer", "change buffer merges", _PER_TRANSACTION, sources.CHANGE_BUFFER,
        per_transaction("metrics", "ibuf_merges"), floor=0.01),
    # locks between transactions
    _status("row_lock_waits", "row locks", "row lock waits", "Innodb_row_lock_waits"),
    ReasonRule("row_lock_time", "row locks", "row lock wait time", "ms per {one}", _STATUS,
        per_transaction("status", "Innodb_row_lock_time"), floor=0.05, least=0.1),
    _status("table_lock_waits", "row locks", "table lock waits", "Table_locks_waited"),
    # purge and concurrency
    ReasonRule("purge_lag", "purge", "growth of the history list", "undo logs per second", sources.PURGE,
        shared_figures.history_growth, floor=50, least=0.2, guard=by_transaction(shared_figures.history_growth)),
    ReasonRule("queries_queued", "concurrency", "queries queued for InnoDB", "on average", sources.CONCURRENCY,
        mean_of("innodb", "queries_queued"), floor=0.5, least=0.2),
    ReasonRule("threads_running", "concurrency", "running threads", "on average", _STATUS, mean_of("status", "Threads_running"),
        floor=1.5, least=0.2),
    # tables, threads, temporary tables, sorting
    _status("table_cache_misses", "table cache", "tables not in the cache", "Table_open_cache_misses",
        source=sources.TABLE_CACHE),
    _status("opened_tables", "table cache", "tables opened", "Opened_tables", source=sources.TABLE_CACHE, paced=True),
    _status("threads_created", "thread cache", "threads created", "Threads_created", source=sources.THREAD_CACHE),
    _status("disk_tables", "temporary tables", "temporary tables on disk", "Created_tmp_disk_tables", source=sources.TEMPORARY,
        paced=True),
    _status("memory_tables", "temporary tables", "temporary tables", "Created_tmp_tables", source=sources.TEMPORARY,
        paced=True),
    _status("sort_passes", "sorting", "sort merge passes", "Sort_merge_passes", source=sources.SORTING),
    _status("rows_scanned", "access", "rows read in a scan", "Handler_read_rnd_next", floor=1.0, paced=True),
    _status("rows_by_index", "access", "rows found through an index", "Handler_read_key", floor=0.5),
    _status("rows_in_order", "access", "rows read in index order", "Handler_read_next", floor=1.0),
    _status("full_joins", "access", "joins without an index", "Select_full_join"),
    _status("query_cache_hits", "query cache", "query cache hits", "Qcache_hits", source=sources.QUERY_CACHE),
    _status("binlog_spills", "log", "transactions too large for the binary log cache", "Binlog_cache_disk_use"),
    # MyISAM and Aria
    _status("key_reads", "key cache", "index blocks read from disk", "Key_reads", source=sources.KEY_CACHE),
    _status("page_cache_reads", "key cache", "pages of Aria read from disk", "Aria_pagecache_reads",
        source=sources.ARIA_PAGE_CACHE),
)  # fmt: skip
