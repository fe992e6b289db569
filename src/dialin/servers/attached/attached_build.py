"""Which server dialin is attached to, and what it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dialin.answers import bad_answer, number, single, whole
from dialin.errors import ServerError, UserError
from dialin.model.build import BuildReference, Family, Vendor, Version
from dialin.model.query import Query
from dialin.servers.connection import status
from dialin.text import visible

Facts = Mapping[str, str | int]
"""What identifies a server: `build`, `hostname`, `port`, `datadir` and `uuid`."""

_IDENTITY = ("hostname", "port", "datadir", "uuid")


@dataclass(frozen=True, slots=True)
class AttachedBuild:
    """What an attached server runs, and which server it is; `service` is the cloud service that runs it, empty for none."""

    vendor: Vendor
    version: Version
    version_text: str = field(default="", compare=False)
    hostname: str = ""
    port: int = 0
    datadir: str = ""
    uuid: str = ""
    service: str = field(default="", compare=False)

    @classmethod
    def of(cls, variables: Mapping[str, str], *, moves: bool = False) -> AttachedBuild:
        """Return the build of a server with these variables; MariaDB is recognised even if it reports a MySQL version.

        The host name of a server that `moves` (a container that is made again) does not count if it has a `server_uuid`.
        """
        text = variables.get("version", "")
        numbers = text.partition("-")[0].split(".")
        if not numbers or not all(number.isdecimal() for number in numbers):
            raise UserError(f"The server says that its version is {text!r}", "dialin studies MySQL and MariaDB")
        named = Vendor.named_in(f"{text} {variables.get('version_comment', '')}")
        return cls(
            Vendor.MARIADB if "aria_pagecache_buffer_size" in variables and named.family is not Family.MARIADB else named,
            tuple(whole(number) for number in numbers),
            text,
            "" if moves and variables.get("server_uuid") else variables.get("hostname", ""),
            whole(variables.get("port", "0")),
            variables.get("datadir", ""),
            variables.get("server_uuid", ""),
            _service(variables),
        )

    @property
    def family(self) -> Family:
        return self.vendor.family

    @property
    def id(self) -> str:
        """The build's name in full, e.g. `mysql@9.7.4`."""
        return str(BuildReference(self.vendor, self.version))

    @property
    def instance(self) -> dict[str, str | int]:
        """What distinguishes the server from others of the same build."""
        return {"hostname": self.hostname, "port": self.port, "datadir": self.datadir, "uuid": self.uuid}

    @property
    def facts(self) -> dict[str, str | int]:
        return {"build": self.id, **self.instance}


def _service(variables: Mapping[str, str]) -> str:
    """Return the cloud service that runs a server, as its own paths and version show it; empty where they show none."""
    if "aurora_version" in variables:
        return "Amazon Aurora"
    if variables.get("basedir", "").startswith("/rdsdbbin"):
        return "Amazon RDS"
    return "Google Cloud SQL" if "-google" in variables.get("version", "") else ""


def differences(expected: Facts, actual: Facts) -> list[str]:
    """Return the facts in which two servers differ, those that both have.

    The build does not count, because a server may be upgraded.
    """
    return [name for name in _IDENTITY if expected[name] and actual[name] and expected[name] != actual[name]]


def check_same(expected: Facts, variables: Mapping[str, str]) -> None:
    """Raise ServerError if the server that answers is not the one whose undo was recorded."""
    actual = AttachedBuild.of(variables).facts
    if differing := differences(expected, actual):
        raise ServerError(
            f"Another server answers: {_named(actual, differing)}, and the changes of the study were recorded for "
            f"{_named(expected, differing)}",
            "Nothing was changed on it. Check where the address leads: a proxy, a virtual address, a failover",
        )


def _named(facts: Facts, differing: Sequence[str]) -> str:
    more = [f"{name} {facts[name] or 'none'}" for name in differing if name not in ("hostname", "port")]
    return visible(" ".join([f"{facts['hostname']}:{facts['port']}", *([f"({', '.join(more)})"] if more else [])]))


_TRIES = 3
_TOGETHER = 1.0
"""Seconds between two readings of the server's clock within which `Uptime` was read at about the same time."""

_ROUNDED = 1.0
"""Seconds by which the clock and `Uptime`, which are whole seconds, may differ from the time."""

_BELOW_ZERO = 1 << 63
"""From this on, `Uptime` is a number below zero, which servers show as one without a sign."""


@dataclass(frozen=True, slots=True)
class StartTime:
    """A start of a server, between two times in seconds since 1970, by the server's clock."""

    earliest: float
    latest: float

    def is_another(self, other: StartTime) -> bool:
        """Return whether this is certainly not the same start."""
        return self.earliest > other.latest or other.earliest > self.latest


def start_time(query: Query) -> StartTime:
    """Return when the server started; raise ServerError where it does not answer, or has no `Uptime`."""
    for _ in range(_TRIES):
        before = _clock(query)
        seconds = uptime(query)
        after = _clock(query)
        if 0 <= after - before <= _TOGETHER:
            break  # otherwise the server was slow, or its clock was set just now
    starts = before - seconds, after - seconds
    return StartTime(min(starts) - _ROUNDED, max(starts) + _ROUNDED)


def uptime(query: Query) -> int:
    """Return the seconds since the server started, by its clock; below zero if that was set to before the start.

    Raises:
        ServerError: it does not answer, or has no `Uptime`.
    """
    if (shown := status(query, "Uptime")) is None:
        raise bad_answer("it lacks Uptime")
    seconds = whole(shown)
    return seconds if seconds < _BELOW_ZERO else seconds - 2 * _BELOW_ZERO


def _clock(query: Query) -> float:
    return number(single(query("SELECT UNIX_TIMESTAMP()")))
