"""The commands, each of which is imported when it is asked for: most of what studies need is slow to import."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

_MODULES = {
    "sweep": "studies",
    "compare": "studies",
    "run": "studies",
    "resume": "studies",
    "report": "studies",
    "recipes": "recipes",
    "watch": "watch",
    "explain": "explain",
    "export": "export",
    "analyze": "analyze",
    "variables": "variables",
    "doctor": "doctor",
    "restore": "restore",
    "servers": "servers",
}
"""The module of `dialin.cli` that has each command's function, or its group; in the order in which help lists them."""


class OnDemand(TyperGroup):
    """A group that has these commands."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Commands()  # type: ignore[assignment]  # nothing is ever added


class _Commands(Mapping[str, Any]):
    def __getitem__(self, name: str) -> Any:  # the commands of Typer, whose type it does not publish
        return _command(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULES)

    def __len__(self) -> int:
        return len(_MODULES)


@cache
def _command(name: str) -> Any:
    part = getattr(import_module(f"dialin.cli.{_MODULES[name]}"), name)
    if isinstance(part, typer.Typer):
        return typer.main.get_command(part)
    alone = typer.Typer(add_completion=False)
    alone.command(name)(part)
    return typer.main.get_command(alone)
