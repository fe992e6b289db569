"""Which variables make a server log every statement, in which order they are set, and which of them sessions copy.

A session copies `long_query_time` when it begins: one that is older than the new value never appears in the slow log. So the
server is *armed* first, while nothing is written, and the log is switched on once the clients have reconnected. On MariaDB a
session copies `slow_query_log` as well, so that there `log_output` is what keeps the log from being written meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import BinaryIO, Self

from dialin.answers import member
from dialin.errors import UserError
from dialin.servers.assign import Wanted
from dialin.servers.capabilities import Capability, Versioned, has
from dialin.servers.setter import is_in_force


class Source(StrEnum):
    """The log that a capture is made of."""

    SLOW = "slow"
    GENERAL = "general"


_OTHER_NAMES = {
    "slow_query_log": "log_slow_query",
    "slow_query_log_file": "log_slow_query_file",
    "long_query_time": "log_slow_query_time",
    "min_examined_row_limit": "log_slow_min_examined_row_limit",
}
"""Variables that MariaDB shows by two names (read on 10.11.19). Both are set, so that both are put back."""

_ALL_KINDS = {"query_cache", "query_cache_miss"}
"""Flags of MariaDB's `log_slow_filter` of which every statement has one."""

UNLOGGED = {
    Source.SLOW: "SET SESSION long_query_time = 31536000",
    Source.GENERAL: "SET SESSION sql_log_off = 1",
}
"""What keeps the statements of a session out of a log."""


@dataclass(frozen=True, slots=True)
class LogSettings:
    """The variables that are set for a capture.

    Attributes:
        quiet: switches the log off; empty where it is off already.
        arm: everything except what has the server write the log.
        fire: has the server write the log.
        names: all of them in the order in which they are restored. The switch of a log that was off comes first. The file and
            the switch of a log that was on come last, so that its file never gets every statement.
    """

    quiet: Wanted
    arm: Wanted
    fire: Wanted
    names: list[str]


def switch_of(source: Source) -> str:
    return "slow_query_log" if source is Source.SLOW else "general_log"


def file_variable_of(source: Source) -> str:
    return f"{switch_of(source)}_file"


def is_on(source: Source, variables: Mapping[str, str]) -> bool:
    """Return whether the server writes that log already."""
    return variables.get(switch_of(source), "OFF").upper() in ("ON", "1")


def leaves_sessions_logging(source: Source, variables: Mapping[str, str]) -> bool:
    """Return whether sessions that begin during the capture would fill the server's own slow log after it.

    They keep `long_query_time = 0` until they end, and the server's slow log is on again by then.
    """
    return source is Source.SLOW and is_on(source, variables) and not is_in_force(0, member(variables, "long_query_time"))


def log_settings(source: Source, path: str, variables: Mapping[str, str], build: Versioned) -> LogSettings:
    """Return what makes a server with these variables log every statement to a file.

    Raises:
        UserError: the sessions can be armed only while no log is written, and the server's general log is on.
    """
    switch_on = _by_all_names({switch_of(source): "ON"}, variables)
    wanted = {file_variable_of(source): path, **(_slow(variables) if source is Source.SLOW else {})}
    arm, fire = _by_all_names(wanted, variables), switch_on
    if source is Source.SLOW and has(build, Capability.SLOW_LOG_BY_SESSION):
        if is_on(Source.GENERAL, variables):
            raise UserError(
                "The server writes its general log, and sessions are armed for the slow log while no log is written",
                "Use --source general, or SET GLOBAL general_log = OFF first",
            )
        arm, fire = {"log_output": "NONE", **arm, **switch_on}, {"log_output": "FILE"}
    was_on = is_on(source, variables)
    files = _by_all_names({file_variable_of(source): path}, variables)
    others = [name for name in (*arm, *fire) if name not in (*files, *switch_on)]
    return LogSettings(
        quiet=_by_all_names({switch_of(source): "OFF"}, variables) if was_on else {},
        arm=arm,
        fire=fire,
        names=list(dict.fromkeys([*others, *files, *switch_on] if was_on else [*switch_on, *others, *files])),
    )


def _slow(variables: Mapping[str, str]) -> dict[str, str | int]:
    """Return what the slow log needs besides its file, without values that are in force already except `long_query_time`."""
    wanted: dict[str, str | int] = {
        "long_query_time": 0,
        "min_examined_row_limit": 0,
        "log_slow_extra": "ON",
        "log_slow_rate_limit": 1,
        # Percona Server logs the statements of a procedure and not its CALL, and begins a new file at this size.
        "log_slow_sp_statements": "OFF",
        "max_slowlog_size": 0,
        # MySQL throttles statements without an index even where all statements are logged.
        "log_queries_not_using_indexes": "OFF",
    }
    kinds = variables.get("log_slow_filter")
    if kinds and not set(kinds.split(",")) >= _ALL_KINDS:
        wanted["log_slow_filter"] = ""
    if "log_slow_disabled_statements" in variables:  # of which log_slow_admin_statements is a part
        wanted["log_slow_disabled_statements"] = "sp"
    else:
        wanted["log_slow_admin_statements"] = "ON"
    return {
        name: value
        for name, value in wanted.items()
        if name in variables and (name == "long_query_time" or not is_in_force(value, variables[name]))
    }


def _by_all_names(wanted: Wanted, variables: Mapping[str, str]) -> Wanted:
    others = {_OTHER_NAMES[name]: value for name, value in wanted.items() if _OTHER_NAMES.get(name) in variables}
    return {**wanted, **others}


_CHUNK = 1 << 22
_MARKS = {Source.SLOW: (b"\n# User@Host: ",), Source.GENERAL: (b" Query\t", b" Execute\t")}
"""What precedes each statement. A text that contains it counts as another statement: the count is only shown as progress."""


class StatementCount:
    """Counts the statements of a log that grows, reading each byte once; it closes the log's file at its end."""

    def __init__(self, file: BinaryIO, source: Source) -> None:
        self.file = file
        self._marks = _MARKS[source]
        self._tail = b""
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def count(self) -> int:
        """Return how many statements the log has by now."""
        longest = max(map(len, self._marks)) - 1
        while chunk := self.file.read(_CHUNK):
            text = self._tail + chunk
            tail = text[-longest:]
            self._count += sum(text.count(mark) - self._tail.count(mark) for mark in self._marks)
            self._tail = tail
        return self._count
