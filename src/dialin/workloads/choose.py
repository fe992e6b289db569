"""Which kind of load a name stands for."""

from __future__ import annotations

from dialin.model.workload import WorkloadSpec
from dialin.workloads.base import Workload
from dialin.workloads.scan.scan import NAME, Scan
from dialin.workloads.sysbench import Sysbench


def chosen(spec: WorkloadSpec) -> Workload:
    """Return the load that a study names: a scan, else a sysbench script.

    Raises:
        UserError: an option of a scan is unknown, or does not fit.
    """
    return Scan(spec) if spec.name == NAME else Sysbench(spec)
