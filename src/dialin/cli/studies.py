"""`dialin sweep`, `compare`, `tune`, `run`, `resume` and `report`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dialin.cli import study_flags as given
from dialin.errors import UserError
from dialin.model.setting import Value, parse_value
from dialin.question.study_file import question as check_options
from dialin.question.study_file import read, read_keys
from dialin.recipes.library import PREFIX, ScaleName
from dialin.store import is_suite

if TYPE_CHECKING:
    from dialin.places.attached.check import Permission

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The study's directory.")]
TotalMinutes = Annotated[float | None, typer.Option(min=0.1, help="A new budget, including the minutes already used.")]
JsonOfRun = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print only verdict.json; for a recipe, a list of {study, directory, verdict}.",
    ),
]
Scale = Annotated[
    ScaleName | None,
    typer.Option(
        help="Size of a recipe: laptop takes minutes, server hours, paper may take days.",
        show_default=False,
    ),
]
AcceptWeaker = Annotated[
    bool,
    typer.Option(
        "--accept-weaker-durability",
        help="Decide again on the same trials, and allow a choice that weakens durability.",
    ),
]
Confirm = Annotated[bool, typer.Option("--confirm", help=given.help_of("confirm"))]


@partial(given.with_study_options, hidden=(*given.OF_A_TUNE, *given.OF_FILES))
def sweep(
    *,
    variables: Annotated[
        list[str],
        typer.Argument(
            metavar="VARIABLE=V1,V2,...",
            help="A variable with its values; several variables make every combination.",
        ),
    ],
    shared: Mapping[str, Any],
    common: Mapping[str, Any],
) -> None:
    """Find the best value of a variable under load.

    Each value is a candidate. Trials run in blocks, in random order, until the choice is safe or the minutes are used up.

    dialin sweep innodb_buffer_pool_instances=1,4,16 --set innodb_buffer_pool_size=1G --minutes 20

    With several thread counts, to see how each value scales:

    dialin sweep innodb_adaptive_hash_index=ON,OFF --threads 1,4,16

    With the raw waits of a lock, to see what a few long waits cost:

    dialin sweep innodb_buffer_pool_instances=1,8 --set innodb_buffer_pool_size=1G --waits hash_table_locks

    With a timed query over a large table:

    dialin sweep read_buffer_size=128K,2M --server mariadb@10.11 --workload scan --workload-option engine=MyISAM
    """
    swept: dict[str, list[Value]] = {}
    for text in variables:
        name, equals, values = text.partition("=")
        if not equals or not name.strip() or not values.strip():
            raise UserError(f"{text}: this is not VARIABLE=V1,V2,...", "Write it like innodb_buffer_pool_instances=1,4,16")
        if name.strip() in swept:
            raise UserError(f"{name.strip()} is swept twice", "Give all its values in one place")
        swept[name.strip()] = [parse_value(value) for value in values.split(",") if value.strip()]
    _conduct({**shared, "sweep": swept}, "-".join(swept), **common)


@given.with_study_options
def compare(
    *,
    option_files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="A.cnf B.cnf ...", help="Option files, or other files of settings (docs/study-file.md)."),
    ] = None,
    shared: Mapping[str, Any],
    common: Mapping[str, Any],
) -> None:
    """Compare whole option files, or builds, or both.

    Options that belong to one server only (data directory, socket, port) are ignored, and dialin lists them. The same file
    given twice shows the noise of the machine. Several --server compare builds.

    dialin compare before.cnf after.cnf --server mysql@9.7

    dialin compare --server mysql@9.7 --server mariadb@10.11

    dialin compare --server image:mysql:8.4 --server-memory 1G,2G,4G
    """
    several_sizes = "," in str(shared.get("server-memory") or "")
    if not option_files and len(common["server"] or []) < 2 and not several_sizes:
        raise UserError("There is nothing to compare", "Name option files, or give --server twice")
    _conduct({**shared, "compare": [str(path) for path in option_files or []]}, "compare", **common)


@partial(
    given.with_study_options,
    hidden=(*given.NOT_OF_A_TUNE, *given.OF_LIVE_TRAFFIC, *given.OF_A_SUITE),
    helps={
        "server": "The build to tune, such as mysql@9.7 (see `dialin servers`).",
        "fixed": "The baseline's value of a tuned variable; of any other variable, the value in all settings. Repeat.",
        "worthwhile": "The smallest gain that matters. Default: 2 % of throughput, 5 % of latency, 25 % of variation.",
        "measure": "Seconds measured in each trial of the search; twice as many in the proof. Default: 15.",
    },
)
def tune(
    *,
    variables: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="VARIABLE[=LOW..HIGH|=V1,V2,...]",
            help="Variables to tune: in a range, among values, or as dialin chooses. Default: dialin proposes some.",
        ),
    ] = None,
    from_file: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="File with the baseline's settings (docs/study-file.md); --set takes precedence.",
        ),
    ] = None,
    shared: Mapping[str, Any],
    common: Mapping[str, Any],
) -> None:
    """Find the best setting of many variables, and prove what it gains.

    A search tries settings in short trials of --measure seconds (default 15): first a fixed design, then the settings for
    which a model of all trials predicts the largest gain. The last quarter of --minutes proves the best one, in
    confirmation trials of it, of subsets of its changes, and of the baseline. The recommendation is the smallest set of
    changes that carries the gain, or no change if there is no gain.

    dialin tune innodb_io_capacity=200..20000 innodb_redo_log_capacity=64M..4G innodb_flush_method --minutes 60

    The baseline is the server's default, or what --set gives a variable:

    dialin tune innodb_redo_log_capacity=32M..2G --set innodb_redo_log_capacity=64M --workload oltp_write_only --minutes 30

    Without variables, dialin proposes them, and shows the reason for each before it starts:

    dialin tune --server mysql@9.7 --workload oltp_read_write --threads 16 --minutes 120

    A setting whose server crashes or does not start costs one trial, and similar ones are not tried. Stop with Ctrl-C; the
    best setting so far is shown, and `dialin resume DIR` continues, also with more --minutes. Durability is not weakened unless
    you pass --accept-weaker-durability.
    """
    named = [text.partition("=")[0].strip() for text in variables or ()]
    name = "-".join(["tune", *named[:3]])
    _conduct({**shared, "tune": list(variables or ())}, name, base_file=from_file, **common)


def _permission(restart_command: str | None, apply_command: str | None, *, live: bool) -> Permission:
    from dialin.places.attached.check import Permission

    return Permission(live=live, restart_command=restart_command, apply_command=apply_command)


def _conduct(
    asked: Mapping[str, Any],
    name: str,
    *,
    server: list[str] | None,
    fixed: list[str] | None,
    baseline: str | None,
    restart_command: str | None,
    apply_command: str | None,
    live: bool,
    **how: Any,
) -> None:
    """Check the options and run the study; `how` has `out`, `json`, `yes`, `watch`, where it runs, and a tune's option file."""
    from dialin.cli.conduct import conduct

    keys = {**asked, "server": server or [], "set": {**asked.get("set", {}), **given.pairs(fixed, "--set")}}
    if baseline is not None:
        keys["baseline"] = baseline
    permission = _permission(restart_command, apply_command, live=live)
    if "tune" not in keys:
        _conduct_if_suite(keys, Path.cwd(), permission, name, how)
    question = check_options(keys, spelled=given.spelled, remedy="See --help")
    raise typer.Exit(conduct(question, Path.cwd(), permission, name=name, **how))


def _conduct_if_suite(keys: Mapping[str, Any], where: Path, permission: Permission, name: str, how: Mapping[str, Any]) -> None:
    """Run a suite where the keys ask for one, and exit with its code."""
    from dialin.suites.members import requested_suite

    if (request := requested_suite(keys, where)) is not None:
        from dialin.cli.conduct_suite import conduct_suite

        raise typer.Exit(conduct_suite(request, where, permission, name=name, **how))


def run(
    study_file: Annotated[
        Path,
        typer.Argument(
            metavar="STUDY.toml | recipe:NAME",
            help="A study file (docs/study-file.md) or a published experiment (see `dialin recipes`).",
        ),
    ],
    scale: Scale = None,
    out: given.Out = None,
    json: JsonOfRun = False,
    yes: given.Yes = False,
    watch: given.Watch = False,
    restart_command: given.RestartCommand = None,
    apply_command: given.ApplyCommand = None,
    live: given.Live = False,
    fleet: given.OnFleet = "local",
    fleet_hosts: given.FleetHosts = None,
) -> None:
    """Run the study that a file describes, or the studies of a published experiment.

    dialin run recipe:read-buffer-size --scale laptop --out ./rbs
    """
    permission = _permission(restart_command, apply_command, live=live)
    if str(study_file).startswith(PREFIX):
        from dialin.cli.run_recipe import run_recipe

        if fleet != "local":
            raise UserError("--fleet is for study files, and a recipe runs on one host", "Leave it out")

        name = str(study_file).removeprefix(PREFIX)
        size = scale or ScaleName.LAPTOP
        raise typer.Exit(run_recipe(name, size, permission, out=out, as_json=json, yes=yes, watch=watch))
    if scale is not None:
        raise UserError(f"--scale is for recipes, and {study_file} is a study file", "Leave it out, or see `dialin recipes`")
    from dialin.cli.conduct import conduct

    where = study_file.absolute().parent
    how: dict[str, Any] = {"out": out, "json": json, "yes": yes, "watch": watch, "fleet": fleet, "fleet_hosts": fleet_hosts}
    _conduct_if_suite(read_keys(study_file), where, permission, study_file.stem, how)
    question = read(study_file)
    raise typer.Exit(conduct(question, where, permission, name=study_file.stem, **how))


def resume(
    directory: Directory,
    minutes: TotalMinutes = None,
    confirm: Confirm = False,
    accept_weaker_durability: AcceptWeaker = False,
    json: given.Json = False,
    yes: given.Yes = False,
    watch: given.Watch = False,
    restart_command: given.RestartCommand = None,
    apply_command: given.ApplyCommand = None,
    live: given.Live = False,
    fleet: given.OnFleet = "local",
    fleet_hosts: given.FleetHosts = None,
) -> None:
    """Resume a study that was stopped or killed, or is inconclusive. No completed trial is repeated."""
    from dialin.cli.conduct import go_on

    permission = _permission(restart_command, apply_command, live=live)
    how: dict[str, Any] = {"json": json, "yes": yes, "watch": watch, "fleet": fleet, "fleet_hosts": fleet_hosts}
    if is_suite(directory):
        from dialin.cli.conduct_suite import resume_suite

        options = {"--confirm": confirm, "--accept-weaker-durability": accept_weaker_durability}
        raise typer.Exit(resume_suite(directory, permission, minutes=minutes, refused=options, **how))
    if accept_weaker_durability:
        _accept_weaker_durability(directory)
    raise typer.Exit(go_on(directory, permission, minutes=minutes, confirm=confirm, **how))


def report(
    directory: Directory,
    accept_weaker_durability: AcceptWeaker = False,
    full: Annotated[bool, typer.Option("--full", help="All figures, reasons and caveats; also with --markdown.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="The summary as Markdown, for a ticket.")] = False,
    json: given.Json = False,
) -> None:
    """Show the verdict of a study or the joint result of a suite, and rewrite its reports where you may write."""
    if is_suite(directory):
        from dialin.cli.conduct_suite import show_suite

        raise typer.Exit(show_suite(directory, json=json, markdown=markdown, full=full, must_write=False))
    from dialin.cli.conduct import show
    from dialin.report.render.markdown import print_markdown
    from dialin.report.render.terminal import print_verdict
    from dialin.report.render.terminal_summary import print_summary

    if accept_weaker_durability:
        _accept_weaker_durability(directory)
    printed = partial(print_markdown, full=full) if markdown else print_verdict if full else print_summary
    raise typer.Exit(show(directory, json=json, must_write=False, printed=printed))


def _accept_weaker_durability(directory: Path) -> None:
    from dialin.race import lifecycle

    lifecycle.accept_weaker_durability(directory)
