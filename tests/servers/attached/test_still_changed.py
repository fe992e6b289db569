"""What a process has changed and not restored is known in memory until it is restored, whatever fails."""

import pytest

from dialin.errors import ServerError, UserError
from dialin.servers.attached import still_changed
from dialin.servers.attached.still_changed import last_words
from dialin.servers.attached.undo import SCHEMA, UndoLog
from dialin.servers.attached.undo_at_end import undo_at_exit


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    monkeypatch.setattr(still_changed, "_journals", {})


def test_a_changed_variable_is_named_with_its_value_before_until_it_is_restored(log, begin, attached, server):
    assert last_words() == []
    entry = begin("innodb_io_capacity", schema=SCHEMA)
    (words,) = last_words()
    assert "no change is known" in words
    attached.set_global({"innodb_io_capacity": 500})
    log.make_schema(entry, attached)
    (words,) = last_words()
    assert words.startswith("NOT restored: mysql@9.7.4 at ")
    assert "innodb_io_capacity is 500 (was 200)" in words
    assert f"the schema {SCHEMA} exists" in words
    assert words.endswith("Run: dialin restore")
    log.undo(entry, attached)
    assert last_words() == []


def test_a_change_that_may_not_have_been_made_is_named_as_such(begin, attached, server):
    begin("innodb_io_capacity")

    def gone(statement, arguments=()):
        raise ServerError("gone")

    def set_(scope, name, value):
        server.query = gone
        raise ServerError("gone")

    server._set = set_
    with pytest.raises(ServerError):
        attached.set_global({"innodb_io_capacity": 500})
    assert "innodb_io_capacity may be 500 (was 200)" in last_words()[0]


def test_persisted_variables_are_named(begin, attached):
    begin("back_log", restart=True)
    attached.persist_only({"back_log": 90})
    assert "back_log is persisted for the next start" in last_words()[0]


def test_only_some_of_many_variables_are_named(begin, attached, server):
    names = [f"some_variable_{number}" for number in range(30)]
    server.values |= dict.fromkeys(names, "OFF")
    begin(*names)
    attached.set_global(dict.fromkeys(names, "ON"))
    assert "10 more variables" in last_words()[0]


@pytest.mark.parametrize("failure", [ServerError("no"), UserError("no"), OSError(28, "No space left"), RuntimeError("a fault")])
def test_where_the_undo_fails_the_error_before_it_is_raised_and_the_change_is_still_known(
    log, begin, attached, monkeypatch, failure
):
    entry, said = begin("innodb_io_capacity"), []
    monkeypatch.setattr(log, "_undo", lambda *_: (_ for _ in ()).throw(failure))

    def study():
        with undo_at_exit(log, entry, attached, said.append):
            attached.set_global({"innodb_io_capacity": 500})
            raise KeyError("first")

    with pytest.raises(KeyError, match="first"):
        study()
    assert [line for line in said if line.startswith("NOT put back")]
    assert "innodb_io_capacity is 500 (was 200)" in last_words()[0]


def test_a_record_of_another_process_is_left_to_the_command_that_restores_it(home, clock, log, begin, attached, server):
    entry = begin("innodb_io_capacity")
    attached.set_global({"innodb_io_capacity": 500})
    still_changed.forget(entry.id)
    log._locks.release(entry.id)
    server.claimed_by, later = None, UndoLog(home.undo, clock)
    server.stuck.add("innodb_io_capacity")
    with pytest.raises(ServerError, match="could not be restored completely"):
        later.undo(entry, server.attached(clock))
    assert last_words() == []


def test_a_record_that_is_forgotten_is_named_no_more(log, begin):
    log.forget(begin("innodb_io_capacity"))
    assert last_words() == []


def test_escapes_of_a_server_are_shown_as_such(begin, attached, server):
    server.values["init_connect"] = "\x1b[31m"
    begin("init_connect")
    attached.set_global({"init_connect": "x"})
    assert "\x1b" not in last_words()[0]
