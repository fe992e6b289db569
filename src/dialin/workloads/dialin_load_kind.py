"""The kind of workload that dialin-load applies: how a study asks for it."""

from __future__ import annotations

from dialin.errors import InapplicableError
from dialin.model.option_types import kebab
from dialin.model.workload import WorkloadSpec
from dialin.workloads import load_binary
from dialin.workloads.base import Workload
from dialin.workloads.kind import LoadRequest, WorkloadKind
from dialin.workloads.load_binary import LOAD_WORKLOADS, WITH_ONE_TABLE, WORKLOAD_FILE
from dialin.workloads.sysbench_workloads import RAND_TYPES, SYSBENCH_SCRIPTS, check_request


def _specify(request: LoadRequest) -> WorkloadSpec:
    if request.name not in SYSBENCH_SCRIPTS:  # the sizes of a workload file have the names that its author gave them
        request.refuse_table_sizes("Give its sizes as --workload-option NAME=VALUE (see docs/workload-files.md)")
        return request.spec(load_binary.NAME, request.options)
    options = request.options_spelled(kebab)
    check_request(request, options)
    if request.name not in WITH_ONE_TABLE:
        return request.spec(load_binary.NAME, options)
    if (request.tables or 1) > 1:
        raise InapplicableError(
            f"The workload {request.asked} has one table, and --tables asks for {request.tables}",
            f"Leave --tables out, or let sysbench apply it, which makes them: --workload sysbench:{request.name}",
            ("tables",),
        )
    return request.spec(load_binary.NAME, options, tables=1)


def _make(spec: WorkloadSpec) -> Workload:
    from dialin.workloads.dialin_load import DialinLoad  # --help needs no driver

    return DialinLoad(spec)


KIND = WorkloadKind(
    name=load_binary.NAME,
    help="one of sysbench's workloads by name, which dialin-load applies; bank-transfer, tpcc-like, queue, feed or noop; "
    "a workload file (TOML)",
    make=_make,
    workloads=(*SYSBENCH_SCRIPTS, *LOAD_WORKLOADS),
    suffixes=(WORKLOAD_FILE,),
    takes_load_hosts=True,
    rand_types=RAND_TYPES,
    specify=_specify,
    is_installed=lambda: load_binary.find() is not None,
    how_to_install=load_binary.REMEDY,
)
