"""Data that is prepared quickly, or in two goes, is the same, and its server guards it: on real servers."""

import os
import signal
import subprocess
import sys
from collections import Counter
from contextlib import contextmanager

import pytest

from dialin.datasets import filling, saved_tables
from dialin.model.workload import WorkloadSpec
from dialin.servers.sandbox import Sandbox
from dialin.trials.tools import Tools
from dialin.workloads.base import Target
from dialin.workloads.dialin_load import DialinLoad
from driving import needs_dialin_load
from live import FAST_OR_ALL, INSTALLED, LIMIT

pytestmark = needs_dialin_load


def load_of(rows, tables=4):
    return DialinLoad(WorkloadSpec(name="oltp_read_write", kind="dialin-load", threads=2, tables=tables, table_size=rows))


@pytest.fixture
def said():
    return []


@pytest.fixture
def tools(said, monkeypatch):
    monkeypatch.setattr(filling, "FROM", 0)
    return Tools.open(said.append)


@pytest.fixture
def rows():
    """A number of rows that no other process prepares."""
    return 8_000 + os.getpid() % 1000


@pytest.fixture(scope="module")
def made_in_one_go():
    """What a server that guards itself has after it was filled with all tables of the load, by build."""
    return {}


def contents(query, load):
    tables = [f"sbtest.{name}" for name in load.table_names]
    assert {row[-1] for row in query(f"CHECK TABLE {', '.join(tables)}")} == {"OK"}
    return query(f"CHECKSUM TABLE {', '.join(tables)}"), [query(f"SHOW CREATE TABLE {table}") for table in tables]


def check_contents(tools, build, dataset, load, made_in_one_go):
    """Check that a server which is started as usual has the tables that are made in one go, and guards itself."""
    if build not in made_in_one_go:
        with serving(tools, build, lambda place: tools.preparer.copy_blank(build, {}, place), load) as query:
            made_in_one_go[build] = contents(query, load)
    with serving(tools, build, lambda place: subprocess.run(["cp", "-a", str(dataset.data), str(place)], check=True)) as query:
        assert contents(query, load) == made_in_one_go[build]
        assert str(query("SELECT @@innodb_doublewrite")[0][0]) in ("1", "ON")
        known = query("SELECT n_rows FROM mysql.innodb_table_stats WHERE database_name = 'sbtest'")
        actual = [query(f"SELECT COUNT(*) FROM sbtest.{name}")[0][0] for name in load.table_names]
        assert [int(row[0]) for row in known] == pytest.approx([int(rows) for rows in actual], rel=0.3)


@contextmanager
def serving(tools, build, put_data, load=None):
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    try:
        put_data(sandbox.data)
        sandbox.boot({})
        with sandbox.connect(60) as query:
            if load is not None:
                query("CREATE DATABASE sbtest")
                load.prepare(Target(sandbox.account, sandbox.directory))
            yield query
    finally:
        sandbox.remove()


def pages_to_load(dataset, load):
    """How many pages of each table are in the list that a server loads its buffer pool by."""
    pages = Counter(line.partition(",")[0] for line in (dataset.data / "ib_buffer_pool").read_text().split())
    files = [(dataset.data / "sbtest" / f"{name}.ibd").read_bytes() for name in load.table_names]
    return [pages[str(int.from_bytes(file[34:38], "big"))] for file in files]


@pytest.mark.parametrize("build", FAST_OR_ALL, ids=lambda build: build.id)
def test_data_that_is_prepared_quickly_is_the_same_as_otherwise_and_its_server_guards_it(tools, build, rows, made_in_one_go):
    load = load_of(rows)
    quick = tools.preparer.prepared(build, load, {})
    try:
        check_contents(tools, build, quick, load, made_in_one_go)
        assert (quick.data / "ib_buffer_pool").exists() == (not build.id.startswith("mysql@5.5"))
    finally:
        tools.preparer.remove(quick)


def prepare_until_killed(build_id, rows):
    """Prepare data as another process does, and die without warning when two of its tables are complete."""

    class Killed(DialinLoad):
        def prepare_tables(self, target, names):
            if "sbtest3" in names:
                os.kill(os.getpid(), signal.SIGKILL)
            super().prepare_tables(target, names)

    filling.FROM = 0
    saved_tables.tables_at_once = lambda _count, _size: 1
    build = next(one for one in INSTALLED if one.id == build_id)
    Tools.open(print).preparer.prepared(build, Killed(load_of(rows)._spec), {})


@pytest.mark.parametrize("build", FAST_OR_ALL, ids=lambda build: build.id)
def test_after_kill_9_the_tables_that_are_complete_are_used_and_the_data_is_the_same(
    tools, build, rows, said, made_in_one_go, monkeypatch
):
    if build.id.startswith("mysql@5.5"):
        pytest.skip("it exports no tables")
    monkeypatch.setattr(saved_tables, "tables_at_once", lambda _count, _size: 1)
    load = load_of(rows)
    words = [sys.executable, "-c", f"import test_preparing; test_preparing.prepare_until_killed({build.id!r}, {rows})"]
    same_home = {"PYTHONPATH": os.pathsep.join(sys.path), "PYTEST_XDIST_WORKER": ""}
    killed = subprocess.run(words, env={**os.environ, **same_home}, timeout=LIMIT)
    assert killed.returncode == -signal.SIGKILL
    assert tools.preparer.find(build, load, {}) is None
    tools.ledger.end_orphans()  # as the next command does
    filled, prepare_tables = [], load.prepare_tables
    load.prepare_tables = lambda target, names: (filled.extend(names), prepare_tables(target, names))
    resumed = tools.preparer.prepared(build, load, {})
    try:
        assert filled == ["sbtest3", "sbtest4"], "the server has accepted the others"
        assert f"Resuming a preparation that was stopped: 2 of {len(load.table_names)} tables are complete" in said
        check_contents(tools, build, resumed, load, made_in_one_go)
        assert min(pages_to_load(resumed, load)) > rows // 200, "about 80 rows fit a page"
    finally:
        tools.preparer.remove(resumed)
