"""Every workload that sysbench 1.0.20 brings, applied by both drivers, and a script of one's own, on a real server."""

from itertools import islice

import pytest

from dialin.datasets.cache import copy
from dialin.model.workload import WorkloadSpec
from dialin.servers.sandbox import Sandbox
from dialin.trials.tools import Tools
from dialin.workloads.base import Target
from dialin.workloads.kinds import make_workload
from dialin.workloads.load_binary import LOAD_WORKLOADS
from dialin.workloads.sysbench_workloads import BULK_INSERT, SYSBENCH_SCRIPTS
from driving import needs_dialin_load
from live import LIMIT, MYSQL, find, only_with_all

RATE = 100
"""Of transactions a second: whether a workload runs is seen without taking all CPUs from the tests beside it."""
SMALL = {"threads": 2, "tables": 2, "table_size": 500, "rate": RATE}
OWN = """
sysbench.cmdline.options = {table_size = {'rows', 10}}
function thread_init() con = sysbench.sql.driver():connect() end
function prepare() sysbench.sql.driver():connect():query('CREATE TABLE t (a INT)') end
function event() con:query('SELECT COUNT(*) FROM t') end
"""


@pytest.fixture(scope="module")
def server():
    """One server with an empty schema for all workloads."""
    tools = Tools.open(lambda text: None)
    build = find(MYSQL)
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    copy(tools.preparer.blank(build, {}).data, sandbox.data)
    sandbox.boot({})
    yield sandbox
    sandbox.remove()


def seconds(sandbox, spec, *, cpus=None):
    """Prepare a workload in a schema of its own and return its first two busy seconds and what the driver cost.

    On a slow machine a second can pass without the end of a transaction: bulk_insert sends half a megabyte in one.
    """
    workload = make_workload(spec)
    workload.check()
    with sandbox.connect() as query:
        query("DROP DATABASE IF EXISTS sbtest")
        query("CREATE DATABASE sbtest")
    target = Target(sandbox.account, sandbox.directory)
    workload.prepare(target)
    load = workload.start(target, threads=2, seed=1, cpus=cpus)
    try:
        read = (load.read(30) for _ in range(LIMIT))
        found = list(islice((second for second in read if second is None or second.tps > 0), 2))
        assert len(found) == 2, "the load ended by itself, or did nothing"
        assert None not in found, "the load ended by itself, or did nothing"
        return found, load.cpu_seconds()
    finally:
        load.stop()


def all_but(*names, name):
    """A workload; `make test` runs the others in tests of what they do, of test_dialin_load and its counters."""
    return pytest.param(name, marks=() if name in names else only_with_all)


DRIVERS = ["sysbench", pytest.param("dialin-load", marks=needs_dialin_load)]


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("name", [all_but("oltp_read_write", BULK_INSERT, name=name) for name in SYSBENCH_SCRIPTS])
def test_every_sysbench_workload_runs_and_reports_each_second_and_its_driver_has_used_cpu(server, name, driver):
    # The rate of bulk_insert counts rows, of which one statement has thousands.
    options = {**SMALL, "rate": 0} if name == BULK_INSERT else SMALL
    _, cpu = seconds(server, WorkloadSpec(name=name, kind=driver, **options))
    assert cpu > 0


def test_a_script_of_ones_own_is_a_workload(server, tmp_path):
    script = tmp_path / "mine.lua"
    script.write_text(OWN)
    found, _ = seconds(server, WorkloadSpec(name=str(script), **SMALL))
    assert found[1].reads > 0


@needs_dialin_load
@pytest.mark.parametrize("name", [all_but("bank-transfer", "noop", name=name) for name in LOAD_WORKLOADS])
def test_every_workload_of_dialin_load_runs_and_reports_each_second(server, name):
    options = {"customers": "300", "items": "1000"} if name == "tpcc-like" else {}
    seconds(server, WorkloadSpec(name=name, kind="dialin-load", threads=2, rate=RATE, options=options))


@pytest.mark.parametrize("driver", DRIVERS)
def test_the_options_of_a_workload_reach_it(server, driver):
    spec = WorkloadSpec(
        name="oltp_read_only",
        kind=driver,
        threads=2,
        tables=1,
        table_size=500,
        rand_type="pareto",
        rate=50,
        options={"point-selects": "2", "range-selects": "off", "skip-trx": "on"},
    )
    found, _ = seconds(server, spec)
    second = found[1]
    assert 20 < second.tps < 100
    assert second.reads == pytest.approx(2 * second.tps, rel=0.2)
    assert second.other == 0
