"""Text of study files, stores and servers cannot act on the terminal, wherever a command prints it."""

import ast
import sys
from pathlib import Path

import pytest
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from dialin.cli import app, conduct, console
from dialin.errors import ServerError
from dialin.text import UNSEEN

ACTS = "\x1b]0;title\x07\x1b[2J\x9b31m\u202e\x7f\r"
SHOWN = r"\x1b]0;title\x1b[2J\x9b31m\u202e\x7f"
"""Without the bell, which rich drops."""
IN_TOML = r"\u001b]0;title\u0007\u001b[2J\u009b31m\u202e\u007f"
SOURCE = Path(app.__file__).parents[1]


def acts(text):
    return set(UNSEEN.findall(text)) - {"\n"}


def table():
    shown = Table(title=ACTS)
    shown.add_column(ACTS)
    shown.add_row(ACTS)
    return shown


@pytest.mark.parametrize("what", [escape(ACTS), Text(ACTS), Text(ACTS, style="bold red"), Panel(ACTS, title=ACTS), table()])
@pytest.mark.parametrize("stream", [console.errors, console.output])
def test_whatever_a_console_prints_is_escaped(stream, what, capsys):
    stream().print(what)
    printed = "".join(capsys.readouterr())
    assert not acts(printed)
    assert r"\x1b" in printed


@pytest.mark.parametrize("stream", [console.errors, console.output])
def test_the_name_of_an_image_does_not_become_an_emoji(stream, capsys):
    stream().print("server:a:b :smile:")
    assert "".join(capsys.readouterr()) == "server:a:b :smile:\n"


def test_messages_and_errors_are_escaped(capsys, monkeypatch, tmp_path):
    console.say(f"Load: {ACTS}")

    def broken(*_args, **_more):
        raise ServerError(ACTS, ACTS, log_tail=f"a\n{ACTS}")

    monkeypatch.setenv("DIALIN_HOME", str(tmp_path))
    monkeypatch.setattr(conduct, "show", broken)
    monkeypatch.setattr(sys, "argv", ["dialin", "report", "x"])
    with pytest.raises(SystemExit):
        app.main()
    err = capsys.readouterr().err
    assert not acts(err)
    assert err.count(SHOWN) == 4


STUDY = """
variable = "innodb_io_capacity"
values = [100, 200]
minutes = 1
"""


@pytest.mark.parametrize(
    "text",
    [
        f'variable = "{IN_TOML}"\nvalues = [1, 2]',
        f'variable = "innodb_io_capacity"\nvalues = ["{IN_TOML}", 2]',
        f'{STUDY}servers = ["{IN_TOML}"]',
        f'{STUDY}workload = "{IN_TOML}"',
        f'{STUDY}baseline = "{IN_TOML}"',
        f'{STUDY}goal = "{IN_TOML}"',
        f'{STUDY}"{IN_TOML}" = 1',
        f'{STUDY}[fixed]\n"{IN_TOML}" = 1',
        f'{STUDY}[workload-options]\n"{IN_TOML}" = "{IN_TOML}"',
        f'{STUDY}attach = "{IN_TOML}"',
        f'{STUDY}data = "{IN_TOML}"',
        f'{STUDY}cpus = "{IN_TOML}"',
        f"\x1b[2J{STUDY}",
    ],
)
def test_a_study_file_cannot_act_on_the_terminal(dialin, tmp_path, text):
    (tmp_path / "study.toml").write_text(text)
    code, out, err = dialin("run", "study.toml", "--yes")
    assert code in (1, 2)
    assert not acts(out + err)
    assert "internal error" not in err


def test_every_console_of_a_command_is_one_that_escapes():
    makers = [
        (path.name, node.lineno)
        for path in sorted(SOURCE.rglob("*.py"))
        if path != Path(console.__file__) and "Console" in (text := path.read_text())  # all of them take seconds to parse
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Console"
    ]
    assert makers == []
