"""`dialin recipes`: published experiments, listed and told."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from dialin.study import recipe_words
from dialin.study import recipes as kept
from dialin.study.recipes import ScaleName

_WIDTH = 100
"""Characters of a line at the most; longer ones are hard to read."""


def recipes(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Which one to show in full.")] = None,
) -> None:
    """List the published experiments that dialin can run, or show one of them in full.

    dialin recipes read-buffer-size
    """
    width = min(Console().width, _WIDTH)
    if name is not None:
        plain = name.removeprefix(kept.PREFIX)
        lines = recipe_words.in_full(plain, kept.find(plain), width)
    else:
        lines = [line for each in kept.names() for line in recipe_words.in_short(each, kept.find(each), width)]
        lines += ["One in full: dialin recipes NAME", f"Run it: dialin run {kept.PREFIX}NAME --scale {' | '.join(ScaleName)}"]
    typer.echo("\n".join(lines))
