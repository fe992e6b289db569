"""Putting a server back, whatever happened; the server is a fake, the log is on disk."""

import errno
import json
import os
import stat
from pathlib import Path

import pytest

from dialin.cli.restore import restore, restore_orphans
from dialin.errors import MachineError, ServerError, UserError
from dialin.model.place import Attachment
from dialin.servers import load_sessions
from dialin.servers.account import Account
from dialin.servers.attached import undo
from dialin.servers.attached.undo import SCHEMA
from servers.attached.fakes import VARIABLES


@pytest.fixture
def orphaned(log, server):
    """The entry as a dialin that is gone would have left it."""

    def orphaned(entry, **changes):
        log._journals.pop(entry.id, None)
        log._locks.release(entry.id)
        server.claimed_by = None
        path = log._path(entry.id)
        path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
        return next(each for each in log.entries() if each.id == entry.id)

    return orphaned


def test_all_that_is_needed_is_on_disk_before_anything_is_changed_and_the_password_is_not(log, begin, server):
    entry = begin("max_connections", schema=SCHEMA)
    path = log._path(entry.id)
    assert (server.values, server.schemas) == (VARIABLES, {})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    written = json.loads(path.read_text())
    assert "hunter2" not in path.read_text()
    assert written["before"] == VARIABLES
    assert written["attachment"]["defaults_file"] == f"{Path.cwd()}/my.cnf"
    assert written["place"] == {"socket": None, "host": "db1", "port": 3306, "user": "dialin"}
    assert written["schema"] == SCHEMA
    assert log.entries() == [entry]


def test_each_value_is_on_disk_before_it_is_set(log, begin, attached, server):
    entry = begin("max_connections")
    server.stuck.add("max_connections")
    attached.set_global({"max_connections": 99})
    assert log.entries()[0].given == {"max_connections": ["99", "151"]}
    with pytest.raises(ValueError, match="innodb_io_capacity"):
        attached.set_global({"innodb_io_capacity": 1})
    assert log.undo(entry, attached) == []


def test_everything_is_put_back_and_struck_out(log, begin, attached, server):
    entry = begin("max_connections", "innodb_io_capacity_max", "init_connect", schema=SCHEMA)
    log.make_schema(entry, attached)
    attached.set_global({"max_connections": 99, "init_connect": "SET @a = 1"})
    lines = log.undo(entry, attached)
    assert (server.values, server.schemas) == (VARIABLES, {})
    assert lines == [
        "max_connections: 151 again, was 99",
        "init_connect: empty again, was SET @a = 1",
        f"schema {SCHEMA}: dropped",
    ]
    assert log.entries() == []
    assert log.undo(entry, attached) == []


def test_a_variable_that_moved_along_is_put_back_too(log, begin, attached, server, monkeypatch):
    entry = begin("innodb_io_capacity")
    real = server._set

    def dragging(scope, name, value):
        server.values["innodb_io_capacity_max"] = str(2 * value)
        server.values["gtid_executed"] = "a:1-6"
        return real(scope, name, value)

    monkeypatch.setattr(server, "_set", dragging)
    attached.set_global({"innodb_io_capacity": 5000})
    monkeypatch.undo()
    assert server.values["innodb_io_capacity_max"] == "10000"
    log.undo(entry, attached)
    assert server.values == {**VARIABLES, "gtid_executed": "a:1-6"}


def test_a_death_in_the_middle_of_a_change_is_undone_with_all_that_may_have_moved(log, begin, attached, server, orphaned):
    entry = begin("innodb_io_capacity")
    server.values["back_log"] = "70"  # an upgrade of somebody else's, seen before dialin set anything
    attached.journal.about_to_set({"innodb_io_capacity": 5001}, server.values)
    server.values |= {"innodb_io_capacity": "5000", "innodb_io_capacity_max": "10002", "max_connections": "99"}
    log.undo(orphaned(entry), attached)
    assert server.values == {**VARIABLES, "back_log": "70"}


def test_values_that_somebody_else_set_meanwhile_are_left_alone_and_said(log, begin, attached, server):
    entry = begin("max_connections", "innodb_io_capacity")
    attached.set_global({"max_connections": 99, "innodb_io_capacity": 300})
    server.values["max_connections"] = "500"
    lines = log.undo(entry, attached)
    assert lines == [
        "max_connections: left at 500, which dialin did not set; it was 151 before",
        "innodb_io_capacity: 200 again, was 300",
    ]
    assert server.values["max_connections"] == "500"
    assert log.entries() == []


def test_a_value_that_cannot_be_put_back_is_said_and_its_entry_stays(log, begin, attached, server):
    entry = begin("max_connections", "innodb_io_capacity")
    attached.set_global({"max_connections": 99, "innodb_io_capacity": 300})
    server.stuck.add("max_connections")
    with pytest.raises(ServerError, match="max_connections is 99 and was 151") as caught:
        log.undo(entry, attached)
    assert caught.value.log_tail == "innodb_io_capacity: 200 again, was 300"
    server.stuck.clear()
    assert log.undo(entry, attached) == ["max_connections: 151 again, was 99"]
    assert log.entries() == []


def test_a_server_that_does_not_answer_keeps_its_entry(log, begin, attached, server):
    entry = begin("max_connections")
    attached.set_global({"max_connections": 99})
    server.answers = False
    with pytest.raises(ServerError, match="does not answer"):
        log.undo(entry, attached)
    server.answers = True
    assert log.undo(entry, attached)


@pytest.mark.parametrize("fact", ["hostname", "port", "datadir", "server_uuid"])
def test_another_server_is_not_touched(log, begin, attached, server, fact):
    entry = begin("max_connections")
    attached.set_global({"max_connections": 99})
    server.values[fact] = "3399"
    with pytest.raises(UserError, match=f"Another server answers.* differs.*--forget {entry.id}"):
        log.undo(entry, attached)
    assert server.values["max_connections"] == "99"
    assert log.entries()


def test_one_server_is_studied_by_one_dialin_at_a_time(begin, attached, orphaned):
    attached.study = "/work/io"
    entry = begin("max_connections")
    with pytest.raises(UserError, match=rf"studied by another dialin: the study /work/io \(process {os.getpid()} on "):
        begin("max_connections")
    orphaned(entry)
    with pytest.raises(UserError, match="dialin restore"):
        begin("max_connections")


def test_an_unknown_variable_is_refused_before_anything_is_written(log, begin):
    with pytest.raises(UserError, match="no variable no_such"):
        begin("no_such")
    assert log.entries() == []


# The schema


def test_a_schema_that_is_there_already_is_refused(log, begin, server):
    server.schemas[SCHEMA] = {"precious": []}
    with pytest.raises(UserError, match="already exists"):
        begin("max_connections", schema=SCHEMA)
    assert log.entries() == []


@pytest.mark.parametrize(
    "tables", [{"precious": []}, {"precious": [], "dialin_made_this": ["another"]}, {"precious": [], "dialin_made_this": []}]
)
def test_a_schema_that_somebody_else_made_meanwhile_stays(log, begin, attached, server, tables):
    entry = begin("max_connections", schema=SCHEMA)
    server.schemas[SCHEMA] = tables
    assert log.undo(entry, attached) == [f"schema {SCHEMA}: left alone, because dialin did not create it"]
    assert SCHEMA in server.schemas


@pytest.mark.parametrize("last", ["CREATE DATABASE", "CREATE TABLE"])
def test_a_schema_whose_making_was_cut_short_is_dropped(log, begin, attached, server, last, monkeypatch, orphaned):
    entry = begin("max_connections", schema=SCHEMA)
    real = server.query

    def dying(statement, arguments=()):
        answer = real(statement, arguments)
        if statement.startswith(last) and last != "CREATE DATABASE":
            raise KeyboardInterrupt
        if statement.startswith("CREATE TABLE"):
            del server.schemas[SCHEMA]["dialin_made_this"]
            raise KeyboardInterrupt
        return answer

    monkeypatch.setattr(server, "query", dying)
    with pytest.raises(KeyboardInterrupt):
        log.make_schema(entry, attached)
    monkeypatch.undo()
    assert list(server.schemas[SCHEMA]) == ([] if last == "CREATE DATABASE" else ["dialin_made_this"])
    assert log.undo(orphaned(entry), attached) == [f"schema {SCHEMA}: dropped"]


def test_an_empty_schema_that_is_not_known_to_be_dialins_stays(log, begin, attached, server):
    entry = begin("max_connections", schema=SCHEMA)
    server.schemas[SCHEMA] = {}
    assert log.undo(entry, attached) == [f"schema {SCHEMA}: left alone, because dialin did not create it"]


# Variables that only a start can set


@pytest.fixture
def restarts(attached, server, monkeypatch):
    """What restarts the fake: run-time values are lost, persisted ones hold."""
    done = []

    def restart(command):
        done.append(command)
        if attached.journal is not None:
            attached.journal.about_to_restart()
        server.values = {**VARIABLES, **server.persisted}
        if attached.journal is not None:
            attached.journal.was_restarted(server.values)

    monkeypatch.setattr(attached, "restart", restart)
    return done


def test_a_persisted_value_is_taken_out_and_the_server_restarted(log, begin, attached, server, restarts):
    server.values["max_connections"] = "88"
    entry = begin("back_log", restart=True)
    attached.persist_only({"back_log": 90})
    attached.restart("again")
    lines = log.undo(entry, attached, restart_command="again")
    assert server.persisted == {}
    assert server.values == {**VARIABLES, "max_connections": "88"}
    assert lines[:2] == ["back_log: no longer persisted", "the server: restarted"]
    assert restarts == ["again", "again"]


def test_without_a_restart_command_the_next_start_is_right_and_the_entry_stays_until_then(
    log, begin, attached, server, restarts
):
    server.persisted["back_log"] = server.values["back_log"] = "70"
    entry = begin("back_log", restart=True)
    attached.persist_only({"back_log": 90})
    attached.restart("again")
    with pytest.raises(ServerError, match="back_log is 90 and was 70, until the server is restarted"):
        log.undo(entry, attached)
    assert server.persisted == {"back_log": "70"}
    attached.restart("by hand")
    log.undo(entry, attached)
    assert log.entries() == []


def test_a_value_that_was_persisted_and_never_started_with_takes_no_restart(log, begin, attached, server, restarts):
    entry = begin("back_log", restart=True)
    attached.persist_only({"back_log": 90})
    assert log.undo(entry, attached, restart_command="again") == ["back_log: no longer persisted"]
    assert restarts == []


# dialin restore


@pytest.fixture
def reached(monkeypatch, server, clock):
    """Every entry's server is the fake."""
    monkeypatch.setattr(undo, "find_attached", lambda entry, environment, clock_, **limits: server.attached(clock))


def test_the_next_command_puts_back_what_a_dead_dialin_left(log, home, begin, attached, server, reached, orphaned):
    entry = begin("max_connections")
    attached.set_global({"max_connections": 99})
    said = []
    restore_orphans(home, {}, said.append)
    assert said == []
    orphaned(entry)
    restore_orphans(home, {}, said.append)
    assert said == ["Restored on mysql@9.7.4 at db1:3306: max_connections: 151 again, was 99"]
    assert server.values == VARIABLES
    assert log.entries() == []


def test_a_server_that_cannot_be_reached_is_one_line_and_no_obstacle(log, home, begin, server, reached, orphaned):
    entry = orphaned(begin("max_connections"))
    server.answers = False
    said = []
    restore_orphans(home, {}, said.append)
    assert len(said) == 1
    assert f"dialin restore --forget {entry.id}" in said[0]
    assert log.entries() == [entry]


def test_where_nothing_was_written_down_nothing_is_made(home):
    restore_orphans(home, {}, pytest.fail)
    assert not home.root.exists()


def test_a_server_is_reached_as_it_was_with_the_password_found_anew(log, begin, tmp_path, monkeypatch):
    file = tmp_path / "my.cnf"
    file.write_text("[client]\nuser=dialin\nhost=db1\nport=3399\npassword=hunter3\n")
    file.chmod(0o600)
    monkeypatch.chdir(tmp_path)
    entry = begin("max_connections")
    assert entry.account({"HOME": str(tmp_path)}) == Account(host="db1", port=3306, user="dialin", password="hunter3")


@pytest.mark.parametrize("other", ["user=other\nhost=db1", "user=dialin\nhost=elsewhere"])
def test_a_password_of_another_account_is_sent_nowhere(log, begin, tmp_path, monkeypatch, other):
    (tmp_path / "my.cnf").write_text(f"[client]\n{other}\npassword=hunter3\n")
    (tmp_path / "my.cnf").chmod(0o600)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"was changed as dialin at db1, .* are about (other|dialin) at (db1|elsewhere) now"):
        begin("max_connections").account({"HOME": str(tmp_path)})


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"id": "broken", "owner": 1}'])
def test_an_entry_that_cannot_be_read_is_said_and_can_be_given_up(log, home, begin, text, monkeypatch, capsys):
    monkeypatch.setenv("DIALIN_HOME", str(home.root))
    entry = begin("max_connections")
    log._path("broken").write_text(text)
    assert log.entries() == [entry]
    said = []
    restore_orphans(home, {}, said.append)
    assert len(said) == 1
    assert "broken.json records what dialin changed on a server, and cannot be read" in said[0]
    with pytest.raises(UserError, match="--forget broken"):
        restore()
    restore(forget="broken")
    assert log.unreadable() == {}
    assert log.entries() == [entry]


def fail_on(ending, number):
    """Replace what opens a file so that it fails, as a process without free descriptors does, on names with this ending."""

    def failing(real):
        def call(path, *arguments, **words):
            if str(path).endswith(ending):
                raise OSError(number, os.strerror(number), str(path))
            return real(path, *arguments, **words)

        return call

    return failing


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO, errno.ENOMEM])
@pytest.mark.parametrize("ending", [".json", ".lock"])
def test_where_the_machine_fails_a_changed_server_is_never_said_to_need_no_restore(
    log, home, begin, monkeypatch, number, ending, orphaned
):
    monkeypatch.setenv("DIALIN_HOME", str(home.root))
    entry = orphaned(begin("max_connections"))
    failing = fail_on(ending, number)
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", failing(os.open))
        patched.setattr(Path, "read_text", failing(Path.read_text))
        with pytest.raises(MachineError, match=os.strerror(number)) as raised:
            restore()
        assert "--forget" not in str(raised.value)
    assert log.orphans(of_other_machines=True) == [entry]


def test_an_undo_that_is_given_up_is_forgotten_and_said(log, home, begin, attached, server, monkeypatch, capsys, orphaned):
    monkeypatch.setenv("DIALIN_HOME", str(home.root))
    entry = begin("max_connections")
    attached.set_global({"max_connections": 99})
    with pytest.raises(UserError, match="being studied by process"):
        restore(forget=entry.id)
    orphaned(entry)
    with pytest.raises(UserError, match=f"There is no record other. The records are: {entry.id}"):
        restore(forget="other")
    restore(forget=entry.id)
    assert "max_connections was 151, dialin set 99" in capsys.readouterr().err
    assert (log.entries(), server.values["max_connections"]) == ([], "99")
    restore()
    assert "nothing to restore" in capsys.readouterr().err


def test_a_server_that_cannot_be_restored_is_named_and_no_obstacle_for_others(
    log, home, begin, server, reached, monkeypatch, clock, orphaned, capsys
):
    monkeypatch.setenv("DIALIN_HOME", str(home.root))
    orphaned(begin("max_connections"))
    server.answers = False
    with pytest.raises(ServerError, match="does not answer"):
        restore()
    server.answers, server.values["server_uuid"] = True, "two"
    log.begin(server.attached(clock), Attachment(), ["max_connections"])
    for entry in log.entries():
        orphaned(entry)
    with pytest.raises(ServerError, match="1 of 2 servers could not be restored"):
        restore()
    (left,) = log.entries()
    assert f"Not restored: {left.where}: Another server" in capsys.readouterr().err


def test_files_that_the_server_wrote_for_dialin_are_removed_and_one_that_is_the_users_now_stays(log, begin, attached, tmp_path):
    ours, kept, never_made = tmp_path / "ours.log", tmp_path / "kept.log", tmp_path / "never.log"
    entry = begin("max_connections", files=[ours, kept, never_made])
    for path in (ours, kept):
        path.write_text("statements")
    attached.journal.keep_file(kept)
    assert log.undo(entry, attached) == [f"{ours}: removed"]
    assert (ours.exists(), kept.exists()) == (False, True)


def test_files_stay_while_the_server_may_write_them_and_on_other_machines(log, begin, attached, server, orphaned, tmp_path):
    path = tmp_path / "ours.log"
    entry = begin("max_connections", files=[path])
    attached.set_global({"max_connections": 99})
    path.write_text("statements")
    server.stuck.add("max_connections")
    with pytest.raises(ServerError, match="restored completely"):
        log.undo(entry, attached)
    assert path.exists()
    server.stuck.clear()
    lines = log.undo(orphaned(entry, machine="other/db7"), attached)
    assert f"{path} on db7: not removed; delete it there" in lines
    assert path.exists()


def test_statements_of_a_load_are_ended_first_and_nobody_elses(log, begin, attached, server, clock, orphaned):
    entry = begin("max_connections", schema=SCHEMA)
    log.make_schema(entry, attached)
    server.status["Uptime"] = "1000"
    load = (20, "dialin", "localhost", SCHEMA, "Query", 600, "Sending data", "SELECT ...")
    others = [
        (21, "dialin", "localhost", SCHEMA, "Query", 600, "Sending data", "SELECT ... of somebody with the same account"),
        (22, "app", "localhost", SCHEMA, "Query", 600, "Sending data", "SELECT ..."),
    ]
    server.processes += [load, *others]
    load_sessions.record(log.sessions_file(entry), [20, 22, 23], clock.now() - 10)
    server.said.clear()
    lines = log.undo(orphaned(entry), attached)
    assert lines[0] == "1 statement of the load: ended"
    assert [row for row in server.processes if row[0] >= 20] == others
    said = [statement for statement, _ in server.said]
    assert said.index("KILL 20") < said.index(f"DROP DATABASE `{SCHEMA}`"), "it would wait for the statement"
    assert not log.sessions_file(entry).exists()


def test_a_study_of_another_user_that_runs_is_left_alone(log, home, begin, give_away, monkeypatch):
    monkeypatch.setenv("DIALIN_HOME", str(home.root))
    entry = begin("max_connections")
    give_away(log._path(entry.id))
    said = []
    restore_orphans(home, {}, said.append)
    assert said == []
    with pytest.raises(UserError, match="is being studied by process"):
        restore(forget=entry.id)
    assert log._path(entry.id).exists()


def test_what_another_user_recorded_in_a_shared_cache_is_named_and_not_acted_on(
    log, home, begin, attached, server, orphaned, give_away, monkeypatch, capsys
):
    """It may name any command, any files, and where the password of a user is sent."""
    monkeypatch.setenv("DIALIN_HOME", str(home.root))
    entry = begin("max_connections")
    attached.set_global({"max_connections": 99})
    orphaned(entry, command="touch /nowhere", applied=True)
    owner = give_away(log._path(entry.id))
    said = []
    restore_orphans(home, {}, said.append)
    assert len(said) == 1
    assert f"cannot be read: it belongs to the user {owner}. Run `dialin restore` as that user" in said[0]
    with pytest.raises(UserError, match="belongs to the user"):
        restore()
    with pytest.raises(UserError, match="belongs to the user"):
        log.undo(entry, attached)
    assert server.values["max_connections"] == "99"
    with pytest.raises(UserError, match="still has the changes of a dialin that crashed"):
        begin("max_connections")
