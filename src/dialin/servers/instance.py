"""An instance: one running server, a private sandbox or one that dialin is attached to."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from dialin.model.query import Query
from dialin.servers.account import Account


class Instance(Protocol):
    """What a trial needs of its server, whether dialin started the server or not."""

    @property
    def account(self) -> Account:
        """The account that dialin connects with."""

    @property
    def pid(self) -> int | None:
        """The PID of the server; None if it has ended, or runs on another machine."""

    @property
    def data_directory(self) -> Path | None:
        """The server's data directory on this machine; None where it is not certain to be the server's."""

    def connect(self, timeout: float = 10.0) -> AbstractContextManager[Query]:
        """Connect as the account that dialin uses."""

    def is_gone(self) -> bool:
        """Return whether the server has ended, or nothing listens at its address."""

    def has_ended(self) -> bool:
        """Return whether the server has ended, as its process or its start shows; False where that cannot be known."""

    def exit(self) -> Mapping[str, Any]:
        """Return how the server ended, as the figure `exit` of a `Cause`."""

    def log_tail(self) -> str:
        """Return the last lines of the server's log; empty if the log cannot be read."""
