"""`dialin advise`: which variables are worth an experiment on a server?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dialin.cli.console import output, say
from dialin.cli.study_flags import DefaultsFile, LoginPath, help_of, load_flag, pairs, spelled
from dialin.errors import ExitCode, UserError
from dialin.model.option_types import ATTACHED, FILES
from dialin.question.options import StudyOptions

_ATTACHED = ATTACHED.title
_FILES = FILES.title
_LOAD = "Load"
_WORKLOAD = StudyOptions.model_fields["workload"].default


def advise(
    attach: Annotated[
        bool,
        typer.Option("--attach", help="Look at a running server under its own load; nothing on it is changed."),
    ] = False,
    server: Annotated[
        str, typer.Option(metavar="BUILD", help="Start a private server of this build, such as mysql@9.7, under a load.")
    ] = "",
    seconds: Annotated[float, typer.Option(min=2, max=86_400, help="Seconds to watch the server.")] = 60.0,
    json: Annotated[bool, typer.Option("--json", help="Print only the advice as JSON on standard output.")] = False,
    fixed: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A variable of the private server; repeat for more."),
    ] = None,
    from_file: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="File with the settings of the private server: an option file, or another form (docs/study-file.md).",
            rich_help_panel=_FILES,
        ),
    ] = None,
    leave_out_unknown: Annotated[bool, typer.Option(help=help_of("leave_out_unknown"), rich_help_panel=_FILES)] = False,
    includes: Annotated[bool, typer.Option(help=help_of("includes"), rich_help_panel=_FILES)] = True,
    scale_sizes: Annotated[str | None, typer.Option(help=help_of("scale_sizes"), rich_help_panel=_FILES)] = None,
    defaults_file: DefaultsFile = None,
    login_path: LoginPath = None,
    database: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Existing schema for the load of the printed commands.", rich_help_panel=_ATTACHED),
    ] = None,
    workload: Annotated[
        str,
        typer.Option(
            help="The load of the private server, and of the printed commands: a name (see `dialin sweep --help`) or a file.",
            rich_help_panel=_LOAD,
        ),
    ] = _WORKLOAD,
    threads: Annotated[int | None, load_flag("threads", _LOAD)] = None,
    tables: Annotated[int | None, load_flag("tables", _LOAD)] = None,
    table_size: Annotated[int | None, load_flag("table_size", _LOAD)] = None,
    workload_options: Annotated[list[str] | None, load_flag("workload_options", _LOAD)] = None,
) -> None:
    """Which variables are worth an experiment on this server, and why?

    Watches a server for a minute and lists variables, the strongest reason first: what the server waited for, work that
    another value may save, values that differ from a rule of thumb for this machine, and changed defaults. Each reason has
    the figure of this server that triggered it and its source, and each variable the command that tests it.

    Nothing is recommended and no gain is promised: the experiment decides.

    A running server, under its own load. Any account will do: what it may not read is reported:

    dialin advise --attach --defaults-file ~/.my.cnf

    A private server under a load, as in `dialin sweep`:

    dialin advise --server mysql@9.7 --workload oltp_write_only --set innodb_redo_log_capacity=64M
    """
    from dialin import json_documents
    from dialin.advice.advise import advise as advise_on
    from dialin.question import study_file
    from dialin.report.render.terminal_advice import print_advice
    from dialin.trials.tools import Tools

    if attach and fixed:
        raise UserError("--set is for a private server: nothing is set on an attached one", "Leave out --set, or --attach")
    if attach and from_file:
        raise UserError("--from is for a private server: an attached one has its own settings", "Leave out --from, or --attach")
    if not attach:
        from dialin.cli.restore import tidy_up

        tidy_up()
    asked = {
        "attach": attach,
        "server": server,
        "tune": [],
        "minutes": 10_080,
        "measure": seconds,
        "defaults-file": defaults_file,
        "login-path": login_path,
        "database": database,
        "workload": workload,
        "threads": threads,
        "tables": tables,
        "table-size": table_size,
        "workload-options": pairs(workload_options, "--workload-option"),
        "set": pairs(fixed, "--set"),
        "leave-out-unknown": leave_out_unknown,
        "includes": includes,
        "scale-sizes": scale_sizes,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    question = study_file.question(given, spelled=spelled, remedy="See: dialin advise --help")
    advice = advise_on(question, Path.cwd(), Tools.open(say), seconds, from_file)
    if json:
        typer.echo(json_documents.render(advice), nl=False)
    else:
        print_advice(advice, output())
    raise typer.Exit(ExitCode.VERDICT)
