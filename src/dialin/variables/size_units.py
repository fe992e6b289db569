"""Units of variables, and sizes with the letters of option files."""

from __future__ import annotations

import re

from dialin.model.setting import Value

_LETTERS = "KMGTPE"
_CLOSE = 64 * 1024
_LARGE = 2**30
_LIMITS = 2**50

BYTES, SECONDS, MILLISECONDS, MICROSECONDS, PERCENT = "bytes", "seconds", "milliseconds", "microseconds", "per cent"

_UNITS = {
    **dict.fromkeys(
        (
            "binlog_cache_size", "binlog_space_limit", "binlog_stmt_cache_size", "innodb_buffer_pool_size",
            "innodb_ft_cache_size", "innodb_ft_total_cache_size", "innodb_max_undo_log_size",
            "innodb_online_alter_log_max_size", "innodb_redo_log_capacity", "join_buffer_space_limit", "max_allowed_packet",
            "max_binlog_cache_size", "max_binlog_size", "max_binlog_stmt_cache_size", "max_heap_table_size",
            "max_relay_log_size", "max_slowlog_size", "myisam_max_sort_file_size", "net_buffer_length", "query_cache_limit",
            "query_cache_min_res_unit", "query_cache_size", "query_prealloc_size", "replica_max_allowed_packet",
            "slave_max_allowed_packet", "temptable_max_mmap", "temptable_max_ram", "thread_stack", "tmp_memory_table_size",
            "tmp_table_size", "transaction_prealloc_size",
        ),
        BYTES,
    ),
    **dict.fromkeys(
        ("innodb_flush_log_at_timeout", "information_schema_stats_expiry", "innodb_kill_idle_transaction",
         "kill_idle_transaction", "log_slow_query_time", "long_query_time", "net_buffer_shrink_interval", "slow_launch_time",
         "slow_query_log_always_write_time"),
        SECONDS,
    ),
    **dict.fromkeys(
        ("innodb_old_blocks_time", "max_execution_time", "rpl_semi_sync_master_timeout", "rpl_semi_sync_source_timeout",
         "thread_pool_prio_kickup_timer", "thread_pool_stall_limit"),
        MILLISECONDS,
    ),
    **dict.fromkeys(
        ("binlog_group_commit_sync_delay", "innodb_adaptive_max_sleep_delay", "innodb_max_purge_lag_delay",
         "innodb_thread_sleep_delay"),
        MICROSECONDS,
    ),
    "innodb_adaptive_flushing_lwm": PERCENT,
    "innodb_autoextend_increment": "megabytes",
    "innodb_change_buffer_max_size": PERCENT,
    "innodb_io_capacity": "I/O operations per second",
    "innodb_io_capacity_max": "I/O operations per second",
}  # fmt: skip
"""The units of variables whose names do not show them; source: manual, of each variable."""

_ENDINGS = (
    (re.compile(r".*_(buffer|chunk|block|page|file|log_file|write_ahead|read)_size"), BYTES),
    (re.compile(r"(?!.*semi_sync).*_timeout|.*_seconds"), SECONDS),
    (re.compile(r".*_usecs?|.*_microseconds"), MICROSECONDS),
    (re.compile(r".*_pct(_lwm|_max)?|.*_percentage"), PERCENT),
)


def unit_of(variable: str) -> str | None:
    """Return what the number of a variable counts, e.g. `bytes`; None where neither its name nor a rule says."""
    if variable in _UNITS:
        return _UNITS[variable]
    return next((unit for ending, unit in _ENDINGS if ending.fullmatch(variable)), None)


def with_letter(number: float) -> str:
    """Return a value as an option file would write it: 5242880 as `5M`, 2415919104 as `2304M`.

    A limit that falls a little short of a power of two, as a server's maxima do, reads `just under 8E`; a number that no letter
    fits is returned without a letter.
    """
    if not isinstance(number, int):
        return f"{number:g}"
    power = 1 << number.bit_length()
    # No size to set reaches a petabyte: a number that large is a limit, less a block of unknown size.
    close = _CLOSE if number < _LIMITS else power >> 12
    if number >= _LARGE and power - number <= close:
        return f"just under {_whole(power)}"
    return _whole(number)


def in_units(variable: str, value: Value) -> Value:
    """Return a number of bytes with the letter of its unit, where one fits; any other value as it is."""
    return _whole(value) if unit_of(variable) == BYTES and type(value) is int else value


def plain_number(number: float) -> str:
    """Return a number without a fraction of zero."""
    return str(int(number)) if number == int(number) else str(number)


def _whole(number: int) -> str:
    power = 0
    while number and number % 1024 == 0 and power < len(_LETTERS):
        number //= 1024
        power += 1
    return f"{number}{_LETTERS[power - 1]}" if power else str(number)
