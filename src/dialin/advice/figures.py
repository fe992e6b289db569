"""The figures of a server that rules of advice compare with their thresholds; None where a figure could not be read."""

from __future__ import annotations

from collections.abc import Callable

from dialin.advice.server_reading import ServerReading
from dialin.evidence.measured import FigureOf
from dialin.evidence.reasons import shared_figures
from dialin.evidence.reasons.limits_hit import LIMITS
from dialin.evidence.reasons.rule import mean_of, per_second, quotient

Figure = Callable[[ServerReading], float | None]

LIMIT_OF = {limit.code: limit for limit in LIMITS}


def of(figure: FigureOf) -> Figure:
    """Return a figure of evidence as a figure of a server's reading."""
    return lambda reading: figure(reading.measured)


def limit(code: str) -> Figure:
    """Return how near the server came to a limit that evidence knows."""
    return of(LIMIT_OF[code].of)


def rate(*counters: str) -> Figure:
    """Return the rate of status counters, added up."""
    return of(per_second("status", *counters))


def share(top: str, bottom: str, least: float = 0.1) -> Figure:
    """Return one status counter as a share of another; None where the other grows by no more than `least` per second."""
    return of(quotient(per_second("status", top), per_second("status", bottom), least))


def variable(name: str) -> Figure:
    """Return a variable in force as a number."""
    return lambda reading: reading.number(name)


queries = rate("Questions")
pool_misses = rate("Innodb_buffer_pool_reads")
pages_written = of(shared_figures.pages_written)
tree_searches = of(shared_figures.tree_searches)
ibuf_merges = of(per_second("metrics", "ibuf_merges"))
history_growth = of(shared_figures.history_growth)
redo_capacity = of(shared_figures.redo_capacity)
pending_reads = of(mean_of("status", "Innodb_data_pending_reads"))


def running(reading: ServerReading) -> float | None:
    """Return the threads at work on average; the probe that asks is one of them and is left out."""
    threads = of(mean_of("status", "Threads_running"))(reading)
    return None if threads is None else max(0.0, threads - 1)


def page_io(reading: ServerReading) -> float | None:
    """Return the pages read from disk and written per second."""
    reads, writes = pool_misses(reading), pages_written(reading)
    return None if reads is None or writes is None else reads + writes


def miss_share(reading: ServerReading) -> float | None:
    """Return the share of the pool's read requests that went to the disk."""
    return share("Innodb_buffer_pool_reads", "Innodb_buffer_pool_read_requests", least=1.0)(reading)


def running_per_cpu(reading: ServerReading) -> float | None:
    """Return the threads at work for each CPU of the server's machine."""
    threads, cpus = running(reading), reading.situation.cpus
    return None if threads is None or not cpus else threads / cpus


def hash_misses(reading: ServerReading) -> float | None:
    """Return the share of searches that the adaptive hash index does not answer."""
    hits = of(shared_figures.hash_share)(reading)
    return None if hits is None else 1 - hits


def query_cache_misses(reading: ServerReading) -> float | None:
    """Return the share of SELECTs that the query cache does not answer."""
    hits, selects = rate("Qcache_hits")(reading), rate("Com_select")(reading)
    return None if hits is None or selects is None or hits + selects < 1 else selects / (hits + selects)


def latch_waits(reading: ServerReading) -> float | None:
    """Return how often per second a thread slept for a latch of InnoDB."""
    names = [f"spin/{kind}/os_waits" for kind in ("mutex", "rw_shared", "rw_excl", "rw_sx")]
    return of(per_second("innodb", *names))(reading)


def commits(reading: ServerReading) -> float | None:
    """Return the commits of transactions that write, per second: those of the binary log, else those of clients."""
    if reading.is_on("log_bin"):
        return rate("Binlog_cache_use")(reading)
    return rate("Handler_commit")(reading)


def redo_hours(reading: ServerReading) -> float | None:
    """Return how often an hour of this load's writes would fill the redo log."""
    written, capacity = rate("Innodb_os_log_written")(reading), redo_capacity(reading)
    return None if written is None or not capacity else 3600 * written / capacity


def pool_of_memory(reading: ServerReading) -> float | None:
    """Return the buffer pool as a share of the memory that the server may have."""
    pool, memory = reading.number("innodb_buffer_pool_size"), reading.situation.memory
    return None if pool is None or memory in (0, float("inf")) else pool / memory


def is_memory_known(reading: ServerReading) -> bool:
    return 0 < reading.situation.memory < float("inf")


def is_solid_state(reading: ServerReading) -> bool:
    """Return whether the data lie on a disk that does not seek."""
    return reading.situation.spinning is False
