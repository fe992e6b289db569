"""The current load of a server, and what a log of it costs: bytes on disk and CPU."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dialin.answers import whole
from dialin.capture.log_settings import Source
from dialin.clock import Clock
from dialin.model.build import Family
from dialin.model.query import Query
from dialin.servers.capabilities import Capability, Versioned, has

SAMPLED = 2.0
"""Seconds between the two readings."""

_STATUS = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Questions', 'Bytes_received')"

_PACKET = 5
"""Bytes of a packet that are not the statement: its header and the command."""


@dataclass(frozen=True, slots=True)
class LoadSample:
    """What a server was sent per second."""

    statements: float
    text_bytes: float


@dataclass(frozen=True, slots=True)
class LogCost:
    """What a log costs.

    Attributes:
        bytes_per_second: of the log.
        cpus: CPUs that writing it keeps busy.
    """

    bytes_per_second: float
    cpus: float


@dataclass(frozen=True, slots=True)
class _PerStatement:
    """What an entry costs besides its statement's text: bytes, and microseconds of the server's CPU."""

    bytes: int
    microseconds: float


_SLOW_EXTRA = _PerStatement(600, 15)
_SLOW = _PerStatement(208, 15)
_SLOW_TO_THE_SECOND = _PerStatement(163, 15)
_SLOW_OF_MARIADB = _PerStatement(235, 10)
_GENERAL = _PerStatement(45, 4)
_GENERAL_TO_THE_SECOND = _PerStatement(18, 4)
"""Bytes were measured on logs of oltp_read_write and oltp_point_select on 9.7.4, 5.6.24 and 10.11.19. The CPU is a rough
estimate: with a slow log, a statement of these loads took 14 to 44 % more CPU."""


def sample_load(query: Query, clock: Clock) -> LoadSample:
    """Watch a server for two seconds; nothing is changed. Raise ServerError where it does not answer."""
    first, began = _status(query), clock.monotonic()
    clock.sleep(SAMPLED)
    second, seconds = _status(query), clock.monotonic() - began
    statements = max(0, second["Questions"] - first["Questions"] - 1)
    received = max(0, second["Bytes_received"] - first["Bytes_received"] - len(_STATUS) - _PACKET)
    return LoadSample(statements / seconds, max(0, received - _PACKET * statements) / seconds)


def cost_of(sample: LoadSample, source: Source, build: Versioned) -> LogCost:
    """Return what a log of such a load costs, from measurements on each kind of build."""
    entry = _per_statement(source, build)
    return LogCost(sample.statements * entry.bytes + sample.text_bytes, sample.statements * entry.microseconds / 1e6)


def _per_statement(source: Source, build: Versioned) -> _PerStatement:
    is_to_the_second = not has(build, Capability.MICROSECONDS_IN_LOGS)
    if source is Source.GENERAL:
        return _GENERAL_TO_THE_SECOND if is_to_the_second else _GENERAL
    if build.family is Family.MARIADB:
        return _SLOW_OF_MARIADB
    if has(build, Capability.LOG_SLOW_EXTRA):
        return _SLOW_EXTRA
    return _SLOW_TO_THE_SECOND if is_to_the_second else _SLOW


def _status(query: Query) -> Mapping[str, int]:
    return {str(name): whole(value) for name, value in query(_STATUS)}
