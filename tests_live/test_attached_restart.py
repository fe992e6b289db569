"""Variables of an attached server that only a start can set: persisted, restarted into force, and put back."""

import shlex
import subprocess
from contextlib import suppress

import pytest

from dialin.errors import ServerError, UserError
from dialin.model.place import Attachment
from dialin.servers.attached.undo import UndoLog
from live import only_with_all, until
from playground import attach, command_that_restarts, option_file


@pytest.fixture
def restart_command(modern, tmp_path):
    return command_that_restarts(modern, tmp_path)


def persist_90(modern, attached, restart_command):
    """Have back_log persisted as 90 and in force, as an earlier test may have left it."""
    modern.query("SET PERSIST_ONLY back_log = 90")
    if modern.variables()["back_log"] != "90":
        attached.restart(restart_command)


def quoted(value):
    return value if value.replace(".", "").isdecimal() else f"'{value}'"


def test_a_variable_of_the_start_is_set_by_a_restart_and_put_back_by_another(modern, tmp_path, log, restart_command):
    attachment = Attachment(defaults_file=str(option_file(modern, tmp_path / "my.cnf")))
    modern.query("SET GLOBAL max_connections = 88")
    attached, before = attach(attachment), modern.variables()
    assert attached.needs_restart({"innodb_log_buffer_size": "32M", "back_log": 70, "max_connections": 9}) == ["back_log"]
    entry = log.begin(attached, attachment, ["back_log"], restart=True)
    known = attached.pid
    attached.persist_only({"back_log": 70})
    assert modern.variables()["back_log"] != "70"
    attached.restart(restart_command)
    assert attached.pid not in (known, None)
    assert modern.variables()["back_log"] == "70"
    lines = log.undo(entry, attached, restart_command=restart_command)
    assert modern.variables() == before
    assert attached.persisted() == {}
    assert "back_log: no longer persisted" in lines
    assert log.entries() == []


def test_values_persisted_before_are_persisted_again(modern, tmp_path, log, restart_command):
    attachment = Attachment(defaults_file=str(option_file(modern, tmp_path / "my.cnf")))
    attached = attach(attachment)
    persist_90(modern, attached, restart_command)
    entry = log.begin(attached, attachment, ["back_log"], restart=True)
    attached.persist_only({"back_log": 70})
    attached.restart(restart_command)
    with pytest.raises(ServerError, match="back_log is 70 and was 90, until the server is restarted"):
        log.undo(entry, attached)
    assert attached.persisted() == {"back_log": "90"}
    assert [left.id for left in log.entries()] == [entry.id]
    log.undo(entry, attached, restart_command=restart_command)
    assert modern.variables()["back_log"] == "90"


@pytest.mark.parametrize(
    ("theirs", "left"),
    [
        pytest.param(
            "SET PERSIST_ONLY back_log = 95",
            "left persisted as 95, which dialin did not do; it was persisted as 90 before",
            marks=only_with_all,
        ),
        ("RESET PERSIST back_log", "left not persisted, which dialin did not do; it was persisted as 90 before"),
    ],
)
def test_values_that_somebody_else_persists_meanwhile_are_left_to_them(modern, tmp_path, log, restart_command, theirs, left):
    attachment = Attachment(defaults_file=str(option_file(modern, tmp_path / "my.cnf")))
    attached = attach(attachment)
    persist_90(modern, attached, restart_command)
    entry = log.begin(attached, attachment, ["back_log", "innodb_log_write_ahead_size"], restart=True)
    attached.persist_only({"back_log": 70})
    assert attached.persisted_by_others() == {}
    attached.restart(restart_command)
    modern.query(theirs)
    persisted = attached.persisted()
    assert list(attached.persisted_by_others()) == ["back_log"]
    assert attached.persisted_by_others() == {}, "a change is reported once"
    lines = log.undo(entry, attached, restart_command=restart_command)
    assert f"back_log: {left}" in lines
    assert attached.persisted() == persisted
    assert modern.variables()["back_log"] != "70", "what dialin set is in force no longer"
    assert log.entries() == []


@pytest.mark.parametrize(
    ("theirs", "next_start"),
    [
        pytest.param("SET PERSIST_ONLY back_log = 95", "95", marks=only_with_all),
        pytest.param("RESET PERSIST back_log", "the value in its option files, or the default", marks=only_with_all),
    ],
)
def test_without_a_restart_what_stays_in_force_is_said(modern, tmp_path, log, restart_command, theirs, next_start):
    attachment = Attachment(defaults_file=str(option_file(modern, tmp_path / "my.cnf")))
    attached = attach(attachment)
    persist_90(modern, attached, restart_command)
    entry = log.begin(attached, attachment, ["back_log"], restart=True)
    attached.persist_only({"back_log": 70})
    attached.restart(restart_command)
    modern.query(theirs)
    persisted = attached.persisted()
    lines = log.undo(entry, attached)
    said = f"back_log: 70 from the study is in force until the server is restarted; it then starts with {next_start}"
    assert said in lines
    assert (modern.variables()["back_log"], attached.persisted()) == ("70", persisted)
    assert log.entries() == [], "nothing is left to do for dialin: the next value is theirs"
    attached.restart(restart_command)
    assert (modern.variables()["back_log"] == "95") is (next_start == "95")


def test_run_time_values_that_a_restart_loses_are_set_again(modern, tmp_path, log, restart_command):
    attachment = Attachment(defaults_file=str(option_file(modern, tmp_path / "my.cnf")))
    at_run_time = {"general_log_file": "mine.log", "max_connections": "88", "long_query_time": "3"}
    attached = attach(attachment)
    was = attached.variables()
    modern.query(*(f"SET GLOBAL {name} = {quoted(value)}" for name, value in at_run_time.items()))
    before = attached.variables()
    entry = log.begin(attached, attachment, ["back_log"], restart=True)
    attached.persist_only({"back_log": 70})
    attached.restart(restart_command)
    with pytest.raises(UserError, match="being studied by another dialin"):
        UndoLog(tmp_path / "another home").begin(attach(attachment), attachment, ["back_log"])
    log.undo(entry, attached, restart_command=restart_command)
    after = attached.variables()
    assert {name: after[name] for name in at_run_time} == {name: before[name] for name in at_run_time}
    modern.query(*(f"SET GLOBAL {name} = {quoted(was[name])}" for name in at_run_time))


# pymysql leaves the sockets of attempts that failed to the collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_server_that_cannot_start_with_what_was_persisted_is_got_back_as_it_is_said(modern, tmp_path, log, restart_command):
    attachment = Attachment(defaults_file=str(option_file(modern, tmp_path / "my.cnf")))
    attached = attach(attachment)
    before, persisted = modern.variables(), attached.persisted()
    entry = log.begin(attached, attachment, ["back_log"], restart=True)
    attached.persist_only({"back_log": 70})
    path = modern.directory / "data" / "mysqld-auto.cnf"
    path.write_text(path.read_text().replace('"70"', '"oops"'))  # no value that SET takes ends every version
    attached.journal.was_persisted({"back_log": "oops"}, {"back_log": "oops"})  # as if dialin had persisted that
    # A server that is down for long is taken for one that nobody needs by the next dialin.
    usual, attached.patience = attached.patience, 8.0
    words = r"what dialin persisted for it \(\w+\).*--persisted-globals-load=OFF.*dialin restore"
    with pytest.raises(ServerError, match=words):
        attached.restart(restart_command)
    with pytest.raises(ServerError, match=words):
        log.undo(entry, attached)
    subprocess.run([*shlex.split(restart_command), "--persisted-globals-load=OFF"], check=True)
    until(lambda: not attached.is_gone(), 60)
    attached.patience = usual
    with suppress(ServerError):  # what back_log was is set by the next start, if dialin may have caused what it is now
        log.undo(entry, attached)
    attached.restart(restart_command)
    assert modern.variables() == before
    assert attached.persisted() == persisted


def test_a_restart_command_that_does_not_work_says_what_it_printed(modern, tmp_path, log):
    attachment = Attachment(defaults_file=str(option_file(modern, tmp_path / "my.cnf")))
    attached = attach(attachment)
    with pytest.raises(ServerError, match="exit code 3") as caught:
        attached.restart("sh -c 'echo no such unit; exit 3'")
    assert caught.value.log_tail == "no such unit"
    with pytest.raises(UserError, match="cannot be run"):
        attached.restart("/no/such/program")
