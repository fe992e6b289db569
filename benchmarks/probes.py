"""Prints what the probes of every trial cost in throughput, on a real server.

    python benchmarks/probes.py [--pairs 40] [--seconds 6] [--server mysql@9.7] [--threads 8] [--seed 1]

One sandbox with data that fits in memory, and one sysbench oltp_read_write that keeps running. Slices of time come in pairs,
one with all probes and one without, in random order; the second before each slice is dropped. The difference is that of the
logarithms of throughput, its interval Student's over the pairs. The server flushes its log once a second, so that the load has
nothing to wait for but the CPU, which is where probes cost most.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from collections import defaultdict
from contextlib import contextmanager

import numpy as np
from scipy import stats

from dialin.clock import Clock
from dialin.errors import UserError
from dialin.model.build import Build
from dialin.model.evidence import Watched
from dialin.model.workload import WorkloadSpec
from dialin.probes.watch import Watch
from dialin.servers import builds
from dialin.servers.sandbox import Sandbox
from dialin.study.watching import Session, data_directory, probes_of
from dialin.study.workshop import Workshop
from dialin.workloads.base import Load, Target
from dialin.workloads.sysbench import Sysbench

SETTING = {
    "innodb_buffer_pool_size": 512 * 1024**2,
    "innodb_flush_log_at_trx_commit": 2,
    "sync_binlog": 0,
    "performance_schema": "ON",
}
PATIENCE = 60.0


class Bench:
    """A load that runs, and what probes saw of it."""

    def __init__(self, sandbox: Sandbox, load: Load, clock: Clock) -> None:
        self.sandbox, self.load, self.clock = sandbox, load, clock
        self.seen: dict[str, list[Watched]] = defaultdict(list)

    def slice(self, seconds: int, *, probes: bool) -> float:
        """Return the transactions a second of a slice of time."""
        self.load.read(PATIENCE)
        if not probes:
            return self.speed(seconds)
        with Session(self.sandbox) as session:
            directory = data_directory(session)
            which = probes_of(session, self.sandbox.pid, self.load.cpu_seconds, directory)
            with Watch(which, self.clock) as watch:
                with watch.window():
                    speed = self.speed(seconds)
                for one in watch.taken():
                    self.seen[one.probe].append(one)
        return speed

    def speed(self, seconds: int) -> float:
        found = [self.load.read(PATIENCE) for _ in range(seconds)]
        return float(np.mean([second.tps for second in found if second is not None]))


@contextmanager
def running(build: Build, threads: int, workshop: Workshop):
    workload = Sysbench(WorkloadSpec(threads=threads, tables=4, table_size=50_000))
    with workshop.preparer.running(build, SETTING) as sandbox:
        with sandbox.connect() as query:
            query("CREATE DATABASE sbtest")
        target = Target(sandbox.account, sandbox.directory)
        workload.prepare(target)
        load = workload.start(target, threads=threads, seed=1, cpus=None)
        try:
            yield Bench(sandbox, load, workshop.clock)
        finally:
            load.stop()


def interval(differences: np.ndarray) -> str:
    """The mean of differences of logarithms with its 95 % interval, as a change in per cent."""
    half = stats.t.ppf(0.975, differences.size - 1) * stats.sem(differences)
    mean, low, high = (100 * np.expm1(differences.mean() + step) for step in (0, -half, half))
    return f"{mean:+.2f} % ({low:+.2f} to {high:+.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--seconds", type=int, default=6, help="of each slice")
    parser.add_argument("--warmup", type=int, default=20, help="seconds of load before the first slice")
    parser.add_argument("--server", default="mysql@9.7")
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    workshop = Workshop.open(lambda text: print(text, file=sys.stderr))
    try:
        build = builds.find(options.server, builds.discover(workshop.home, os.environ))
    except UserError as error:
        print(error)
        return
    rng = random.Random(options.seed)
    pairs = []
    with running(build, options.threads, workshop) as bench:
        bench.speed(options.warmup)
        for _ in range(options.pairs):
            order = [True, False]
            rng.shuffle(order)
            found = {probes: bench.slice(options.seconds, probes=probes) for probes in order}
            pairs.append((found[False], found[True]))
    without, with_them = np.array(pairs).T
    what = f"{build.id}, {options.threads} threads, {options.pairs} pairs of {options.seconds} s"
    print("| load | transactions/s without probes | with probes | difference, 95 % interval |\n|---|---|---|---|")
    print(f"| {what} | {without.mean():.0f} | {with_them.mean():.0f} | {interval(np.log(with_them / without))} |")
    print("\n| probe | readings a slice | ms a reading | CPU of dialin, ms/s |\n|---|---|---|---|")
    for probe, seen in bench.seen.items():
        readings, seconds = sum(one.readings for one in seen), sum(one.seconds for one in seen)
        waited, cpu = sum(one.waited for one in seen), sum(one.cpu for one in seen)
        print(f"| {probe} | {readings / len(seen):.1f} | {1000 * waited / readings:.1f} | {1000 * cpu / seconds:.2f} |")


if __name__ == "__main__":
    main()
