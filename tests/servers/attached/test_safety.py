"""What keeps an attached server safe where things go wrong around the undo; the server is a fake, the log is on disk."""

import json
import shutil
import subprocess
import sys

import pytest

from dialin.cli.restore import restore, restore_orphans
from dialin.errors import DialinError, MachineError, ServerError, UserError
from dialin.model.place import Attachment
from dialin.servers.attached import server_process, undo, user_command
from dialin.servers.attached.claim import CHANGE
from dialin.servers.attached.undo import SCHEMA, UndoLog
from servers.attached.fakes import VARIABLES, FakeServer


def changes(server):
    first = ("SET @@", "CREATE", "DROP", "RESET", "INSERT")
    return [statement for statement, _ in server.said if statement.startswith(first)]


# Which server answers


@pytest.mark.parametrize(("fact", "value"), [("hostname", "db2"), ("port", "3307"), ("datadir", "/b/"), ("server_uuid", "two")])
@pytest.mark.parametrize("what", ["set_global", "persist_only", "restore_globals", "restore_persisted", "make_schema"])
def test_nothing_is_changed_on_a_server_that_was_not_written_down(log, begin, attached, server, fact, value, what):
    entry = begin("max_connections", restart=True, schema=SCHEMA)
    server.values[fact] = value
    change = (lambda _: log.make_schema(entry, attached)) if what == "make_schema" else getattr(attached, what)
    with pytest.raises(ServerError, match=r"Another server answers: .* recorded for db1:3306") as caught:
        change({"max_connections": 77})
    assert value.strip("/") in caught.value.what
    assert changes(server) == []


def test_a_server_that_is_swapped_while_it_is_undone_keeps_its_schema(log, begin, attached, server, monkeypatch):
    entry = begin("max_connections", schema=SCHEMA)
    log.make_schema(entry, attached)
    monkeypatch.setattr(undo, "_check_same_server", lambda *_: server.values.update(server_uuid="two"))
    with pytest.raises(ServerError, match=r"could not be restored completely.*Another server answers"):
        log.undo(entry, attached)
    assert SCHEMA in server.schemas


# Each trial starts from the same


def dragging(server, monkeypatch):
    """`innodb_io_capacity` drags its maximum up, and a maximum below it drags it down, as on MariaDB."""
    real = server._set

    def set_(scope, name, value):
        if name == "innodb_io_capacity":
            server.values["innodb_io_capacity_max"] = str(max(int(server.values["innodb_io_capacity_max"]), value))
        answer = real(scope, name, value)
        if name == "innodb_io_capacity_max":
            server.values["innodb_io_capacity"] = str(min(int(server.values["innodb_io_capacity"]), value))
        return answer

    monkeypatch.setattr(server, "_set", set_)


def test_variables_moved_along_in_one_trial_are_as_before_in_the_next(log, begin, attached, server, monkeypatch):
    dragging(server, monkeypatch)
    entry = begin("innodb_io_capacity")
    capacities = []
    for value in (4000, 200, 4000, 200):
        attached.set_global({"innodb_io_capacity": value})
        capacities.append((server.values["innodb_io_capacity"], server.values["innodb_io_capacity_max"]))
    assert capacities == [("4000", "4000"), ("200", "2000"), ("4000", "4000"), ("200", "2000")]
    log.undo(entry, attached)
    assert server.values == VARIABLES


def test_null_is_a_value_that_is_set_and_put_back(log, begin, attached, server, monkeypatch):
    monkeypatch.setattr(attached, "exact_values", dict.fromkeys)
    entry = begin("init_connect")
    attached.set_global({"init_connect": "SET @a = 1"})
    attached.set_global({"init_connect": None})
    assert [arguments for statement, arguments in server.said if statement.startswith("SET @@")][-1] == (None,)
    attached.set_global({"init_connect": None})
    assert [arguments for statement, arguments in server.said if statement.startswith("SET @@")] == [("SET @a = 1",), (None,)]
    assert log.entries()[0].given["init_connect"] == [""]
    assert log.undo(entry, attached) == []


# What cannot be put back


def test_a_variable_that_moved_along_and_does_not_go_back_is_a_fault(log, begin, attached, server, monkeypatch):
    dragging(server, monkeypatch)
    entry = begin("innodb_io_capacity")
    attached.set_global({"innodb_io_capacity": 4000})
    server.stuck.add("innodb_io_capacity_max")
    with pytest.raises(ServerError, match="innodb_io_capacity_max is 4000 and was 2000"):
        log.undo(entry, attached)


def test_one_refusal_keeps_neither_the_other_variables_nor_the_schema(log, begin, attached, server, monkeypatch):
    entry = begin("max_connections", "innodb_io_capacity", "init_connect", schema=SCHEMA)
    log.make_schema(entry, attached)
    attached.set_global({"max_connections": 99, "innodb_io_capacity": 300, "init_connect": "SET @a = 1"})
    real, times = server._set, []

    def refusing(scope, name, value):
        times.append(name)
        if name == "max_connections":
            server._refuse(1227, "you need a privilege")
        if times.count("innodb_io_capacity") == 1 and name == "innodb_io_capacity":
            return []  # it takes a second time
        return real(scope, name, value)

    monkeypatch.setattr(server, "_set", refusing)
    with pytest.raises(ServerError, match=r"max_connections is 99 and was 151 \(The account may not set") as caught:
        log.undo(entry, attached)
    assert server.values == {**VARIABLES, "max_connections": "99"}
    assert server.schemas == {}
    assert f"schema {SCHEMA}: dropped" in caught.value.log_tail


# After a restart


def restarted(attached, server, **differing):
    attached.journal.about_to_restart()
    server.values = {**VARIABLES, **server.persisted, **differing}
    attached.journal.was_restarted(server.values)


def test_run_time_values_that_a_restart_loses_are_set_again_whatever_they_are(log, begin, attached, server):
    server.values |= {"read_only": "OFF", "general_log_file": "mine.log"}
    before = dict(server.values)
    entry = begin("back_log", restart=True)
    attached.persist_only({"back_log": 90})
    restarted(attached, server, read_only="ON", general_log_file="db1.log", gtid_executed="a:1-9")
    server.persisted.clear()
    server.values["back_log"] = "80"
    log.undo(entry, attached)
    assert server.values == {**before, "gtid_executed": "a:1-9"}


def test_values_that_somebody_set_after_a_restart_are_not_taken_for_lost(log, begin, attached, server):
    entry = begin("back_log", restart=True)
    attached.persist_only({"back_log": 90})
    restarted(attached, server)
    server.values |= {"max_connections": "500", "back_log": "80"}
    log.undo(entry, attached)
    assert server.values["max_connections"] == "500"


def test_where_dialin_died_in_a_restart_all_that_differs_may_be_its_doing(log, begin, attached, server):
    server.values["max_connections"] = "88"
    entry = begin("back_log", restart=True)
    attached.journal.about_to_restart()
    server.values["max_connections"] = "151"
    log.undo(entry, attached)
    assert server.values["max_connections"] == "88"


def test_a_start_that_fails_after_a_persist_says_the_way_out(log, begin, attached, server, monkeypatch):
    entry = begin("back_log", restart=True)
    attached.persist_only({"back_log": 0})
    monkeypatch.setattr(server_process, "listens", lambda account: False)
    monkeypatch.setattr(user_command, "run", lambda *_, **more: server.__setattr__("answers", False))
    monkeypatch.setattr(attached, "patience", 1.0)
    words = r"what dialin persisted for it \(back_log\).*--persisted-globals-load=OFF.*dialin restore"
    server.status["Uptime"] = "5"
    with pytest.raises(ServerError, match=words):
        attached.restart("systemctl restart mysql")
    with pytest.raises(ServerError, match=words):
        log.undo(entry, attached)
    server.answers = True
    assert log.undo(entry, attached) == ["back_log: no longer persisted"]


def test_a_restart_command_that_fails_while_the_server_runs_is_not_blamed_on_what_was_persisted(
    begin, attached, server, monkeypatch
):
    begin("back_log", restart=True)
    attached.persist_only({"back_log": 70})
    monkeypatch.setattr(server_process, "listens", lambda account: True)
    with pytest.raises(ServerError) as caught:
        attached.restart("false")
    assert "persisted" not in str(caught.value)


def test_a_restart_command_that_fails_at_the_end_keeps_nothing_else_from_being_put_back(log, begin, attached, server):
    entry = begin("back_log", "max_connections", restart=True, schema=SCHEMA)
    log.make_schema(entry, attached)
    attached.persist_only({"back_log": 90})
    attached.set_global({"max_connections": 99})
    server.values["back_log"] = "90"
    with pytest.raises(ServerError, match="exit code 1: false"):
        log.undo(entry, attached, restart_command="false")
    assert (server.persisted, server.values["max_connections"], server.schemas) == ({}, "151", {})


# Whose entry it is

HOLDER = """
import sys
from pathlib import Path
from dialin.clock import SystemClock
from dialin.servers.locks import Locks
locks = Locks(Path(sys.argv[1]), SystemClock())
print(locks.take(sys.argv[2]), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def reached(monkeypatch, server, clock):
    monkeypatch.setattr(undo, "find_attached", lambda entry, environment, clock_, **limits: server.attached(clock))


def left(log, server, entry, **differing):
    """Leave an entry as a dialin that died would."""
    log._journals.pop(entry.id, None)
    log._locks.release(entry.id)
    server.claimed_by = None
    path = log._path(entry.id)
    path.write_text(json.dumps({**json.loads(path.read_text()), **differing}))


def test_an_entry_is_an_orphan_when_its_process_is_gone_and_not_before(log, home, begin, server):
    entry = begin("max_connections")
    assert not log.is_orphan(entry)
    assert not UndoLog(home.undo).is_orphan(entry)
    left(log, server, entry)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(home.undo), entry.id],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout.readline() == "True\n"
    assert UndoLog(home.undo).orphans() == []
    holder.kill()
    holder.communicate()
    assert [each.id for each in UndoLog(home.undo).orphans()] == [entry.id]


def test_entries_of_other_machines_are_left_to_dialin_restore(log, home, begin, attached, server, reached, monkeypatch, capsys):
    monkeypatch.setenv("DIALIN_HOME", str(home.root))
    entry = begin("max_connections")
    attached.set_global({"max_connections": 99})
    left(log, server, entry, machine="elsewhere")
    restore_orphans(home, {}, pytest.fail)
    assert server.values["max_connections"] == "99"
    with pytest.raises(UserError, match="a dialin that crashed on elsewhere"):
        begin("max_connections")
    restore()
    assert server.values == VARIABLES


def test_one_server_that_is_put_back_does_not_keep_others_waiting(log, home, begin, server, clock):
    entry = begin("max_connections")
    another = FakeServer(server_uuid="two", hostname="db2")
    second = UndoLog(home.undo, clock)
    other = another.attached(clock)
    mine = second.begin(other, Attachment(), ["max_connections"])
    second.undo(mine, other)
    assert [each.id for each in log.entries()] == [entry.id]


def test_who_waits_in_vain_to_begin_is_reported(log, home, begin, clock):
    home.undo.mkdir(parents=True)
    other = UndoLog(home.undo, clock)
    other._locks.take("begin")
    with pytest.raises(UserError, match="is just attaching to a server"):
        begin("max_connections")


def test_a_dialin_of_another_home_is_seen_by_the_lock_on_the_server(log, begin, attached, server, clock, tmp_path):
    entry = begin("max_connections")
    elsewhere = UndoLog(tmp_path / "another home", clock)
    other = server.attached(clock)
    with pytest.raises(UserError, match=r"by another dialin: the study /work/pool \(process 4711\) holds the lock"):
        elsewhere.begin(other, Attachment(), ["max_connections"])
    assert elsewhere.entries() == []
    log._locks.release(entry.id)
    with pytest.raises(UserError, match="being studied by another dialin"):
        UndoLog(log._directory, clock).undo(entry, other)
    assert log.undo(entry, attached) == []


def test_the_lock_on_the_server_is_taken_again_where_its_connection_was_lost(begin, attached, server):
    begin("max_connections")
    server.claimed_by = None
    attached.set_global({"max_connections": 77})
    assert server.claimed_by is not None
    server.claimed_by = "another"
    with pytest.raises(UserError, match="being studied by another dialin"):
        attached.set_global({"max_connections": 78})
    assert server.values["max_connections"] == "77"


def test_a_node_of_a_cluster_that_allows_no_locks_is_studied_without_one(log, begin, attached, server, monkeypatch):
    real = server._claim

    def claim(connection, statement, arguments=()):
        if statement.startswith("SELECT GET_LOCK"):
            server._refuse(1235, "GET_LOCK in cluster (WSREP)")
        return real(connection, statement, arguments)

    monkeypatch.setattr(server, "_claim", claim)
    entry = begin("max_connections")
    attached.set_global({"max_connections": 77})
    assert log.undo(entry, attached) == ["max_connections: 151 again, was 77"]


def test_statements_of_a_killed_dialin_come_into_force_before_they_are_undone(log, begin, attached, server, monkeypatch):
    entry = begin("max_connections")
    attached.journal.about_to_set({"max_connections": 77}, server.values)
    real = server._claim

    def late(connection, statement, arguments=()):
        if arguments and arguments[0] == CHANGE:
            server.values["max_connections"] = "77"  # the connection of the other one is gone only now
        return real(connection, statement, arguments)

    monkeypatch.setattr(server, "_claim", late)
    assert log.undo(entry, attached) == ["max_connections: 151 again, was 77"]


def test_nothing_is_undone_and_the_entry_stays_while_the_server_still_sets_what_a_dialin_that_died_had_sent(
    log, begin, attached, server
):
    entry = begin("max_connections")
    attached.set_global({"max_connections": 77})
    server.is_changing = True
    with pytest.raises(ServerError, match="still setting variables"):
        log.undo(entry, attached)
    assert server.values["max_connections"] == "77"
    server.is_changing = False
    assert log.undo(entry, attached) == ["max_connections: 151 again, was 77"]


# What is written down is lost


def test_a_log_that_was_cleared_is_no_obstacle_to_putting_a_server_back(log, home, begin, attached, server):
    entry = begin("max_connections", "innodb_io_capacity")
    attached.set_global({"max_connections": 99})
    shutil.rmtree(home.undo)
    attached.set_global({"max_connections": 98})
    assert [each.given for each in UndoLog(home.undo).entries()] == [{"max_connections": ["98"]}]
    assert UndoLog(home.undo).orphans() == []
    shutil.rmtree(home.root)
    assert log.undo(entry, attached) == ["max_connections: 151 again, was 98"]
    assert log.undo(entry, attached) == []


def test_a_change_that_cannot_be_written_down_is_not_made_and_said(log, home, begin, attached, server, monkeypatch):
    entry = begin("max_connections")

    def full(path, text, **_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(undo, "replace_text", full)
    with pytest.raises(DialinError, match=r"cannot be written to .*No space left on device.*DIALIN_HOME"):
        attached.set_global({"max_connections": 99})
    assert server.values == VARIABLES
    assert log.undo(entry, attached) == []
    with pytest.raises(MachineError, match="No space left"):
        begin("max_connections")
    assert [path.name for path in home.undo.glob("*.lock")] in ([], ["begin.lock"])
    assert server.claimed_by is None
