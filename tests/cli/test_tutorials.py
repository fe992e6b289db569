"""The commands of the tutorials and of a new user's first pages are commands of dialin, with options that these have."""

import re
import shlex
from pathlib import Path

import pytest

from dialin.cli.commands import _command

DOCS = Path(__file__).parents[2] / "docs"
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
PAGES = [*TUTORIALS, *(DOCS / f"{name}.md" for name in ("quickstart", "advise"))]
_COMMAND = re.compile(r"^(?:\$| {4})? ?(dialin (?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)


def _commands(page: Path) -> list[list[str]]:
    blocks = re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    lines = [line.replace("\\\n", " ") for block in blocks for line in _COMMAND.findall(block)]
    return [shlex.split(line, comments=True) for line in lines if not line.startswith("dialin did")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_and_option_is_there(page):
    commands = [words for words in _commands(page) if words[0] == "dialin"]
    assert commands
    for words in commands:
        command = _command(words[1])
        known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        assert {word.partition("=")[0] for word in words[2:] if word.startswith("--")} <= known, words


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
