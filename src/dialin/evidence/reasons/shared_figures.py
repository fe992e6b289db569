"""Figures that several rules use, each from whatever source a server has for it."""

from __future__ import annotations

import re

from dialin.evidence.measured import FigureOf, Measured
from dialin.evidence.reasons.rule import first_of, mean_of, per_second, quotient, setting

_PAGE = 16384
_OF_AN_INSTANCE = re.compile(r"pool/\d+/free_pages")


def redo_capacity(one: Measured) -> float | None:
    """Return the bytes of the redo log: what the server says it is now, else its variable, else its group of files."""
    resized = one.gauge("status", "Innodb_redo_log_capacity_resized")
    capacity = resized.last if resized else one.setting("innodb_redo_log_capacity")
    if capacity:
        return capacity
    size = one.setting("innodb_log_file_size")
    return None if size is None else size * (one.setting("innodb_log_files_in_group") or 1.0)


def page_size(one: Measured) -> float:
    """Return the bytes of an InnoDB page: 16 KiB where the server does not say."""
    return one.setting("innodb_page_size") or _PAGE


hash_searches: FigureOf = first_of(
    per_second("metrics", "adaptive_hash_searches"),
    per_second("status", "Innodb_adaptive_hash_hash_searches"),
    mean_of("innodb", "ahi_hash_searches_per_s"),
)
"""Searches answered by the adaptive hash index, a second."""

tree_searches: FigureOf = first_of(
    per_second("metrics", "adaptive_hash_searches_btree"),
    per_second("status", "Innodb_adaptive_hash_non_hash_searches"),
    mean_of("innodb", "ahi_other_searches_per_s"),
)
"""B-tree searches, a second."""


def _all_searches(one: Measured) -> float | None:
    by_hash, by_tree = hash_searches(one), tree_searches(one)
    return None if by_hash is None or by_tree is None else by_hash + by_tree


hash_share: FigureOf = quotient(hash_searches, _all_searches, least=1.0)
"""The share of searches answered by the adaptive hash index; unknown where there is hardly any."""

pages_flushed: FigureOf = first_of(
    per_second("status", "Innodb_buffer_pool_pages_flushed"),
    per_second("metrics", "buffer_pool_pages_written"),
)
"""Pages that the page cleaner wrote out of the buffer pool, a second."""

pages_written: FigureOf = first_of(per_second("status", "Innodb_pages_written"), pages_flushed)
"""All pages flushed from the buffer pool, a second.

MySQL 5.6 does not count as flushed those that a thread writes out itself, one by one, because it needs a free page (read on
5.6.24: a thousand written a second, and none flushed).
"""


def emptiest_instance(one: Measured) -> float | None:
    """Return the lowest share of free pages in any instance of the buffer pool; None where there is one instance.

    A share, because pages alone are fewer wherever there are more instances.
    """
    watched, whole = one.watched.get("innodb"), one.gauge("innodb", "pool_size_pages")
    least = [gauge.least for name, gauge in watched.gauges.items() if _OF_AN_INSTANCE.fullmatch(name)] if watched else []
    return min(least) * len(least) / whole.most if len(least) > 1 and whole is not None and whole.most > 0 else None


checkpoint_share: FigureOf = quotient(mean_of("innodb", "checkpoint_age"), redo_capacity)
"""The share of the redo log between the last checkpoint and its end, on average."""

dirty_share: FigureOf = quotient(
    mean_of("status", "Innodb_buffer_pool_pages_dirty"), mean_of("status", "Innodb_buffer_pool_pages_total")
)
"""The share of the buffer pool's pages that wait to be written, on average."""

thread_concurrency: FigureOf = setting("innodb_thread_concurrency")
"""How many threads InnoDB lets in; 0 for any number."""


def history_growth(one: Measured) -> float | None:
    """Return by how many undo logs per second the history list grew; 0 where it shrank.

    None for a trial with several numbers of threads, because the growth between them belongs to no measured second.
    """
    history, watched = one.gauge("innodb", "history_list"), one.watched.get("innodb")
    if history is None or watched is None or watched.seconds <= 0 or one.windows > 1:
        return None
    return max(0.0, history.last - history.first) / watched.seconds
