"""`dialin capture`: captures of real statements, from a running server or from its logs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dialin.capture import KEEP_DAYS
from dialin.cli.console import may_start, output, say
from dialin.cli.study_flags import DefaultsFile, LoginPath, pairs
from dialin.errors import ExitCode, UserError
from dialin.paths import Home

if TYPE_CHECKING:
    from dialin.model.capture import CaptureSummary

capture = typer.Typer(
    name="capture",
    add_completion=False,
    help="Captures of real statements, from a running server or its logs.",
    no_args_is_help=True,
)

Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON (schema/capture-summary.schema.json).")]
Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The directory of the capture.")]
KeepDays = Annotated[
    float,
    typer.Option(
        "--keep-days",
        min=0.01,
        max=36_500,
        metavar="DAYS",
        help="Days until a later dialin command removes the statements; digests and figures remain.",
    ),
]
ForgetText = Annotated[bool, typer.Option("--forget-text", help="Keep no statements, only digests and figures.")]
Autocommit = Annotated[
    Literal["on", "off"] | None,
    typer.Option(help="Whether autocommit was on in sessions that do not show it. Default: inferred."),
]


@capture.command()
def start(
    out: Annotated[Path, typer.Option(metavar="DIR", help="A new directory for the capture.")],
    attach: Annotated[bool, typer.Option("--attach", help="Required: variables of the server are set, and restored.")] = False,
    minutes: Annotated[float, typer.Option(min=0.01, max=1440, help="Minutes that the log is on.")] = 10.0,
    arm: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Longest wait for clients to reconnect: sessions older than long_query_time=0 are not logged.",
        ),
    ] = "10m",
    max_size: Annotated[str, typer.Option(metavar="SIZE", help="Size at which the log ends, such as 5G.")] = "5G",
    min_free: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Free space of the log's disk below which the log ends. Default: a fifth of the disk, at most 10 GiB.",
        ),
    ] = None,
    source: Annotated[
        Literal["slow", "general"] | None,
        typer.Option(help="slow has durations, rows and errors; general has all sessions. Default: slow."),
    ] = None,
    log_dir: Annotated[
        Path | None,
        typer.Option("--log-dir", metavar="DIR", help="Where the server writes the log. Default: where it writes its own."),
    ] = None,
    accept_unarmed: Annotated[
        bool,
        typer.Option("--accept-unarmed", help="Capture even if the slow log lacks more than 5 % of the sessions."),
    ] = False,
    defaults_file: DefaultsFile = None,
    login_path: LoginPath = None,
    autocommit: Autocommit = None,
    keep_days: KeepDays = KEEP_DAYS,
    forget_text: ForgetText = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Start without asking.")] = False,
) -> None:
    """Capture what clients send to a running server: switch its log on for some minutes, and put everything back.

    Run it on the server's machine. What it does to the server: docs/capture.md.

    dialin capture start --attach --defaults-file prod.cnf --minutes 10 --arm 30m --max-size 5G --out shop.capture
    """
    from dialin.capture.log_settings import Source
    from dialin.capture.server_capture import CaptureRequest, prepare_capture, run_capture
    from dialin.cli.capture_messages import announce, bytes_of, say_end, seconds_of, watching
    from dialin.clock import SystemClock
    from dialin.fleet.stop_signals import stopping_cleanly
    from dialin.model.capture import StopReason
    from dialin.model.place import Attachment

    if not attach:
        raise UserError("A capture sets variables of a server that dialin did not start", "Add --attach to allow that")
    request = CaptureRequest(
        attachment=Attachment(defaults_file=defaults_file, login_path=login_path),
        out=out,
        minutes=minutes,
        arm=seconds_of(arm, "--arm"),
        max_bytes=bytes_of(max_size, "--max-size"),
        min_free=None if min_free is None else bytes_of(min_free, "--min-free"),
        source=Source(source) if source else None,
        log_directory=log_dir,
        accept_unarmed=accept_unarmed,
        keep_days=keep_days,
        forget_text=forget_text,
        autocommit=autocommit,
    )
    clock = SystemClock()
    prepared = prepare_capture(request, clock)
    announce(prepared)
    if not may_start(yes=yes, changes_server=True):
        raise typer.Exit(ExitCode.NO_VERDICT)
    with stopping_cleanly(), watching() as watcher:
        captured = run_capture(prepared, Home.of(), clock, watcher)
    say_end(captured, str(out))
    if captured.reason is StopReason.INTERRUPTED:
        raise typer.Exit(ExitCode.INTERRUPTED)


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
    autocommit: Autocommit = None,
    keep_days: KeepDays = KEEP_DAYS,
    forget_text: ForgetText = False,
    json: Json = False,
) -> None:
    """Make a capture from the logs of a MySQL or MariaDB server.

    The capture has the statements with their values: its directory is readable by you alone. Statements about accounts and
    statements with a password are dropped.

    dialin capture from slow.log --out shop.capture
    """
    from dialin.capture.capture_files import check_out, make_capture
    from dialin.capture.retention import keep_for, list_capture
    from dialin.cli.restore import forget_statements
    from dialin.clock import SystemClock

    home = Home.of()
    forget_statements(home)
    counters = None if digests is None else _two(digests)
    check_out(out)
    if not forget_text:
        list_capture(home, out)
    summary = make_capture(logs, out, counters=counters, forget_text=forget_text, autocommit=autocommit)
    if not forget_text:
        keep_for(out, keep_days, SystemClock().now())
    say(f"{out}: {summary.capture.statements:,} statements")
    _print(summary, out, json=json)


@capture.command()
def show(directory: Directory, json: Json = False) -> None:
    """Show the summary of a capture: digests, transactions, coverage, and how well it can be replayed. Values are not shown.

    dialin capture show shop.capture
    """
    from dialin.capture.capture_files import read_capture

    _print(read_capture(directory), directory, json=json)


@capture.command()
def counters(
    out: Annotated[Path, typer.Option(metavar="FILE.json", help="The file to write.")],
    defaults_file: DefaultsFile = None,
    login_path: LoginPath = None,
) -> None:
    """Write what a server counted so far, Questions and digests, for the option --digests of capture from.

    Run it before the log begins and after it ends. It reads only; the digests need SELECT on performance_schema.

    dialin capture counters --defaults-file prod.cnf --out before.json
    """
    from dialin import json_documents
    from dialin.capture.counters import read_counters
    from dialin.paths import replace_text
    from dialin.servers.attached.client_options import find_account
    from dialin.servers.connection import connect

    with connect(find_account(Path(defaults_file) if defaults_file else None, login_path, os.environ)) as query:
        replace_text(out, json_documents.render(read_counters(query)))
    say(str(out))


@capture.command()
def check(
    directory: Directory,
    data: Annotated[
        str, typer.Option(metavar="DIR", help="The data from before the capture: a data directory, a backup, or an SQL dump.")
    ],
    pace: Annotated[str, typer.Option(metavar="N|full", help="How fast: 1 as fast as it was captured, or full.")] = "1",
    server: Annotated[str, typer.Option(metavar="BUILD", help="The build to run, such as mysql@9.7.")] = "",
    workload_option: Annotated[
        list[str] | None, typer.Option("--workload-option", metavar="NAME=VALUE", help="from or warm-up, as in a study.")
    ] = None,
) -> None:
    """Replay a capture once, on a server with its defaults, and show whether that reproduces the captured load.

    The limits of the capture itself are shown first, and the statements that differ most last. Exit code 1 if a figure is
    beyond its limit.

    dialin capture check shop.capture --data /backup/before
    """
    from dialin.capture.capture_files import SUMMARY, read_capture, read_sessions
    from dialin.capture.fitness import check_capture
    from dialin.places.sandbox.load_check import replay_once
    from dialin.question import study_file
    from dialin.report.capture_page import add_check, print_replay
    from dialin.report.render.terminal_page import Page
    from dialin.sentences.replay_sentences import replay_parts
    from dialin.servers import builds
    from dialin.trials.tools import Tools
    from dialin.workloads.kinds import make_workload

    options = pairs(workload_option, "--workload-option")
    asked = {"workload": f"capture:{directory}", "data": data, "pace": pace, "workload-options": options, "aa": 2}
    spec = study_file.question(asked).workload_spec(Path.cwd())
    workload = make_workload(spec)
    workload.check()
    tools = Tools.open(say)
    (build,) = tools.choose([server] if server else [], builds.discover(tools.home, os.environ)).values()
    console = output()
    if (directory / SUMMARY).exists():
        add_check(Page(console), check_capture(read_capture(directory), sessions=read_sessions(directory)))
    outcome = replay_once(tools, build, spec, workload)
    parts = replay_parts(outcome.facts, workload.traits.limits)
    print_replay(parts, outcome.facts, outcome.digests, console)
    raise typer.Exit(1 if any(part.is_exceeded for part in parts) else 0)


def _two(text: str) -> tuple[Path, Path]:
    match text.split(","):
        case [before, after] if before and after:
            return Path(before), Path(after)
    raise UserError(f"--digests {text} does not name two files", "Write it like --digests before.json,after.json")


def _print(summary: CaptureSummary, directory: Path, *, json: bool) -> None:
    from contextlib import suppress

    from dialin import json_documents
    from dialin.capture.capture_files import read_sessions
    from dialin.capture.fitness import check_capture
    from dialin.capture.retention import retention_of
    from dialin.report.capture_page import print_capture

    if json:
        typer.echo(json_documents.render(summary), nl=False)
    else:
        kept_until = None
        with suppress(FileNotFoundError):
            kept_until = retention_of(directory).date
        sessions = read_sessions(directory)
        check = check_capture(summary, _why_not_replayed(summary, directory), sessions)
        print_capture(summary, check, output(), kept_until, sessions)


def _why_not_replayed(summary: CaptureSummary, directory: Path) -> str:
    """Return why nothing of the statements that a capture keeps can be replayed, as far as the summary does not say it."""
    from dialin.capture.capture_files import STATEMENTS
    from dialin.workloads import load_binary
    from dialin.workloads.replay.replay_facts import why_not_replayed

    header, program = summary.capture, load_binary.find()
    if not header.statements or header.lack or header.sampling:
        return ""
    if not (directory / STATEMENTS).exists():
        return "its statements were not kept, or removed after their time"
    return "" if program is None else why_not_replayed(program, directory.absolute())
