"""Private servers, and the table of what each build can do, on every build that is installed."""

import re
import socket
from pathlib import Path

import psutil
import pymysql
import pytest
from pymysql.constants.ER import ACCESS_DENIED_ERROR, HOST_NOT_PRIVILEGED

from dialin.clock import SystemClock
from dialin.datasets.cache import copy
from dialin.paths import Home
from dialin.servers.capabilities import Capability, has
from dialin.servers.connection import global_variables
from dialin.servers.ledger import Ledger
from dialin.servers.processes import processes
from dialin.servers.sandbox import Sandbox, free_port
from dialin.trials.tools import Tools
from live import FAST, INSTALLED, MYSQL, children, find, kill, shown_of_processes, until


@pytest.fixture(scope="module", params=INSTALLED, ids=lambda build: build.id)
def build(request):
    return request.param


@pytest.fixture(scope="module")
def sandbox(build):
    """A running server of a build."""
    tools = Tools.open(lambda text: None)
    made = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    copy(tools.preparer.blank(build, {}).data, made.data)
    made.boot({})
    yield made
    made.remove()
    assert not made.directory.exists()


def test_each_fact_of_the_table_of_builds_is_so(build, sandbox):
    with sandbox.connect() as query:
        variables = global_variables(query)
    assert has(build, Capability.POOL_DUMP) == ("innodb_buffer_pool_dump_at_shutdown" in variables)
    assert has(build, Capability.POOL_DUMP_PCT) == ("innodb_buffer_pool_dump_pct" in variables)
    assert has(build, Capability.X_PLUGIN) == ("mysqlx_port" in variables or "mysqlx_bind_address" in variables) or has(
        build, Capability.X_PLUGIN
    )
    assert variables["skip_networking"] == "ON"
    assert Path(variables["datadir"]).resolve() == sandbox.data.resolve()


def test_nobody_else_can_enter_a_sandbox(sandbox):
    assert sandbox.directory.stat().st_mode & 0o077 == 0
    assert sandbox.option_file.stat().st_mode & 0o077 == 0


def test_root_has_no_way_in_through_the_port_that_a_load_uses(build):
    tools = Tools.open(lambda text: None)
    made = Sandbox.create(build, tools.home, tools.ledger, tools.clock, port=free_port())
    try:
        copy(tools.preparer.blank(build, {}).data, made.data)
        made.boot({})
        with pytest.raises(pymysql.err.OperationalError) as refused:
            pymysql.connect(host="127.0.0.1", port=made.account.port, user="root")
        assert refused.value.args[0] in (ACCESS_DENIED_ERROR, HOST_NOT_PRIVILEGED)
    finally:
        made.remove()


def test_a_sandbox_stops_cleanly_and_its_data_starts_again(sandbox):
    with sandbox.connect() as query:
        query("CREATE DATABASE kept")
    sandbox.stop()
    assert sandbox.pid is None
    sandbox.boot({})
    with sandbox.connect() as query:
        assert ("kept",) in query("SHOW DATABASES")


def test_a_server_to_play_with_runs_until_it_is_stopped(dialin):
    _, err = dialin("servers", "start", FAST, "--set", "max_connections=33")
    options = re.search(r"--defaults-file=(\S+)", err)[1]
    port = int(re.search(r"127\.0\.0\.1:(\d+)", err)[1])
    name = re.search(r"dialin servers stop (\w+)", err)[1]
    try:
        connection = pymysql.connect(read_default_file=options)
        with connection.cursor() as cursor:
            cursor.execute("SELECT @@max_connections")
            assert cursor.fetchone() == (33,)
        connection.close()
        with pytest.raises(pymysql.err.OperationalError, match="denied"):
            pymysql.connect(host="127.0.0.1", port=port, user="root", password="")
        assert Path(options).stat().st_mode & 0o077 == 0
        out, _ = dialin("servers")
        assert options in out.replace("\n", "")
        _, err = dialin("servers", "start", FAST, "--port", port, code=2)
        assert f"Port {port} cannot be listened on" in err
    finally:
        dialin("servers", "stop", name)
    assert not Path(options).exists()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.parametrize("option", ["datadir=/var/lib/mysql", "socket=/tmp/x.sock", "port=3306", "init_file=/tmp/x.sql"])
def test_a_server_to_play_with_keeps_to_its_own_directory(refused, option):
    err = refused("servers", "start", MYSQL, "--set", option)
    assert option.partition("=")[0] in err


def test_a_password_stands_in_no_command_line(dialin):
    _, err = dialin("servers", "start", FAST)
    options = Path(re.search(r"--defaults-file=(\S+)", err)[1])
    try:
        password = re.search(r"password\s*=\s*\"?([\w-]+)", options.read_text())[1]
        shown = shown_of_processes()
        assert options.parent.name in shown
        assert password not in shown
        assert password not in err
    finally:
        dialin("servers", "stop")


def test_a_server_whose_dialin_was_killed_while_it_started_is_ended_by_the_next_command_that_tidies(dialin):
    home = Home.of()
    process = dialin.start(
        "sweep", "sort_buffer_size=256K,512K", "--server", MYSQL, "--tables", "1", "--table-size", "1000", "--yes"
    )
    servers = until(lambda: children(process).get("server"))
    kill(process.pid)
    process.communicate()
    dialin("servers")
    assert [entry for entry in Ledger(home.ledger).entries() if entry.owner == process.pid], "listing builds ends nothing"
    dialin("restore")
    assert not [entry for entry in Ledger(home.ledger).entries() if entry.owner == process.pid]
    # Whoever inherits the orphan may leave it a zombie for a while; it is dead all the same.
    assert not psutil.pid_exists(servers) or psutil.Process(servers).status() == psutil.STATUS_ZOMBIE


def test_a_path_too_long_for_a_socket_is_no_obstacle(tmp_path):
    home = Home(tmp_path / ("long" * 20))
    ledger, clock = Ledger(home.ledger), SystemClock()
    build = find(FAST)
    made = Sandbox.create(build, home, ledger, clock)
    blank = Tools.open(lambda text: None).preparer.blank(build, {})
    try:
        copy(blank.data, made.data)
        made.boot({})
        assert made.pid
        assert len(str(made.socket)) < 100
        elsewhere = made.socket.parent
    finally:
        made.remove()
    assert not elsewhere.exists()
    assert processes(made.directory) == []
