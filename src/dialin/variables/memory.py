"""What variables cost in memory: one table, which estimates and explanations share. Each rule names its source.

`manual` is the MySQL Reference Manual, `kb` the MariaDB documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from dialin.model.setting import Value, as_number


class Allotted(StrEnum):
    """When a server takes the memory of a variable."""

    ONCE = "once"
    """One amount for the whole server."""

    CONNECTION = "connection"
    """One for each connection."""

    NEED = "need"
    """One or more for each thread, while a statement needs it."""

    USE = "use"
    """As much as is used, up to the variable's value."""

    NONE = "none"
    """None beyond what another variable allots."""


@dataclass(frozen=True, slots=True)
class MemoryRule:
    """What a variable costs in memory, in a sentence; `part` is its name in an estimate, for what is allotted once."""

    allotted: Allotted
    text: str
    part: str = ""
    source: str = "manual, How MySQL Uses Memory"


_A_SORT = "once for each sort in each thread that sorts"
_POOL_OVERHEAD = 1.02
"""A pool of 1 GiB took 1047 MiB on 9.7.4. The manual's "about 10 %" would refuse settings that fit."""

MEMORY: Mapping[str, MemoryRule] = {
    "innodb_buffer_pool_size": MemoryRule(
        Allotted.ONCE, "once, and 2 % more to manage it", "buffer pool", "manual; a pool of 1 GiB took 1047 MiB on 9.7.4"
    ),
    "key_buffer_size": MemoryRule(Allotted.ONCE, "once, for the index blocks of MyISAM tables", "key buffer"),
    "innodb_log_buffer_size": MemoryRule(Allotted.ONCE, "once", "InnoDB log buffer"),
    "aria_pagecache_buffer_size": MemoryRule(Allotted.ONCE, "once, for Aria tables", "Aria page cache", "kb"),
    "query_cache_size": MemoryRule(Allotted.ONCE, "once, unless query_cache_type is OFF", "query cache"),
    "sort_buffer_size": MemoryRule(Allotted.NEED, _A_SORT),
    "join_buffer_size": MemoryRule(
        Allotted.NEED, "once for each join without an index, so a statement over several tables can use several"
    ),
    "read_buffer_size": MemoryRule(Allotted.NEED, "once for each sequential scan of a MyISAM table in each thread that scans"),
    "read_rnd_buffer_size": MemoryRule(Allotted.NEED, "once for each thread that reads rows after a sort"),
    "net_buffer_length": MemoryRule(
        Allotted.CONNECTION, "for each connection; it grows to max_allowed_packet when that is needed"
    ),
    "binlog_cache_size": MemoryRule(Allotted.CONNECTION, "for each connection that writes, where there is a binary log"),
    "thread_stack": MemoryRule(Allotted.USE, "for each connection, as much as it uses"),
    "max_allowed_packet": MemoryRule(
        Allotted.USE, "a connection's buffers grow up to it while a large row or statement passes"
    ),
    "tmp_table_size": MemoryRule(Allotted.USE, "each temporary table in memory grows up to it"),
    "max_heap_table_size": MemoryRule(Allotted.USE, "each MEMORY table grows up to it"),
    "temptable_max_ram": MemoryRule(Allotted.USE, "all temporary tables together grow up to it", source="manual"),
    "bulk_insert_buffer_size": MemoryRule(Allotted.USE, "for each thread that inserts many rows into a MyISAM table at once"),
    "myisam_sort_buffer_size": MemoryRule(Allotted.USE, "once for each MyISAM index that is built or repaired"),
    "innodb_sort_buffer_size": MemoryRule(Allotted.USE, "a few for each InnoDB index that is built", source="manual"),
    "table_open_cache": MemoryRule(Allotted.USE, "for each open table, with its files"),
    "innodb_buffer_pool_instances": MemoryRule(Allotted.NONE, "none: the instances share the size of the pool"),
    "innodb_change_buffer_max_size": MemoryRule(Allotted.NONE, "none: it is a share of the buffer pool"),
    "innodb_adaptive_hash_index": MemoryRule(Allotted.NONE, "none: the index is built in the buffer pool"),
}
"""The memory that a server takes because of a variable, for the variables of which it is known."""

_SERVER = 64 * 2**20
_PERFORMANCE_SCHEMA = 96 * 2**20


def memory_needed(values: Mapping[str, Value | str], threads: int) -> dict[str, int]:
    """Return an estimate of the memory that a server takes under load, in bytes by part.

    The estimate is low rather than high. Session buffers are taken only when a query needs them, so only the largest of them
    counts, once for each thread. Memory that is taken as it is used (temporary tables, thread stacks) does not count. The
    shares of the server itself and of its performance schema are below those of idle servers (10.11.19: 108 MiB in all; 9.7.4:
    244 MiB for the performance schema).
    """
    sizes = {name: max(0, int(as_number(value) or 0)) for name, value in values.items() if as_number(value) is not None}
    needed = {rule.part: sizes.get(name, 0) for name, rule in MEMORY.items() if rule.allotted is Allotted.ONCE}
    needed["buffer pool"] = int(needed["buffer pool"] * _POOL_OVERHEAD)
    if str(values.get("query_cache_type", "ON")).upper() in ("OFF", "0"):
        needed["query cache"] = 0
    largest = max(_taken(Allotted.NEED, sizes))
    needed["session buffers"] = threads * (largest + sum(_taken(Allotted.CONNECTION, sizes)))
    schema = str(values.get("performance_schema", "OFF")).upper() in ("ON", "1")
    needed["server itself"] = _SERVER + (_PERFORMANCE_SCHEMA if schema else 0)
    return {part: size for part, size in needed.items() if size}


def _taken(allotted: Allotted, sizes: Mapping[str, int]) -> list[int]:
    return [sizes.get(name, 0) for name, rule in MEMORY.items() if rule.allotted is allotted]
