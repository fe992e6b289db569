"""`dialin studies`, `dialin recipes` and `dialin workloads`: what there is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from dialin.cli.console import output, say
from dialin.recipes import library, listing
from dialin.recipes.library import ScaleName
from dialin.text import command_line


def studies(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where to look; subdirectories are searched too.", show_default=".")
    ] = Path(),
    relative: Annotated[
        bool, typer.Option("--relative", help="Tables as Markdown: workloads × values, ratios to the baseline.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the list as JSON; see schema/studies.schema.json.")] = False,
) -> None:
    """List the studies in a directory and below it: date, verdict, gain, question and directory.

    The oldest study comes first. A study that cannot be read is one line with the reason. Studies may be running; they are
    not changed.

    dialin studies ~/benchmarks
    """
    from dialin import json_documents
    from dialin.report.study_list import StudyLister
    from dialin.suites.suite_file import read_suite

    lister = StudyLister(directory)
    if relative:
        typer.echo(lister.relative())
    elif json:
        typer.echo(json_documents.render(lister.document()), nl=False)
    else:
        lister.print_on(output(), read_suite)


_WIDTH = 100
"""Characters of a line at the most; longer ones are hard to read."""


def recipes(name: Annotated[str | None, typer.Argument(metavar="NAME", help="The recipe to show in full.")] = None) -> None:
    """List the published experiments that dialin can run, or show one of them in full.

    dialin recipes read-buffer-size
    """
    width = min(output().width, _WIDTH)
    if name is not None:
        plain = name.removeprefix(library.PREFIX)
        lines = listing.in_full(plain, library.find(plain), width)
    else:
        lines = [line for each in library.names() for line in listing.in_short(each, library.find(each), width)]
        lines += [
            "Details: dialin recipes NAME",
            f"Run one: {command_line('dialin run', f'{library.PREFIX}NAME')} --scale {' | '.join(ScaleName)}",
        ]
    typer.echo("\n".join(lines))


workloads = typer.Typer(
    name="workloads",
    add_completion=False,
    help="Load programs that dialin knows, and the check of a file that describes another one.",
    no_args_is_help=True,
)

_SAMPLES = 5
"""How many samples of a program a check reads."""


@workloads.command("list")
def list_programs() -> None:
    """List the files of load programs that come with dialin, and what of each was tested."""
    from dialin.workloads.command import load_file
    from dialin.workloads.command.preset_names import path_of, preset_names

    for name in preset_names():
        file = load_file.read(path_of(name))
        output().print(f"{escape(name)}: {escape(file.description)}. {escape(file.tested)}")


@workloads.command("check")
def check(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The TOML file of a load program, or the name of one of dialin's.")
    ],
    server: Annotated[
        str | None, typer.Option(metavar="NAME", help="The build to try it on. Default: the newest installed.")
    ] = None,
    threads: Annotated[int, typer.Option(min=1, help="Concurrent connections.")] = 4,
    options: Annotated[
        list[str] | None, typer.Option("--workload-option", metavar="NAME=VALUE", help="An option of the file.")
    ] = None,
) -> None:
    """Run a load program for some seconds against a server of its own, and show the first samples that are read.

    dialin workloads check ./mine.toml
    """
    import os

    from dialin.places.sandbox.load_check import run_program
    from dialin.servers import builds
    from dialin.trials.tools import Tools
    from dialin.workloads.command.command import Command
    from dialin.workloads.command.command_kind import KIND
    from dialin.workloads.kind import LoadRequest

    given = dict(option.partition("=")[::2] for option in options or ())
    name = str(file).removeprefix(f"{KIND.name}:")
    spec = KIND.spec(LoadRequest(asked=name, name=name, given={"threads": threads}, options=given))
    tools = Tools.open(say)
    (build,) = tools.choose([server] if server else [], builds.discover(tools.home, os.environ)).values()
    for line in run_program(tools, build, Command(spec), threads, _SAMPLES):
        output().print(escape(line), highlight=False)
