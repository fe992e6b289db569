"""One replay of a capture on a server with its defaults, to see whether it is the captured load."""

from __future__ import annotations

from collections.abc import Mapping

from dialin.datasets.cache import copy
from dialin.errors import WorkloadError
from dialin.model.build import Build
from dialin.model.cause import Cause, CauseCode
from dialin.model.workload import WorkloadSpec
from dialin.servers.copied_data import ISOLATION
from dialin.servers.sandbox import Sandbox
from dialin.trials.sandbox_site import sandbox_options
from dialin.trials.tools import Tools
from dialin.workloads.base import Target, Workload


def replay_once(tools: Tools, build: Build, spec: WorkloadSpec, workload: Workload) -> Mapping[str, float]:
    """Replay a capture as a trial does, and return the load's own figures.

    Raises:
        ServerError: the server does not start on the data.
        WorkloadError: the replay failed.
    """
    runs = workload.traits.runs
    if runs is None:
        raise RuntimeError("a replay has a fixed length")
    dataset = tools.preparer.prepared(build, workload, {})
    with tools.preparer.in_use(dataset):
        sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
        try:
            copy(dataset.data, sandbox.data)
            sandbox.boot({**sandbox_options({}, build), **ISOLATION})
            target = Target(sandbox.account, sandbox.directory, data=sandbox.data)
            load = workload.start(target, threads=spec.threads, seed=1, cpus=None)
            try:
                for _ in range(runs.warm_up + runs.measured):
                    if load.read(workload.patience) is None:
                        raise WorkloadError(Cause(CauseCode.DRIVER_SILENT, {"seconds": workload.patience}))
                return load.facts()
            finally:
                load.stop()
        finally:
            sandbox.remove()
