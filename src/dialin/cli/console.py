"""Where a command speaks: the verdict goes to standard output, everything else to standard error."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape


def errors() -> Console:
    """Return the console of standard error, where everything but the verdict goes."""
    return Console(stderr=True, highlight=False)


def say(text: str) -> None:
    errors().print(escape(text), soft_wrap=True)
