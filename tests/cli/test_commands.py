import subprocess
import sys

import pytest
from typer.testing import CliRunner

from dialin.cli import commands
from dialin.cli.app import app
from dialin.errors import UserError

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
        ("dialin sweep --wait", ["--waits", "--wait-trials", "--wait-for-server"]),
        ("dialin servers st", ["start", "stop"]),
    ],
)
def test_a_shell_completes_commands_and_options(dialin, monkeypatch, words, offered):
    monkeypatch.setenv("_DIALIN_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    code, out, err = dialin()
    assert (code, out.split(), err) == (0, offered, "")


def leaves():
    """Every command with its words."""
    for name in commands._COMMANDS:
        command = commands._command(name)
        for sub, inner in getattr(command, "commands", {"": command}).items():
            yield pytest.param(inner, id=f"{name} {sub}".strip())


@pytest.mark.parametrize("command", list(leaves()))
def test_an_option_with_one_value_is_refused_when_it_is_given_twice(command):
    context = command.make_context("dialin", [], resilient_parsing=True)
    context.resilient_parsing = False
    for param in command.params:
        if param.param_type_name != "option" or param.multiple or (param.is_flag and not param.secondary_opts):
            continue
        words = [param.opts[-1]] if param.is_flag else [param.opts[-1], "1"]
        again = param.secondary_opts[-1:] if param.is_flag else words
        with pytest.raises(UserError, match="is given 2 times"):
            command.make_parser(context).parse_args([*words, *again])
        if param.is_flag:
            for same in (words, again):
                command.make_parser(context).parse_args([*same, *same])


def test_a_flag_and_an_option_with_several_values_may_be_repeated():
    sweep = commands._command("sweep")
    context = sweep.make_context("dialin", [], resilient_parsing=True)
    context.resilient_parsing = False
    words = ["a=1,2", "--yes", "--yes", "--server", "mysql@9.7", "--server", "mariadb@10.11", "--minutes", "1"]
    assert sweep.make_parser(context).parse_args(words)[0]["minutes"] == "1"
