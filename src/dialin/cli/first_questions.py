"""`dialin` without a command on a terminal: ask three questions and show the command that answers them. Nothing is run."""

from __future__ import annotations

import difflib
import math
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer
from rich.markup import escape

from dialin.cli.console import errors, say
from dialin.errors import DialinError, UserError
from dialin.model.setting import canonical_name, whole_number
from dialin.text import command_line

if TYPE_CHECKING:
    from dialin.model.build import Build
    from dialin.variables.catalogue import Catalogue

Answer = TypeVar("Answer")

Ask = Callable[[str, str], str]
"""Takes a question and its default answer, asks, and returns the answer."""

FIND_OUT = "find out"
_RUNNING = "a running server"
_COMMON_LOADS = ("oltp_read_write", "oltp_read_only", "oltp_write_only", "oltp_point_select")


class BadAnswerError(ValueError):
    """An answer that cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What there is to choose from.

    Attributes:
        builds: the builds on this machine, such as `mysql@9.7.4`, the first one the default.
        catalogue: returns the variables of a server, named by the words that a command names it with; None where dialin does
            not know them. It raises DialinError where the server cannot be read.
    """

    builds: Sequence[str]
    catalogue: Callable[[Sequence[str]], Catalogue | None]


def is_terminal() -> bool:
    """Return whether standard input, output and error are terminals, so that somebody can answer."""
    return sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()


def ask_and_show() -> None:
    """Ask the three questions and show the command."""
    console = errors()
    console.print("dialin finds the best value of a MySQL or MariaDB variable by experiment. Three questions make a command.\n")
    commands = ask_for_commands(choices_here(), _prompt)
    console.print(f"\n{'This command answers' if len(commands) == 1 else 'These commands answer'} your question:\n")
    typer.echo("".join(f"  {command_line(*words)}\n" for words in commands))
    console.print(escape(_what_it_does(commands[-1][1])))


def ask_for_commands(choices: Choices, ask: Ask) -> list[list[str]]:
    """Ask which server, which load and which variable, each until the answer can be used.

    Returns:
        The command, after the one that installs the server if it is not on this machine.
    """
    builds = list(choices.builds) or ["mysql@9.7"]
    listed = "\n".join(f"  {number}  {name}" for number, name in enumerate([*builds, _RUNNING], 1))
    server, catalogue = _ask(
        ask,
        f"Which server? A number, a build such as mysql@9.7, or the option file (~/.my.cnf) of a running server:\n{listed}\n",
        "1",
        lambda answer: _read_server(_server(answer, builds, ask), choices),
    )
    loads = "\n".join(f"  {number}  {name}" for number, name in enumerate(_COMMON_LOADS, 1))
    load = _ask(ask, f"Which load? A number, the name of a load, or a file of your own transactions:\n{loads}\n", "1", _load)
    variable = _ask(
        ask,
        "Which variable? NAME, NAME=VALUE,VALUE to compare values, NAME=LOW..HIGH to search a range, "
        f"or {FIND_OUT!r} to see which ones are worth it\n",
        FIND_OUT,
        lambda answer: _variable(answer, catalogue),
    )
    install = [["dialin", "servers", "install", server[1]]] if _is_missing(server, choices.builds) else []
    return [*install, ["dialin", *variable, *server, "--workload", load]]


def _read_server(server: list[str], choices: Choices) -> tuple[list[str], Catalogue | None]:
    """Return a server and its variables.

    Raises:
        BadAnswerError: it cannot be read.
    """
    try:
        return server, choices.catalogue(server)
    except DialinError as error:
        raise BadAnswerError(str(error)) from None


def _is_missing(server: Sequence[str], builds: Sequence[str]) -> bool:
    """Return whether the server is a build that is not among `builds`; `mysql@9.7` and `mysql` both match `mysql@9.7.4`."""
    if server[0] != "--server":
        return False
    name = server[1]
    return not any(build == name or build.startswith((f"{name}.", f"{name}@")) for build in builds)


def _ask(ask: Ask, question: str, default: str, read: Callable[[str], Answer]) -> Answer:
    while True:
        try:
            return read(ask(question, default).strip())
        except BadAnswerError as error:
            errors().print(escape(str(error)))


def _place(answer: str, count: int) -> int:
    """Return the place in a list of `count` that a number names."""
    place = whole_number(answer) or 0
    if not 1 <= place <= count:
        raise BadAnswerError(f"There are the numbers 1 to {count}")
    return place - 1


def _server(answer: str, builds: Sequence[str], ask: Ask) -> list[str]:
    names = [*builds, _RUNNING]
    if answer.isdecimal():
        answer = names[_place(answer, len(names))]
    if answer == _RUNNING:
        answer = ask("Which option file has the account of that server?\n", "~/.my.cnf").strip()
        answer = answer if "/" in answer else f"./{answer}"
    if "/" in answer or answer.endswith(".cnf"):
        if not Path(answer).expanduser().is_file():
            raise BadAnswerError(f"There is no file {answer}")
        return ["--attach", "--defaults-file", str(Path(answer).expanduser())]
    from dialin.model.build import BuildReference

    try:
        return ["--server", str(BuildReference.parse(answer))]
    except ValueError as error:
        raise BadAnswerError(str(error)) from None


def _load(answer: str) -> str:
    from dialin.workloads import kinds

    if answer.isdecimal():
        return _COMMON_LOADS[_place(answer, len(_COMMON_LOADS))]
    if kinds.is_path(answer):
        if not Path(answer).expanduser().is_file():
            raise BadAnswerError(f"There is no file {answer}")
        return answer
    names = sorted({name for kind in kinds.KINDS for name in kind.names})
    try:
        _, name = kinds.find_kind(answer)
    except UserError as error:
        raise BadAnswerError(str(error)) from None
    if name not in names:
        near = difflib.get_close_matches(answer, names, n=1, cutoff=0.5)
        raise BadAnswerError(f"There is no load {answer!r}{f'; did you mean {near[0]}?' if near else ''}")
    return answer


def _variable(answer: str, catalogue: Catalogue | None) -> list[str]:
    """Return a command and its variable; all that the command itself would refuse of them is refused."""
    from dialin.model.setting import parse_value
    from dialin.preflight import tune_space
    from dialin.question.candidates import sweep_settings
    from dialin.search.variable_choice import Situation
    from dialin.variables import check

    if answer.lower() == FIND_OUT:
        return ["advise"]
    name, equals, values = answer.partition("=")
    try:
        canonical = canonical_name(name)
        if equals and not values.strip():
            raise BadAnswerError(f"{answer}: there are no values")
        text = f"{canonical}={''.join(values.split())}" if equals else canonical
        if equals and ".." not in values:
            compared = [parse_value(value) for value in text.partition("=")[2].split(",") if value]
            settings = sweep_settings({canonical: compared})
            if catalogue is not None:
                check.check_settings(settings, catalogue)
            return ["sweep", text]
        requested = tune_space.parse_named([text])
        if catalogue is not None:
            known = catalogue.defaults()
            somewhere = Situation(math.inf, 1, 16, data=math.inf, disk=math.inf, in_force=known, build=catalogue.build_id)
            requested = tune_space.resolve(requested, catalogue, {})
            tune_space.name_variables(requested, catalogue, somewhere, weaker=False)
    except (ValueError, UserError) as error:
        raise BadAnswerError(str(error)) from None
    return ["tune", text]


def choices_here() -> Choices:
    """Return what there is to choose from on this machine."""
    from dialin.paths import Home
    from dialin.servers import builds

    home = Home.of()
    installed = sorted(builds.discover(home, os.environ), key=lambda build: (build.vendor, build.version), reverse=True)
    return Choices(list(dict.fromkeys(build.id for build in installed)), lambda server: _catalogue(server, installed))


def _catalogue(server: Sequence[str], installed: Sequence[Build]) -> Catalogue | None:
    """Return the variables of a running server, or of a build that is installed; None for any other build.

    Raises:
        DialinError: the server does not answer, or the build does not start.
    """
    from dialin.model.build import BuildReference
    from dialin.model.place import Attachment
    from dialin.places.attached.check import reach_server, read_catalogue
    from dialin.trials.tools import Tools

    tools = Tools.open(say)
    if server[0] == "--attach":
        return read_catalogue(reach_server(Attachment(defaults_file=server[2]), tools, is_written=False))
    build = next((build for build in installed if BuildReference.parse(server[1]).matches(build)), None)
    return tools.catalogue(build) if build is not None else None


def _prompt(question: str, default: str) -> str:
    return str(typer.prompt(question, default=default, err=True))


def _what_it_does(command: str) -> str:
    return {
        "advise": "It watches the server for a minute and lists the variables that are worth an experiment.",
        "tune": "It searches for the best value and proves what it gains, in 30 minutes (--minutes). It asks before it starts.",
        "sweep": "It compares the values under load, up to 30 minutes (--minutes). It asks before it starts.",
    }[command] + f" More: dialin {command} --help"
