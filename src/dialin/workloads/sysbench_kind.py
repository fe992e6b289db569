"""The kind of workload that sysbench applies: how a study asks for it."""

from __future__ import annotations

import shutil

from dialin.model.option_types import kebab
from dialin.model.workload import WorkloadSpec
from dialin.workloads.base import Workload
from dialin.workloads.kind import LoadRequest, WorkloadKind
from dialin.workloads.sysbench_workloads import RAND_TYPES, SYSBENCH_SCRIPTS, check_request

_NAME = "sysbench"


def _specify(request: LoadRequest) -> WorkloadSpec:
    options = request.options_spelled(kebab)
    check_request(request, options)
    return request.spec(_NAME, options)


def _make(spec: WorkloadSpec) -> Workload:
    from dialin.workloads.sysbench import Sysbench  # --help needs no driver

    return Sysbench(spec)


KIND = WorkloadKind(
    name=_NAME,
    help="sysbench:NAME, which sysbench applies; a sysbench Lua script",
    make=_make,
    workloads=SYSBENCH_SCRIPTS,
    suffixes=(".lua",),
    rand_types=RAND_TYPES,
    specify=_specify,
    is_installed=lambda: shutil.which(_NAME) is not None,
    how_to_install="Install it: apt-get install sysbench",
)
