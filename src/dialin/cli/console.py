"""The terminal as commands use it: messages and questions go to standard error, only the verdict to standard output.

Text of servers, studies and files cannot act on the terminal, wherever a command prints it: `SafeConsole` escapes all of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment

from dialin.errors import ExitCode, UserError
from dialin.text import visible_lines

if TYPE_CHECKING:
    from dialin.model.verdict import Outcome


class SafeConsole(Console):
    """A console that shows an escape for each character that cannot be seen; only rich's own codes act on the terminal.

    Text is shown as it is: `image:a:b` has no emoji in it.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, emoji=False)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible_lines(segment.text), segment.style)


def errors() -> Console:
    """Return the console of standard error, where everything but the verdict goes."""
    return SafeConsole(stderr=True)


def output() -> Console:
    """Return the console of standard output, where the verdict goes. Without a terminal, nothing is cut to its width."""
    console = SafeConsole()
    console.soft_wrap = not console.is_terminal and "COLUMNS" not in os.environ
    return console


def say(text: str) -> None:
    errors().print(escape(text), soft_wrap=True)


def may_start(*, yes: bool, changes_server: bool) -> bool:
    """Ask on a terminal whether to begin, unless the user said `yes` already; without a terminal, return True.

    Raises:
        UserError: a server that dialin did not start would be changed, and there is no terminal to ask on.
    """
    if yes:
        return True
    if sys.stdin.isatty() and sys.stderr.isatty():
        answer = typer.confirm("Start?", default=not changes_server, err=True)
        if not answer:
            say("Nothing was started")
        return answer
    if changes_server:
        raise UserError("The server would be changed, and no terminal is there to ask", "Read the lines above, then add --yes")
    return True


def exit_code(outcome: Outcome | None) -> ExitCode:
    """Return the exit code of a verdict; `outcome` is None where there is no verdict."""
    from dialin.model.verdict import Outcome  # the console is imported without the model

    return ExitCode.NO_VERDICT if outcome in (None, Outcome.INCONCLUSIVE) else ExitCode.VERDICT
