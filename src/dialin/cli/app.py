"""The command line, put together; and the one place where an error becomes a line and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from typer.exceptions import TyperException

from dialin import __version__
from dialin.cli.closed_pipe import outlive_readers
from dialin.cli.commands import OnDemand
from dialin.cli.console import errors
from dialin.errors import DialinError, ExitCode
from dialin.paths import Home

EPILOG = (
    "Exit codes: 0 a verdict was reached, 1 it ended without one, 2 misuse (nothing was started), "
    "3 a server or the load failed throughout, 130 interrupted."
)

app = typer.Typer(
    name="dialin",
    cls=OnDemand,
    help=(
        "Find the right value of a MySQL or MariaDB server variable for your workload on your hardware, and prove it.\n\n"
        "Name a variable and its values; dialin boots real servers under real load, in random order and repeatedly, verifies "
        "what is in force, and says who wins, by how much and how surely."
    ),
    epilog=EPILOG,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"dialin {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def before(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 - typer handles it
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Show the help where no command is given."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit


def main() -> None:
    """Run the command line; every error that dialin means ends in one line with its remedy."""
    outlive_readers()
    try:
        sys.exit(app(standalone_mode=False) or ExitCode.VERDICT)
    except typer.Abort:
        errors().print("Nothing was started")
        sys.exit(ExitCode.INTERRUPTED)
    except TyperException as error:
        context = getattr(error, "ctx", None)
        where = context.command_path if context else "dialin"
        text = f"{error.format_message().rstrip('.')}. See {where} --help"
        errors().print(f"[bold red]dialin:[/] {escape(_printable(text))}", soft_wrap=True)
        sys.exit(ExitCode.MISUSE)
    except DialinError as error:
        console = errors()
        if error.log_tail:
            console.print(escape(_printable(error.log_tail)), style="dim")
        console.print(f"[bold red]dialin:[/] {escape(_printable(str(error)))}", soft_wrap=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        errors().print("Stopped")
        sys.exit(ExitCode.INTERRUPTED)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        text = f"{place}{error.strerror or error}. Free space or mend permissions; what was measured is safe"
        errors().print(f"[bold red]dialin:[/] {escape(_printable(text))}", soft_wrap=True)
        sys.exit(ExitCode.NO_VERDICT)
    except Exception as error:
        where = _write_down(error)
        text = f"a fault of dialin itself: {type(error).__name__}. What was measured is safe; please report it with {where}"
        errors().print(f"[bold red]dialin:[/] {escape(text)}", soft_wrap=True)
        sys.exit(ExitCode.NO_VERDICT)


def _write_down(error: Exception) -> Path:
    """Keep the traceback of a fault, without the values of variables, which could hold a secret; returns its file."""
    path = Home.of().root / f"fault-{os.getpid()}.log"
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    return path


def _printable(text: str) -> str:
    """Return text from a server without the control characters that could act on a terminal."""
    return "".join(
        character if character.isprintable() or character == "\n" else "\N{REPLACEMENT CHARACTER}" for character in text
    )
