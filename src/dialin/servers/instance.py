"""An instance: one running server, a private sandbox or one that dialin is attached to."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from dialin.model.query import Query
from dialin.servers.account import Account


class Instance(Protocol):
    """What a trial asks of its server, whoever started it."""

    @property
    def account(self) -> Account:
        """How it is reached."""

    @property
    def pid(self) -> int | None:
        """Its process on this machine; None where it is gone, or runs elsewhere."""

    def connect(self, timeout: float = 10.0) -> AbstractContextManager[Query]:
        """Connect as the account that dialin uses."""

    def is_gone(self) -> bool:
        """Tell whether it has ended."""

    def exit(self) -> Mapping[str, Any]:
        """Return how it ended, as the figure `exit` of a `Cause`."""

    def log_tail(self) -> str:
        """Return the last lines of its log, where that can be read."""
