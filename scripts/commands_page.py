"""Prints docs/cli.md, made of what `dialin --help` and the help of each command show.

python scripts/commands_page.py >docs/cli.md

An option that several commands have, with the same help, stands once, in the group where the first of them shows it.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import typer

from dialin.cli.app import EPILOG, app

_SHARED = "Options of several commands"
_OTHER = "Of all kinds"
_SPECIAL = re.compile(r"([\\*<])")
_TYPE = re.compile(r" <(?:str|path|bool|(?:int|float)(?: range)?|list\[\w+\])>")
_BOUNDS = re.compile(r" \[(?:(default: [^;\]]*)(?:; [^\]]*)?|[^\]]*x[<>]=?[^\]]*|required|x[^\]]*)\]$")


@dataclass(frozen=True, slots=True)
class _Option:
    """An option as the help of a command shows it."""

    group: str = field(compare=False)
    written: str
    text: str

    @property
    def name(self) -> str:
        return f"`{next(word for word in self.written.replace(',', ' ').split() if word.startswith('--'))}`"


def commands_page() -> str:
    """Return the page, as GitHub-flavoured Markdown."""
    program: Any = typer.main.get_command(app)  # its commands have types that Typer does not publish
    context = program.context_class(program, info_name="dialin")
    commands = list(_commands(program, context))
    times = Counter(option for command, own in commands for option in _options(command, own))
    shared: dict[str, list[_Option]] = {}
    for option, number in times.items():
        if number > 1:
            shared.setdefault(option.group, []).append(option)
    parts = [
        "# The commands of dialin",
        *_paragraphs(program.help),
        EPILOG,
        f"An option that several commands have stands once, [below](#{_anchor(_SHARED)}).",
        *(part for command, own in commands for part in _command(command, own, shared)),
        f"## {_SHARED}",
        *(part for group, options in shared.items() for part in (f"### {group}", _lines(options))),
    ]
    return "\n\n".join(parts) + "\n"


def _commands(group: Any, context: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each command below a group, with its context."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        own = command.context_class(command, info_name=name, parent=context)
        yield command, own
        if hasattr(command, "commands"):
            yield from _commands(command, own)


def _options(command: Any, context: Any) -> list[_Option]:
    return [
        _Option(getattr(each, "rich_help_panel", None) or _OTHER, *record)
        for each in command.get_params(context)
        if each.param_type_name == "option" and "--help" not in each.opts and (record := each.get_help_record(context))
    ]


def _command(command: Any, context: Any, shared: Mapping[str, Sequence[_Option]]) -> Iterator[str]:
    yield f"{'##' if context.parent.parent is None else '###'} `{context.command_path}`"
    yield from _paragraphs(command.help or "")
    arguments = [
        _Option("", *record)
        for each in command.get_params(context)
        if each.param_type_name == "argument" and (record := each.get_help_record(context))
    ]
    options = _options(command, context)
    once = {each for members in shared.values() for each in members}
    if own := [*arguments, *(each for each in options if each not in once)]:
        yield _lines(own)
    if also := [text for group, members in shared.items() for text in _of_group(group, members, options)]:
        yield f"Also {', '.join(also)}."


def _of_group(group: str, members: Sequence[_Option], options: Sequence[_Option]) -> list[str]:
    """Return which options of a group a command has: by the group's name where it has most of them."""
    has = [each.name for each in members if each in options]
    names = {each.name for each in options}
    lacks = list(dict.fromkeys(each.name for each in members if each.name not in names))
    if group == _OTHER or len(has) < 4 or len(lacks) > len(has):
        return has
    without = f" without {' and '.join(lacks)}" if lacks else ""
    return [f"[{group}](#{_anchor(group)}){without}"]


def _lines(options: Sequence[_Option]) -> str:
    return "\n".join(_line(each) for each in options)


def _line(option: _Option) -> str:
    """Return an option without its type, where that says nothing more than its name, and without its bounds."""
    text = _BOUNDS.sub(lambda match: f" ({match[1]})" if match[1] else "", option.text)
    return f"* `{_TYPE.sub('', option.written)}`{f': {_plain(text)}' if text else ''}"


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.replace("\b", "").split("\n\n"):
        words = " ".join(paragraph.split())
        yield f"```console\n$ {words}\n```" if words.startswith("dialin ") else _plain(words)


def _plain(text: str) -> str:
    """Return text of a help in which nothing is markup but code between backquotes."""
    parts = " ".join(text.split()).split("`")
    return "`".join(part if place % 2 else _SPECIAL.sub(r"\\\1", part) for place, part in enumerate(parts))


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


if __name__ == "__main__":
    sys.stdout.write(commands_page())
