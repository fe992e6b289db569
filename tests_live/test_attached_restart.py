"""Variables of an attached server that only a start can set: persisted, restarted into force, and put back."""

import shlex
import subprocess
import sys

import pytest

from dialin.errors import ServerError, UserError
from dialin.model.study import Attachment
from dialin.servers.attached.undo import UndoLog
from dialin.servers.capabilities import Capability, has
from live import until
from playground import attach, option_file

RESTART = """
import os, signal, subprocess, sys, time
from pathlib import Path
directory = Path(sys.argv[1])
pid = int((directory / "server.pid").read_text())
try:
    shown = Path(f"/proc/{pid}/cmdline").read_bytes()
    inherited = Path(f"/proc/{pid}/environ").read_bytes()
except OSError:
    shown = b""
kept = directory / "words"
if shown:
    kept.write_bytes(shown)
    (directory / "environ").write_bytes(inherited)
else:
    pid = None  # it is gone, or a zombie
words = [word for word in kept.read_bytes().split(b"\\0")[:-1] if b"persisted" not in word]
words += [word.encode() for word in sys.argv[2:]]
environment = dict(part.split(b"=", 1) for part in (directory / "environ").read_bytes().split(b"\\0") if b"=" in part)
options = directory / "my.cnf"
options.write_text("".join(line for line in options.read_text().splitlines(True) if "init_file" not in line))
if pid:
    os.kill(pid, signal.SIGTERM)
while pid and Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
    time.sleep(0.05)
with open(os.devnull, "wb") as nothing:
    process = subprocess.Popen(words, env=environment, cwd=directory, start_new_session=True, stdin=subprocess.DEVNULL)
(directory / "server.pid").write_text(str(process.pid))
"""


@pytest.fixture
def restart_command(modern, tmp_path):
    script = tmp_path / "restart.py"
    script.write_text(RESTART)
    return f"{sys.executable} {script} '{modern.directory}'"


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


def test_what_was_persisted_before_is_persisted_again(modern, tmp_path, log, restart_command):
    attachment = Attachment(defaults_file=str(option_file(modern, tmp_path / "my.cnf")))
    attached = attach(attachment)
    modern.query("SET PERSIST_ONLY back_log = 90")
    attached.restart(restart_command)
    entry = log.begin(attached, attachment, ["back_log"], restart=True)
    attached.persist_only({"back_log": 70})
    attached.restart(restart_command)
    with pytest.raises(ServerError, match="back_log is 70 and was 90, until the server is restarted"):
        log.undo(entry, attached)
    assert attached.persisted() == {"back_log": "90"}
    assert [left.id for left in log.entries()] == [entry.id]
    log.undo(entry, attached, restart_command=restart_command)
    assert modern.variables()["back_log"] == "90"
    modern.query("RESET PERSIST")
    attached.restart(restart_command)


def test_run_time_values_that_a_restart_loses_are_set_again(modern, tmp_path, log, restart_command):
    attachment = Attachment(defaults_file=str(option_file(modern, tmp_path / "my.cnf")))
    names = ("general_log_file", "max_connections", "long_query_time")
    modern.query(
        "SET GLOBAL general_log_file = 'mine.log'", "SET GLOBAL max_connections = 88", "SET GLOBAL long_query_time = 3"
    )
    attached = attach(attachment)
    before = attached.variables()
    entry = log.begin(attached, attachment, ["back_log"], restart=True)
    attached.persist_only({"back_log": 70})
    attached.restart(restart_command)
    with pytest.raises(UserError, match="being studied by another dialin"):
        UndoLog(tmp_path / "another home").begin(attach(attachment), attachment, ["back_log"])
    log.undo(entry, attached, restart_command=restart_command)
    after = attached.variables()
    assert {name: after[name] for name in names} == {name: before[name] for name in names}
    attached.restart(restart_command)


# pymysql leaves the sockets of attempts that failed to the collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_server_that_cannot_start_with_what_was_persisted_is_got_back_as_it_is_said(modern, tmp_path, log, restart_command):
    attachment = Attachment(defaults_file=str(option_file(modern, tmp_path / "my.cnf")))
    attached = attach(attachment)
    before = modern.variables()
    entry = log.begin(attached, attachment, ["back_log"], restart=True)
    attached.persist_only({"back_log": 70})
    path = modern.directory / "data" / "mysqld-auto.cnf"
    path.write_text(path.read_text().replace('"70"', '"oops"'))  # no value that SET takes ends every version
    attached.patience = 8.0  # a server that is down for long is taken for one that nobody needs by the next dialin
    words = r"what dialin persisted for it \(\w+\).*--persisted-globals-load=OFF.*dialin restore"
    with pytest.raises(ServerError, match=words):
        attached.restart(restart_command)
    with pytest.raises(ServerError, match=words):
        log.undo(entry, attached)
    subprocess.run([*shlex.split(restart_command), "--persisted-globals-load=OFF"], check=True)
    until(lambda: not attached.is_gone(), 60)
    log.undo(entry, attached)
    attached.restart(restart_command)
    assert modern.variables() == before
    assert attached.persisted() == {}


def test_a_restart_command_that_does_not_work_says_what_it_printed(modern, tmp_path, log):
    attachment = Attachment(defaults_file=str(option_file(modern, tmp_path / "my.cnf")))
    attached = attach(attachment)
    with pytest.raises(ServerError, match="exit code 3") as caught:
        attached.restart("sh -c 'echo no such unit; exit 3'")
    assert caught.value.log_tail == "no such unit"
    with pytest.raises(UserError, match="cannot be run"):
        attached.restart("/no/such/program")


def test_servers_that_keep_no_variables_say_so(server, attachment):
    if has(server.build, Capability.PERSIST):
        attach(attachment).check_persists()
        return
    with pytest.raises(UserError, match=f"{server.build.id} cannot be told"):
        attach(attachment).check_persists()
