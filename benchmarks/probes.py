"""Prints what the probes of every trial cost in throughput, on a real server.

    python benchmarks/probes.py [--blocks 120] [--seconds 1] [--workload oltp_read_only] [--server mysql@9.7] [--connections 32]

One sandbox with data that fits in memory, and one dialin-load in a closed loop that keeps running. Its time is cut into
slices, with all probes and without, four to a block: with, without, without, with, or the other way round, by the toss of a
coin. The speed of the machine may thus change as it likes from minute to minute, and along a straight line even within a
block. The difference of a block is that of the logarithms of throughput; the interval is Student's over the blocks. The
probes are those of a trial that goes on: their clock stands still between slices, each is asked as often as in a trial, and
the readings at both ends of a trial's window, when nothing is measured, are not part of it. The server flushes its log once a
second and everything fits in memory, so that the load has nothing to wait for but the CPU, which is where probes cost most.

Beside it stands what the probes took of the CPU, to the nanosecond, as the kernel accounts for it: dialin's threads that read
them, and the server's thread that answers their one connection. Of a machine that has nothing to spare, that share is missing
elsewhere; what the probes hold up beyond it, only the paired difference shows.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from dialin.clock import Clock
from dialin.errors import DialinError, ServerError, WorkloadError
from dialin.model.build import Build
from dialin.model.setting import Setting
from dialin.model.workload import WorkloadSpec
from dialin.probes import host
from dialin.probes.hiccups import Heartbeat
from dialin.probes.probe_watch import Watch
from dialin.servers import builds
from dialin.servers.sandbox import Sandbox
from dialin.trials.probing import ProbeConnection, probes_of
from dialin.trials.tools import Tools
from dialin.workloads.base import Load, Target
from dialin.workloads.kinds import make_workload

SETTING = {
    "innodb_buffer_pool_size": 512 * 1024**2,
    "innodb_flush_log_at_trx_commit": 2,
    "sync_binlog": 0,
    "performance_schema": "ON",
}
PATIENCE = 60.0
HEARTBEAT = "heartbeat"
DIALIN = {"watch": "dialin, reading them", HEARTBEAT: "dialin, its heartbeat"}
"""What dialin's threads do that exist for the probes alone, by their names."""
ANSWERING = "the server, answering"

THREAD = "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()"

WITH_FIRST = (True, False, False, True)


@dataclass(frozen=True)
class Slice:
    """What a slice of time was like.

    Attributes:
        tps: transactions a second.
        cpu_us: CPU microseconds of the server, the load driver and dialin together for each of them.
        busy: the share of the machine's CPU time that anything used.
    """

    tps: float
    cpu_us: float
    busy: float


class Pausable:
    """A clock that can be stopped: who sleeps on it sleeps on until it goes again.

    Args:
        clock: what it goes by.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._gone = 0.0
        self._since: float | None = None
        self._goes = threading.Event()

    def now(self) -> float:
        """Return seconds since the epoch, which go on."""
        return self._clock.now()

    def monotonic(self) -> float:
        """Return for how many seconds it has gone."""
        since = self._since
        return self._gone + (0.0 if since is None else self._clock.monotonic() - since)

    def sleep(self, seconds: float) -> None:
        """Wait while it goes so long."""
        end = self.monotonic() + seconds
        while (left := end - self.monotonic()) > 0 or not self._goes.is_set():
            self._goes.wait()
            self._clock.sleep(max(0.0, left))

    def go(self, on: bool) -> None:
        """Let it go, or stand still."""
        if on and self._since is None:
            self._since = self._clock.monotonic()
            self._goes.set()
        elif not on and self._since is not None:
            self._goes.clear()
            self._gone, self._since = self.monotonic(), None


@contextmanager
def running(build: Build, spec: WorkloadSpec, tools: Tools, setting: Setting = SETTING) -> Iterator[tuple[Sandbox, Load]]:
    """A server under a load that goes on."""
    workload = make_workload(spec)
    workload.check()
    with tools.preparer.running(build, setting) as sandbox:
        with sandbox.connect() as query:
            query("CREATE DATABASE sbtest")
        target = Target(sandbox.account, sandbox.directory)
        workload.prepare(target)
        load = workload.start(target, threads=spec.threads, seed=1, cpus=None)
        try:
            yield sandbox, load
        finally:
            load.stop()


def speed(load: Load, seconds: int) -> float:
    """Return the transactions a second of the next seconds."""
    found = [load.read(PATIENCE) for _ in range(seconds)]
    if None in found:
        raise WorkloadError(f"the driver reported nothing for {PATIENCE:.0f} s")
    return float(np.mean([second.tps for second in found if second is not None]))


def sliced(sandbox: Sandbox, load: Load, seconds: int) -> Slice:
    """Return what the next slice is like."""

    def used() -> tuple[float, float]:
        return host.cpu_seconds(sandbox.pid) + load.cpu_seconds() + host.cpu_seconds(os.getpid()), host.busy_seconds()

    began = used()
    tps = speed(load, seconds)
    ours, busy = (after - before for before, after in zip(began, used(), strict=True))
    return Slice(tps, 1e6 * ours / (tps * seconds), busy / seconds / host.cpu_count())


def answering(session: ProbeConnection, pid: int) -> Path | None:
    """Return where the kernel tells of the server's thread that answers a session; None on a build that does not name it."""
    try:
        rows = session(THREAD)
    except ServerError:
        return None
    path = Path(f"/proc/{pid}/task/{rows[0][0] if rows else None}/schedstat")
    return path if path.exists() else None


def at_work(session: ProbeConnection, pid: int) -> dict[str, Path]:
    """Return where the kernel tells of each thread that works for the probes alone, by what it does."""
    found = {
        DIALIN[thread.name]: Path(f"/proc/self/task/{thread.native_id}/schedstat")
        for thread in threading.enumerate()
        if thread.name in DIALIN
    }
    server = answering(session, pid)
    return found if server is None else {**found, ANSWERING: server}


def taken_by(threads: Mapping[str, Path]) -> dict[str, float]:
    """Return the CPU seconds that each thread has used so far."""
    return {what: int(thread.read_text(encoding="ascii").split()[0]) / 1e9 for what, thread in threads.items()}


def differences(slices: Sequence[Slice], orders: Sequence[Sequence[bool]], name: str) -> np.ndarray:
    """Return by how much the logarithm of a figure is greater with probes, of each block."""
    values = np.log([getattr(one, name) for one in slices]).reshape(-1, len(WITH_FIRST))
    return 2 * (values * np.where(orders, 1, -1)).mean(axis=1)


def interval(found: np.ndarray) -> str:
    """The mean of differences of logarithms with its 95 % interval, as a change in per cent."""
    half = stats.t.ppf(0.975, found.size - 1) * stats.sem(found)
    mean, low, high = (100 * np.expm1(value) for value in (found.mean(), found.mean() - half, found.mean() + half))
    return f"{mean:+.2f} % ({low:+.2f} to {high:+.2f})"


def print_spent(spent: Mapping[str, float], seconds: float) -> None:
    """Print what the probes took of the CPU, in seconds, while they were asked for so many."""
    print("\n| CPU for the probes | ms/s | of the machine's CPU time |\n|---|---|---|")
    for what, took in {**spent, "together": sum(spent.values())}.items():
        print(f"| {what} | {1000 * took / seconds:.1f} | {100 * took / seconds / host.cpu_count():.2f} % |")
    if ANSWERING not in spent:
        print("\nThis build does not tell which thread answers the probes, so the server's part is left out.")


def measure(
    sandbox: Sandbox, load: Load, orders: Sequence[Sequence[bool]], seconds: int, clock: Clock, only: Sequence[str]
) -> list[Slice]:
    """Measure all slices, print what the probes took and how often each was asked, and return what the slices were like."""
    paused = Pausable(clock)
    slices = []
    with ProbeConnection(sandbox) as session:
        probes = probes_of(session, sandbox.pid, load.cpu_seconds, sandbox.data_directory)
        paused.go(True)
        if only:
            probes = [probe for probe in probes if probe.name in only]
        heartbeat = nullcontext() if only and HEARTBEAT not in only else Heartbeat(paused)
        with heartbeat, Watch(probes, paused) as watch, watch.window():
            paused.go(False)
            threads = at_work(session, sandbox.pid)
            spent = taken_by(threads)
            before = {one.probe: one for one in watch.taken()}
            speed(load, 1)
            for number, order in enumerate(orders, 1):
                for probing in order:
                    paused.go(probing)
                    slices.append(sliced(sandbox, load, seconds))
                if number % 10 == 0:
                    print(f"{number} of {len(orders)} blocks", file=sys.stderr)
            paused.go(False)
            spent = {what: took - spent[what] for what, took in taken_by(threads).items()}
            asked = paused.monotonic()
            after = watch.taken()
            # Who sleeps on it must wake to end.
            paused.go(True)
    print_spent(spent, asked)
    print("\n| probe | readings a minute | ms a reading | CPU of dialin, ms/s |\n|---|---|---|---|")
    for one in after:
        readings = one.readings - before[one.probe].readings
        waited, cpu = one.waited - before[one.probe].waited, one.cpu - before[one.probe].cpu
        if readings:
            print(f"| {one.probe} | {60 * readings / asked:.1f} | {1000 * waited / readings:.1f} | {1000 * cpu / asked:.2f} |")
    return slices


def print_costs(slices: Sequence[Slice], orders: Sequence[Sequence[bool]], what: str) -> None:
    """Print as a table what transactions were and cost in slices without and with something."""
    print(f"| | without {what} | with {what} | difference, 95 % interval |\n|---|---|---|---|")
    with_it = np.array(orders).ravel()
    for title, name in (("transactions/s", "tps"), ("CPU per transaction, µs", "cpu_us")):
        values = np.array([getattr(one, name) for one in slices])
        difference = interval(differences(slices, orders, name))
        print(f"| {title} | {values[~with_it].mean():.0f} | {values[with_it].mean():.0f} | {difference} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=int, default=120, help="of four slices")
    parser.add_argument("--seconds", type=int, default=1, help="of each slice")
    parser.add_argument("--warmup", type=int, default=20, help="seconds of load before the first slice")
    parser.add_argument("--workload", default="oltp_read_only", help="of dialin-load")
    parser.add_argument("--server", default="mysql@9.7")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--only", nargs="+", default=[], metavar="PROBE", help="such as status, or heartbeat")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    orders = [[first == one for one in WITH_FIRST] for first in (rng.random() < 0.5 for _ in range(options.blocks))]
    spec = WorkloadSpec(name=options.workload, kind="dialin-load", threads=options.connections, tables=4, table_size=50_000)
    tools = Tools.open(lambda text: print(text, file=sys.stderr))
    try:
        build = builds.find(options.server, builds.discover(tools.home, os.environ), tools.home)
        with running(build, spec, tools) as (sandbox, load):
            speed(load, options.warmup)
            slices = measure(sandbox, load, orders, options.seconds, tools.clock, options.only)
    except DialinError as error:
        sys.exit(str(error))
    size = f"{options.connections} connections, {options.blocks} blocks of four slices of {options.seconds} s"
    print(f"\n{build.id}, {options.workload}, {size}:\n")
    print_costs(slices, orders, "probes")
    print(f"\nThe machine was {100 * np.mean([one.busy for one in slices]):.0f} % busy.")


if __name__ == "__main__":
    main()
