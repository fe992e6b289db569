"""One replay of a capture on a server with its defaults, to see whether it is the captured load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialin.datasets.cache import copy
from dialin.errors import WorkloadError
from dialin.model.build import Build
from dialin.model.cause import Cause, CauseCode
from dialin.model.replay import ReplayedDigest
from dialin.model.workload import WorkloadSpec
from dialin.places.sandbox.site import sandbox_options
from dialin.servers.copied_data import ISOLATION
from dialin.servers.sandbox import Sandbox
from dialin.trials.tools import Tools
from dialin.workloads.base import Target, Workload
from dialin.workloads.replay.replay_run import ReplayRun


@dataclass(frozen=True, slots=True)
class ReplayOutcome:
    """How a replay went: the driver's figures, and the digests that took most time or differ most from the capture."""

    facts: Mapping[str, float]
    digests: Sequence[ReplayedDigest]


def replay_once(tools: Tools, build: Build, spec: WorkloadSpec, workload: Workload) -> ReplayOutcome:
    """Replay a capture as a trial does.

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
                return ReplayOutcome(load.facts(), load.digests() if isinstance(load, ReplayRun) else ())
            finally:
                load.stop()
        finally:
            sandbox.remove()
