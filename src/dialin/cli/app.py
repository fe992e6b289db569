"""The command line application, and the one place that turns an error into a message and an exit code."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from typer.exceptions import TyperException

from dialin import __version__
from dialin.cli import first_questions, last_words
from dialin.cli.commands import OnDemand
from dialin.cli.console import errors
from dialin.cli.standard_streams import discard, protect_standard_streams
from dialin.errors import DialinError, ExitCode, MachineError, machine_error
from dialin.paths import Home, replace_text

EPILOG = (
    "Exit codes: 0 a verdict was reached, 1 it ended without one, 2 misuse (nothing was started), "
    "3 a server or the load failed throughout, 4 a workload of a suite is worse (--fail-if-worse), 130 interrupted."
)

app = typer.Typer(
    name="dialin",
    cls=OnDemand,
    help=(
        "Find the right value of a MySQL or MariaDB server variable for your workload on your hardware, and prove it.\n\n"
        "Name a variable and its values; dialin starts real servers under real load, in random order and repeatedly, verifies "
        "the effective values, and reports which value wins, by how much and how sure that is.\n\n"
        "On a terminal, dialin without a command asks three questions and shows the command that answers yours."
    ),
    epilog=EPILOG,
    add_completion=True,
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
    """If no command is given, ask three questions on a terminal, or else show the help."""
    if context.invoked_subcommand is None:
        if first_questions.is_terminal():
            first_questions.ask_and_show()
        else:
            typer.echo(context.get_help())
        raise typer.Exit


def main() -> None:
    """Run the command line; every error ends in one line with its remedy, and in an exit code.

    The last words of every ending name the attached servers that are not restored.
    """
    protect_standard_streams()
    with last_words.at_signals():
        try:
            code = _run()
        except KeyboardInterrupt:  # a second Ctrl-C, while the first one was reported
            code = ExitCode.INTERRUPTED
        last_words.say()
    _flush_or_discard()
    sys.exit(code)


def _run() -> int:
    """Run the command, report its error, and return its exit code."""
    try:
        code = app(standalone_mode=False) or ExitCode.VERDICT
        sys.stdout.flush()  # here, where a full disk is an error like any other
        if code == ExitCode.INTERRUPTED:  # typer turns Ctrl-C into a code
            errors().print("Stopped")
    except typer.Abort:  # Ctrl-C or end of input at a question
        errors().print("Nothing was started")
        code = ExitCode.INTERRUPTED
    except TyperException as error:
        context = getattr(error, "ctx", None)
        where = context.command_path if context else "dialin"
        _print_error(f"{error.format_message().rstrip('.')}. See {where} --help")
        code = ExitCode.MISUSE
    except DialinError as error:
        if error.log_tail:
            errors().print(escape(error.log_tail), style="dim", soft_wrap=True)
        _print_error(str(error))
        code = error.exit_code
    except OSError as error:
        _print_error(f"{MachineError.of(error, _missing(error))}. Completed trials are safe")
        code = ExitCode.NO_VERDICT
    except KeyboardInterrupt:
        errors().print("Stopped")
        code = ExitCode.INTERRUPTED
    except (SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a panic of a library in Rust is no Exception
        _print_error(_environment_error(error) or _fault(error))
        code = ExitCode.NO_VERDICT
    return int(code)


def _missing(error: OSError) -> str:
    """Return what is missing where the error names nothing: only os.getcwd raises such a one."""
    is_unnamed = isinstance(error, FileNotFoundError) and error.filename is None
    return "the current directory" if is_unnamed and error.strerror == os.strerror(errno.ENOENT) else ""


_IMPORTS_FAIL_FOR_MEMORY = ("cannot allocate memory", "failed to map segment")
"""Texts in the loader's error for a library that does not fit in memory."""


def _environment_error(error: BaseException) -> str:
    """Return what is wrong with the machine or the installation; empty where the error is a fault of dialin."""
    if isinstance(error, ModuleNotFoundError) and error.name and error.name.partition(".")[0] != "dialin":
        return f"The Python package {error.name.partition('.')[0]} is missing. Reinstall dialin"
    if not isinstance(error, MemoryError) and (failed := machine_error(error)):
        return f"{failed}. Completed trials are safe"
    if not isinstance(error, (MemoryError, ImportError)):
        return ""
    from dialin.servers import process_limits

    if limit := process_limits.too_low():
        return limit
    if isinstance(error, MemoryError) or any(words in str(error).lower() for words in _IMPORTS_FAIL_FOR_MEMORY):
        return "Memory is full. Free memory, then try again"
    return ""


def _fault(error: BaseException) -> str:
    log = _write_fault(error)
    report = f"please report it with {log}" if log else "its traceback could not be written; please report it"
    return f"internal error: {type(error).__name__}. Completed trials are safe; {report}"


def _print_error(text: str) -> None:
    errors().print(f"[bold red]dialin:[/] {escape(text)}", soft_wrap=True)


def _flush_or_discard() -> None:
    """Flush standard output, or discard what it cannot write: the error was reported and would occur again when Python ends."""
    try:
        sys.stdout.flush()
    except OSError:
        discard(sys.stdout.fileno())


def _write_fault(error: BaseException) -> Path | None:
    """Write the traceback of a fault to dialin's cache, else to the temporary directory.

    The traceback does not contain the values of local variables, which could be secrets.

    Returns:
        The file; None where it could be written to neither.
    """
    text = "".join(traceback.format_exception(error))
    places: tuple[Callable[[], Path], ...] = (lambda: Home.of().root, lambda: Path(tempfile.gettempdir()))
    for directory in places:
        with suppress(OSError, DialinError):
            path = directory() / f"fault-{os.getpid()}.log"
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_text(path, text.encode("utf-8", "backslashreplace").decode("utf-8"))
            return path
    return None
