"""Messages and questions of commands. They go to standard error; only the verdict goes to standard output."""

from __future__ import annotations

import os
import sys

import typer
from rich.console import Console
from rich.markup import escape

from dialin.errors import UserError


def errors() -> Console:
    """Return the console of standard error, where everything but the verdict goes."""
    return Console(stderr=True, highlight=False)


def output() -> Console:
    """Return the console of standard output, where the verdict goes. Without a terminal, nothing is cut to its width."""
    console = Console(highlight=False)
    console.soft_wrap = not console.is_terminal and "COLUMNS" not in os.environ
    return console


def say(text: str) -> None:
    errors().print(escape(text), soft_wrap=True)


def confirmed(*, changes_server: bool) -> bool:
    """Ask on a terminal whether to begin, and return the answer; without a terminal, return True.

    Raises:
        UserError: a server that dialin did not start would be changed, and there is no terminal to ask on.
    """
    if sys.stdin.isatty() and sys.stderr.isatty():
        return typer.confirm("Start?", default=not changes_server, err=True)
    if changes_server:
        raise UserError("The server would be changed, and no terminal is there to ask", "Read the lines above, then add --yes")
    return True
