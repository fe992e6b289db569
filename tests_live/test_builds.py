"""Every build that is installed: it boots as a private server, and does what the table of capabilities says of it."""

import os
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

from dialin.datasets.cache import copy
from dialin.errors import ServerError, UserError
from dialin.model.build import BuildReference
from dialin.paths import Home
from dialin.servers import builds
from dialin.servers.assign import set_since_start
from dialin.servers.capabilities import Capability, has
from dialin.servers.connection import global_variables
from dialin.servers.install.installable import installable
from dialin.servers.sandbox import Sandbox
from dialin.trials.tools import Tools
from live import INSTALLED

BROUGHT = [build for build in INSTALLED if build.origin == "installed by dialin"]

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module", params=BROUGHT, ids=lambda build: build.id)
def build(request):
    return request.param


@contextmanager
def booted(build, options=None, shape=None, data_of=None):
    tools = Tools.open(lambda text: None)
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    try:
        if shape is None:
            copy(tools.preparer.blank(data_of or build, {}).data, sandbox.data)
        else:
            sandbox.initialise(shape)
        sandbox.boot({**(options or {}), **(shape or {})})
        yield sandbox
    finally:
        sandbox.remove()


OPTIONS = {"performance_schema": "ON", "max_connections": 60}


def shape_of(build):
    """Pages of another size than usual, where the build has several."""
    return {} if build.family == "mysql" and build.version < (5, 6) else {"innodb_page_size": 8192}


@pytest.fixture(scope="module")
def fresh(build):
    """A server of a build on a data directory that it made itself, in a shape that was asked for."""
    with booted(build, OPTIONS, shape=shape_of(build)) as sandbox:
        yield sandbox


def answers(query, statement):
    try:
        query(statement)
    except ServerError:
        return False
    return True


def test_its_version_and_flavour_are_what_the_server_says(build, fresh):
    with fresh.connect() as query:
        ((version,),) = query("SELECT VERSION()")
    assert version.split("-")[0] == ".".join(map(str, build.version))
    assert ("MariaDB" in version) == (build.family == "mariadb")


def test_a_reference_to_its_very_version_finds_the_row_that_brings_it(build):
    row = installable(BuildReference(build.vendor, build.version))
    assert row.exact in (None, build.version)
    assert row.reference.matches(build)


def test_only_root_on_this_machine_has_an_account_and_no_data_or_log_is_elsewhere(build, fresh):
    with fresh.connect() as query:
        accounts = set(query("SELECT user, host FROM mysql.user WHERE user NOT LIKE 'mysql.%' AND user <> 'mariadb.sys'"))
        variables = global_variables(query)
    assert accounts == {("root", "localhost")}
    for name in ("datadir", "tmpdir", "pid_file", "log_error", "socket", "secure_file_priv"):
        assert str(fresh.directory) in variables[name]
    for name in ("basedir", "lc_messages_dir", "character_sets_dir"):
        assert Path(variables[name]).resolve().is_relative_to((Home.of().builds / build.id).resolve())


def test_its_log_of_a_start_and_a_stop_holds_no_error(build, fresh):
    fresh.stop()
    log = fresh.log.read_text()
    fresh.boot({**OPTIONS, **shape_of(build)})
    assert "[ERROR]" not in log


@pytest.mark.skipif(not BROUGHT, reason="no build is installed")
def test_data_takes_the_shape_that_is_asked_for(build, fresh):
    with fresh.connect() as query:
        if not shape_of(build):
            assert "innodb_page_size" not in global_variables(query)
            pytest.skip("it has one size of pages only")
        assert global_variables(query)["innodb_page_size"] == "8192"
        query("CREATE DATABASE x")
        query("CREATE TABLE x.t (a INT PRIMARY KEY) ENGINE=InnoDB")


def test_the_table_of_capabilities_is_what_the_server_does(build, fresh):
    with fresh.connect() as query:
        variables = global_variables(query)
        tables = {
            name.lower()
            for (name,) in query(
                "SELECT table_name FROM information_schema.tables"
                " WHERE table_schema IN ('information_schema', 'performance_schema', 'mysql')"
            )
        }
        columns = (
            {name.upper() for name, *_ in query("SHOW COLUMNS FROM information_schema.innodb_metrics")}
            if ("innodb_metrics" in tables)
            else set()
        )
        origins = {
            name.upper()
            for (name,) in query("SELECT column_name FROM information_schema.columns WHERE table_name = 'SYSTEM_VARIABLES'")
        }
        locks = "SELECT COUNT(*) FROM performance_schema.rwlock_instances WHERE name LIKE '%/innodb/btr%search%latch%'"
        query("UPDATE performance_schema.setup_instruments SET enabled = 'YES', timed = 'YES'")
        instrumented = query(locks)[0][0] > 0
        seen = {
            Capability.POOL_DUMP: "innodb_buffer_pool_dump_at_shutdown" in variables,
            Capability.POOL_DUMP_PCT: "innodb_buffer_pool_dump_pct" in variables,
            Capability.POOL_STATS: "innodb_buffer_pool_stats" in tables,
            Capability.STATEMENT_HISTOGRAM: "events_statements_histogram_global" in tables,
            Capability.INNODB_METRICS: "innodb_metrics" in tables,
            Capability.METRICS_ENABLED_COLUMN: "ENABLED" in columns,
            Capability.VALUE_ORIGIN: "variables_info" in tables or "GLOBAL_VALUE_ORIGIN" in origins,
            Capability.GLOBAL_PRIV: "global_priv" in tables,
            Capability.LOCKS_INSTRUMENTED_AT_START: not instrumented,
            Capability.ALTER_USER: answers(query, "ALTER USER 'root'@'localhost' IDENTIFIED BY ''"),
            Capability.PERSIST: answers(query, "RESET PERSIST"),
        }
    assert {each: has(build, each) for each in seen} == seen


def test_a_server_remembers_which_variables_were_set_since_its_start(build, fresh):
    with fresh.connect() as query:
        before = set_since_start(query, build)
        query("SET GLOBAL max_connections = 50")
        after = set_since_start(query, build)
    assert "max_connections" not in before
    assert ("max_connections" in after) == has(build, Capability.VALUE_ORIGIN)


def test_an_option_for_instruments_is_known_where_the_table_says_so(build):
    option = {"performance_schema": "ON", "performance_schema_instrument": "wait/synch/%=ON"}
    if has(build, Capability.INSTRUMENT_OPTION):
        with booted(build, option):
            return
    with pytest.raises(ServerError, match="performance_schema_instrument"), booted(build, option):
        pass


def test_a_copy_that_was_unpacked_elsewhere_is_added_and_boots(build, tmp_path):
    if build.launcher and build.launcher[0] != "env":
        pytest.skip("it runs with a loader of its own only")
    shutil.copytree(Home.of().builds / build.id, tmp_path / "unpacked", copy_function=os.link)
    home = Home(tmp_path / "home")
    try:
        (added,) = builds.add_directory(home, tmp_path / "unpacked")
    except UserError as error:
        if "which this machine lacks" not in error.what:
            raise
        pytest.skip(error.what)  # such as libaio.so.1 on Debian 13, which dialin's own builds bring along
    assert (added.id, added.basedir) == (build.id, tmp_path / "unpacked")
    assert builds.discover(home, {"PATH": str(tmp_path / "unpacked" / "bin")}, ()) == [added]
    with booted(added, data_of=build) as sandbox, sandbox.connect() as query:
        assert str(tmp_path) in global_variables(query)["lc_messages_dir"]
