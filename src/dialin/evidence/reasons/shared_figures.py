"""Figures that several rules use, each from the first source that a server has."""

from __future__ import annotations

import re

from dialin.evidence.measured import FigureOf, MeasuredTrial
from dialin.evidence.reasons.rule import first_of, mean_of, per_second, quotient, setting
from dialin.variables.memory import redo_log_size

_PAGE = 16384
_OF_AN_INSTANCE = re.compile(r"pool/\d+/free_pages")


def redo_capacity(one: MeasuredTrial) -> float | None:
    """Return the bytes of the redo log, from the status, from innodb_redo_log_capacity, or from the size of its files."""
    resized = one.gauge("status", "Innodb_redo_log_capacity_resized")
    return (resized.last if resized else 0.0) or redo_log_size(one.trial.in_force) or None


_FORCED_SHARE = 7 / 8 * 0.95 * 0.936
"""Of innodb_redo_log_capacity: seven eighths of what it may hold, 95 % of 30 of its 32 files (log0files_capacity.cc)."""
_FORCED_SHARE_OF_FILES = 7 / 8 * 0.9 * 0.9
"""Of innodb_log_file_size × files: seven eighths of what two margins of a tenth leave (log_calc_max_ages)."""


def forced_flushing_age(one: MeasuredTrial) -> float | None:
    """Return the checkpoint age, in bytes, from which on this server flushes pages only to free its redo log."""
    capacity = redo_capacity(one)
    if capacity is None:
        return None
    has_capacity = one.gauge("status", "Innodb_redo_log_capacity_resized") or one.setting("innodb_redo_log_capacity")
    return capacity * (_FORCED_SHARE if has_capacity else _FORCED_SHARE_OF_FILES)


def page_size(one: MeasuredTrial) -> float:
    """Return the bytes of an InnoDB page: 16 KiB where the server does not report innodb_page_size."""
    return one.setting("innodb_page_size") or _PAGE


resident_memory: FigureOf = mean_of("process", "resident_bytes")
"""The memory of the server, bytes, on average."""

hash_searches: FigureOf = first_of(
    per_second("metrics", "adaptive_hash_searches"),
    per_second("status", "Innodb_adaptive_hash_hash_searches"),
    mean_of("innodb", "ahi_hash_searches_per_s"),
)
"""Searches answered by the adaptive hash index, per second."""

tree_searches: FigureOf = first_of(
    per_second("metrics", "adaptive_hash_searches_btree"),
    per_second("status", "Innodb_adaptive_hash_non_hash_searches"),
    mean_of("innodb", "ahi_other_searches_per_s"),
)
"""B-tree searches, per second."""


def _all_searches(one: MeasuredTrial) -> float | None:
    by_hash, by_tree = hash_searches(one), tree_searches(one)
    return None if by_hash is None or by_tree is None else by_hash + by_tree


hash_share: FigureOf = quotient(hash_searches, _all_searches, least=1.0)
"""The share of searches answered by the adaptive hash index; None where there is no more than one search per second."""

pages_flushed: FigureOf = first_of(
    per_second("status", "Innodb_buffer_pool_pages_flushed"),
    per_second("metrics", "buffer_pool_pages_written"),
)
"""Pages that the page cleaner flushed from the buffer pool, per second."""

pages_written: FigureOf = first_of(per_second("status", "Innodb_pages_written"), pages_flushed)
"""All pages flushed from the buffer pool, per second.

MySQL 5.6 does not count a page as flushed that a user thread writes because it needs a free page (measured on 5.6.24: a
thousand pages written per second, and none flushed).
"""


def emptiest_instance(one: MeasuredTrial) -> float | None:
    """Return the lowest share of free pages in any instance of the buffer pool; None where there is one instance.

    It is a share of the instance's pages, because an instance has fewer pages where there are more instances.
    """
    watched, pool = one.watched.get("innodb"), one.gauge("innodb", "pool_size_pages")
    least = [gauge.least for name, gauge in watched.gauges.items() if _OF_AN_INSTANCE.fullmatch(name)] if watched else []
    return min(least) * len(least) / pool.most if len(least) > 1 and pool is not None and pool.most > 0 else None


checkpoint_share: FigureOf = quotient(mean_of("innodb", "checkpoint_age"), redo_capacity)
"""The checkpoint age as a share of the redo log's capacity, on average."""

dirty_share: FigureOf = quotient(
    mean_of("status", "Innodb_buffer_pool_pages_dirty"), mean_of("status", "Innodb_buffer_pool_pages_total")
)
"""The share of the buffer pool's pages that are dirty, on average."""

thread_concurrency: FigureOf = setting("innodb_thread_concurrency")
"""The number of threads that may run inside InnoDB at once (innodb_thread_concurrency); 0 for any number."""


def history_growth(one: MeasuredTrial) -> float | None:
    """Return the growth of the history list in undo logs per second; 0 where it shrank.

    None for a trial with several numbers of threads, because a part of the growth falls between the measured windows.
    """
    history, watched = one.gauge("innodb", "history_list"), one.watched.get("innodb")
    if history is None or watched is None or watched.seconds <= 0 or one.windows > 1:
        return None
    return max(0.0, history.last - history.first) / watched.seconds
