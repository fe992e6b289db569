"""Limits the open connections of the page, so that no local user can take all of its descriptors.

A connection is a stranger's until a request on it was permitted. Strangers have a few seconds and few places; the
oldest leaves for a new one, so that a browser with a link or a cookie, which asks at once, always gets in.
"""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from uvicorn.protocols.http.h11_impl import H11Protocol

_FOR_ITSELF = 64
"""Descriptors that are kept for the study's files, the log and what Python opens."""

_PATIENCE = 10.0
"""Seconds that a stranger may keep a connection."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many connections may be open.

    Attributes:
        strangers: those of strangers, in all and from one address.
        viewers: those of browsers that were let in, in all and of one browser.
        at_once: those that are accepted before the limits are looked at again; far fewer than a stranger's places, so that
            nobody is put out before his request was read.
    """

    strangers: tuple[int, int] = (96, 64)
    viewers: tuple[int, int] = (128, 16)
    at_once: int = 16

    @classmethod
    def of_process(cls) -> Limits:
        usual, (files, _) = cls(), resource.getrlimit(resource.RLIMIT_NOFILE)
        room = max(8, files - _FOR_ITSELF) if files != resource.RLIM_INFINITY else usual._all
        if room >= usual._all:
            return usual
        share = room / usual._all
        strangers, viewers = (
            (max(2, int(share * most)), max(1, int(share * of_one))) for most, of_one in (usual.strangers, usual.viewers)
        )
        return cls(strangers, viewers, max(1, int(share * usual.at_once)))

    @property
    def _all(self) -> int:
        return self.strangers[0] + self.viewers[0] + self.at_once


class Closable(Protocol):
    """An open connection."""

    def close_at_once(self) -> None:
        """Close it; what was not sent yet is lost."""


Address = tuple[str, int]
"""The address and port of the other side, which identify a connection."""


@dataclass(slots=True)
class _Group:
    """Connections with limits: how many in all, and how many of one owner."""

    most: int
    most_of_one: int
    open: dict[Address, tuple[str, Closable]] = field(default_factory=dict)
    count: Counter[str] = field(default_factory=Counter)

    def add(self, address: Address, owner: str, connection: Closable) -> None:
        """Add a connection; one that is too many closes the oldest, of the same owner if he has too many."""
        self.open[address] = (owner, connection)
        self.count[owner] += 1
        if self.count[owner] > self.most_of_one:
            self._close(next(each for each, (of, _) in self.open.items() if of == owner))
        elif len(self.open) > self.most:
            self._close(next(iter(self.open)))

    def holds(self, address: Address, connection: Closable) -> bool:
        return self.open.get(address, ("", None))[1] is connection

    def remove(self, address: Address) -> Closable | None:
        owner, connection = self.open.pop(address, ("", None))
        if connection is not None:
            self.count[owner] -= 1
            if not self.count[owner]:
                del self.count[owner]
        return connection

    def _close(self, address: Address) -> None:
        if (connection := self.remove(address)) is not None:
            connection.close_at_once()


class Connections:
    """The open connections of the page."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._strangers = _Group(*limits.strangers)
        self._viewers = _Group(*limits.viewers)

    def opened(self, address: Address, connection: Closable) -> None:
        """Take in the connection of a stranger."""
        self._strangers.add(address, address[0], connection)

    def let_in(self, address: Address, viewer: str) -> None:
        """Note that a request of a connection was permitted; `viewer` is the secret of its browser."""
        if (connection := self._strangers.remove(address)) is not None:
            self._viewers.add(address, viewer, connection)

    def closed(self, address: Address, connection: Closable) -> None:
        """Note that a connection has ended; another one may have its address by now."""
        for group in (self._strangers, self._viewers):
            if group.holds(address, connection):
                group.remove(address)

    def is_stranger(self, address: Address, connection: Closable) -> bool:
        return self._strangers.holds(address, connection)


class LimitedProtocol(H11Protocol):
    """HTTP on one connection, which counts as open in `connections` of a subclass."""

    of_page: ClassVar[Connections]
    _leaves: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the base class
        super().connection_made(transport)
        if self.client is not None:
            self.of_page.opened(self.client, self)
            self._leaves = self.loop.call_later(_PATIENCE, self._close_if_stranger)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._leaves is not None:
            self._leaves.cancel()
        if self.client is not None:
            self.of_page.closed(self.client, self)
        super().connection_lost(exc)

    def close_at_once(self) -> None:
        self.transport.abort()

    def _close_if_stranger(self) -> None:
        if self.client is not None and self.of_page.is_stranger(self.client, self):
            self.close_at_once()


def protocol_of(connections: Connections) -> type[LimitedProtocol]:
    """Return the protocol whose connections are counted there."""
    return type("PageProtocol", (LimitedProtocol,), {"of_page": connections})
