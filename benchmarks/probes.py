"""Prints what the probes of every trial cost in throughput, on a real server.

    python benchmarks/probes.py [--pairs 12] [--seconds 20] [--workload oltp_read_write] [--server mysql@9.7] [--threads 8]

One sandbox with data that fits in memory, and one sysbench that keeps running. Slices of time come in pairs, one with all
probes and one without, in random order; the second before each slice is dropped. The difference is that of the logarithms of
throughput, its interval Student's over the pairs. The server flushes its log once a second, so that the load has nothing to
wait for but the CPU, which is where probes cost most. The same is told of the CPU that server, load driver and dialin together
took for a transaction: where nothing of the machine is idle, its inverse is the throughput, without what other programs took.

Beside it stands what the probes took of the CPU, to the nanosecond: all that dialin does while a window is open but read the
load, and the server's thread that answers the probes' one connection, as the kernel accounts for it. Of a machine that has
nothing to spare, that share is missing elsewhere; what the probes hold up beyond it, only the paired difference shows.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from dialin.clock import Clock
from dialin.errors import ServerError, UserError
from dialin.model.build import Build
from dialin.model.evidence import Watched
from dialin.model.workload import WorkloadSpec
from dialin.probes import host
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
SETTLED = 0.05
"""Seconds after which the server's thread has cleared away what it answered last."""

THREAD = "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()"


@dataclass(frozen=True)
class Slice:
    """Transactions a second, and the CPU microseconds of all that took part for each of them."""

    tps: float
    cpu_us: float


@dataclass(frozen=True)
class Spent:
    """CPU seconds of a slice with probes.

    Attributes:
        seconds: of wall clock.
        dialin: what it took to read the probes and to wake for them.
        server: what its thread took to answer them; None where the server does not tell which thread that is.
        used: by the server, the load driver and dialin together.
        busy: by whatever ran on the machine.
    """

    seconds: float
    dialin: float
    server: float | None
    used: float
    busy: float


class Bench:
    """A load that runs, and what probes saw of it."""

    def __init__(self, sandbox: Sandbox, load: Load, clock: Clock) -> None:
        self.sandbox, self.load, self.clock = sandbox, load, clock
        self.seen: dict[str, list[Watched]] = defaultdict(list)
        self.spent: list[Spent] = []

    def slice(self, seconds: int, *, probes: bool) -> Slice:
        """Return what a slice of time was like."""
        self.load.read(PATIENCE)
        if not probes:
            mine, used = time.process_time(), self.used()
            speed = self.speed(seconds)
            used = self.used() - used + time.process_time() - mine
            return Slice(speed, 1e6 * used / (speed * seconds))
        with Session(self.sandbox) as session:
            directory = data_directory(session)
            which = probes_of(session, self.sandbox.pid, self.load.cpu_seconds, directory)
            thread = thread_of(session, self.sandbox.pid)
            with Watch(which, self.clock) as watch:
                self.clock.sleep(SETTLED)
                server, began, busy, used = taken_by(thread), self.clock.monotonic(), host.busy_seconds(), self.used()
                mine = time.process_time()
                with watch.window():
                    reading = time.thread_time()
                    speed = self.speed(seconds)
                    reading = time.thread_time() - reading
                whole = time.process_time() - mine
                mine = whole - reading
                took, busy, used = self.clock.monotonic() - began, host.busy_seconds() - busy, self.used() - used
                self.clock.sleep(SETTLED)
                answering = None if server is None else taken_by(thread) - server
                found = Slice(speed, 1e6 * (used + whole) / (speed * seconds))
                self.spent.append(Spent(took, mine, answering, used + mine, busy))
                for one in watch.taken():
                    self.seen[one.probe].append(one)
        return found

    def used(self) -> float:
        """Return the CPU seconds of the server and the load driver so far."""
        return host.cpu_seconds(self.sandbox.pid) + self.load.cpu_seconds()

    def speed(self, seconds: int) -> float:
        found = [self.load.read(PATIENCE) for _ in range(seconds)]
        return float(np.mean([second.tps for second in found if second is not None]))


@contextmanager
def running(build: Build, name: str, threads: int, workshop: Workshop):
    workload = Sysbench(WorkloadSpec(name=name, threads=threads, tables=4, table_size=50_000))
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


def thread_of(session: Session, pid: int) -> Path | None:
    """Return where the kernel tells of the server's thread that answers a session; None on a build that does not name it."""
    try:
        rows = session(THREAD)
    except ServerError:
        return None
    path = Path(f"/proc/{pid}/task/{rows[0][0] if rows else None}/schedstat")
    return path if path.exists() else None


def taken_by(thread: Path | None) -> float | None:
    """Return the CPU seconds that a thread has used so far."""
    return None if thread is None else int(thread.read_text(encoding="ascii").split()[0]) / 1e9


def mean_within(values: np.ndarray) -> tuple[float, float, float]:
    """The mean with its 95 % interval."""
    half = stats.t.ppf(0.975, values.size - 1) * stats.sem(values)
    return values.mean(), values.mean() - half, values.mean() + half


def interval(differences: np.ndarray) -> str:
    """The mean of differences of logarithms with its 95 % interval, as a change in per cent."""
    mean, low, high = (100 * np.expm1(value) for value in mean_within(differences))
    return f"{mean:+.2f} % ({low:+.2f} to {high:+.2f})"


def share(values: np.ndarray) -> str:
    """The mean of shares with its 95 % interval, in per cent."""
    mean, low, high = (100 * value for value in mean_within(values))
    return f"{mean:.2f} % ({low:.2f} to {high:.2f})"


def print_spent(spent: list[Spent]) -> None:
    """Print what the probes took of the CPU."""
    seconds, dialin, used, busy = (
        np.array([getattr(one, name) for one in spent]) for name in ("seconds", "dialin", "used", "busy")
    )
    rows = {"dialin": dialin}
    if all(one.server is not None for one in spent):
        rows["the server, answering"] = np.array([one.server for one in spent])
        rows["together"] = rows["dialin"] + rows["the server, answering"]
    machine = seconds * host.cpu_count()
    print("\n| CPU for the probes | ms/s | of the machine's CPU time, 95 % interval |\n|---|---|---|")
    for who, took in rows.items():
        print(f"| {who} | {1000 * (took / seconds).mean():.1f} | {share(took / machine)} |")
    if "together" not in rows:
        print("\nThis build does not tell which thread answers the probes, so the server's part is left out.")
    busy_share, used_share = (100 * part.sum() / machine.sum() for part in (busy, used))
    print(f"\nThe machine was {busy_share:.0f} % busy, {used_share:.0f} % with the server, its load and dialin.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=20, help="of each slice")
    parser.add_argument("--warmup", type=int, default=20, help="seconds of load before the first slice")
    parser.add_argument("--workload", default="oltp_read_write", help="of sysbench")
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
    with running(build, options.workload, options.threads, workshop) as bench:
        bench.speed(options.warmup)
        for _ in range(options.pairs):
            order = [True, False]
            rng.shuffle(order)
            found = {probes: bench.slice(options.seconds, probes=probes) for probes in order}
            pairs.append((found[False], found[True]))
    print(f"{build.id}, {options.workload}, {options.threads} threads, {options.pairs} pairs of {options.seconds} s:\n")
    print("| | without probes | with probes | difference, 95 % interval |\n|---|---|---|---|")
    for what, name in (("transactions/s", "tps"), ("CPU a transaction, µs", "cpu_us")):
        without, with_them = np.array([[getattr(one, name) for one in pair] for pair in pairs]).T
        print(f"| {what} | {without.mean():.0f} | {with_them.mean():.0f} | {interval(np.log(with_them / without))} |")
    print_spent(bench.spent)
    print("\n| probe | readings a slice | ms a reading | CPU of dialin, ms/s |\n|---|---|---|---|")
    for probe, seen in bench.seen.items():
        readings, seconds = sum(one.readings for one in seen), sum(one.seconds for one in seen)
        waited, cpu = sum(one.waited for one in seen), sum(one.cpu for one in seen)
        print(f"| {probe} | {readings / len(seen):.1f} | {1000 * waited / readings:.1f} | {1000 * cpu / seconds:.2f} |")


if __name__ == "__main__":
    main()
