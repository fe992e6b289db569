"""Servers that dialin did not start: set, and put back whatever happens, with the least privileges that the documents name."""

import json
import os
import stat
import struct
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from dialin.cli.restore import restore_orphans
from dialin.clock import SystemClock
from dialin.errors import ServerError, UserError
from dialin.model.place import Attachment
from dialin.model.workload import WorkloadSpec
from dialin.paths import Home
from dialin.servers.attached import claim
from dialin.servers.attached.client_options import find_account
from dialin.servers.attached.server import Attached
from dialin.servers.attached.undo import SCHEMA, UndoLog
from dialin.servers.capabilities import Capability, has
from dialin.servers.processes import processes
from dialin.workloads.base import Target
from dialin.workloads.kinds import make_workload
from driving import needs_dialin_load
from live import kill, shown_of_processes, until
from playground import LEAVES_CHANGED, PASSWORD, attach, option_file

CHANGES = {"innodb_io_capacity": 1500, "max_connections": "77", "sync_binlog": 10, "innodb_max_dirty_pages_pct": 42}


@pytest.mark.each_build
def test_an_attached_server_is_known_for_what_it_is(server, attachment):
    attached = attach(attachment)
    assert (attached.build.id, attached.build.family) == (server.build.id, server.build.family)
    assert attached.pid == processes(server.directory)[0].pid
    assert not attached.is_gone()
    assert "ready for connections" in attached.log_tail()
    by_port = Attached(
        find_account(server.root, None, {}).__class__(None, "127.0.0.1", server.entry.port, "root", _root(server)),
        SystemClock(),
    )
    assert by_port.pid == attached.pid


def _root(server):
    return find_account(server.root, None, {}).password


@pytest.mark.each_build
def test_every_value_is_put_back_and_the_schema_is_gone_with_the_documented_privileges(server, attachment, log):
    before = server.variables()
    attached = attach(attachment)
    entry = log.begin(attached, attachment, list(CHANGES), schema=SCHEMA)
    log.make_schema(entry, attached)
    in_force = attached.set_global(CHANGES)
    assert {name: float(value) for name, value in in_force.items()} == {name: float(value) for name, value in CHANGES.items()}
    assert server.variables()["max_connections"] == "77"
    lines = log.undo(entry, attached)
    assert server.variables() == before
    assert (SCHEMA,) not in server.query("SHOW DATABASES")
    assert f"max_connections: {before['max_connections']} again, was 77" in lines
    assert log.entries() == []
    assert log.undo(entry, attached) == []


@pytest.mark.each_build
def test_variables_that_limit_each_other_come_to_what_was_asked_for_in_any_order(server, attachment, log):
    if "innodb_io_capacity_max" not in server.variables():
        pytest.skip("it has no such limit")
    before = server.variables()
    attached = attach(attachment)
    pair = {"innodb_io_capacity": 30000, "innodb_io_capacity_max": 40000}
    entry = log.begin(attached, attachment, list(pair))
    for wanted in (
        pair,
        {"innodb_io_capacity_max": 300, "innodb_io_capacity": 150},
        {"innodb_io_capacity": "20K", "innodb_io_capacity_max": "30k"},
    ):
        in_force = attached.set_global(wanted)
        assert [int(in_force[name]) for name in wanted] == [
            int(str(v).lower().replace("k", "")) * (1024 if "k" in str(v).lower() else 1) for v in wanted.values()
        ]
    log.undo(entry, attached)
    assert server.variables() == before


@pytest.mark.each_build
def test_a_limit_that_moved_along_is_put_back_as_well(server, attachment, log):
    before = server.variables()
    attached = attach(attachment)
    entry = log.begin(attached, attachment, ["innodb_io_capacity"])
    attached.set_global({"innodb_io_capacity": 90000})
    log.undo(entry, attached)
    assert server.variables() == before


@pytest.mark.each_build
def test_a_server_is_asked_what_it_can_set_while_it_runs_and_nothing_is_changed(server, attachment):
    attached, before = attach(attachment), server.variables()
    asked = {
        "max_connections": 5,
        "innodb_flush_method": "O_DIRECT",
        "init_connect": "SET @a = 1",
    }
    late = attached.needs_restart(asked)
    assert "innodb_flush_method" in late
    assert not {"max_connections", "init_connect"} & set(late)
    with pytest.raises(UserError, match="no variable no_such_variable"):
        attached.needs_restart(["no_such_variable"])
    for name in before:
        with suppress(UserError):
            attached.needs_restart([name])
    assert server.variables() == before


@pytest.mark.each_build
def test_a_pool_that_is_resized_in_the_background_is_waited_for(server, attachment, log):
    attached = attach(attachment)
    if attached.needs_restart({"innodb_buffer_pool_size": "256M"}):
        pytest.skip("its pool cannot be resized")
    before = server.variables()
    entry = log.begin(attached, attachment, ["innodb_buffer_pool_size"])
    assert attached.set_global({"innodb_buffer_pool_size": "256M"}) == {"innodb_buffer_pool_size": str(256 * 2**20)}
    log.undo(entry, attached)
    assert server.variables() == before


@pytest.mark.each_build
def test_variables_that_only_a_start_sets_are_said_with_the_remedy(server, attachment, log):
    attached = attach(attachment)
    entry = log.begin(attached, attachment, ["innodb_flush_method"])
    with pytest.raises(UserError, match=r"only at startup.*--restart-command"):
        attached.set_global({"innodb_flush_method": "O_DIRECT"})
    assert log.undo(entry, attached) == []


def test_after_a_refusal_halfway_what_was_set_is_put_back(server, attachment, log):
    before, attached = server.variables(), attach(attachment)
    entry = log.begin(attached, attachment, ["max_connections", "autocommit"])
    with pytest.raises(UserError, match="autocommit cannot be"):
        attached.set_global({"max_connections": 55, "autocommit": "perhaps"})
    assert server.variables()["max_connections"] == "55"
    log.undo(entry, attached)
    assert server.variables() == before


def test_nothing_is_changed_unless_its_undo_is_written_down(server, attachment, log):
    attached = attach(attachment)
    with pytest.raises(RuntimeError):
        attached.set_global({"max_connections": 55})
    entry = log.begin(attached, attachment, ["max_connections"])
    with pytest.raises(ValueError, match="sync_binlog"):
        attached.set_global({"sync_binlog": 3})
    log.undo(entry, attached)


def test_changes_of_a_killed_dialin_are_put_back_by_the_next_one(server, attachment, tmp_path):
    home, before = Home(tmp_path / "home"), server.variables()
    victim = subprocess.Popen(
        [sys.executable, "-c", LEAVES_CHANGED, str(home.undo), attachment.defaults_file], stdout=subprocess.PIPE, text=True
    )
    assert victim.stdout.readline() == "changed\n"
    log = UndoLog(home.undo)
    said = []
    restore_orphans(home, {}, said.append)
    assert (said, log.orphans()) == ([], [])
    with pytest.raises(UserError, match="being studied by another dialin"):
        log.begin(attach(attachment), attachment, ["sync_binlog"])
    kill(victim.pid)
    victim.communicate()
    assert server.variables()["max_connections"] == "66"
    with pytest.raises(UserError, match="dialin restore"):
        log.begin(attach(attachment), attachment, ["sync_binlog"])
    environment = {**os.environ, "DIALIN_HOME": str(home.root)}
    done = subprocess.run([sys.executable, "-m", "dialin", "restore"], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert server.variables() == before
    assert (SCHEMA,) not in server.query("SHOW DATABASES")
    assert f"max_connections: {before['max_connections']} again, was 66" in done.stderr
    assert PASSWORD not in done.stderr
    assert log.entries() == []
    restore_orphans(home, {}, pytest.fail)


SETS_SLOWLY = """
import sys
from pathlib import Path
from dialin.clock import SystemClock
from dialin.model.place import Attachment
from dialin.servers.attached.claim import CHANGE, take_lock
from dialin.servers.attached.server import Attached
from dialin.servers.attached.client_options import find_account
from dialin.servers.attached.undo import UndoLog
directory, options = sys.argv[1:]
attachment = Attachment(defaults_file=options)
attached = Attached(find_account(Path(options), None, {}), SystemClock())
UndoLog(Path(directory)).begin(attached, attachment, ["max_connections"])
attached.journal.about_to_set({"max_connections": 66}, attached.variables())
with attached.connect_to_change() as (query, _):
    assert take_lock(query, CHANGE, 1)
    while True:  # on a machine with much to do the first may be over before anybody looks
        query("SET GLOBAL max_connections = (SELECT 66 + SLEEP(3))")
"""


def test_a_set_that_still_runs_for_a_killed_dialin_is_awaited_and_put_back(server, attachment, tmp_path):
    home, before = Home(tmp_path / "home"), server.variables()
    victim = subprocess.Popen([sys.executable, "-c", SETS_SLOWLY, str(home.undo), attachment.defaults_file])

    def is_setting():
        return any("SLEEP(3)" in str(row[7]) for row in server.query("SHOW FULL PROCESSLIST"))

    try:
        until(lambda: is_setting() or victim.poll() is not None)
        assert victim.poll() is None, "it ended by itself"
    finally:  # what goes on setting would fail the tests after this one, too
        victim.kill()
        victim.wait()
    restore_orphans(home, {}, print)  # shown if this test fails
    until(lambda: not is_setting())
    assert server.variables() == before
    assert UndoLog(home.undo).entries() == []


def test_a_value_that_somebody_else_set_meanwhile_is_left_alone(server, attachment, log):
    was = server.variables()["max_connections"]
    attached = attach(attachment)
    entry = log.begin(attached, attachment, ["max_connections"])
    attached.set_global({"max_connections": 66})
    server.query("SET GLOBAL max_connections = 99")
    assert log.undo(entry, attached) == [f"max_connections: left at 99, which dialin did not set; it was {was} before"]
    assert server.variables()["max_connections"] == "99"
    server.query(f"SET GLOBAL max_connections = {was}")


def test_another_server_is_not_touched(server, attachment, log):
    attached = attach(attachment)
    entry = log.begin(attached, attachment, ["max_connections"])
    attached.set_global({"max_connections": 66})
    path = log._path(entry.id)
    right = path.read_text()
    path.write_text(json.dumps({**json.loads(right), "server": {**entry.server, "datadir": "/elsewhere/"}}))
    log._locks.release(entry.id)
    attached.claim.release()
    with pytest.raises(UserError, match=r"Another server answers.*datadir differs"):
        UndoLog(log._directory).undo(entry, attach(attachment))
    assert server.variables()["max_connections"] == "66"
    attached.bind({**entry.server, "datadir": "/elsewhere/"})
    with pytest.raises(ServerError, match=r"Another server answers.*/elsewhere/"):
        attached.set_global({"max_connections": 67})
    assert server.variables()["max_connections"] == "66"
    path.write_text(right)
    assert log.undo(entry, attached)


def test_each_trial_starts_from_what_the_study_found(server, attachment, log):
    before = server.variables()
    follower = "innodb_max_dirty_pages_pct_lwm"
    if float(before.get(follower, 0)) == 0:
        pytest.skip("nothing follows innodb_max_dirty_pages_pct here")
    attached = attach(attachment)
    entry = log.begin(attached, attachment, ["innodb_max_dirty_pages_pct"])
    seen = []
    for value in (5, 90, 5, 90):
        attached.set_global({"innodb_max_dirty_pages_pct": value})
        now = server.variables()
        seen.append((float(now["innodb_max_dirty_pages_pct"]), float(now[follower])))
    usual = float(before[follower])
    assert seen == [(5, min(5, usual)), (90, usual)] * 2
    log.undo(entry, attached)
    assert server.variables() == before


def test_a_limit_that_moved_along_is_as_before_in_the_next_trial(server, attachment, log):
    before = server.variables()
    attached = attach(attachment)
    entry = log.begin(attached, attachment, ["innodb_io_capacity"])
    seen = []
    for value in (4000, 200, 4000, 200):
        attached.set_global({"innodb_io_capacity": value})
        now = server.variables()
        seen.append((now["innodb_io_capacity"], now.get("innodb_io_capacity_max")))
    assert seen[:2] == seen[2:]
    assert seen[1] == ("200", before.get("innodb_io_capacity_max"))
    log.undo(entry, attached)
    assert server.variables() == before


def test_whoever_studies_a_server_is_seen_there_by_dialins_of_other_homes(server, attachment, log, tmp_path, monkeypatch):
    monkeypatch.setattr(claim, "_GONE_WITHIN", 1)
    attached, elsewhere = attach(attachment), UndoLog(tmp_path / "another home")
    attached.study = "/work/io"
    entry = log.begin(attached, attachment, ["max_connections"])
    with pytest.raises(UserError, match="being studied by another dialin") as refusal:
        elsewhere.begin(attach(attachment), attachment, ["max_connections"])
    # Attributes of connections are shown to every account since MySQL 8.0, where the performance schema is on.
    told = server.build.family == "mysql" and server.build.version >= (8,)
    who = f"the study /work/io (process {os.getpid()} on localhost)" if told else "a study (on localhost)"
    assert who in refusal.value.what
    assert attached.live_reasons() == []
    # MySQL 5.6 can lose a KILL of a thread that is about to wait for its next statement, and the thread keeps its locks.
    time.sleep(0.5)
    server.query(f"KILL {attached.claim.connection}")
    attached.set_global({"max_connections": 66})
    with pytest.raises(UserError, match="being studied by another dialin"):
        elsewhere.begin(attach(attachment), attachment, ["max_connections"])
    log.undo(entry, attached)
    other = attach(attachment)
    assert elsewhere.undo(elsewhere.begin(other, attachment, ["max_connections"]), other) == []


def test_a_schema_that_dialin_did_not_make_stays(server, attachment, log):
    server.query(f"CREATE DATABASE {SCHEMA}", f"CREATE TABLE {SCHEMA}.precious (a INT)")
    try:
        attached = attach(attachment)
        with pytest.raises(UserError, match=f"{SCHEMA} already exists"):
            log.begin(attached, attachment, ["max_connections"], schema=SCHEMA)
        assert log.entries() == []
        server.query(f"DROP DATABASE {SCHEMA}")
        entry = log.begin(attached, attachment, ["max_connections"], schema=SCHEMA)
        server.query(f"CREATE DATABASE {SCHEMA}", f"CREATE TABLE {SCHEMA}.precious (a INT)")
        assert log.undo(entry, attached) == [f"schema {SCHEMA}: left alone, because dialin did not create it"]
        assert server.query(f"SHOW TABLES FROM {SCHEMA}") == (("precious",),)
    finally:
        server.query(f"DROP DATABASE IF EXISTS {SCHEMA}")


@pytest.mark.each_build
def test_servers_that_keep_no_variables_say_so(server, attachment):
    if has(server.build, Capability.PERSIST):
        attach(attachment).check_persists()
        return
    with pytest.raises(UserError, match=f"{server.build.id} cannot persist variables"):
        attach(attachment).check_persists()


# Is it in use?


@pytest.mark.each_build
def test_an_idle_server_is_not_taken_for_one_in_use(server, attachment):
    assert attach(attachment).live_reasons() == []


def test_another_connection_is_a_reason(server, attachment):
    other = server.connect()
    try:
        reasons = attach(attachment).live_reasons()
    finally:
        other.close()
    assert len(reasons) == 1
    assert reasons[0].startswith("1 other connection to it: root from localhost")


def test_statements_of_clients_that_come_and_go_are_a_reason(server, attachment):
    options = {"read_default_file": str(server.root)}
    client = subprocess.Popen(
        [sys.executable, "-c", f"import pymysql, time\nwhile True:\n  pymysql.connect(**{options!r}).close(); time.sleep(0.05)"]
    )
    try:
        until(lambda: any("statements within" in reason for reason in attach(attachment).live_reasons()))
    finally:
        client.kill()
        client.wait()


def test_a_replica_that_reads_the_binary_log_is_a_reason(attachment, server):
    if server.variables()["log_bin"] != "ON":
        pytest.skip("it writes no binary log")
    replica = server.connect()
    try:
        replica.query("SET @master_binlog_checksum = 'NONE', @source_binlog_checksum = 'NONE'")
        replica._execute_command(0x12, struct.pack("<IHI", 4, 0, 4242))  # COM_BINLOG_DUMP
        until(lambda: any(row[4].startswith("Binlog Dump") for row in server.query("SHOW PROCESSLIST")))
        assert any("1 replica of it read" in reason for reason in attach(attachment).live_reasons())
    finally:
        replica._force_close()


@pytest.mark.each_build
def test_a_server_that_takes_no_writes_is_refused(server, attachment):
    server.query("SET GLOBAL read_only = ON")
    try:
        with pytest.raises(UserError, match=r"is read-only: .*read_only is ON"):
            attach(attachment).check_writable()
    finally:
        server.query("SET GLOBAL read_only = OFF")
    attach(attachment).check_writable()


@pytest.mark.each_build
def test_a_missing_privilege_is_named(server, tmp_path):
    server.query("CREATE USER 'poor'@'localhost' IDENTIFIED BY 'x'")
    try:
        attachment = Attachment(defaults_file=str(option_file(server, tmp_path / "poor.cnf", user="poor", password="x")))
        attached = attach(attachment)
        with pytest.raises(UserError, match="PROCESS"):
            attached.live_reasons()
        with pytest.raises(UserError, match=r"SYSTEM_VARIABLES_ADMIN|SUPER"):
            attached.needs_restart({"innodb_io_capacity": 300})
        log = UndoLog(tmp_path / "undo")
        entry = log.begin(attached, attachment, ["max_connections"], schema=SCHEMA)
        with pytest.raises(UserError, match="may not create the schema"):
            log.make_schema(entry, attached)
        assert log.undo(entry, attached) == []
    finally:
        server.query("DROP USER 'poor'@'localhost'")


# The load


DRIVERS = [
    pytest.param("dialin-load", "dialin-load.cnf", marks=needs_dialin_load),
    pytest.param("sysbench", "sysbench.cnf"),
]
"""Each with the file that it reads the password from."""

DRIVING = [pytest.param(*each.values[:1], marks=each.marks) for each in DRIVERS]


def run_load(server, account, directory, driver):
    """Prepare and run a load for two seconds; returns what every process showed of itself meanwhile."""
    directory.mkdir(mode=0o700)
    workload = make_workload(WorkloadSpec(kind=driver, threads=2, tables=1, table_size=200, rate=100))
    workload.check_account(account)
    target = Target(account, directory, SCHEMA)
    server.query(f"DROP DATABASE IF EXISTS {SCHEMA}", f"CREATE DATABASE {SCHEMA}")
    try:
        workload.prepare(target)
        load = workload.start(target, threads=2, seed=1, cpus=None)
        try:
            seconds = [load.read(30), load.read(30)]
            shown = shown_of_processes()
        finally:
            load.stop()
    finally:
        server.query(f"DROP DATABASE {SCHEMA}")
    assert all(second is not None and second.tps > 0 for second in seconds)
    return shown


@pytest.mark.parametrize(("driver", "file"), DRIVERS)
def test_a_password_is_seen_nowhere_while_load_runs(server, attachment, log, tmp_path, driver, file):
    attached = attach(attachment)
    entry = log.begin(attached, attachment, ["max_connections"])
    attached.set_global({"max_connections": 80})
    shown = run_load(server, attached.account, tmp_path / "load", driver)
    assert "oltp_read_write" in shown
    assert PASSWORD not in shown
    assert PASSWORD not in repr(attached.account) + repr(entry) + str(attached.account)
    holders = {path for path in tmp_path.rglob("*") if path.is_file() and b"s3cret" in path.read_bytes()}
    assert holders == {tmp_path / "my.cnf", tmp_path / "load" / file}
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in [*holders, *log._directory.glob("*.json")])
    log.undo(entry, attached)


@pytest.mark.parametrize("driver", DRIVING)
def test_load_goes_over_tcp_as_well(server, tmp_path, driver):
    file = option_file(server, tmp_path / "tcp.cnf", protocol="tcp", host="localhost", port=server.entry.port)
    server.query("FLUSH PRIVILEGES")  # what caching_sha2_password knows of the account is forgotten
    account = find_account(file, None, {})
    assert account.socket is None
    run_load(server, account, tmp_path / "load", driver)


@pytest.mark.parametrize("driver", DRIVING)
def test_load_takes_tls_with_a_certificate_of_the_client(server, tmp_path, driver):
    if not has(server.build, Capability.PERSIST):
        pytest.skip("it makes no certificates of its own")
    data = server.directory / "data"
    files = {"ssl-ca": data / "ca.pem", "ssl-cert": data / "client-cert.pem", "ssl-key": data / "client-key.pem"}
    more = {"protocol": "tcp", "port": server.entry.port, "ssl-mode": "REQUIRED"}
    server.query("ALTER USER 'dialin'@'localhost' REQUIRE SSL", "FLUSH PRIVILEGES")
    try:
        account = find_account(option_file(server, tmp_path / "tls.cnf", **more, **files), None, {})
        assert attach_account(account).build.id == server.build.id
        run_load(server, account, tmp_path / "load", driver)
        bare = find_account(option_file(server, tmp_path / "bare.cnf", **more), None, {})
        assert attach_account(bare).build.id == server.build.id
        if driver == "dialin-load":
            run_load(server, bare, tmp_path / "bare", driver)
            return
        with pytest.raises(UserError, match="ssl-ca is missing"):
            make_workload(WorkloadSpec(kind=driver)).check_account(bare)
    finally:
        server.query("ALTER USER 'dialin'@'localhost' REQUIRE NONE")


def attach_account(account):
    return Attached(account, SystemClock())
