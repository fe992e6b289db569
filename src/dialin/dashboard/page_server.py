"""Serves the page, by default on loopback, from one process without an access log and with a low CPU priority."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

from dialin.dashboard.connections import Connections, protocol_of
from dialin.dashboard.guard import Served
from dialin.errors import UserError

NICENESS = 10
"""Added to the niceness of the page's process, so that the study takes precedence."""

_PATIENCE = 2
"""Seconds that streams may take to close when the page ends."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the page is served.

    Attributes:
        is_loopback: whether this machine alone can reach it.
        is_wildcard: whether every address of the machine serves it.
    """

    host: str
    port: int
    is_loopback: bool
    is_wildcard: bool

    @property
    def origin(self) -> str:
        """The scheme, host and port of the page's address."""
        host = socket.getfqdn() if self.is_wildcard else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def cookie(self) -> str:
        return f"dialin_watch_{self.port}"

    @property
    def served(self) -> Served:
        """The names under which the page is served."""
        names = {self.host, socket.gethostname(), socket.getfqdn()} if not self.is_loopback else {self.host}
        return Served(frozenset(name.lower() for name in names), any_address=self.is_wildcard)


def listen(host: str, port: int) -> tuple[socket.socket, Place]:
    """Begin to listen; port 0 is any free one.

    Raises:
        UserError: the port is taken, or the host is not this machine.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.create_server(address[:2], family=family)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise UserError(f"Port {port} of {host} is taken", "Name another --port, or leave it out for a free one") from error
        if error.errno in (errno.EACCES, errno.EPERM):
            raise UserError(f"Port {port} of {host} needs root to listen on", "Use a --port of 1024 or higher") from error
        raise UserError(f"{host} is no name or address of this machine", "Name one with --host, or leave it out") from error
    bound = ipaddress.ip_address(listening.getsockname()[0].partition("%")[0])
    return listening, Place(host, listening.getsockname()[1], bound.is_loopback, bound.is_unspecified)


class PageServer(uvicorn.Server):
    """A server that ends at the first signal, even while streams are open."""

    def __init__(self, app: ASGIApp, end_streams: Callable[[], None], connections: Connections) -> None:
        config = uvicorn.Config(
            app,
            http=protocol_of(connections),
            proxy_headers=False,  # a header must not rename the other side of a connection
            backlog=connections.limits.at_once,
            log_config=None,
            access_log=False,
            lifespan="on",
            loop="asyncio",
            ws="none",
            server_header=False,
            timeout_graceful_shutdown=_PATIENCE,
        )
        super().__init__(config)
        self._end_streams = end_streams

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self.end()

    def end(self) -> None:
        """End soon; may be called from a signal's handler."""
        self.should_exit = True
        with suppress(RuntimeError):  # its loop has ended
            asyncio.get_running_loop().call_soon_threadsafe(self._end_streams)


class _ErrorLog(logging.FileHandler):
    """A log that is created at the first error. It keeps a descriptor for that, and never raises.

    An error may be that there are no descriptors left; one that is raised while it is logged would end the page.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path, delay=True)
        self._spare: int | None = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):
            super().emit(record)

    def _open(self) -> TextIOWrapper:
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None
        return super()._open()


def log_errors(path: Path) -> None:
    """Log only the server's own errors, in a file that is created at the first one; links are never logged."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
    file = _ErrorLog(path)
    for name in ("uvicorn", "asyncio"):
        log = logging.getLogger(name)
        log.handlers = [file]
        log.setLevel(logging.ERROR)
        log.propagate = False


def lower_priority() -> None:
    """Lower the CPU priority of this process."""
    with suppress(OSError):
        os.nice(NICENESS)
