"""Limits that were hit, reported whether or not candidates differ."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dialin.evidence import measured
from dialin.evidence.measured import FigureOf, MeasuredTrial, by_candidate, values_of
from dialin.evidence.reasons import shared_figures, sources
from dialin.evidence.reasons.rule import holding_for, per_second, per_transaction, quotient, setting
from dialin.model.record import StudyRecord
from dialin.model.why import Reason, ReasonChart, ReasonKind
from dialin.text import number, percent


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit of the server or the machine that a trial can reach.

    Attributes:
        code: identifies the limit in scripts and in the table of docs/why.md.
        of: returns the figure of a trial that is compared with `hit`.
        hit: the smallest figure at which the limit counts as reached.
        sentence: makes the sentence from the mean figure of the candidate that came nearest to the limit, and what the load
            counts, such as `transaction`.
    """

    code: str
    name: str
    unit: str
    of: FigureOf
    hit: float
    sentence: Callable[[float, str], str]
    source: str


def limits(record: StudyRecord, trials: Sequence[MeasuredTrial]) -> list[Reason]:
    """Return the limits that candidates hit, on average over their trials."""
    reasons = (_check(limit, record, trials) for limit in LIMITS)
    return [reason for reason in reasons if reason is not None]


def _check(limit: Limit, record: StudyRecord, trials: Sequence[MeasuredTrial]) -> Reason | None:
    grouped = by_candidate(values_of(limit.of, trials), trials, measured.names(trials, record))
    means = {name: statistics.fmean(values) for name, values in grouped.items()}
    at_limit = [name for name, mean in means.items() if mean >= limit.hit]
    if not at_limit:
        return None
    worst = max(at_limit, key=means.__getitem__)
    return Reason(
        code=limit.code,
        kind=ReasonKind.LIMIT,
        text=f"{limit.sentence(means[worst], record.spec.workload.traits.unit)}{holding_for(at_limit, record)}.",
        source=limit.source,
        strength=0.0,
        chart=ReasonChart(title=limit.name, unit=limit.unit, values=grouped, levels=means),
    )


def _most(probe: str, gauge: str) -> FigureOf:
    def figure(one: MeasuredTrial) -> float | None:
        readings = one.gauge(probe, gauge)
        return None if readings is None else readings.most

    return figure


def _checkpoint_most(one: MeasuredTrial) -> float | None:
    age, forced = _most("innodb", "checkpoint_age")(one), shared_figures.forced_flushing_age(one)
    return None if age is None or not forced else age / forced


def _server_cpu(one: MeasuredTrial) -> float | None:
    costs = one.trial.costs
    if costs is None or costs.server_cpu is None or costs.seconds <= 0:
        return None
    return costs.server_cpu / costs.seconds / (one.server_cpus or costs.cpus)


def _purge_behind(one: MeasuredTrial) -> float | None:
    history, growth = one.gauge("innodb", "history_list"), shared_figures.history_growth(one)
    if history is None or growth is None or one.transactions <= 0:
        return None
    return growth / one.transactions if history.last >= _LONG_HISTORY else 0.0


_LONG_HISTORY = 5_000.0

LIMITS: tuple[Limit, ...] = (
    Limit("connections_refused", "connections refused", "per second", per_second("status", "Connection_errors_max_connections"),
        1e-9, lambda x, _: f"Connections were refused because of max_connections ({number(x)} per second)",
        sources.CONNECTIONS),
    # A server accepts one connection more from an administrator, hence the cap at 100 %.
    Limit("connections_near_limit", "connections, of max_connections", "share",
        quotient(_most("status", "Threads_connected"), setting("max_connections")), 0.95,
        lambda x, _: f"{percent(min(x, 1.0))} of max_connections was in use", sources.CONNECTIONS),
    Limit("log_buffer_full", "log buffer waits", "per second", per_second("status", "Innodb_log_waits"), 0.02,
        lambda x, _: f"The log buffer was too small: transactions waited for space in it {number(x)} times per second",
        sources.LOG_BUFFER),
    Limit("no_free_page", "waits for a free page", "per second", per_second("status", "Innodb_buffer_pool_wait_free"), 0.02,
        lambda x, _: f"No page of the buffer pool was free {number(x)} times per second: flushing did not keep up",
        sources.BUFFER_POOL),
    # Whether a larger log would be better is for the verdict to say: the log of the best candidate may be as full.
    Limit("redo_log_full", "checkpoint age, of the age that forces flushing", "share", _checkpoint_most, 1.0,
        lambda x, _: f"The checkpoint age reached {percent(x)} of that from which pages are flushed to free the redo log",
        sources.REDO_LOG),
    # The page cleaner sleeps for a second before it writes: always at its limit, it reaches 0.89 (read on MySQL 5.6.24).
    Limit("io_capacity_max_reached", "pages written, of innodb_io_capacity_max", "share",
        quotient(shared_figures.pages_flushed, setting("innodb_io_capacity_max")), 0.85,
        lambda x, _: f"Flushing wrote {percent(x)} of what innodb_io_capacity_max allows it", sources.IO_CAPACITY),
    Limit("table_cache_full", "tables evicted from the cache", "per second", per_second("status", "Table_open_cache_overflows"),
        0.1, lambda x, _: f"The table cache was full and evicted {number(x)} tables/s", sources.TABLE_CACHE),
    Limit("open_files_near_limit", "open files, of open_files_limit", "share",
        quotient(_most("status", "Open_files"), setting("open_files_limit")), 0.95,
        lambda x, _: f"{percent(x)} of open_files_limit was in use", sources.OPEN_FILES),
    Limit("queries_queued_for_concurrency", "queries queued", "highest number",
        lambda one: _most("innodb", "queries_queued")(one) if shared_figures.thread_concurrency(one) else None, 1.0,
        lambda x, _: f"innodb_thread_concurrency made up to {number(x)} queries wait", sources.CONCURRENCY),
    Limit("purge_behind", "growth of the history list", "undo logs per transaction", _purge_behind, 0.5,
        lambda x, one: f"Purge did not keep up: the history list grew by {number(x)} per {one}", sources.PURGE),
    Limit("temporary_tables_on_disk", "temporary tables on disk, of all", "share",
        quotient(per_second("status", "Created_tmp_disk_tables"), per_second("status", "Created_tmp_tables"), least=0.1), 0.1,
        lambda x, _: f"{percent(min(x, 1.0))} of the temporary tables went to disk", sources.TEMPORARY),
    Limit("sort_buffer_full", "sort merge passes", "per transaction", per_transaction("status", "Sort_merge_passes"), 0.05,
        lambda x, one: f"Sorts did not fit sort_buffer_size: {number(x)} merge passes per {one}", sources.SORTING),
    Limit("server_cpu_full", "CPU of the server, of what it may use", "share", _server_cpu, 0.95,
        lambda x, _: f"The server used {percent(min(x, 1.0))} of the CPUs that it may use", sources.PROC_STAT),
    Limit("cpu_quota_used_up", "periods in which the CPU quota was used up", "share",
        quotient(per_second("process", "throttled_periods"), per_second("process", "quota_periods"), least=1.0), 0.05,
        lambda x, _: f"The CPU quota of the server's container was used up in {percent(min(x, 1.0))} of its periods, and all "
        "threads waited for the next", sources.CPU_QUOTA),
    Limit("memory_short", "some task waited for memory", "share of the time", per_second("machine", "pressure_memory_seconds"),
        0.01, lambda x, _: f"Memory was short: some task waited for it {percent(x)} of the time", sources.PRESSURE),
)  # fmt: skip
