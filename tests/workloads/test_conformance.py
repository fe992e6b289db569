"""The workloads that dialin brings keep what every workload promises."""

import shutil

import pytest

from dialin.model.workload import Driver, WorkloadSpec
from dialin.testing.workload_conformance import WorkloadConformance
from dialin.workloads import load_binary
from dialin.workloads.choose import chosen


@pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed")
class TestSysbench(WorkloadConformance):
    def make_workload(self):
        return chosen(WorkloadSpec(driver=Driver.SYSBENCH))


@pytest.mark.skipif(load_binary.find() is None, reason="dialin-load is not built")
class TestDialinLoad(WorkloadConformance):
    def make_workload(self):
        return chosen(WorkloadSpec(driver=Driver.DIALIN_LOAD))


class TestScan(WorkloadConformance):
    def make_workload(self):
        return chosen(WorkloadSpec(name="scan", tables=1, threads=1, table_size=1000))


class TestColdScan(WorkloadConformance):
    def make_workload(self):
        return chosen(WorkloadSpec(name="scan", tables=1, threads=1, table_size=1000, options={"cache": "cold"}))
