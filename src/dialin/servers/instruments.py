"""Instruments of the performance schema: the options for collecting raw waits, and the instruments that a pattern selects."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress

from dialin.answers import number, single, whole
from dialin.errors import ServerError
from dialin.model.query import Query
from dialin.model.setting import Value
from dialin.servers.capabilities import Capability, Versioned, has

MOST_ROWS = 1_048_576
"""The most rows that `events_waits_history_long` can hold, on every build from 5.5.9 to 9.7.4 and 10.1.13 to 11.4.5."""

_ROW_BYTES = 200
"""Upper limit for one row: 120 bytes (5.5.9) to 184 (5.6.24, 10.1.13), as `SHOW ENGINE PERFORMANCE_SCHEMA STATUS` shows."""

_SHARE = 16
"""The ring takes at most one sixteenth of the free memory."""

_INSTANCES = 262_144
"""Locks of each kind that are instrumented: builds that allocate this at startup would otherwise stop at some thousands."""

_NEAREST = 3


def start_options(build: Versioned, pattern: str, memory: int) -> dict[str, Value]:
    """Return the startup options for collecting raw waits; `memory` is the free memory in bytes."""
    rows = max(1, min(MOST_ROWS, memory // _SHARE // _ROW_BYTES))
    options: dict[str, Value] = {"performance_schema": "ON", "performance_schema_events_waits_history_long_size": rows}
    if has(build, Capability.INSTRUMENT_OPTION):
        options["performance_schema_consumer_events_waits_current"] = "ON"
        options["performance_schema_consumer_events_waits_history_long"] = "ON"
    if has(build, Capability.LOCKS_INSTRUMENTED_AT_START):
        wide = pattern if "%" in pattern else f"%{pattern}%"
        options["performance_schema_instrument"] = f"{wide}=ON"
        options["performance_schema_max_mutex_instances"] = _INSTANCES
        options["performance_schema_max_rwlock_instances"] = _INSTANCES
    return options


def all_waits(query: Query) -> list[str]:
    """Return the names of all wait instruments of a server whose performance schema is on."""
    return [str(name) for (name,) in query("SELECT NAME FROM performance_schema.setup_instruments WHERE NAME LIKE 'wait/%'")]


def matching_instruments(pattern: str, names: Iterable[str]) -> list[str]:
    """Return the names that contain `pattern`, or match it if it contains the wildcard `%`; case does not matter."""
    if "%" not in pattern:
        return [name for name in names if pattern.casefold() in name.casefold()]
    like = re.compile(".*".join(map(re.escape, pattern.split("%"))), re.IGNORECASE)
    return [name for name in names if like.fullmatch(name)]


def nearest(pattern: str, names: Sequence[str]) -> list[str]:
    """Return the instruments whose last part is spelled most like a pattern, at most three."""
    by_part: dict[str, str] = {}
    for name in names:
        by_part.setdefault(name.rpartition("/")[2].casefold(), name)
    last_part = pattern.replace("%", "").rpartition("/")[2].casefold()
    return [by_part[part] for part in difflib.get_close_matches(last_part, by_part, n=_NEAREST, cutoff=0.4)]


def wait_timer(query: Query) -> tuple[str, float]:
    """Return the timer that measures waits and its ticks per second; 0 where the server does not report them."""
    name = "CYCLE"  # the timer of builds that offer no choice
    with suppress(ServerError):
        name = str(single(query("SELECT TIMER_NAME FROM performance_schema.setup_timers WHERE NAME = 'wait'")))
    rows = query("SELECT TIMER_FREQUENCY FROM performance_schema.performance_timers WHERE TIMER_NAME = %s", (name,))
    return name, number(rows[0][0] or 0) if rows else 0.0


def lost_instances(query: Query) -> dict[str, int]:
    """Return how many objects the server had no room to instrument, by status variable; empty if it had room for all."""
    shown = query("SHOW GLOBAL STATUS LIKE 'Performance_schema%instances_lost'")
    return {str(name): lost for name, value in shown if (lost := whole(value))}
