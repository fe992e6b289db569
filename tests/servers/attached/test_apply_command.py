"""Settings that a command of the user applies; the server is a fake, and so is the command."""

import json

import pytest

from dialin.errors import ServerError
from dialin.servers.attached import server_process, user_command
from dialin.servers.attached.undo import Applying, UndoLog
from dialin.servers.attached.user_command import CommandError
from servers.attached.fakes import VARIABLES

CAPACITY, METHOD = "innodb_io_capacity", "innodb_flush_method"


class Command:
    """A command that writes its settings into the server's option file, restarts it where that is asked, and can misbehave."""

    def __init__(self, server, defaults):
        self.server, self.defaults, self.calls = server, defaults, []
        self.ignores, self.also, self.fails_with, self.restarts = set(), {}, {}, True

    def __call__(self, command, arguments, *, purpose, limit, directory, work):
        assert command == "apply.sh --password=hunter3"
        given = {name: (directory / name).read_text() for name in ("settings.json", "settings.cnf", "change.json")}
        settings, change = json.loads(given["settings.json"]), json.loads(given["change.json"])
        self.calls.append((settings, change, given["settings.cnf"]))
        for name, value in {**settings, **self.also}.items():
            if name not in self.ignores:
                self.server.values[name] = self.defaults[name] if value is None else str(value)
            if value in self.fails_with:
                self.server.answers = self.fails_with[value]
                raise CommandError("The apply command failed", "Run it by hand", "no such unit")
        self.server.answers = True
        if change["restart"] and self.restarts:
            self.server.status["Uptime"] = "0"
            self.server.clock += 60
        return ""


@pytest.fixture
def command(server, monkeypatch):
    command = Command(server, dict(VARIABLES))
    monkeypatch.setattr(user_command, "run", command)
    monkeypatch.setattr(server_process, "listens", lambda account: server.answers)
    return command


@pytest.fixture
def entry(begin, server):
    server.at_default = {METHOD}
    return begin(CAPACITY, METHOD, applying=Applying("apply.sh --password=hunter3", [METHOD]))


@pytest.fixture
def applies(log, entry, attached):
    return log.apply_command(entry, attached)


def test_the_command_is_given_all_settings_what_differs_and_whether_that_needs_a_restart(applies, command):
    applies.apply({CAPACITY: "400", METHOD: "O_DIRECT"})
    applies.apply({CAPACITY: 400, METHOD: "fsync"})
    (first, changed, options), (_, then, _) = command.calls
    assert first == {CAPACITY: 400, METHOD: "O_DIRECT"}
    assert options == "[mysqld]\ninnodb_io_capacity = 400\ninnodb_flush_method = O_DIRECT\n"
    assert changed == {"changes": {CAPACITY: {"before": "200", "after": "400"}}, "restart": False, "undo": False}
    assert then == {"changes": {METHOD: {"before": "O_DIRECT", "after": "fsync"}}, "restart": True, "undo": False}


def test_the_undo_is_the_same_command_with_the_original_settings_and_defaults_are_asked_for_as_such(
    log, entry, applies, attached, command, server
):
    applies.apply({CAPACITY: 400, METHOD: "fsync"})
    assert server.values != VARIABLES
    assert log.undo(entry, attached)[0] == "the original settings: applied by the command"
    settings, change, options = command.calls[-1]
    assert (settings, change["undo"], change["restart"]) == ({CAPACITY: 200, METHOD: None}, True, True)
    assert METHOD not in options
    assert server.values == VARIABLES
    assert log.entries() == []
    assert not list(log._directory.glob("*.apply"))


def test_a_command_that_takes_no_value_back_is_given_the_value_itself(log, entry, applies, attached, command, server):
    applies.apply({CAPACITY: 400, METHOD: "fsync"})
    command.defaults[METHOD] = "fsync"
    log.undo(entry, attached)
    assert server.values == VARIABLES
    assert [settings[METHOD] for settings, *_ in command.calls] == ["fsync", None, "O_DIRECT"]


def test_the_journal_has_the_command_before_the_first_call_and_only_the_owner_can_read_it(log, entry):
    path = log._path(entry.id)
    written = json.loads(path.read_text())
    assert (written["command"], written["static"]) == ("apply.sh --password=hunter3", [METHOD])
    assert written["started"]
    assert path.stat().st_mode & 0o077 == 0
    assert "hunter3" not in repr(entry)


def test_after_a_crash_another_dialin_runs_the_command_of_the_journal(log, entry, applies, command, server, clock):
    applies.apply({CAPACITY: 400, METHOD: "fsync"})
    log._locks.release(entry.id)
    server.claimed_by = None
    another = UndoLog(log._directory, clock)
    with pytest.raises(ServerError, match="only `dialin restore` runs it again"):
        another.undo(entry, server.attached(clock), run_command=False)
    assert len(command.calls) == 1
    another.undo(entry, server.attached(clock))
    assert server.values == VARIABLES


def test_a_server_that_is_down_after_a_crash_is_brought_back_by_the_command(log, entry, applies, command, server, clock):
    command.fails_with = {"fsync": False}
    with pytest.raises(CommandError):
        applies.apply({CAPACITY: 400, METHOD: "fsync"})
    log._locks.release(entry.id)
    server.claimed_by = None
    another = UndoLog(log._directory, clock)
    another.undo(entry, server.attached(clock))
    assert server.values == VARIABLES
    assert another.entries() == []


def test_values_that_somebody_else_set_meanwhile_are_left_to_them(log, entry, applies, attached, command, server):
    applies.apply({CAPACITY: 400, METHOD: "O_DIRECT"})
    server.values[CAPACITY] = "999"
    lines = log.undo(entry, attached)
    assert server.values[CAPACITY] == "999"
    assert any("left at 999, which dialin did not set" in line for line in lines)


def test_a_command_that_ends_well_and_changes_nothing_is_to_blame(applies, command):
    command.ignores = {CAPACITY, METHOD}
    with pytest.raises(CommandError, match=r"exit code 0, but innodb_io_capacity is still 200 and not 400\. Correct the"):
        applies.apply({CAPACITY: 400, METHOD: "O_DIRECT"})


def test_a_value_that_a_server_does_not_take_is_no_fault_of_a_command_that_has_shown_that_it_works(applies, command):
    applies.apply({CAPACITY: 400, METHOD: "O_DIRECT"})
    command.ignores = {CAPACITY}
    assert applies.apply({CAPACITY: 500, METHOD: "O_DIRECT"})[CAPACITY] == "400"


def test_a_server_that_answers_on_with_the_same_start_was_not_restarted_and_that_is_known_after_seconds(
    applies, command, clock
):
    command.restarts = False
    began = clock.monotonic()
    with pytest.raises(CommandError, match="it did not restart the server, which has answered for 10 s"):
        applies.apply({CAPACITY: 200, METHOD: "fsync"})
    assert 10 <= clock.monotonic() - began < 12


def test_a_restart_right_after_another_waits_until_the_two_starts_can_be_told_apart(applies, command, clock):
    applies.apply({CAPACITY: 200, METHOD: "fsync"})
    began = clock.monotonic()
    applies.apply({CAPACITY: 200, METHOD: "O_DIRECT"})
    assert clock.monotonic() - began >= 3.5


def test_other_changes_of_a_command_are_said_where_they_cannot_be_put_back(log, entry, applies, attached, command, server):
    command.also = {"max_connections": 500}
    applies.apply({CAPACITY: 400, METHOD: "O_DIRECT"})
    server.stuck = {"max_connections"}
    with pytest.raises(ServerError, match="max_connections is 500 and was 151"):
        log.undo(entry, attached)
    assert [left.id for left in log.entries()] == [entry.id]
