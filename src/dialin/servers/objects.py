"""The objects that a server really created for its variables: counted, because servers report values that they do not use.

MySQL 5.5 and 5.6 and MariaDB 10.1 report 8 or 64 buffer pool instances below 1 GiB and have one; MariaDB 10.1.13 reports
`O_DIRECT` and opens its data files buffered. A count takes precedence over the reported value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dialin.answers import whole
from dialin.model.query import Query
from dialin.model.setting import Value
from dialin.servers.capabilities import Capability, Versioned, has
from dialin.servers.connection import RefusedError

_O_DIRECT = 0o40000
_DATA_FILES = ("ibdata", ".ibd")
_REDO_FILES = ("ib_logfile", "#ib_redo")


_POOLS = "SELECT COUNT(*) FROM information_schema.innodb_buffer_pool_stats"
_MUTEXES = "SELECT COUNT(*) FROM performance_schema.mutex_instances WHERE name LIKE %s"
_RW_LOCKS = "SELECT COUNT(*) FROM performance_schema.rwlock_instances WHERE name LIKE %s"


@dataclass(frozen=True, slots=True)
class _Lock:
    """A lock that exists once per object of a variable; `statement` counts these locks by name.

    It is used only for builds with the capability `needs`; None means all builds.
    """

    variable: str
    statement: str
    name: str
    needs: Capability | None = None


# Verified on 9.7.4, 8.0.33, 5.6.24, 5.5.9 and MariaDB 10.1.23 to 11.4.5.
_LOCKS = (
    _Lock("innodb_buffer_pool_instances", _MUTEXES, "wait/synch/mutex/innodb/buf\\_pool\\_mutex", Capability.POOL_MUTEX),
    _Lock("table_open_cache_instances", _MUTEXES, "wait/synch/mutex/sql/LOCK\\_table\\_cache"),
    _Lock("innodb_adaptive_hash_index_parts", _RW_LOCKS, "wait/synch/%/innodb/btr\\_search\\_latch"),
    _Lock("innodb_adaptive_hash_index_partitions", _RW_LOCKS, "wait/synch/%/innodb/btr\\_search\\_latch"),
)


def counted_by_locks(build: Versioned, variables: Mapping[str, object]) -> bool:
    """Return whether some of these variables have objects that can be counted only by their locks."""
    return any(lock.variable in variables and (lock.needs is None or has(build, lock.needs)) for lock in _LOCKS)


def instrumented(build: Versioned) -> dict[str, Value]:
    """Return the options that make every lock visible; servers of trials are never started with them."""
    if has(build, Capability.INSTRUMENT_OPTION):
        return {"performance_schema": "ON", "performance_schema_instrument": "wait/synch/%=ON"}
    return {"performance_schema": "ON"}


def real_objects(query: Query, pid: int | None, build: Versioned, in_force: Mapping[str, str]) -> dict[str, str]:
    """Count the objects behind the variables that a server reports; `pid` is None for a server on another machine.

    Returns:
        By variable: a number of objects; for `innodb_flush_method`, how the files are open (`data O_DIRECT, redo buffered`).
        What cannot be counted here (a lock that is not instrumented, a missing privilege) is left out.
    """
    counts: dict[str, str] = {}
    for lock in _LOCKS:
        if lock.variable in in_force and (lock.needs is None or has(build, lock.needs)):
            extra = lock.variable == "table_open_cache_instances" and has(build, Capability.SPARE_TABLE_CACHE_LOCK)
            count = _count(query, lock.statement, lock.name) - (1 if extra else 0)
            if count > 0:
                counts[lock.variable] = str(count)
    if "innodb_buffer_pool_instances" in in_force and has(build, Capability.POOL_STATS):
        pools = _count(query, _POOLS)
        if pools > 0:
            counts["innodb_buffer_pool_instances"] = str(pools)
    if pid is not None and (files := _open_files(pid)):
        counts["innodb_flush_method"] = files
    return counts


def _count(query: Query, statement: str, *arguments: str) -> int:
    with suppress(RefusedError):
        # MySQL 5.6 has been seen to answer with no row at all while it loads the buffer pool.
        return whole(rows[0][0]) if (rows := query(statement, arguments)) else 0
    return 0


def _open_files(pid: int) -> str:
    """Return how a server's data and redo files are open, from the kernel's flags; empty if the flags cannot be read."""
    modes: dict[str, Counter[str]] = {"data": Counter(), "redo": Counter()}
    with suppress(OSError):
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError, ValueError):  # the server may close a file meanwhile
                name = link.readlink().name
                kind = "data" if name.startswith(_DATA_FILES[0]) or name.endswith(_DATA_FILES[1]) else "redo"
                if kind == "redo" and not name.startswith(_REDO_FILES):
                    continue
                modes[kind]["O_DIRECT" if _flags(pid, link.name) & _O_DIRECT else "buffered"] += 1
    # The most common mode: a file that is being created, or read by another code path, may differ for a moment.
    return ", ".join(f"{kind} {counts.most_common(1)[0][0]}" for kind, counts in modes.items() if counts)


def _flags(pid: int, descriptor: str) -> int:
    for line in Path(f"/proc/{pid}/fdinfo/{descriptor}").read_text(encoding="ascii").splitlines():
        name, _, value = line.partition(":")
        if name == "flags":
            return int(value, 8)
    raise ValueError(f"no flags of {descriptor}")
