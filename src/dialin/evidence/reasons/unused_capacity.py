"""Memory and capacity that was reserved and never used, reported whether or not candidates differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dialin.evidence import measured
from dialin.evidence.measured import FigureOf, MeasuredTrial, by_candidate
from dialin.evidence.reasons import shared_figures, sources
from dialin.evidence.reasons.rule import holding_for, setting
from dialin.model.record import StudyRecord
from dialin.model.setting import means_off, means_on
from dialin.model.why import Reason, ReasonChart, ReasonKind
from dialin.text import number, percent, size
from dialin.variables.memory import REDO_LOG

Use = tuple[float, float]
"""The most that was used, and the capacity, in the same unit."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """Something that a server reserves.

    Attributes:
        code: identifies the capacity in scripts and in the table of docs/why.md.
        used: returns the use in a trial; None where it is unknown or nothing was reserved.
        share: the largest share in use, 0 to 1, at which the capacity counts as unused.
        sentence: makes the sentence from the use that came closest to the capacity.
        about: variables. Where it is not empty, the capacity is reported only in a study of one of them, because reserving it
            costs little.
    """

    code: str
    name: str
    used: Callable[[MeasuredTrial], Use | None]
    share: float
    sentence: Callable[[Use], str]
    source: str
    unit: str
    about: tuple[str, ...] = ()


def unused(record: StudyRecord, trials: Sequence[MeasuredTrial]) -> list[Reason]:
    """Return what candidates reserved and did not use in any of their trials."""
    reasons = (_check(capacity, record, trials) for capacity in CAPACITIES)
    return [reason for reason in reasons if reason is not None]


def _check(capacity: Capacity, record: StudyRecord, trials: Sequence[MeasuredTrial]) -> Reason | None:
    if capacity.about and not set(capacity.about) & set(record.spec.variables_under_test):
        return None
    uses = {one.trial.id: use for one in trials if (use := capacity.used(one)) is not None and use[1] > 0}
    names = measured.names(trials, record)
    shares = {trial_id: used / capacity_of_trial for trial_id, (used, capacity_of_trial) in uses.items()}
    grouped = by_candidate(shares, trials, names)
    unused_by = [name for name, values in grouped.items() if max(values) <= capacity.share]
    if not unused_by:
        return None
    closest = max(
        (one.trial.id for one in trials if one.trial.id in uses and one.trial.candidate in unused_by), key=shares.__getitem__
    )
    most = by_candidate({trial_id: use[0] for trial_id, use in uses.items()}, trials, names)
    return Reason(
        code=capacity.code,
        kind=ReasonKind.UNUSED,
        text=f"{capacity.sentence(uses[closest])}{holding_for(unused_by, record)}.",
        source=capacity.source,
        strength=0.0,
        chart=ReasonChart(
            title=f"{capacity.name}: highest use",
            unit=capacity.unit,
            values=most,
            levels={name: max(values) for name, values in most.items()},
        ),
    )


def _change_buffer(one: MeasuredTrial) -> Use | None:
    pages, pool = one.gauge("innodb", "ibuf_size_pages"), one.setting("innodb_buffer_pool_size")
    most = one.setting("innodb_change_buffer_max_size")
    if pages is None or pool is None or most is None or one.trial.in_force.get("innodb_change_buffering") == "none":
        return None
    return pages.most * shared_figures.page_size(one), pool * most / 100


def _buffer_pool(one: MeasuredTrial) -> Use | None:
    free = one.gauge("status", "Innodb_buffer_pool_pages_free") or one.gauge("innodb", "free_pages")
    total = one.gauge("status", "Innodb_buffer_pool_pages_total") or one.gauge("innodb", "pool_size_pages")
    if free is None or total is None or total.most <= 0:
        return None
    always_free = (one.setting("innodb_lru_scan_depth") or 0.0) * (one.setting("innodb_buffer_pool_instances") or 1.0)
    # The page cleaner keeps `always_free` pages free, however small the pool is: these pages count as used.
    unused_pages = max(0.0, free.least - always_free)
    return (total.most - unused_pages) * shared_figures.page_size(one), total.most * shared_figures.page_size(one)


def _query_cache(one: MeasuredTrial) -> Use | None:
    size_of_cache, hits = one.setting("query_cache_size"), one.rise("status", "Qcache_hits")
    if not size_of_cache or hits is None or means_off(one.trial.in_force.get("query_cache_type")):
        return None
    return (0.0 if hits == 0 else size_of_cache), size_of_cache


def _key_buffer(one: MeasuredTrial) -> Use | None:
    size_of_buffer, blocks = one.setting("key_buffer_size"), one.gauge("status", "Key_blocks_used")
    if size_of_buffer is None or blocks is None or size_of_buffer < _LEAST_KEY_BUFFER:
        return None
    return blocks.most * (one.setting("key_cache_block_size") or 1024), size_of_buffer


_LEAST_KEY_BUFFER = 64 * 2**20
"""Bytes below which a key buffer is not reported."""


def _key_buffer_sentence(use: Use) -> str:
    if use[0] <= 0:
        return f"The key buffer of {size(use[1])} was never used"
    return f"The key buffer never held more than {size(use[0])} of its {size(use[1])}"


def _adaptive_hash(one: MeasuredTrial) -> Use | None:
    share = shared_figures.hash_share(one)
    return None if share is None or not means_on(one.trial.in_force.get("innodb_adaptive_hash_index")) else (share, 1.0)


def _most_of(probe: str, gauge: str, limit: FigureOf) -> Callable[[MeasuredTrial], Use | None]:
    def use(one: MeasuredTrial) -> Use | None:
        used, capacity = one.gauge(probe, gauge), limit(one)
        return None if used is None or capacity is None else (used.most, capacity)

    return use


CAPACITIES: tuple[Capacity, ...] = (
    Capacity("change_buffer_unused", "change buffer", _change_buffer, 0.25,
        lambda use: (f"The change buffer never used more than {size(use[0])} of the {size(use[1])} that it may take of the "
            "buffer pool"), sources.CHANGE_BUFFER, "bytes"),
    Capacity("buffer_pool_unused", "buffer pool", _buffer_pool, 0.8,
        lambda use: (
            f"{size(use[1] - use[0])} of the {size(use[1])} buffer pool was never used ({percent(1 - use[0] / use[1])})"),
        sources.BUFFER_POOL, "bytes"),
    Capacity("query_cache_unused", "query cache", _query_cache, 0.0,
        lambda use: f"The query cache of {size(use[1])} never answered a query", sources.QUERY_CACHE, "bytes"),
    Capacity("key_buffer_unused", "key buffer", _key_buffer, 0.25, _key_buffer_sentence, sources.KEY_CACHE, "bytes"),
    Capacity("adaptive_hash_unused", "adaptive hash index", _adaptive_hash, 0.02,
        lambda use: f"The adaptive hash index was on and answered {percent(use[0])} of all searches", sources.ADAPTIVE_HASH,
        "share of searches"),
    Capacity("table_cache_unused", "table cache", _most_of("status", "Open_tables", setting("table_open_cache")), 0.25,
        lambda use: f"The table cache never held more than {number(use[0])} of its {number(use[1])} tables",
        sources.TABLE_CACHE, "tables", ("table_open_cache", "table_open_cache_instances")),
    Capacity("thread_cache_unused", "thread cache", _most_of("status", "Threads_cached", setting("thread_cache_size")), 0.25,
        lambda use: f"The thread cache never held more than {number(use[0])} of its {number(use[1])} threads",
        sources.THREAD_CACHE, "threads", ("thread_cache_size",)),
    Capacity("redo_log_unused", "redo log", _most_of("innodb", "checkpoint_age", shared_figures.redo_capacity), 0.25,
        lambda use: f"The checkpoint age never exceeded {size(use[0])} of the redo log's {size(use[1])}", sources.REDO_LOG,
        "bytes", REDO_LOG),
)  # fmt: skip
