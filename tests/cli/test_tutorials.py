"""The commands that documents show are commands of dialin, with options and subcommands that these have."""

import re
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import typer

from dialin.cli.commands import _COMMANDS, _command

DOCS = Path(__file__).parents[2] / "docs"
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
PAGES = [*sorted(DOCS.rglob("*.md")), *(DOCS.parent / f"{name}.md" for name in ("README", "BENCHMARKS", "CHANGELOG"))]
_SHOWN = re.compile(r"^(?:\$| {4})? ?(dialin (?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
_IN_TEXT = re.compile(r"`(dialin [^`\n]+)`")


def _shown(page: Path) -> list[list[str]]:
    """Return the words of each command in the blocks of a page."""
    blocks = re.findall(r"^```[^\n]*\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return _commands(line.replace("\\\n", " ") for block in blocks for line in _SHOWN.findall(block))


def _commands(lines: Iterable[str]) -> list[list[str]]:
    """Return the words of each command; sentences that begin with `dialin` are none."""
    words = [shlex.split(line, comments=True) for line in lines if line.count("'") % 2 == 0]
    return [each for each in words if each[1:] and each[1] in _COMMANDS]


def _found(words: list[str]) -> tuple[Any, list[str]]:
    """Return the command or subcommand that words call, and its arguments."""
    command, rest = _command(words[1]), words[2:]
    while rest and rest[0] in getattr(command, "commands", {}):
        command, rest = command.commands[rest[0]], rest[1:]
    assert not (rest and hasattr(command, "commands") and not rest[0].startswith("-")), f"{words}: no such subcommand"
    return command, rest


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_can_be_parsed(page):
    for words in _shown(page):
        command, rest = _found(words)
        command.make_parser(typer.Context(command)).parse_args(list(rest))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_and_option_that_a_sentence_names_is_there(page):
    for words in _commands(_IN_TEXT.findall(page.read_text(encoding="utf-8"))):
        command, rest = _found(words)
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        assert {word.partition("=")[0] for word in rest if word.startswith("--")} <= known | {"--help"}, words


def test_the_pages_of_a_new_user_show_commands():
    pages = [*TUTORIALS, *(DOCS / f"{name}.md" for name in ("quickstart", "advise"))]
    assert all(_shown(page) for page in pages)


def test_the_tutorials_of_the_site_are_those_that_there_are():
    navigation = (DOCS.parent / "scripts/website/zensical.toml").read_text(encoding="utf-8")
    assert set(re.findall(r'"(tutorials/[^"]+)"', navigation)) == {f"tutorials/{page.name}" for page in TUTORIALS}


def test_every_page_is_in_the_sites_navigation_but_those_for_contributors():
    navigation = (DOCS.parent / "scripts/website/zensical.toml").read_text(encoding="utf-8")
    pages = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md") if page.parent.name != "example"}
    for_contributors = set(
        re.findall(r"\(docs/(adding-[^)#]+\.md)", (DOCS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    )
    assert len(for_contributors) == 3
    assert pages - for_contributors <= set(re.findall(r'"([^"]+\.md)"', navigation))
