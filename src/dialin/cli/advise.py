"""`dialin advise`: which variables are worth an experiment on a server?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from dialin.cli.console import output, say
from dialin.cli.study_flags import spelled, takes
from dialin.errors import ExitCode, UserError
from dialin.model.option_types import FILES


@takes(
    *("attach", "server", "set", "leave_out_unknown", "includes", "scale_sizes", "defaults_file", "login_path", "database"),
    *("server_memory", "server_cpus", "workload", "threads", "tables", "table_size", "workload_options"),
    helps={
        "attach": "Look at a running server under its own load; nothing on it is changed.",
        "server": "Start a private server of this build, such as mysql@9.7 or image:NAME, under a load.",
        "set": "A variable of the private server; repeat for more.",
        "database": "Existing schema for the load of the printed commands.",
        "workload": "The load of the private server and of the printed commands: a name (see `dialin sweep --help`) or a file.",
    },
)
def advise(
    *,
    seconds: Annotated[float, typer.Option(min=2, max=86_400, help="Seconds to watch the server.")] = 60.0,
    json: Annotated[bool, typer.Option("--json", help="Print only the advice as JSON on standard output.")] = False,
    from_file: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="File with the settings of the private server: an option file, or another form (docs/study-file.md).",
            rich_help_panel=FILES.title,
        ),
    ] = None,
    asked: Mapping[str, Any],
) -> None:
    """Which variables are worth an experiment on this server, and why?

    Watches a server for a minute and lists variables, the strongest reason first: what the server waited for, work that
    another value may save, values that differ from a rule of thumb for this machine, and changed defaults. Each reason has
    its figure and its source, and each variable the command that tests it. No value is recommended: the experiment decides.

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

    attach = asked["attach"]
    if attach and asked["set"]:
        raise UserError("--set is for a private server: nothing is set on an attached one", "Leave out --set, or --attach")
    if attach and from_file:
        raise UserError("--from is for a private server: an attached one has its own settings", "Leave out --from, or --attach")
    if not attach:
        from dialin.cli.restore import tidy_up

        tidy_up()
    keys = {**asked, "tune": [], "minutes": 10_080, "measure": seconds}
    question = study_file.question(keys, spelled=spelled, remedy="See: dialin advise --help")
    advice = advise_on(question, Path.cwd(), Tools.open(say), seconds, from_file)
    if json:
        typer.echo(json_documents.render(advice), nl=False)
    else:
        print_advice(advice, output())
    raise typer.Exit(ExitCode.VERDICT)
