"""Only commands that start or change servers end what an earlier dialin left behind; help and reading have no side effect."""

import pytest

from dialin.cli import commands, restore

TIDY = {"sweep", "compare", "tune", "run", "resume", "restore"}
READ = {
    *("report", "explain", "export", "studies", "diff", "watch"),
    *("advise", "analyze", "capture", "doctor", "fleet", "recipes", "servers", "variables", "workloads"),
}
ARGUMENTS = {
    "sweep": ["nonsense=1,2"],
    "compare": ["nowhere.cnf", "nowhere2.cnf"],
    "tune": ["nonsense"],
    "run": ["nowhere.toml"],
    "advise": ["--attach", "--defaults-file", "nowhere"],
    "analyze": ["nowhere"],
    "capture": ["show", "nowhere"],
    "studies": ["nowhere"],
    "diff": ["nowhere", "nowhere2"],
    "variables": ["--server", "nonsense"],
}


@pytest.fixture
def tidied(monkeypatch):
    reached = []
    monkeypatch.setattr(restore.Ledger, "end_orphans", lambda *_: reached.append("sandboxes") or [])
    monkeypatch.setattr(restore, "restore_orphans", lambda *_: reached.append("attached"))
    return reached


def test_every_command_is_looked_at_here():
    assert set(commands._COMMANDS) == TIDY | READ


@pytest.mark.parametrize("command", sorted(TIDY | READ))
def test_help_tidies_nothing(dialin, tidied, command):
    assert dialin(command, "--help")[0] == 0
    assert tidied == []


@pytest.mark.parametrize("words", [(), ("--help",), ("--version",), ("servers",), ("servers", "start", "--help")])
def test_commands_that_reach_no_server_tidy_nothing(dialin, tidied, words):
    assert dialin(*words)[0] == 0
    assert tidied == []


@pytest.mark.parametrize("command", sorted(READ - {"doctor", "servers", "recipes"}))
def test_a_command_that_reads_tidies_nothing(dialin, tidied, command):
    dialin(command, *ARGUMENTS.get(command, ["nowhere"]))
    assert tidied == []


@pytest.mark.parametrize("command", sorted(TIDY - {"restore"}))
def test_a_command_that_starts_servers_tidies_first(dialin, tidied, command):
    dialin(command, *ARGUMENTS.get(command, ["nowhere"]))
    assert tidied == ["sandboxes", "attached"]


def test_restore_leaves_attached_servers_to_its_own_slower_way(dialin, tidied):
    assert dialin("restore")[0] == 0
    assert tidied == ["sandboxes"]


def test_advice_on_an_attached_server_sets_nothing(dialin):
    code, _, err = dialin("advise", "--attach", "--set", "sync_binlog=0")
    assert (code, "--set is for a private server" in err) == (2, True)


def test_advice_on_a_sandbox_tidies_first(dialin, tidied):
    dialin("advise", "--server", "nonsense@0")
    assert tidied == ["sandboxes", "attached"]


def test_starting_a_server_to_play_with_tidies_first(dialin, tidied):
    dialin("servers", "start", "nonsense@0")
    assert tidied == ["sandboxes", "attached"]
