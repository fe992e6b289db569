"""`dialin studies`: the studies below a directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dialin.cli.console import output


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

    lister = StudyLister(directory)
    if relative:
        typer.echo(lister.relative())
    elif json:
        typer.echo(json_documents.render(lister.document()), nl=False)
    else:
        lister.print_on(output())
