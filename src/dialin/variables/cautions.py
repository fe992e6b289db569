"""Variables whose effective value does not show what a server really does, and values that servers accept and die of.

`manual` is the MySQL Reference Manual, `kb` the MariaDB documentation, `percona` that of Percona Server, of which no build was
here; `read on` means that it was observed on a running build.
"""

from __future__ import annotations

from collections.abc import Mapping

from dialin.model.build import Family, Vendor
from dialin.model.setting import Value, as_number, is_one_of, parse_value
from dialin.variables.behaviour import IN_MEMORY_TABLES, Behaviour, Span

_MYSQL, _MARIADB, _PERCONA = Family.MYSQL, Family.MARIADB, Vendor.PERCONA

_NEEDS_POOL = Behaviour(
    "without effect unless thread_handling is pool-of-threads",
    "percona, Thread Pool; kb, Thread Pool in MariaDB",
    (Span(_PERCONA), Span(_MARIADB)),
)
_OF_POOL = (
    *("high_prio_mode", "high_prio_tickets", "oversubscribe", "size", "stall_limit", "idle_timeout", "max_threads"),
    *("dedicated_listener", "prio_kickup_timer", "priority"),
)
_IGNORED_XTRADB = Behaviour("deprecated and ignored", "kb, mariadbd options of 10.2", (Span(_MARIADB, (10, 2), (10, 2)),))
_OLD_DOUBLEWRITE = Behaviour(
    "without effect: the doublewrite buffer is that of MySQL, in innodb_doublewrite_dir",
    "percona 8.0, XtraDB Performance Improvements, and notes of release 8.3.0-1",
    (Span(_PERCONA, (8, 0, 20)),),
)

CAUTIONS: Mapping[str, tuple[Behaviour, ...]] = {
    **{f"thread_pool_{name}": (_NEEDS_POOL,) for name in _OF_POOL},
    "thread_cache_size": (
        Behaviour("without effect under thread_handling = pool-of-threads", "kb, Thread Pool in MariaDB", (Span(_MARIADB),)),
    ),
    "innodb_parallel_doublewrite_path": (_OLD_DOUBLEWRITE,),
    "innodb_parallel_dblwr_encrypt": (_OLD_DOUBLEWRITE,),
    "innodb_empty_free_list_algorithm": (
        Behaviour("under backoff a thread that finds no free page waits for the thread that flushes for it; under legacy, the "
                "way of MySQL, it flushes one itself",
            "percona, XtraDB Performance Improvements for I/O-Bound Highly-Concurrent Workloads; kb",
            (Span(_PERCONA, (5, 6)), Span(_MARIADB, (10, 0), (10, 1)))),
        _IGNORED_XTRADB,
    ),
    "innodb_cleaner_lsn_age_factor": (
        Behaviour("under high_checkpoint, the default, adaptive flushing keeps a higher checkpoint age than under legacy, "
                "MySQL's", "percona 5.6, Page Cleaner Thread Tuning; kb",
            (Span(_PERCONA, (5, 6)), Span(_MARIADB, (10, 0), (10, 1)))),
        _IGNORED_XTRADB,
    ),
    "slow_query_log_use_global_control": (
        Behaviour("for the variables that it names, sessions use the global value, also those that began before it was set",
            "percona, Slow Query Log", (Span(_PERCONA),)),
    ),
    "log_slow_sp_statements": (
        Behaviour("while it is ON, the slow log has the statements of stored procedures and not their CALL",
            "percona, Slow Query Log", (Span(_PERCONA),)),
    ),
    "innodb_thread_concurrency": (
        Behaviour("threads that wait to enter InnoDB when it is set back to 0 wait on, and their clients with them",
            "read on 5.6.24; 8.0.33 and 9.7.4 let them enter; the other builds were not tried",
            (Span(_MYSQL, (5, 5), (5, 7)), Span(_MARIADB, (), (10, 4))), strands_at=(0,)),
    ),
    "innodb_thread_sleep_delay": (
        Behaviour("the server itself adjusts it, up to innodb_adaptive_max_sleep_delay, unless that is 0; it has an effect "
                "only if innodb_thread_concurrency is above 0",
            "manual, innodb_adaptive_max_sleep_delay and innodb_thread_sleep_delay",
            (Span(_MYSQL, (5, 6)), Span(_MARIADB, (10, 0), (10, 4))), adapts_above_0="innodb_adaptive_max_sleep_delay"),
    ),
    "tmp_table_size": (
        Behaviour("temporary tables in memory grow to the smaller of it and max_heap_table_size",
            "manual 5.7, Internal Temporary Table Use in MySQL; kb, tmp_table_size", IN_MEMORY_TABLES),
    ),
    "innodb_buffer_pool_instances": (
        Behaviour("below 1000 MiB of pool there is really one instance, although the server reports the requested number",
            "pools counted on 5.5.9", (Span(_MYSQL, (5, 5), (5, 5)),)),
        Behaviour("below 1 GiB of pool there is really one instance, although the server reports the requested number",
            "pools counted on 5.6.24 and MariaDB 10.1", (Span(_MYSQL, (5, 6), (5, 6)), Span(_MARIADB, (10, 0), (10, 1)))),
        Behaviour("0 leaves the number to the server", "manual; read on 5.6.24, 8.0.33, 10.1.23 and 10.2.11",
            (Span(_MYSQL, (5, 6), (8, 3)), Span(_MARIADB, (10, 0), (10, 4)))),
        Behaviour("0 leaves the number to the server, which dies of it with a pool of 2 GiB (SIGFPE)",
            "read on 9.7.4, which publishes 0 as the least", (Span(_MYSQL, (9, 7)),), dies_of=(0,)),
    ),
    "innodb_flush_method": (
        Behaviour("data files are opened buffered under O_DIRECT, and the redo log direct", "flags of open files on 10.1.13",
            (Span(_MARIADB, (10, 1, 13), (10, 1, 13)),)),
    ),
    "innodb_flush_log_at_trx_commit": (
        Behaviour("3, which MariaDB has, becomes 2", "read on 5.5.9, 5.6.24 and 9.7.4", (Span(_MYSQL),)),
        Behaviour("each session may have its own value where innodb_use_global_flush_log_at_trx_commit is OFF",
            "percona, Improved InnoDB I/O Scalability", (Span(_PERCONA, (5, 5), (5, 7)), Span(_MARIADB, (10, 0), (10, 1)))),
    ),
    "read_buffer_size": (Behaviour("a start says nothing of the rounding; SET warns", "read on all builds"),),
    "table_open_cache_instances": (
        Behaviour("the default shown is what this machine's limit of open files leaves; without the limit it is 8",
            "read on MariaDB 10.11.5, 10.11.19 and 11.4.5", (Span(_MARIADB, (10, 11)),)),
    ),
}  # fmt: skip
"""Variables whose effective value does not show what a server really does."""


def kills(build_id: str, name: str, value: Value) -> str | None:
    """Return how a value that a server accepts can crash it, as a sentence without its full stop; None where none is known."""
    return next((trap.text for trap in _cautions(build_id, name) if is_one_of(value, trap.dies_of)), None)


def strands(build_id: str, name: str, value: Value) -> str | None:
    """Return which threads keep waiting when a variable is set back to a value, as a clause; None where none is known."""
    return next((trap.text for trap in _cautions(build_id, name) if is_one_of(value, trap.strands_at)), None)


def adapts_itself(variable: str, in_force: Mapping[str, object], build_id: str | None = None) -> str | None:
    """Return the variable that lets the server adjust another one by itself, where that is in force; None where it is not.

    Without `build_id` the values in force tell: a server that adjusts nothing has no such variable.
    """
    switches = [trap.adapts_above_0 for trap in _cautions(build_id, variable)]
    return next((switch for switch in switches if as_number(parse_value(str(in_force.get(switch, 0))))), None)


def _cautions(build_id: str | None, name: str) -> list[Behaviour]:
    return [trap for trap in CAUTIONS.get(name, ()) if build_id is None or trap.is_of(build_id)]
