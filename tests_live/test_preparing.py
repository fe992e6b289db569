"""Data that is prepared quickly is the same, and its server guards it: on real servers."""

import os
import subprocess

import pytest

from dialin.datasets import filling
from dialin.model.workload import WorkloadSpec
from dialin.servers.sandbox import Sandbox
from dialin.trials.tools import Tools
from dialin.workloads.base import Target
from dialin.workloads.dialin_load import DialinLoad
from driving import needs_dialin_load
from live import FAST_OR_ALL

pytestmark = needs_dialin_load


def load_of(rows, tables=6):
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


def contents(tools, build, dataset):
    """What a server that is started as usual reads of all tables, and of its own protection."""
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    try:
        subprocess.run(["cp", "-a", str(dataset.data), str(sandbox.data)], check=True)
        sandbox.boot({})
        with sandbox.connect(60) as query:
            tables = ", ".join(f"sbtest.sbtest{number}" for number in range(1, 7))
            sums = query(f"CHECKSUM TABLE {tables}")
            checked = {row[0]: row[-1] for row in query(f"CHECK TABLE {tables}")}
            assert set(checked.values()) == {"OK"}
            (doublewrite,) = query("SELECT @@innodb_doublewrite")
            return sums, str(doublewrite[0])
    finally:
        sandbox.remove()


@pytest.mark.parametrize("build", FAST_OR_ALL, ids=lambda build: build.id)
def test_data_that_is_prepared_quickly_is_the_same_as_otherwise_and_its_server_guards_it(tools, build, rows, monkeypatch):
    quick = tools.preparer.prepared(build, load_of(rows), {})
    try:
        found, doublewrite = contents(tools, build, quick)
        dumped = (quick.data / "ib_buffer_pool").exists()
    finally:
        tools.preparer.remove(quick)
    assert doublewrite in ("1", "ON")
    assert dumped == (not build.id.startswith("mysql@5.5"))
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    try:
        tools.preparer.copy_blank(build, {}, sandbox.data)
        sandbox.boot({})
        with sandbox.connect(60) as query:
            query("CREATE DATABASE sbtest")
        load_of(rows).prepare(Target(sandbox.account, sandbox.directory))
        with sandbox.connect(60) as query:
            assert query(f"CHECKSUM TABLE {', '.join(name for name, _ in found)}") == found
    finally:
        sandbox.remove()
