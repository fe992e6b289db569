"""Prints what `--profile` costs in throughput while perf samples stacks, and while it traces waits and system calls.

    python benchmarks/profile_cost.py [--what stacks trace] [--blocks 20] [--seconds 3]
        [--workload oltp_read_only oltp_point_select] [--server mysql@9.7] [--connections 8]

One sandbox with data that fits in memory, and one dialin-load in a closed loop that keeps running. Its time is cut into slices
with perf and without, four to a block: with, without, without, with, or the other way round, by the toss of a coin. In a
slice without it perf does not run at all, as in the trials that decide; it starts and ends between slices, in seconds that
count for neither. The difference of a block is that of the logarithms of throughput; the interval is Student's over the
blocks. The server flushes its log once per second, so that the load waits for nothing but the CPU, which is what perf takes.

A trial for a profile traces for its first eighth and samples stacks in the rest, so its trace costs an eighth of what is
printed of throughput, and nothing of the figures of CPU time.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import numpy as np

from dialin.errors import DialinError
from dialin.model.workload import WorkloadSpec
from dialin.probes import perf
from dialin.scratch import scratch
from dialin.servers import builds
from dialin.trials.tools import Tools
from dialin.workloads.base import Load
from probes import PATIENCE, WITH_FIRST, print_costs, running, sliced, speed

_FRESH = 0.3
"""Seconds that a read waits at least, unless the driver's line had been there for a while."""


@dataclass
class Written:
    """What perf wrote while it was on."""

    bytes: int = 0
    seconds: float = 0.0


@contextmanager
def profiled(what: str, pid: int, written: Written) -> Iterator[None]:
    """Let perf record as in a trial while this is open."""
    with scratch() as directory:
        file = directory / "recorded"
        chosen = perf.recording_stacks(pid, file) if what == "stacks" else perf.recording(pid, file, perf.TRACE)
        with chosen as opened, (opened[0] if isinstance(opened, tuple) else opened).window():
            began = time.monotonic()
            yield
            written.seconds += time.monotonic() - began
        written.bytes += file.stat().st_size


def drain(load: Load) -> None:
    """Read the seconds that the driver reported while nobody read."""
    for _ in range(100):
        began = time.monotonic()
        load.read(PATIENCE)
        if time.monotonic() - began > _FRESH:
            return


def measure(what: str, orders: Sequence[Sequence[bool]], spec: WorkloadSpec, options: argparse.Namespace, tools: Tools) -> None:
    """Measure all slices, and print what they were like."""
    build = builds.find(options.server, builds.discover(tools.home, os.environ), tools.home)
    slices, written = [], Written()
    with running(build, spec, tools) as (sandbox, load):
        speed(load, options.warmup)
        for number, order in enumerate(orders, 1):
            for with_perf in order:
                with profiled(what, sandbox.pid, written) if with_perf else nullcontext():
                    drain(load)
                    slices.append(sliced(sandbox, load, options.seconds))
            if number % 5 == 0:
                print(f"{what}: {number} of {len(orders)} blocks", file=sys.stderr)
    size = f"{len(orders)} blocks of four slices of {options.seconds} s"
    print(f"\n{build.id}, {spec.name}, {spec.threads} connections, {what}, {size}:\n")
    print_costs(slices, orders, "perf")
    busy = 100 * np.mean([one.busy for one in slices])
    print(f"\nperf wrote {written.bytes / 1e6 / written.seconds:.2f} MB/s; the machine was {busy:.0f} % busy.", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--what", nargs="+", choices=("stacks", "trace"), default=["stacks", "trace"])
    parser.add_argument("--blocks", type=int, default=20, help="of four slices")
    parser.add_argument("--seconds", type=int, default=3, help="of each slice")
    parser.add_argument("--warmup", type=int, default=20, help="seconds of load before the first slice")
    parser.add_argument("--workload", nargs="+", default=["oltp_read_only", "oltp_point_select"], help="of dialin-load")
    parser.add_argument("--server", default="mysql@9.7")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    tools = Tools.open(lambda text: print(text, file=sys.stderr))
    try:
        for name in options.workload:
            spec = WorkloadSpec(name=name, kind="dialin-load", threads=options.connections, tables=4, table_size=50_000)
            for what in options.what:
                orders = [[first == one for one in WITH_FIRST] for first in (rng.random() < 0.5 for _ in range(options.blocks))]
                measure(what, orders, spec, options, tools)
    except DialinError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
