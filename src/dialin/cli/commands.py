"""The commands of dialin. Each is imported only when it is used, because most of what studies need is slow to import."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from dialin.errors import UserError

_COMMANDS = {
    "sweep": "studies",
    "compare": "studies",
    "tune": "studies",
    "advise": "advise",
    "run": "studies",
    "resume": "studies",
    "report": "studies",
    "studies": "lists",
    "diff": "explain",
    "recipes": "lists",
    "workloads": "lists",
    "watch": "watch",
    "explain": "explain",
    "export": "export",
    "analyze": "analyze",
    "capture": "capture",
    "variables": "variables",
    "doctor": "doctor",
    "restore": "restore",
    "servers": "servers",
    "fleet": "fleet",
}
"""The module of `dialin.cli` with the function or the group of each command, in the order in which help lists them."""

_TIDYING = frozenset({"sweep", "compare", "tune", "run", "resume", "restore"})
"""Commands that start or change servers: those that a dead dialin left are stopped and restored before. Other commands read
only, or tidy by themselves where their options start a server (`advise`, `doctor`). Help never tidies."""

TIDYING_SERVERS = frozenset({"check", "install", "remove", "start", "stop"})
"""The commands of `dialin servers` and `dialin capture` that tidy; listing builds and adding directories does not."""


class OnDemand(TyperGroup):
    """The group of all commands, which are imported when they are used."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Commands()  # type: ignore[assignment]  # nothing is ever added


class _Commands(Mapping[str, Any]):
    def __getitem__(self, name: str) -> Any:  # the commands of Typer, whose type it does not publish
        return _command(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_COMMANDS)

    def __len__(self) -> int:
        return len(_COMMANDS)


@cache
def _command(name: str) -> Any:
    function_or_group = getattr(import_module(f"dialin.cli.{_COMMANDS[name]}"), name)
    if isinstance(function_or_group, typer.Typer):
        group = typer.main.get_command(function_or_group)
        for name_there, subcommand in group.commands.items():  # type: ignore[attr-defined]  # a group has commands
            _finish(subcommand)
            if name_there in TIDYING_SERVERS:
                _tidy_before(subcommand)
        return group
    application = typer.Typer(add_completion=False)
    application.command(name, cls=getattr(function_or_group, "shown_by", None))(function_or_group)
    command = typer.main.get_command(application)
    _finish(command)
    if name in _TIDYING:
        _tidy_before(command, servers=name != "restore")
    return command


def _tidy_before(command: Any, *, servers: bool = True) -> None:
    """Make a command tidy before it runs. Options are read by then, so a wrong option or --help does not tidy."""
    invoke = command.invoke

    def tidied(context: Any) -> Any:
        from dialin.cli.restore import tidy_up

        tidy_up(attached=servers)
        return invoke(context)

    command.invoke = tidied


def _finish(command: Any) -> None:
    """Make a command refuse repeated options, and let the paragraphs of its help fill the terminal."""
    _refuse_repeated(command)
    command.help = "\n\n".join(" ".join(text.split()) for text in (command.help or "").split("\n\n"))


def _refuse_repeated(command: Any) -> None:
    """Make a command refuse an option with a single value that is given twice: the parser would take the last one silently.

    A flag may be repeated, but not beside its opposite.
    """
    make_parser = command.make_parser

    def strict(context: Any) -> Any:
        parser = make_parser(context)
        parse = parser.parse_args

        def parsed(args: list[str]) -> Any:
            words = set(args)
            options, rest, order = parse(args=args)
            times = Counter(param for param in order if _takes_one_value(param, words))
            repeated = next((param for param, count in times.items() if count > 1), None)
            if repeated is not None and not context.resilient_parsing:  # completion takes what there is
                names = " or ".join([*repeated.opts, *repeated.secondary_opts])
                raise UserError(f"{names} is given {times[repeated]} times", "Give it once")
            return options, rest, order

        parser.parse_args = parsed
        return parser

    command.make_parser = strict


def _takes_one_value(param: Any, words: set[str]) -> bool:
    """Return whether a parameter is an option that a second value would replace, or a flag beside its opposite."""
    is_option = param.param_type_name == "option" and not param.multiple and not param.count
    return bool(is_option and (not param.is_flag or (words & {*param.opts} and words & {*param.secondary_opts})))
