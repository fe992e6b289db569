"""`dialin variables`: what builds report about their variables, and what dialin's rules add."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from dialin.cli.console import SafeConsole, say
from dialin.errors import ServerError, UserError
from dialin.model.build import Build
from dialin.servers import builds
from dialin.text import counted, shorten, visible
from dialin.trials.tools import Tools
from dialin.variables import check, explanation
from dialin.variables.catalogue import Catalogue, Variable
from dialin.variables.explanation import Explanation

_LONGEST_DEFAULT = 24
_LEAST = 6
"""Characters; a column that would be narrower is left out."""

_GAP = "  "
_TITLES = ("variable", "default", "change", "takes")


def variables(
    pattern: Annotated[
        str | None,
        typer.Argument(metavar="PATTERN", help="A variable's name, part of one, or a pattern such as 'innodb_*_size'."),
    ] = None,
    server: Annotated[
        str | None,
        typer.Option(metavar="BUILD", help="The build to ask, such as mysql@9.7. Default for an explanation: all builds."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False,
) -> None:
    """List the variables of a build, or explain one: range, default, memory, durability, dependent variables and builds.

    The facts come from the build itself, which is started for a few seconds the first time.

    dialin variables io_capacity --server mariadb@10.11

    dialin variables read_buffer_size
    """
    tools = Tools.open(say)
    installed = builds.discover(tools.home, os.environ)
    chosen = next(iter(tools.choose([server] if server else [], installed).values()))
    catalogue = tools.catalogue(chosen)
    others = [build for build in installed if build.id != chosen.id]
    if pattern is not None and (name := _name_on(pattern, catalogue)):
        _explain(name, catalogue, [] if server else others, tools, json=json)
    elif variables := explanation.matching(pattern, catalogue):
        _list(variables, catalogue.build_id, json=json)
    elif not server and (elsewhere := _elsewhere(pattern or "", others, tools)):
        _explain(elsewhere, catalogue, others, tools, json=json)
    elif _is_pattern(pattern or ""):
        raise UserError(f"No variable of {catalogue.build_id} fits {pattern}", "`dialin variables` lists them all")
    else:
        check.find_name(pattern or "", catalogue, {build.id: functools.partial(tools.catalogue, build) for build in others})


def _is_pattern(text: str) -> bool:
    return any(character in text for character in "*?[")


def _name_on(pattern: str, catalogue: Catalogue) -> str | None:
    if _is_pattern(pattern):
        return None
    known = check.known_as(pattern, catalogue)
    return known.name if known else None


def _elsewhere(pattern: str, others: Sequence[Build], tools: Tools) -> str | None:
    return next((name for each in _catalogues(others, tools) if (name := _name_on(pattern, each))), None)


def _catalogues(wanted: Sequence[Build], tools: Tools) -> list[Catalogue]:
    """Return the catalogues of builds; one that does not start is left out with a message."""
    by_id: dict[str, Catalogue] = {}
    for build in wanted:
        try:
            by_id.setdefault(build.id, tools.catalogue(build))
        except ServerError as error:
            say(f"{build.id} is left out: {error.what}")
    return list(by_id.values())


def _explain(name: str, catalogue: Catalogue, others: Sequence[Build], tools: Tools, *, json: bool) -> None:
    explained = explanation.explain_variable(name, [catalogue, *_catalogues(others, tools)])
    if json:
        _print_json(explained.facts())
        return
    console = SafeConsole()
    console.print(Text(explained.name, style="bold"))
    if console.is_terminal:
        console.print(_grid(explained))
        return
    for line in explained.lines:
        for part in line.text.split("\n"):
            console.print(Text(f"{line.label}: {visible(part)}{_source(line.source)}"), soft_wrap=True)


def _grid(explained: Explanation) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for line in explained.lines:
        text = Text("\n".join(visible(part) for part in line.text.split("\n")))
        grid.add_row(line.label, text.append(_source(line.source), style="dim"))
    return grid


def _source(source: str) -> str:
    return f" ({source})" if source else ""


def _list(variables: Sequence[Variable], build_id: str, *, json: bool) -> None:
    if json:
        _print_json({"build": build_id, "variables": [explanation.facts(variable) for variable in variables]})
        return
    rows = [
        (
            variable.name,
            visible(explanation.default_of(variable)),
            explanation.when_changed(variable),
            visible(explanation.range_of(variable, short=True)),
        )
        for variable in variables
    ]
    console = SafeConsole()
    name, default, takes = _widths(rows, console.width) if console.is_terminal else _widths(rows, None)
    for index, row in enumerate((_TITLES, *rows)):
        cells = (_cell(row[0], name), _cell(row[1], default), f"{row[2]:<7}", _cell(row[3], takes))
        style = "bold" if console.is_terminal and index == 0 else ""
        console.print(Text(_GAP.join(filter(None, cells)).rstrip(), style=style), soft_wrap=True)
    if console.is_terminal:
        console.print(Text(f"{counted(len(variables), 'variable')} of {build_id}", style="dim"))


def _widths(rows: Sequence[tuple[str, ...]], width: int | None) -> tuple[int, int, int | None]:
    """Return the widths of name, default and range: 0 leaves a column out, None cuts nothing.

    Without a terminal nothing is cut: a long default pushes the rest of its line aside.
    """
    name, default = (max(len(row[column]) for row in (_TITLES, *rows)) for column in (0, 1))
    default = min(default, _LONGEST_DEFAULT)
    if width is None:
        return name, -default, None
    gap, change = len(_GAP), len("dynamic")
    name = min(name, max(width - gap - change, 1))
    room = width - name - change - 2 * gap
    default = min(default, room) if room >= _LEAST else 0
    room -= default + gap
    return name, default, room if room >= _LEAST else 0


def _cell(text: str, width: int | None) -> str:
    """Return text cut and padded to a width; a negative width only pads, None leaves it as it is."""
    if width is None:
        return text
    return f"{text:<{-width}}" if width < 0 else f"{shorten(text, width):<{width}}"


def _print_json(data: object) -> None:
    from dialin import json_documents

    typer.echo(json_documents.ascii_json(data), nl=False)
