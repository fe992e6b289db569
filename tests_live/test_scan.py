"""Scans on real servers: what is cold is read from disk again, what is warm is not."""

import os
import signal
import threading
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from dialin.clock import SystemClock
from dialin.errors import ServerError
from dialin.model.build import Family
from dialin.question.study_file import question
from dialin.servers.connection import status
from dialin.trials.tools import Tools
from dialin.workloads.base import Target
from dialin.workloads.kinds import make_workload
from live import INSTALLED, MYSQL, find, only_with_all

MARIADB = next((build for build in reversed(INSTALLED) if build.family is Family.MARIADB), None)
MIB = 1024**2


def scan(threads=1, **options):
    asked = {name.replace("_", "-"): value for name, value in options.items()}
    return make_workload(
        question({"aa": 2, "workload": "scan", "threads": threads, "workload-options": asked}).workload_spec(Path())
    )


@pytest.fixture(scope="module")
def prepared():
    """Gives a server of a build with the table of a workload, before any run; each build is started once."""
    with ExitStack() as stack:
        running = {}

        def prepare(build, workload):
            if build.id not in running:
                options = {"innodb_flush_log_at_trx_commit": 0}
                running[build.id] = stack.enter_context(Tools.open(print).preparer.running(build, options))
            sandbox = running[build.id]
            with sandbox.connect() as query:
                query("DROP DATABASE IF EXISTS sbtest")
                query("CREATE DATABASE sbtest")
            target = Target(sandbox.account, sandbox.directory, data=sandbox.data)
            workload.prepare(target)
            return sandbox, target

        yield prepare


@contextmanager
def load_on(workload, target, threads=1):
    load = workload.start(target, threads=threads, seed=1, cpus=None)
    try:
        yield load
    finally:
        load.stop()


def disk_read(pid):
    lines = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return int(lines["read_bytes"])


@pytest.mark.parametrize(("engine", "build"), [("MyISAM", find(MYSQL)), ("Aria", MARIADB)], ids=["MyISAM", "Aria"])
def test_each_cold_run_reads_the_whole_table_from_disk_again(prepared, engine, build):
    workload = scan(engine=engine, size="8M", runs=2)
    sandbox, target = prepared(build, workload)
    with load_on(workload, target) as load:
        for _ in range(2):
            before = disk_read(sandbox.pid)
            load.read(60)
            assert load.facts()["cached_share"] == 0
            assert disk_read(sandbox.pid) - before >= 0.9 * load.facts()["bytes_a_run"] > 6 * MIB


def test_a_warm_run_reads_nothing_from_disk_and_parallel_threads_read_the_table_each(prepared):
    workload = scan(engine="MyISAM", size="8M", cache="warm")
    sandbox, target = prepared(find(MYSQL), workload)
    with load_on(workload, target, 3) as load:
        load.read(60)
        before = disk_read(sandbox.pid)
        run = load.read(60)
        assert disk_read(sandbox.pid) - before < MIB
        assert load.facts()["bytes_a_run"] > 3 * 6 * MIB
        assert run.tps == pytest.approx(3 / run.seconds)


def test_each_cold_run_over_innodb_reads_every_page_again_after_a_start(prepared):
    workload = scan(size="8M", runs=2)
    sandbox, target = prepared(find(MYSQL), workload)
    sandbox.stop()
    sandbox.boot({"innodb_buffer_pool_size": "128M", "innodb_buffer_pool_load_at_startup": "ON"})
    with load_on(workload, target) as load, sandbox.connect() as query:
        for _ in range(2):
            before = int(status(query, "Innodb_pages_read"))
            load.read(60)
            pages = int(status(query, "Innodb_pages_read")) - before
            assert pages * 16384 >= 0.95 * load.facts()["bytes_a_run"] > 6 * MIB


def test_the_rows_are_the_same_on_every_build(prepared):
    sums = {}
    text = "SELECT COUNT(*), SUM(number), SUM(partner), SUM(CRC32(text1)), SUM(CRC32(note)) FROM scan1"
    for build in filter(None, (find(MYSQL), MARIADB)):
        workload = scan(engine="MyISAM", row_format="dynamic", size="4M", fragmented="10%", cache="warm")
        sandbox, _ = prepared(build, workload)
        with sandbox.connect() as query:
            query("USE sbtest")
            sums[build.id] = tuple(int(value) for value in query(text)[0])
    assert len(set(sums.values())) == 1


def test_a_query_that_runs_is_killed_when_its_load_is_stopped(prepared):
    workload = scan(engine="MyISAM", size="1M", cache="warm", sql="SELECT SLEEP(100) FROM scan1")
    sandbox, target = prepared(find(MYSQL), workload)
    clock = SystemClock()
    with load_on(workload, target) as load:
        assert load.read(0.3) is None
        began = clock.monotonic()
    assert clock.monotonic() - began < 60
    with sandbox.connect() as query:
        assert not any("SLEEP" in str(row) for row in query("SHOW PROCESSLIST") if row[4] == "Query" and "scan1" in str(row[7]))


@only_with_all
def test_a_server_that_hangs_is_noticed_in_a_minute_or_two_though_a_run_may_take_hours(prepared):
    workload = scan(engine="MyISAM", size="1M", cache="warm", sql="SELECT SLEEP(1000) FROM scan1")
    clock = SystemClock()
    sandbox, target = prepared(find(MYSQL), workload)
    with load_on(workload, target) as load:
        began = clock.monotonic()
        stopper = threading.Timer(2, os.kill, (sandbox.pid, signal.SIGSTOP))
        stopper.start()
        try:
            with pytest.raises(ServerError, match="The server hung"):
                load.read(workload.patience)
            assert clock.monotonic() - began < 150
        finally:
            stopper.join()
            os.kill(sandbox.pid, signal.SIGCONT)
