"""How to run one statement on a server."""

from __future__ import annotations

from typing import Any, Protocol


class Query(Protocol):
    """Runs one statement and returns its rows; raises `ServerError` where that fails or is slow."""

    def __call__(self, statement: str, arguments: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        """Run it; each `%s` stands for an argument, which the client quotes."""
