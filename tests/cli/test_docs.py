import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_the_written_commands_are_the_programs_own_help(tmp_path):
    written = tmp_path / "cli.md"
    words = ["dialin.cli.app", "utils", "docs", "--name", "dialin", "--title", "The commands of dialin", "--output", written]
    subprocess.run([sys.executable, "-m", "typer", *words], check=True, capture_output=True, cwd=tmp_path)
    assert (ROOT / "docs" / "cli.md").read_text() == written.read_text(), "run: make docs"


@pytest.fixture(scope="module")
def manual_page():
    done = subprocess.run([sys.executable, ROOT / "scripts" / "man_page.py"], check=True, capture_output=True, text=True)
    return done.stdout


def test_the_manual_page_has_every_command_and_every_option(manual_page):
    documented = (ROOT / "docs" / "cli.md").read_text()
    commands = re.findall(r"^##+ `(dialin .+)`$", documented, re.MULTILINE)
    options = re.findall(r"^\* `(-.+?)`", documented, re.MULTILINE)
    lines = manual_page.replace(r"\-", "-").splitlines()
    assert [line.removeprefix(".SS ").split(" [")[0].split(" {")[0] for line in lines if line.startswith(".SS ")] == commands
    assert [line.removeprefix(".B ") for line in lines if line.startswith(".B -")] == options


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_the_manual_page_is_sound_roff(manual_page):
    command = ["groff", "-man", "-K", "utf8", "-T", "utf8", "-ww"]
    done = subprocess.run(command, input=manual_page, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "dialin - find the right value" in " ".join(done.stdout.split())
