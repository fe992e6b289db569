import subprocess
import sys

import pytest
from typer.testing import CliRunner

from dialin.cli.app import app

LOADED = "import sys; from dialin.cli.app import app; print(*{'sqlalchemy', 'pydantic', 'pymysql', 'numpy'} & set(sys.modules))"


def test_the_version_and_a_mistyped_command_wait_for_nothing_that_only_studies_need():
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert not done.stdout.strip()


def test_a_mistyped_command_is_reported_the_nearest_one():
    reported = CliRunner().invoke(app, ["swep"])
    assert reported.exit_code == 2
    assert "Did you mean 'sweep'?" in reported.output


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("dialin swe", ["sweep"]),
        ("dialin sweep --wait", ["--wait-for-server", "--waits"]),
        ("dialin servers st", ["start", "stop"]),
    ],
)
def test_a_shell_completes_commands_and_options(dialin, monkeypatch, words, offered):
    monkeypatch.setenv("_DIALIN_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    code, out, err = dialin()
    assert (code, out.split(), err) == (0, offered, "")
