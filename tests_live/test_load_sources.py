"""Every kind of load keeps, on a real server, what every load source promises."""

import pytest

from dialin.model.workload import WorkloadSpec
from dialin.testing.load_source_conformance import LoadSourceConformance
from dialin.workloads.base import Target
from dialin.workloads.kinds import make_workload
from driving import needs_dialin_load, serving
from live import FAST, find


@pytest.fixture(scope="module")
def sandbox():
    with serving(find(FAST)) as made:
        yield made


class OnServer(LoadSourceConformance):
    spec = WorkloadSpec(threads=2, tables=1, table_size=500)

    @pytest.fixture(autouse=True)
    def _prepared(self, sandbox, tmp_path):
        with sandbox.connect() as query:
            query("DROP DATABASE IF EXISTS sbtest")
            query("CREATE DATABASE sbtest")
        self.target = Target(sandbox.account, tmp_path, data=sandbox.data)
        make_workload(self.spec).prepare(self.target)

    def make_source(self):
        return make_workload(self.spec)

    def make_target(self):
        return self.target


class TestSysbench(OnServer):
    spec = OnServer.spec.model_copy(update={"rate": 50})


@needs_dialin_load
class TestDialinLoad(OnServer):
    spec = OnServer.spec.model_copy(update={"kind": "dialin-load"})


@needs_dialin_load
class TestDialinLoadAtARate(OnServer):
    spec = OnServer.spec.model_copy(update={"kind": "dialin-load", "rate": 50})


class TestScan(OnServer):
    spec = WorkloadSpec(name="scan", kind="scan", threads=1, tables=1, table_size=2000, options={"cache": "warm"})
