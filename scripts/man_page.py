"""Prints the manual page, dialin.1, made of what `dialin --help` and the help of each command show.

python scripts/man_page.py >dialin.1
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import typer

from dialin import __version__
from dialin.cli.app import EPILOG, app


def manual_page() -> str:
    """Return the page, in the man macros of roff."""
    program: Any = typer.main.get_command(app)  # its commands have types that Typer does not publish
    context = program.context_class(program, info_name="dialin")
    summary, *description = program.help.split("\n\n")
    lines = [
        f'.TH DIALIN 1 "" "dialin {__version__}" "User Commands"',
        ".SH NAME",
        _text(f"dialin - {summary[0].lower()}{summary[1:].rstrip('.')}"),
        ".SH SYNOPSIS",
        _text(f"dialin {' '.join(program.collect_usage_pieces(context))}"),
        ".SH DESCRIPTION",
        *_paragraphs("\n\n".join(description)),
        ".SH OPTIONS",
        *_parameters(program, context),
        ".SH COMMANDS",
    ]
    for name in program.list_commands(context):
        lines += _command(program.get_command(context, name), name, context)
    lines += [".SH EXIT STATUS", *_paragraphs(EPILOG.removeprefix("Exit codes: "))]
    return "\n".join(lines) + "\n"


def _command(command: Any, name: str, parent: Any) -> Iterator[str]:
    context = command.context_class(command, info_name=name, parent=parent)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield f".SS {_text(usage)}"
    yield from _paragraphs(command.help or "")
    yield from _parameters(command, context)
    for below in getattr(command, "commands", ()):
        yield from _command(command.get_command(context, below), below, context)


def _parameters(command: Any, context: Any) -> Iterator[str]:
    for parameter in command.get_params(context):
        if record := parameter.get_help_record(context):
            yield from (".TP", f".B {_text(record[0])}", _text(record[1]) or r"\&")


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.replace("\b", "").split("\n\n"):
        if paragraph.startswith("dialin "):  # an example
            yield from (".PP", ".RS 4", ".nf", *map(_text, paragraph.splitlines()), ".fi", ".RE")
        else:
            yield from (".PP", _text(" ".join(paragraph.split())))


def _text(text: str) -> str:
    """Return text as roff takes it literally; a hyphen of a plain minus sign can be searched for and copied."""
    escaped = " ".join(text.split()).replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    sys.stdout.write(manual_page())
