"""A load once on a sandbox with its defaults: a load program for some seconds, or a replay from its beginning to its end."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

from dialin.datasets.cache import copy
from dialin.errors import WorkloadError
from dialin.model.build import Build
from dialin.model.cause import Cause, CauseCode
from dialin.model.load_driver import ReplayedDigest
from dialin.model.setting import Setting
from dialin.model.workload import WorkloadSpec
from dialin.places.sandbox.site import sandbox_options
from dialin.servers.copied_data import ISOLATION
from dialin.servers.sandbox import Sandbox, free_port
from dialin.text import counted, number
from dialin.trials.driver_share import kind_figures
from dialin.trials.tools import Tools
from dialin.workloads.base import Second, Target, Workload
from dialin.workloads.command.command import Command
from dialin.workloads.replay.replay_run import ReplayRun


@contextmanager
def _server(tools: Tools, build: Build, workload: Workload, setting: Setting) -> Iterator[Target]:
    """Yield a server on the prepared data of a load; nothing of it is left at the end."""
    dataset = tools.preparer.prepared(build, workload, {})
    with tools.preparer.in_use(dataset):
        port = free_port() if workload.needs_port else 0
        sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock, port=port)
        try:
            copy(dataset.data, sandbox.data)
            sandbox.boot({**sandbox_options({}, build), **setting})
            yield Target(sandbox.account, sandbox.directory, data=sandbox.data)
        finally:
            sandbox.remove()


def run_program(tools: Tools, build: Build, workload: Command, threads: int, samples: int) -> Iterator[str]:
    """Prepare the data of a program and run it as a trial does; yield a line for each sample that is read.

    Raises:
        UserError: the program is not installed.
        WorkloadError: its data could not be prepared, or nothing that it printed is read as figures.
    """
    workload.check()
    with _server(tools, build, workload, {}) as target:
        load = workload.start(target, threads=threads, seed=1, cpus=None)
        try:
            seconds: list[Second] = []
            for _ in range(samples):
                seconds.append(second := load.read(workload.patience))
                latency = f"latency {number(second.latency_ms)} ms" if workload.file.output.percentiles else "no latency"
                yield (
                    f"sample {second.number}: {number(second.tps)} {workload.file.unit}s/s over "
                    f"{number(second.seconds)} s, {latency}, {number(second.errors)} errors/s"
                )
            yield from _kinds(seconds)
            yield from _doubts(workload, load.intervals.usual, [second.tps for second in seconds])
        finally:
            load.stop()
        if load.was_killed:
            yield f"It did not end within {workload.file.grace:g} s of SIG{workload.file.stop}, and was killed"
        if workload.file.check:
            began = time.monotonic()
            workload.check_data(target)
            yield f"The consistency check took {number(time.monotonic() - began)} s"


def _doubts(workload: Command, usual: float, rates: Sequence[float]) -> Iterator[str]:
    """Yield what the file seems to have wrong, by what was read."""
    file = workload.file
    if usual >= 1.5 * file.interval:
        yield f"It reports about every {number(usual)} s, and the file has interval = {file.interval:g}: correct that"
    if not file.output.cumulative and "count" in file.output.figures and _rises_like_a_total(rates):
        yield "Each sample has more than the one before: if count is a total since the start, give cumulative = true in output"


def _rises_like_a_total(rates: Sequence[float]) -> bool:
    return len(rates) > 2 and rates[-1] > 2 * rates[0] and all(one < next_one for one, next_one in pairwise(rates))


def _kinds(seconds: Sequence[Second]) -> Iterator[str]:
    if kinds := kind_figures(seconds):
        rates = ", ".join(
            f"{name} {number(one.per_second)}/s" + (f" and {number(one.errors)} errors/s" if one.errors else "")
            for name, one in kinds.items()
        )
        yield f"{counted(len(kinds), 'kind')}: {rates}"


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
    with _server(tools, build, workload, ISOLATION) as target:
        load = workload.start(target, threads=spec.threads, seed=1, cpus=None)
        try:
            for _ in range(runs.warm_up + runs.measured):
                if load.read(workload.patience) is None:
                    raise WorkloadError(Cause(CauseCode.DRIVER_SILENT, {"seconds": workload.patience}))
            return ReplayOutcome(load.facts(), load.digests() if isinstance(load, ReplayRun) else ())
        finally:
            load.stop()
