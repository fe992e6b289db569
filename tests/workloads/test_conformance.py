"""The workloads that dialin brings keep what every workload promises."""

import shutil

import pytest

from dialin.model.workload import WorkloadSpec
from dialin.testing.workload_conformance import WorkloadConformance
from dialin.workloads import load_binary
from dialin.workloads.kinds import make_workload


@pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed")
class TestSysbench(WorkloadConformance):
    def make_workload(self):
        return make_workload(WorkloadSpec(kind="sysbench"))


@pytest.mark.skipif(load_binary.find() is None, reason="dialin-load is not built")
class TestDialinLoad(WorkloadConformance):
    def make_workload(self):
        return make_workload(WorkloadSpec(kind="dialin-load"))


class TestScan(WorkloadConformance):
    def make_workload(self):
        return make_workload(WorkloadSpec(name="scan", kind="scan", tables=1, threads=1, table_size=1000))


class TestColdScan(WorkloadConformance):
    def make_workload(self):
        return make_workload(
            WorkloadSpec(name="scan", kind="scan", tables=1, threads=1, table_size=1000, options={"cache": "cold"})
        )
