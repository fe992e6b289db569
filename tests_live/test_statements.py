"""Statements on real servers: one that is interrupted is counted as what it is, and none outlives its load."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import psutil
import pymysql
import pytest

from dialin.clock import SystemClock
from dialin.model.place import Attachment
from dialin.model.workload import WorkloadSpec
from dialin.paths import Home
from dialin.servers.attached.undo import SCHEMA, UndoLog
from dialin.servers.load_sessions import record, recorded
from dialin.workloads.base import Target
from dialin.workloads.kinds import make_workload
from driving import BINARY, account, command, load, needs_dialin_load, running, serving
from live import FAST_OR_ALL, LIMIT, kill, until
from playground import PASSWORD, attach, option_file, playground

WORKLOAD = """
name = "long"
description = "A statement that nobody waits for the end of"
session = ["SET SESSION innodb_lock_wait_timeout = 5000"]
[[table]]
name = "n"
create = "CREATE TABLE n (i INT PRIMARY KEY) ENGINE=InnoDB"
[table.fill]
for = {{ i = 1000 }}
[table.fill.columns]
i = ":i"
[[transaction]]
name = "long"
steps = [ {steps} ]
"""
HELD = "SELECT i FROM held.n WHERE i = 1 FOR UPDATE"
"""Waits for a lock that is not released. SLEEP would end by itself: servers look every few seconds if its client is there."""

LUA = f"""
function thread_init()
  con = sysbench.sql.driver():connect()
  con:query("SET SESSION innodb_lock_wait_timeout = 5000")
end
function event() con:query("{HELD}") end
"""


@contextmanager
def holding(connection):
    """A row that is locked meanwhile."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE held")
            cursor.execute("CREATE TABLE held.n (i INT PRIMARY KEY) ENGINE=InnoDB")
            cursor.execute("INSERT INTO held.n VALUES (1)")
            cursor.execute("BEGIN")
            cursor.execute(HELD)
        yield
    finally:
        connection.close()


@pytest.fixture(scope="module", params=FAST_OR_ALL, ids=lambda build: build.id)
def server(request):
    with serving(request.param) as sandbox, holding(pymysql.connect(unix_socket=str(sandbox.socket), user="root")):
        yield sandbox


def workload_file(directory, *sql):
    path = directory / "long.toml"
    path.write_text(WORKLOAD.format(steps=", ".join(f'{{ sql = "{each}" }}' for each in sql)))
    return path


def of_text(rows, text, database):
    """The numbers of the sessions of a process list that execute a statement with this text in a schema."""
    return {row[0] for row in rows if row[3] == database and row[4] != "Sleep" and text in str(row[7])}


def executing(server, text):
    with server.connect() as query:
        return of_text(query("SHOW FULL PROCESSLIST"), text, "sbtest")


@contextmanager
def stranger(socket, database, user="root", password=""):
    """Somebody else who executes the same statement with the same account in the same schema; yields the session's number."""
    connection = pymysql.connect(unix_socket=str(socket), user=user, password=password, database=database)
    with connection.cursor() as cursor:
        cursor.execute("SET SESSION innodb_lock_wait_timeout = 5000")
    number = connection.thread_id()
    connection._execute_command(3, HELD)
    try:
        yield number
    finally:
        with pymysql.connect(unix_socket=str(socket), user=user, password=password) as other, other.cursor() as cursor:
            cursor.execute(f"KILL {number}")

            def is_gone():
                cursor.execute("SELECT COUNT(*) FROM information_schema.processlist WHERE id = %s", (number,))
                return cursor.fetchone() == (0,)

            until(is_gone)
        connection._force_close()


@needs_dialin_load
@pytest.mark.parametrize("begin", [[], ["BEGIN"]], ids=["autocommit", "in a transaction"])
def test_a_query_that_is_killed_is_error_1317_once_and_its_connection_lives(server, tmp_path, begin):
    workload = workload_file(tmp_path, *begin, HELD)
    load("cleanup", workload, server)
    load("prepare", workload, server)
    with running(workload, server, "--connections", 2, "--time", 0, "--transactions", 6) as finish, server.connect() as query:
        killed = set()
        for _ in range(3):
            for number in until(lambda: len(found := executing(server, HELD)) == 2 and found):
                query(f"KILL QUERY {number}")
                killed.add(number)
            time.sleep(0.5)  # so that nobody kills the same statement twice
        done = finish()
    assert len(killed) == 2, "a connection that is lost comes back with another number"
    assert (done.total["errors"], done.total["reconnects"]) == ({"1317": 6}, 0)
    assert done.total["failed"]["max"] is not None


@needs_dialin_load
def test_a_connection_that_is_killed_is_one_error_and_one_reconnect(server, tmp_path):
    workload = workload_file(tmp_path, HELD)
    load("cleanup", workload, server)
    load("prepare", workload, server)
    with running(workload, server, "--connections", 1, "--time", 0, "--transactions", 2) as finish, server.connect() as query:
        for _ in range(2):
            (number,) = until(lambda: executing(server, HELD))
            query(f"KILL {number}")
            until(lambda number=number: number not in executing(server, HELD))
        done = finish()
    assert done.total["errors"] == {"2013": 2}
    assert done.total["reconnects"] in (1, 2), "the run may end before the last one is back"


def end_by_signal(number):
    return lambda process: process.send_signal(number)


def end_reader(process):
    """The reader of the driver's output is gone, as after a parent that died."""
    process.stdout.close()


@needs_dialin_load
@pytest.mark.parametrize(
    ("how", "seconds"),
    [
        (lambda process: None, 2),
        (end_by_signal(signal.SIGTERM), 0),
        (end_by_signal(signal.SIGINT), 0),
        (end_by_signal(signal.SIGHUP), 0),
        (end_reader, 0),
    ],
    ids=["time", "SIGTERM", "SIGINT", "SIGHUP", "no reader"],
)
def test_no_statement_goes_on_when_a_run_has_ended_and_nobody_elses_is_ended(server, tmp_path, how, seconds):
    workload = workload_file(tmp_path, HELD)
    words = command("run", workload, server, "--connections", 3, "--time", seconds, "--json", "--sessions-file", tmp_path / "s")
    with stranger(server.socket, "sbtest") as other:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        until(lambda: len(executing(server, HELD)) == 4)
        assert len(recorded(tmp_path / "s")) == 3
        how(process)
        said = process.stderr.read()
        process.wait(LIMIT)
        process.stdout.close()
        process.stderr.close()
        assert executing(server, HELD) == {other}
    assert "3 statements still running at the end: ended on the server (KILL)" in said
    assert recorded(tmp_path / "s") == []


@needs_dialin_load
def test_a_run_that_fails_leaves_no_statement(server, tmp_path):
    workload = workload_file(tmp_path, "SELECT i FROM n WHERE i = 1", HELD)
    load("cleanup", workload, server)
    load("prepare", workload, server)
    failing = tmp_path / "failing.toml"
    other = '[[transaction]]\nname = "other"\nsteps = [ { sql = "SELECT 1 FROM missing" } ]\n[[transaction]]'
    failing.write_text(workload.read_text().replace("[[transaction]]", other))
    done = load("run", failing, server, "--connections", 8, "--time", 0, code=4)
    assert "missing" in done.said
    assert executing(server, HELD) == set()


def target(server, directory):
    return Target(server.account, directory, data=server.data)


@needs_dialin_load
def test_a_driver_that_was_killed_leaves_its_statements_to_dialin(server, tmp_path):
    workload = make_workload(WorkloadSpec(name=str(workload_file(tmp_path, HELD)), kind="dialin-load", threads=3))
    with stranger(server.socket, "sbtest") as other:
        running = workload.start(target(server, tmp_path), threads=3, seed=1, cpus=None)
        until(lambda: len(executing(server, HELD)) == 4)
        kill(running._driver.pid)
        running.stop()
        assert executing(server, HELD) == {other}


@needs_dialin_load
def test_an_agent_that_was_killed_leaves_its_statements_to_dialin(server, tmp_path):
    """It runs on another host, where nobody of ours can end them."""
    secret = tmp_path / "token"
    secret.touch(0o600)
    secret.write_text("0123456789abcdef" * 4)
    said = tmp_path / "said"
    words = [BINARY, "agent", "--listen", "127.0.0.1:0", "--token-file", secret, *account(server, "sbtest")]
    with said.open("w") as log, subprocess.Popen(words, stderr=log) as agent, stranger(server.socket, "sbtest") as other:
        address = until(lambda: re.search(r"listening at (\S+)\n", said.read_text()))[1]
        spec = WorkloadSpec(name=str(workload_file(tmp_path, HELD)), kind="dialin-load", threads=3)
        workload = make_workload(spec.model_copy(update={"load_hosts": (address,), "load_token": str(secret)}))
        load = workload.start(target(server, tmp_path), threads=3, seed=1, cpus=None)
        until(lambda: len(executing(server, HELD)) == 4)
        kill(agent.pid)
        agent.wait()
        until(lambda: not psutil.pid_exists(load._driver.pid) or psutil.Process(load._driver.pid).status() == "zombie")
        load.stop()
        assert executing(server, HELD) == {other}


@needs_dialin_load
@pytest.mark.parametrize("verb", ["prepare", "check"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_interrupted_leaves_no_statement(server, tmp_path, verb, number):
    waits = "SELECT i FROM held.n WHERE i = 1 LOCK IN SHARE MODE"
    slow = f'[[table]]\nname = "slow"\ncreate = "CREATE TABLE slow AS {waits}"\n[[transaction]]'
    asked = f'[[check]]\nname = "rows"\nsql = "{waits}"\n[[transaction]]'
    path = workload_file(tmp_path, "SELECT 1")
    path.write_text(path.read_text().replace("[[transaction]]", slow if verb == "prepare" else asked))
    load("cleanup", path, server)
    process = subprocess.Popen(command(verb, path, server), stderr=subprocess.PIPE, text=True)
    until(lambda: executing(server, waits) or process.poll() is not None)
    process.send_signal(number)
    _, said = process.communicate(timeout=LIMIT)
    assert process.returncode == 128 + number, said
    assert "still running at the end: ended on the server (KILL)" in said
    assert executing(server, waits) == set()


def test_sysbench_leaves_no_statement_and_nobody_elses_is_ended(server, tmp_path):
    script = tmp_path / "long.lua"
    script.write_text(LUA)
    workload = make_workload(WorkloadSpec(name=str(script), kind="sysbench", threads=3))
    with stranger(server.socket, "sbtest") as other:
        running = workload.start(target(server, tmp_path), threads=3, seed=1, cpus=None)
        until(lambda: len(executing(server, HELD)) == 4)
        running.stop()
        assert executing(server, HELD) == {other}


VICTIM = """
import sys, time
from pathlib import Path
from dialin.clock import SystemClock
from dialin.model.place import Attachment
from dialin.model.workload import WorkloadSpec
from dialin.servers.attached.client_options import find_account
from dialin.servers.attached.server import Attached
from dialin.servers.attached.undo import SCHEMA, UndoLog
from dialin.workloads.base import Target
from dialin.workloads.kinds import make_workload
home, options, workload, kind = sys.argv[1:]
attachment = Attachment(defaults_file=options)
attached = Attached(find_account(Path(options), None, {}), SystemClock())
log = UndoLog(Path(home) / "undo")
entry = log.begin(attached, attachment, ["max_connections"], schema=SCHEMA)
log.make_schema(entry, attached)
attached.set_global({"max_connections": 66})
directory = Path(home) / "load"
directory.mkdir()
target = Target(attached.account, directory, SCHEMA, record=log.sessions_file(entry))
load = make_workload(WorkloadSpec(name=workload, kind=kind, threads=2)).start(target, threads=2, seed=1, cpus=None)
while True:
    load.read(1)
"""


@pytest.fixture(scope="module", params=FAST_OR_ALL, ids=lambda build: build.id)
def attached_server(request):
    with playground(request.param) as made, holding(made.connect()):
        made.query("GRANT ALL ON held.* TO dialin@localhost")
        yield made


def executing_there(server):
    return of_text(server.query("SHOW FULL PROCESSLIST"), HELD, SCHEMA)


@pytest.mark.parametrize("kind", [pytest.param("dialin-load", marks=needs_dialin_load), "sysbench"])
def test_after_dialin_and_its_driver_were_killed_restore_ends_what_they_left(attached_server, tmp_path, kind):
    server, home = attached_server, Home(tmp_path / "home")
    before, options = server.variables(), option_file(attached_server, tmp_path / "my.cnf")
    script = tmp_path / "long.lua"
    script.write_text(LUA)
    workload = workload_file(tmp_path, HELD) if kind == "dialin-load" else script
    words = [sys.executable, "-c", VICTIM, str(home.root), str(options), str(workload), kind]
    victim = subprocess.Popen(words)
    try:
        until(lambda: len(executing_there(server)) == 2)
        driver = int((home.root / "load" / "load.pid").read_text())
        (entry,) = UndoLog(home.undo).entries()
        until(lambda: len(recorded(UndoLog(home.undo).sessions_file(entry))) >= 2)
    finally:
        # The driver first, and both before either can act.
        for number in (victim.pid, driver):
            os.kill(number, signal.SIGSTOP)
        for number in (driver, victim.pid):
            os.kill(number, signal.SIGKILL)
        victim.wait()
    until(lambda: not psutil.pid_exists(driver))
    assert len(executing_there(server)) == 2, "the server has not noticed that its clients are gone"
    with stranger(server.entry.socket, SCHEMA, user="dialin", password=PASSWORD) as other:
        environment = {**os.environ, "DIALIN_HOME": str(home.root)}
        done = subprocess.run([sys.executable, "-m", "dialin", "restore"], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "2 statements of the load: ended" in done.stderr
        rows = server.query("SHOW PROCESSLIST")
        assert [row[0] for row in rows if row[1] == "dialin" and row[4] != "Sleep"] == [other]
    assert server.variables() == before
    assert SCHEMA not in server.schemas()
    assert not list(home.undo.glob("*.sessions"))


def test_numbers_of_sessions_from_before_a_restart_end_nobody(attached_server, tmp_path):
    """Another session may have the number by now."""
    server, log = attached_server, UndoLog(tmp_path / "undo")
    options = option_file(server, tmp_path / "my.cnf")
    attachment = Attachment(defaults_file=str(options))
    attached = attach(attachment)
    entry = log.begin(attached, attachment, ["max_connections"])
    with stranger(server.entry.socket, None, user="dialin", password=PASSWORD) as other:
        record(log.sessions_file(entry), [other], SystemClock().now() - 10**9)
        assert log.undo(entry, attached) == []
        assert [row[0] for row in server.query("SHOW PROCESSLIST") if row[1] == "dialin" and row[4] != "Sleep"] == [other]
