"""What is asked of an attached server, and how; the server is a fake."""

import time
from contextlib import contextmanager

import pytest

from dialin.errors import ServerError, UserError
from dialin.model.build import Family
from dialin.servers import processes
from dialin.servers.attached import user_command
from dialin.servers.attached.attached_build import AttachedBuild
from dialin.servers.connection import TurnedAwayError
from servers.attached.fakes import VARIABLES, FakeServer


class Journal:
    """Remembers in which order things were written down."""

    def __init__(self, server):
        self.server, self.events = server, []

    def about_to_set(self, wanted, now):
        self.events.append(("about to set", dict(wanted), dict(self.server.values)))

    def before(self, wanted):
        return {name: VARIABLES.get(name) for name in wanted}

    def also_changed(self):
        return {}

    def was_set(self, in_force):
        self.events.append(("was set", dict(in_force)))

    def about_to_persist(self, setting):
        self.events.append(("about to persist", dict(setting), dict(self.server.persisted)))

    def was_persisted(self, setting, persisted):
        self.events.append(("was persisted", dict(setting), dict(persisted)))

    def about_to_restart(self):
        self.events.append(("about to restart",))

    def was_restarted(self, now):
        self.events.append(("was restarted", dict(now)))


@pytest.fixture
def attached(server, clock):
    made = server.attached(clock)
    made.journal = Journal(server)
    made.bind(made.build.facts)
    return made


@pytest.mark.parametrize(
    ("variables", "id_"),
    [
        ({"version": "9.7.4"}, "mysql@9.7.4"),
        ({"version": "8.0.33-0ubuntu0.22.04.2-log"}, "mysql@8.0.33"),
        ({"version": "10.11.19-MariaDB-0+deb12u1"}, "mariadb@10.11.19"),
        ({"version": "8.0.33", "version_comment": "mariadb.org binary distribution"}, "mariadb@8.0.33"),
        ({"version": "8.0.33", "version_comment": "Debian 12", "aria_pagecache_buffer_size": "1"}, "mariadb@8.0.33"),
    ],
)
def test_mariadb_is_never_taken_for_mysql(variables, id_):
    build = AttachedBuild.of(variables)
    assert build.id == id_
    assert build.family is Family(id_.partition("@")[0])


def test_a_server_without_a_version_is_neither():
    with pytest.raises(UserError, match="its version is 'proxy'"):
        AttachedBuild.of({"version": "proxy"})


def test_values_are_written_as_set_takes_them(attached, server):
    attached.set_global({"innodb-buffer-pool-size": "1G", "init_connect": "8", "max_connections": "77"})
    sent = {statement: value for statement, (value,) in ((s, a) for s, a in server.said if s.startswith("SET"))}
    assert sent["SET @@GLOBAL.`innodb_buffer_pool_size` = %s"] == 1 << 30
    assert sent["SET @@GLOBAL.`max_connections` = %s"] == 77
    assert server.values["init_connect"] == "8"


@pytest.mark.parametrize("name", ["a b", "x; DROP TABLE t", "`x`", "max_connections = 1, x", ""])
def test_text_that_cannot_be_a_name_never_meets_the_server(attached, server, name):
    with pytest.raises(UserError, match="cannot be the name"):
        attached.set_global({name: 1})
    assert not [statement for statement, _ in server.said if statement.startswith("SET")]


def test_variables_that_limit_each_other_are_set_until_all_hold(attached):
    wanted = {"innodb_io_capacity": 5000, "innodb_io_capacity_max": 6000}
    assert attached.set_global(wanted) == {"innodb_io_capacity": "5000", "innodb_io_capacity_max": "6000"}


def test_a_value_that_the_server_cuts_is_returned_as_it_is_in_force(attached):
    assert attached.set_global({"innodb_io_capacity": 5000}) == {"innodb_io_capacity": "2000"}


def test_changes_that_take_effect_in_the_background_are_waited_for(attached, server, clock):
    server.status["Innodb_buffer_pool_resize_status"] = [
        "",
        "Resizing buffer pool",
        "Resizing also other hash tables.",
        "Completed resizing",
    ]
    began = clock.monotonic()
    attached.set_global({"innodb_buffer_pool_size": "256M"})
    assert clock.monotonic() > began
    assert server.status["Innodb_buffer_pool_resize_status"] == ["Completed resizing"]


def test_a_resize_that_never_ends_is_an_error(attached, server):
    server.status["Innodb_buffer_pool_resize_status"] = "Resizing buffer pool"
    with pytest.raises(ServerError, match="innodb_buffer_pool_size was not effective within"):
        attached.set_global({"innodb_buffer_pool_size": "256M"})


def test_each_change_is_written_down_before_it_is_made(attached, server):
    attached.set_global({"max_connections": 77})
    (about, setting, then), (was, in_force) = attached.journal.events
    assert (about, setting, then["max_connections"]) == ("about to set", {"max_connections": 77}, "151")
    assert (was, in_force) == ("was set", {"max_connections": "77"})
    attached.persist_only({"back_log": 90})
    assert attached.journal.events[-2] == ("about to persist", {"back_log": 90}, {})
    assert attached.journal.events[-1] == ("was persisted", {"back_log": 90}, {"back_log": "90"})
    assert server.persisted == {"back_log": "90"}


def test_without_a_journal_nothing_is_changed(server, clock):
    attached = server.attached(clock)
    for change in (attached.set_global, attached.persist_only):
        with pytest.raises(RuntimeError):
            change({"max_connections": 77})
    assert server.values == VARIABLES


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"no_such": 1}, "The server has no variable no_such"),
        ({"innodb_flush_method": "fsync"}, "only at startup.*--restart-command"),
        ({"max_connections": "many"}, "max_connections cannot be many"),
    ],
)
def test_a_refusal_says_what_to_do(attached, setting, words):
    with pytest.raises(UserError, match=words):
        attached.set_global(setting)


def test_servers_that_keep_no_variables_over_sql_say_so(clock):
    attached = FakeServer(version="10.11.19-MariaDB").attached(clock)
    with pytest.raises(UserError, match=r"mariadb@10\.11\.19 cannot persist variables"):
        attached.check_persists()
    assert attached.persisted() == {}
    with pytest.raises(UserError, match="persisted_globals_load is OFF"):
        FakeServer(persisted_globals_load="OFF").attached(clock).check_persists()


# In use?


def test_a_quiet_server_is_not_in_use(attached, server):
    server.status["Questions"] = ["10", "11"]
    assert attached.live_reasons() == []


def row(number, user, host, command):
    return (number, user, host, None, command, 0, "", None)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([row(8, "repl", "10.0.0.5:4711", "Binlog Dump GTID")], "1 replica of it read its binary log (repl from 10.0.0.5)"),
        ([row(8, "system user", "", "Connect")], "it is a replica, and its replication runs"),
        ([row(8, "system user", "", "Slave_SQL")], "it is a replica, and its replication runs"),
        ([row(8, "system user", "", "Daemon")], None),
        ([row(8, "app", "10.0.0.5:1", "Sleep")], "1 other connection to it: app from 10.0.0.5; idle at the moment"),
        (
            [row(8, "app", "10.0.0.5:1", "Sleep"), row(9, "app", "10.0.0.5:2", "Query"), row(10, "cron", "localhost", "Sleep")],
            "3 other connections to it: app from 10.0.0.5 (2) and cron from localhost; 1 of them at work",
        ),
        (
            [row(n, f"u{n}", "h:1", "Sleep") for n in range(8, 13)],
            "5 other connections to it: u8 from h, u9 from h, u10 from h and 2 more; idle at the moment",
        ),
    ],
)
def test_activity_of_others_is_said_in_words(attached, server, rows, words):
    server.status["Questions"] = ["10", "11"]
    server.processes += rows
    assert attached.live_reasons() == ([words] if words else [])


def test_statements_of_others_are_counted_without_ones_own(attached, server):
    server.status["Questions"] = ["10", "18"]
    assert attached.live_reasons() == ["others sent it 7 statements within 1.5 s"]


def test_a_connection_that_was_just_closed_is_no_use(attached, server):
    server.status["Questions"] = ["10", "12"]
    server.leaving = [row(8, "dialin", "localhost", "Sleep")]
    assert attached.live_reasons() == []


def test_one_that_worked_and_ended_is(attached, server):
    server.status["Questions"] = ["10", "12"]
    server.leaving = [row(8, "cron", "localhost", "Query")]
    assert attached.live_reasons() == [
        "1 other connection to it: cron from localhost; 1 of them at work",
        "others sent it 1 statement within 1.5 s",
    ]


def test_members_of_clusters_are_known(attached, server):
    server.status |= {"Questions": ["10", "11"], "wsrep_connected": "ON"}
    server.values |= {"group_replication_group_name": "g", "wsrep_cluster_name": "c"}
    assert attached.live_reasons() == [
        "it is set up as a member of the replication group g",
        "it is a node of the Galera cluster c",
    ]


def test_an_account_that_cannot_see_others_is_no_reason_to_call_a_server_idle(attached, server):
    server.denied = True
    with pytest.raises(UserError, match="Grant it PROCESS"):
        attached.live_reasons()


@pytest.mark.parametrize("name", ["read_only", "super_read_only", "innodb_read_only"])
def test_a_server_that_takes_no_writes_is_refused(clock, name):
    with pytest.raises(UserError, match=f"{name} is ON"):
        FakeServer(**{name: "ON"}).attached(clock).check_writable()
    FakeServer(**{name: "OFF"}).attached(clock).check_writable()


# The restart command


def test_a_restart_command_is_parted_as_a_shell_parts_it_and_no_shell_runs_it(tmp_path):
    assert user_command.split_command("systemctl restart 'my sql'") == ["systemctl", "restart", "my sql"]
    assert user_command.run(f"echo $HOME ; touch {tmp_path / 'made'}") == f"$HOME ; touch {tmp_path / 'made'}"
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(("command", "words"), [("", "empty"), ("a 'b", "cannot be read"), ("/no/such", "cannot be run")])
def test_a_restart_command_that_is_none_is_refused(command, words):
    with pytest.raises(UserError, match=words):
        user_command.run(command)


def test_the_output_of_a_failing_restart_command_is_kept():
    with pytest.raises(ServerError, match="exit code 3") as caught:
        user_command.run("sh -c 'echo no unit >&2; exit 3'")
    assert caught.value.log_tail == "no unit"


def test_a_failing_restart_command_is_named_without_what_may_be_a_secret_in_it():
    with pytest.raises(ServerError, match="exit code 1: false") as caught:
        user_command.run("false --password=hunter2")
    assert "hunter2" not in str(caught.value)


def test_a_restart_command_that_does_not_return_is_ended(monkeypatch):
    monkeypatch.setattr(user_command, "LIMIT", 0.05)
    with pytest.raises(ServerError, match="did not return within"):
        user_command.run("sleep 30")


def test_a_restarted_server_that_refuses_the_account_is_not_waited_for(clock):
    server = FakeServer()
    attached = server.attached(clock)
    answers = iter([TurnedAwayError("Shutdown in progress", "", 1053), TurnedAwayError("Access denied", "", 1045)])

    @contextmanager
    def connect(timeout=None):
        if server.restarts:
            raise next(answers)
        yield server.query

    def restarting(command, *_, **more):
        server.restarts += 1
        return ""

    attached.connect, began = connect, clock.monotonic()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(user_command, "run", restarting)
        with pytest.raises(TurnedAwayError, match="Access denied"):
            attached.restart("systemctl restart mysql")
    assert clock.monotonic() - began < 1


def test_all_processes_of_a_command_that_does_not_return_are_ended(tmp_path):
    script = f"sh -c 'sleep 60 & echo $! >{tmp_path / 'child'}; wait'"
    with pytest.raises(ServerError, match="did not return within 1 s"):
        user_command.run(script, limit=1.0)
    child, deadline = int((tmp_path / "child").read_text()), time.monotonic() + 30
    while processes.identity(child) and time.monotonic() < deadline:  # a busy kernel takes a moment to end what was killed
        time.sleep(0.02)
    assert processes.identity(child) == ""


def test_the_next_command_waits_for_one_that_a_killed_dialin_left_running(tmp_path):
    left = processes.spawn(["sh", "-c", f"sleep 0.5; touch {tmp_path / 'made'}"], tmp_path, "apply", -3, dies_by=None)
    while not processes.processes(tmp_path):  # until its shell has written its PID
        time.sleep(0.01)
    assert user_command.run(f"ls {tmp_path / 'made'}", directory=tmp_path) == str(tmp_path / "made")
    assert left.wait() == 0
