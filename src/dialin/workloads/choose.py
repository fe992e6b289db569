"""Which kind of load a name stands for."""

from __future__ import annotations

import shutil

from dialin.model.workload import SYSBENCH_SCRIPTS, Driver, WorkloadSpec
from dialin.workloads import load_binary
from dialin.workloads.base import Workload
from dialin.workloads.dialin_load import DialinLoad
from dialin.workloads.scan.scan import Scan
from dialin.workloads.sysbench import Sysbench


def chosen(spec: WorkloadSpec) -> Workload:
    """Return the load that a study names.

    Raises:
        UserError: an option of a scan is unknown, or does not fit.
    """
    if spec.driver is Driver.DIALIN:
        return Scan(spec)
    return Sysbench(spec) if spec.driver is Driver.SYSBENCH else DialinLoad(spec)


def at_hand(workload: str) -> tuple[str, str]:
    """Return the load that a new study applies on this machine, as a study names it, and what is to be said of that.

    A plain name of sysbench's is applied by sysbench where that alone is installed; once a study began, it keeps its driver.

    Raises:
        UserError: the environment names a dialin-load that is none.
    """
    if workload not in SYSBENCH_SCRIPTS or load_binary.find() is not None or shutil.which("sysbench") is None:
        return workload, ""
    instead = f"{Driver.SYSBENCH}:{workload}"
    return instead, f"dialin-load is not installed, so that sysbench applies the load ({instead}). {load_binary.REMEDY}"
