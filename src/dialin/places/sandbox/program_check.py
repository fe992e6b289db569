"""A load program for some seconds against a sandbox, to see whether its file is right."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from dialin.datasets.cache import copy
from dialin.model.build import Build
from dialin.places.sandbox.site import sandbox_options
from dialin.servers.sandbox import Sandbox, free_port
from dialin.text import counted, number
from dialin.trials.kind_figures import kind_figures
from dialin.trials.tools import Tools
from dialin.workloads.base import Second, Target
from dialin.workloads.command.command import Command


def run_program(tools: Tools, build: Build, workload: Command, threads: int, samples: int) -> Iterator[str]:
    """Prepare the data of a program and run it as a trial does; yield a line for each sample that is read.

    Raises:
        UserError: the program is not installed.
        WorkloadError: its data could not be prepared, or nothing that it printed is read as figures.
    """
    workload.check()
    dataset = tools.preparer.prepared(build, workload, {})
    with tools.preparer.in_use(dataset):
        port = free_port() if workload.needs_port else 0
        sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock, port=port)
        try:
            copy(dataset.data, sandbox.data)
            sandbox.boot(sandbox_options({}, build))
            target = Target(sandbox.account, sandbox.directory, data=sandbox.data)
            load = workload.start(target, threads=threads, seed=1, cpus=None)
            try:
                seconds: list[Second] = []
                for _ in range(samples):
                    seconds.append(second := load.read(workload.patience))
                    yield (
                        f"sample {second.number}: {number(second.tps)} {workload.file.unit}s/s over "
                        f"{number(second.seconds)} s, latency {number(second.latency_ms)} ms, {number(second.errors)} errors/s"
                    )
                yield from _kinds(seconds)
            finally:
                load.stop()
            if load.was_killed:
                yield f"It did not end within {number(workload.file.grace)} s of SIG{workload.file.stop}, and was killed"
            if workload.file.check:
                began = time.monotonic()
                workload.check_data(target)
                yield f"The consistency check took {number(time.monotonic() - began)} s"
        finally:
            sandbox.remove()


def _kinds(seconds: Sequence[Second]) -> Iterator[str]:
    if kinds := kind_figures(seconds):
        rates = ", ".join(
            f"{name} {number(one.per_second)}/s" + (f" and {number(one.errors)} errors/s" if one.errors else "")
            for name, one in kinds.items()
        )
        yield f"{counted(len(kinds), 'kind')}: {rates}"
