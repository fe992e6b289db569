"""`dialin sweep`, `compare`, `tune`, `run`, `resume` and `report`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from dialin.cli import study_flags as given
from dialin.errors import UserError
from dialin.measures.table import explain, explain_seconds, explain_worthwhile
from dialin.model.setting import Value, parse_value
from dialin.question.conflicts import Kind
from dialin.question.study_file import question as check_options
from dialin.question.study_file import read, read_keys
from dialin.recipes.library import PREFIX, ScaleName
from dialin.store import is_suite

Directory = Annotated[Path, typer.Argument(metavar="DIR", help="The study's directory.")]
TotalMinutes = Annotated[float | None, typer.Option(min=0.1, help="A new budget, including the minutes already used.")]
Scale = Annotated[
    ScaleName | None,
    typer.Option(help="Size of a recipe: laptop takes minutes, server hours, paper may take days.", show_default=False),
]
AcceptWeaker = Annotated[
    bool,
    typer.Option(
        "--accept-weaker-durability",
        help="Decide again on the same trials, and allow a choice that weakens durability.",
    ),
]
Confirm = Annotated[bool, typer.Option("--confirm", help=given.help_of("confirm"))]
Given = Mapping[str, Any]


@given.takes_study(Kind.COMPARISON, hidden=("leave_out_unknown", "includes", "scale_sizes"))
def sweep(
    *,
    variables: Annotated[
        list[str],
        typer.Argument(
            metavar="VARIABLE=V1,V2,...",
            help="A variable with its values; several variables make every combination.",
        ),
    ],
    asked: Given,
    how: given.How,
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
    _conduct({**asked, "sweep": swept}, "-".join(swept), how)


@given.takes_study(Kind.COMPARISON)
def compare(
    *,
    option_files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="A.cnf B.cnf ...", help="Option files, or other files of settings (docs/study-file.md)."),
    ] = None,
    asked: Given,
    how: given.How,
) -> None:
    """Compare whole option files, or builds, or both.

    Options that belong to one server only (data directory, socket, port) are ignored, and dialin lists them. The same file
    given twice shows the noise of the machine. Several --server compare builds.

    dialin compare before.cnf after.cnf --server mysql@9.7

    dialin compare --server mysql@9.7 --server mariadb@10.11

    dialin compare --server image:mysql:8.4 --server-memory 1G,2G,4G
    """
    several_sizes = "," in asked.get("server-memory", "")
    if not option_files and len(asked.get("server", ())) < 2 and not several_sizes:
        raise UserError("There is nothing to compare", "Name option files, or give --server twice")
    _conduct({**asked, "compare": [str(path) for path in option_files or []]}, "compare", how)


@given.takes_study(
    Kind.TUNE,
    helps={
        "server": "The build to tune, such as mysql@9.7 (see `dialin servers`).",
        "set": "The baseline's value of a tuned variable; of any other variable, the value in all settings. Repeat.",
        "workload": "The load: a name (see `dialin sweep --help`) or a file.",
        "goal": f"What to optimize: {explain()}. Default: throughput.",
        "worthwhile": f"The smallest gain that matters. Default: {explain_worthwhile(lambda row: row.worthwhile_of_tune)}.",
        "measure": f"Seconds measured in each trial of the search. Default: {explain_seconds()}; "
        "10 for each of several numbers of threads. The proof measures up to twice as many.",
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
    asked: Given,
    how: given.How,
) -> None:
    """Find the best setting of many variables, and prove what it gains.

    A search tries settings in short trials: first a fixed design, then those for which a model of all trials predicts the
    largest gain. The last quarter of --minutes, or up to half, proves the best one, in
    confirmation trials of it, of subsets of its changes, and of the baseline. The recommendation is the smallest set of
    changes that carries the gain, or no change if there is no gain.

    dialin tune innodb_io_capacity=200..20000 innodb_redo_log_capacity=64M..4G innodb_flush_method --minutes 60

    The baseline is the server's default, or what --set gives a variable:

    dialin tune innodb_redo_log_capacity=32M..2G --set innodb_redo_log_capacity=64M --workload oltp_write_only --minutes 30

    Without variables, dialin proposes them, and shows the reason for each before it starts:

    dialin tune --server mysql@9.7 --workload oltp_read_write --threads 16 --minutes 120

    A setting whose server crashes costs one trial, and similar ones are not tried. Ctrl-C shows the best setting so far, and
    `dialin resume DIR` continues. Durability is not weakened unless you pass --accept-weaker-durability.
    """
    named = [text.partition("=")[0].strip() for text in variables or ()]
    name = "-".join(["tune", *named[:3]])
    _conduct({**asked, "tune": list(variables or ())}, name, how, base_file=from_file)


def _conduct(keys: Given, name: str, how: given.How, base_file: Path | None = None) -> None:
    from dialin.cli.conduct import conduct

    if "tune" not in keys:
        _conduct_if_suite(keys, Path.cwd(), name, how)
    question = check_options(keys, spelled=given.spelled, remedy="See --help")
    raise typer.Exit(conduct(question, Path.cwd(), how, name=name, base_file=base_file))


def _conduct_if_suite(keys: Given, where: Path, name: str, how: given.How) -> None:
    """Run a suite where the keys ask for one, and exit with its code."""
    from dialin.suites.members import requested_suite

    if (request := requested_suite(keys, where)) is not None:
        from dialin.cli.conduct_suite import conduct_suite

        raise typer.Exit(conduct_suite(request, where, how, name=name))


@given.takes(how=given.HOW, helps={"json": "Print only verdict.json; for a recipe, a list of {study, directory, verdict}."})
def run(
    *,
    study_file: Annotated[
        Path,
        typer.Argument(
            metavar="STUDY.toml | recipe:NAME",
            help="A study file (docs/study-file.md) or a published experiment (see `dialin recipes`).",
        ),
    ],
    scale: Scale = None,
    how: given.How,
) -> None:
    """Run the study that a file describes, or the studies of a published experiment.

    dialin run recipe:read-buffer-size --scale laptop --out ./rbs
    """
    if str(study_file).startswith(PREFIX):
        from dialin.cli.run_recipe import run_recipe

        if how.fleet != given.LOCAL:
            raise UserError("--fleet is for study files, and a recipe runs on one host", "Leave it out")
        name = str(study_file).removeprefix(PREFIX)
        raise typer.Exit(run_recipe(name, scale or ScaleName.LAPTOP, how))
    if scale is not None:
        raise UserError(f"--scale is for recipes, and {study_file} is a study file", "Leave it out, or see `dialin recipes`")
    from dialin.cli.conduct import conduct

    where = study_file.absolute().parent
    _conduct_if_suite(read_keys(study_file), where, study_file.stem, how)
    raise typer.Exit(conduct(read(study_file), where, how, name=study_file.stem))


@given.takes(how=[name for name in given.HOW if name != "out"])
def resume(
    *,
    directory: Directory,
    minutes: TotalMinutes = None,
    confirm: Confirm = False,
    accept_weaker_durability: AcceptWeaker = False,
    how: given.How,
) -> None:
    """Resume a study that was stopped or killed, or is inconclusive. No completed trial is repeated."""
    from dialin.cli.conduct import go_on

    if is_suite(directory):
        from dialin.cli.conduct_suite import resume_suite

        accept = accept_weaker_durability
        raise typer.Exit(resume_suite(directory, how, minutes=minutes, confirm=confirm, accept_weaker=accept))
    if accept_weaker_durability:
        _accept_weaker_durability(directory)
    raise typer.Exit(go_on(directory, how, minutes=minutes, confirm=confirm))


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

        raise typer.Exit(
            show_suite(
                directory,
                json=json,
                markdown=markdown,
                full=full,
                must_write=False,
                accept_weaker=accept_weaker_durability,
            )
        )
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
