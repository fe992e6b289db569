import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from dialin.cli.app import app

ROOT = Path(__file__).parents[2]


def printed_by(script):
    done = subprocess.run([sys.executable, ROOT / "scripts" / script], check=True, capture_output=True, text=True)
    return done.stdout


def options_of(command, path):
    """Each command below one, with the options that its help shows."""
    options = [each.opts for each in command.params if each.param_type_name == "option" and not each.hidden]
    yield path, {next(name for name in names if name.startswith("--")) for names in options}
    for name, below in getattr(command, "commands", {}).items():
        yield from options_of(below, f"{path} {name}")


@pytest.fixture(scope="module")
def program():
    return dict(options_of(typer.main.get_command(app), "dialin"))


def test_the_written_commands_are_the_programs_own_help():
    assert (ROOT / "docs" / "cli.md").read_text() == printed_by("commands_page.py"), "run: make docs"


def test_the_page_of_commands_has_every_command_and_every_option(program):
    page = (ROOT / "docs" / "cli.md").read_text()
    assert ["dialin", *re.findall(r"^##+ `(dialin .+)`$", page, re.MULTILINE)] == list(program)
    written = {word for line in re.findall(r"^\* `(.+?)`", page, re.MULTILINE) for word in line.split() if word[:2] == "--"}
    assert set().union(*program.values()) - written == {"--version", "--install-completion", "--show-completion"}


@pytest.fixture(scope="module")
def manual_page():
    return printed_by("man_page.py")


def test_the_manual_page_has_every_command_and_every_option(manual_page, program):
    sections = re.split(r"^\.S[SH] ", manual_page.replace(r"\-", "-"), flags=re.MULTILINE)
    shown = {
        section.splitlines()[0].split(" [")[0].split(" {")[0]: set(re.findall(r"^\.B .*?(--[a-z-]+)", section, re.MULTILINE))
        for section in sections
        if section.startswith("dialin")
    }
    assert list(shown) == list(program)[1:]
    assert all(program[path] <= options for path, options in shown.items())


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_the_manual_page_is_sound_roff(manual_page):
    command = ["groff", "-man", "-K", "utf8", "-T", "utf8", "-ww"]
    done = subprocess.run(command, input=manual_page, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "dialin - find the right value" in " ".join(done.stdout.split())
