"""`dialin capture`: captures of real statements, from a server's logs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dialin.cli.console import say
from dialin.errors import UserError

if TYPE_CHECKING:
    from dialin.model.capture import CaptureSummary

capture = typer.Typer(
    name="capture", add_completion=False, help="Captures of real statements, from a server's logs.", no_args_is_help=True
)

Json = Annotated[
    bool, typer.Option("--json", help="Print what the capture comes to as JSON; see schema/capture-summary.schema.json.")
]


@capture.command("from")
def from_logs(
    logs: Annotated[
        list[Path], typer.Argument(metavar="LOG [LOG]", help="A slow log, a general log, or one of each, of one server.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The directory of the capture, which must not exist yet.")],
    digests: Annotated[
        str | None,
        typer.Option(
            metavar="BEFORE.json,AFTER.json",
            help="What the server counted before and after, written by dialin capture counters: shows the coverage.",
        ),
    ] = None,
    forget_text: Annotated[bool, typer.Option("--forget-text", help="Keep no statements, only digests and figures.")] = False,
    json: Json = False,
) -> None:
    """Make a capture of logs that a server of MySQL or MariaDB wrote.

    The capture has the statements with their values: its directory is readable by you alone. Statements about accounts and
    statements with a password are dropped.

    dialin capture from slow.log --out shop.capture
    """
    from dialin.capture.capture_files import make_capture

    counters = None if digests is None else _two(digests)
    summary = make_capture(logs, out, counters=counters, forget_text=forget_text)
    say(f"{out}: {summary.capture.statements:,} statements")
    _print(summary, json=json)


@capture.command()
def show(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The directory of the capture.")], json: Json = False
) -> None:
    """Show what a capture comes to: digests, transactions by shape, coverage, and what cannot be replayed. Never a value.

    dialin capture show shop.capture
    """
    from dialin.capture.capture_files import read_capture

    _print(read_capture(directory), json=json)


@capture.command()
def counters(
    out: Annotated[Path, typer.Option(metavar="FILE.json", help="The file to write.")],
    defaults_file: Annotated[
        Path | None,
        typer.Option("--defaults-file", metavar="FILE", help="Option file with the account, read as clients read it."),
    ] = None,
    login_path: Annotated[str | None, typer.Option("--login-path", metavar="NAME", help="Login path with the account.")] = None,
) -> None:
    """Write what a server counted so far, Questions and digests, for the option --digests of capture from.

    Run it before the log begins and after it ends. It reads only; the digests need SELECT on performance_schema.

    dialin capture counters --defaults-file prod.cnf --out before.json
    """
    import os

    from dialin.capture.counters import read_counters
    from dialin.paths import replace_text
    from dialin.report import json_documents
    from dialin.servers.attached.client_options import find_account
    from dialin.servers.connection import connect

    with connect(find_account(defaults_file, login_path, os.environ)) as query:
        replace_text(out, json_documents.render(read_counters(query)))
    say(str(out))


def _two(text: str) -> tuple[Path, Path]:
    match text.split(","):
        case [before, after] if before and after:
            return Path(before), Path(after)
    raise UserError(f"--digests {text} does not name two files", "Write it like --digests before.json,after.json")


def _print(summary: CaptureSummary, *, json: bool) -> None:
    from rich.console import Console

    from dialin.report import json_documents
    from dialin.report.capture_page import print_capture

    if json:
        typer.echo(json_documents.render(summary), nl=False)
    else:
        print_capture(summary, Console(highlight=False))
