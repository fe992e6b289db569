"""What variables cost in memory: one table, which estimates and explanations share. Each rule names its source.

`manual` is the MySQL Reference Manual, `kb` the MariaDB documentation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from dialin.model.setting import Setting, Value, as_number, means_off, means_on
from dialin.variables.size_units import with_letter


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
    """What a variable costs in memory, in a sentence; `part` is its name in an estimate, for what is allotted once.

    `grows` is, for what is taken as it is used, how often a load may use all of it; None where that is not known.
    """

    allotted: Allotted
    text: str
    part: str = ""
    source: str = "manual, How MySQL Uses Memory"
    grows: Allotted | None = None

    def times(self, connections: int) -> int:
        """Return how often a server may take the value of the variable under this many connections; 0 where not known."""
        times = {Allotted.ONCE: 1, Allotted.CONNECTION: connections, Allotted.NEED: connections}
        return times.get(self.grows or self.allotted, 0)


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
    "tmp_table_size": MemoryRule(Allotted.USE, "each temporary table in memory grows up to it", grows=Allotted.CONNECTION),
    "max_heap_table_size": MemoryRule(Allotted.USE, "each MEMORY table grows up to it"),
    "temptable_max_ram": MemoryRule(
        Allotted.USE, "all temporary tables together grow up to it", source="manual", grows=Allotted.ONCE
    ),
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
    if means_off(values.get("query_cache_type")):
        needed["query cache"] = 0
    largest = max(_taken(Allotted.NEED, sizes))
    needed["session buffers"] = threads * (largest + sum(_taken(Allotted.CONNECTION, sizes)))
    needed["server itself"] = _SERVER + (_PERFORMANCE_SCHEMA if means_on(values.get("performance_schema")) else 0)
    return {part: size for part, size in needed.items() if size}


def _taken(allotted: Allotted, sizes: Mapping[str, int]) -> list[int]:
    return [sizes.get(name, 0) for name, rule in MEMORY.items() if rule.allotted is allotted]


REDO_LOG = ("innodb_redo_log_capacity", "innodb_log_file_size", "innodb_log_files_in_group")
"""The variables that set the size of the redo log; where a server has the first, it ignores the others."""
_WHOLE = 2**20
_FINENESS = 20
"""A scale is a multiple of 5 %."""


@dataclass(frozen=True, slots=True)
class Room:
    """What a machine has for a server: bytes of memory, free and in all, free bytes on its disk, and CPUs.

    Attributes:
        limit: the memory limit of the server's container, within which `memory` and `total_memory` are; None without one.
    """

    memory: int
    total_memory: int
    disk: int
    cpus: int
    limit: int | None = None

    def limited(self, memory: int | None) -> Room:
        """Return the room in a container with a memory limit in bytes; this one where that is None or more than there is."""
        if memory is None or memory >= self.memory:
            return self
        return replace(self, memory=memory, total_memory=memory, limit=memory)


@dataclass(frozen=True, slots=True)
class Need:
    """What a server needs: bytes of memory by part, and the bytes that its redo log grows to on disk."""

    memory: Mapping[str, int]
    redo_log: int

    def fits(self, room: Room) -> bool:
        return sum(self.memory.values()) <= room.memory and self.redo_log <= room.disk


def need(setting: Setting, defaults: Mapping[str, str], threads: int, room: Room) -> Need:
    chosen = {**setting, **dedicated_sizes(setting, defaults, room)}
    values = {**defaults, **chosen}
    if "innodb_log_file_size" in chosen and "innodb_redo_log_capacity" not in chosen:
        values.pop("innodb_redo_log_capacity", None)  # the server derives it from the files
    return Need(memory_needed(values, threads), redo_log_size(values))


def redo_log_size(values: Mapping[str, Value | str]) -> int:
    """Return the bytes that the redo log of a server grows to, by the values in force; 0 where they do not say."""
    capacity, size, files = (as_number(values.get(name, "")) or 0 for name in REDO_LOG)
    return int(capacity or size * (files or 1))


def scaled(setting: Setting, scale: float) -> tuple[dict[str, Value], str]:
    """Return a setting with its caches and its redo log multiplied, in whole MiB, and a sentence on what became of them."""
    changed: dict[str, Value] = {}
    for name, value in setting.items():
        is_size = name in REDO_LOG or (name in MEMORY and MEMORY[name].allotted is Allotted.ONCE)
        number = as_number(value)
        if is_size and number is not None and number >= 2 * _WHOLE:
            changed[name] = with_letter(max(1, int(number * scale) // _WHOLE) * _WHOLE)
    sizes = ", ".join(f"{name} {setting[name]} is {value}" for name, value in changed.items())
    return {**setting, **changed}, f"sizes scaled to {100 * scale:g} %: {sizes}" if changed else ""


def fitting_scale(settings: Sequence[Setting], defaults: Mapping[str, str], threads: int, room: Room) -> float | None:
    """Return the largest scale, a multiple of 5 %, with which each setting fits a machine; None where none does."""
    for steps in range(_FINENESS - 1, 0, -1):
        scale = steps / _FINENESS
        if all(need(scaled(setting, scale)[0], defaults, threads, room).fits(room) for setting in settings):
            return scale
    return None


def dedicated_sizes(setting: Setting, defaults: Mapping[str, str], room: Room) -> dict[str, Value]:
    """Return the sizes that `innodb_dedicated_server` chooses on a machine, as far as the setting does not give them.

    Source: manual 8.4, Enabling Automatic InnoDB Configuration for a Dedicated MySQL Server; 8.0 sizes the redo log by memory.
    The share is of whole GiB, as tests_live/test_option_files.py shows on 9.7.
    """
    if not means_on(setting.get("innodb_dedicated_server")):
        return {}
    memory = room.total_memory // 2**30
    share = 0.75 if memory > 4 else 0.5
    sizes: dict[str, Value] = {
        "innodb_buffer_pool_size": int(memory * share * 2**30) or 128 * 2**20,
        "innodb_redo_log_capacity": min(max(1, room.cpus // 2), 16) * 2**30,
    }
    return {name: size for name, size in sizes.items() if name in defaults and name not in setting}
