"""`dialin capture`: captures of real statements, from a server's logs."""

from __future__ import annotations

import os
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
    from dialin.capture.counters import read_counters
    from dialin.paths import replace_text
    from dialin.report import json_documents
    from dialin.servers.attached.client_options import find_account
    from dialin.servers.connection import connect

    with connect(find_account(defaults_file, login_path, os.environ)) as query:
        replace_text(out, json_documents.render(read_counters(query)))
    say(str(out))


@capture.command()
def check(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="The directory of the capture.")],
    data: Annotated[
        str, typer.Option(metavar="DIR", help="The data from before the capture: a data directory, a backup, or an SQL dump.")
    ],
    pace: Annotated[str, typer.Option(metavar="N|full", help="How fast: 1 as fast as it was captured, or full.")] = "1",
    server: Annotated[str, typer.Option(metavar="BUILD", help="The build to run, such as mysql@9.7.")] = "",
    workload_option: Annotated[
        list[str] | None, typer.Option("--workload-option", metavar="NAME=VALUE", help="from or warm-up, as of a study.")
    ] = None,
) -> None:
    """Replay a capture once, on a server with its defaults, and show whether that is the captured load.

    Exit code 1 where a figure is beyond its limit.

    dialin capture check shop.capture --data /backup/before
    """
    from rich.console import Console

    from dialin.question import study_file
    from dialin.report.replay_page import SHARES, print_replay, worst_share
    from dialin.servers import builds
    from dialin.trials.replay_check import replay_once
    from dialin.trials.tools import Tools
    from dialin.workloads.kinds import make_workload

    options = dict(_option(text) for text in workload_option or ())
    asked = {"workload": f"capture:{directory}", "data": data, "pace": pace, "workload-options": options, "aa": 2}
    spec = study_file.question(asked).workload_spec(Path.cwd())
    workload = make_workload(spec)
    workload.check()
    tools = Tools.open(say)
    (build,) = tools.choose([server] if server else [], builds.discover(tools.home, os.environ)).values()
    facts = replay_once(tools, build, spec, workload)
    limits = workload.traits.limits
    print_replay(facts, limits, Console(highlight=False))
    _, is_captured = worst_share({name: facts[name] for name in SHARES if name in facts}, limits)
    raise typer.Exit(0 if is_captured else 1)


def _option(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise UserError(f"--workload-option {text} has no value", "Write it like --workload-option from=1795413685")
    return name, value


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
