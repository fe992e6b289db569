"""`dialin recipes`: published experiments, listed or shown in full."""

from __future__ import annotations

from typing import Annotated

import typer

from dialin.cli.console import output
from dialin.recipes import library, listing
from dialin.recipes.library import ScaleName

_WIDTH = 100
"""Characters of a line at the most; longer ones are hard to read."""


def recipes(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The recipe to show in full.")] = None,
) -> None:
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
            f"Run one: dialin run {library.PREFIX}NAME --scale {' | '.join(ScaleName)}",
        ]
    typer.echo("\n".join(lines))
