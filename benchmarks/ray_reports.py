"""What it costs to take what hosts report over Ray: asked for by number, as a study does, or from a streaming generator.

    python benchmarks/ray_reports.py [--hosts 1 4 16] [--seconds 60]
    python benchmarks/ray_reports.py --cut 5 12 40

Hosts are actors of a node of this machine; each writes a sample per second to its journal. Prints CPU per host and how old a
sample is when it arrives. With `--cut`, a host is in a network namespace of its own (as root), and its cable is pulled for so
many seconds. The figures are in benchmarks/results/ray_reports.md.
"""

from __future__ import annotations

import argparse
import pickle
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests_live"))

import ray_environment  # noqa: F401, I001 - first: Ray reads what it sets when it is imported
import numpy as np
import psutil
import ray
from ray.exceptions import ActorUnavailableError, GetTimeoutError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from cable import cable
from dialin.fleet.host_agent import HostAgent
from dialin.fleet.host_process import TrialEvent
from dialin.fleet.journal import JournalWriter
from dialin.fleet.ray_fleet import connected, named_nodes
from dialin.model.trial import Sample, Step
from dialin.trials.events import Sampled
from test_fleet_ray import Nodes

WAIT = 1.0
"""Seconds that an agent waits for something to report, as in `ray_fleet`."""

WARM_UP = 5.0


class ReportingAgent(HostAgent):
    """A host whose process runs no trial, and reports a sample per second."""

    def __init__(self, phase: float) -> None:
        super().__init__()
        self._process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        threading.Thread(target=self._report, args=(phase,), daemon=True).start()

    def _report(self, phase: float) -> None:
        journal, began = JournalWriter(self._directory / "journal"), time.monotonic() + phase
        for second in range(1, 1_000_000):
            time.sleep(max(0.0, began + second - time.monotonic()))
            journal.append(TrialEvent(1, Sampled(Sample(second, time.time(), Step.MEASURE, 1000, 14000, 4000, 2000, 20, 0, 0))))

    def stream(self) -> Iterator[bytes]:
        """Yield what is reported, from the first record on."""
        number = 0
        while True:
            records = self._journal.after(number)
            number += len(records)
            for record in records:  # noqa: UP028 - Ray sends to the generator; `yield from` would pass that on to a list
                yield record
            if not records:
                time.sleep(0.02)

    def cpu(self) -> float:
        return time.process_time()


@dataclass(slots=True)
class Arrived:
    """What came from a host: numbers of samples, their ages in seconds, and what was raised."""

    seconds: list[int]
    ages: list[float]
    ends: list[str]

    def add(self, record: bytes) -> None:
        sample = pickle.loads(record).event.sample
        self.seconds.append(sample.second)
        self.ages.append(time.time() - sample.at)


def poll(actor: Any, arrived: Arrived, until: float) -> None:
    """Take samples as `ray_fleet` does."""
    while time.monotonic() < until:
        try:
            records, _ = ray.get(actor.reports.remote(len(arrived.seconds), WAIT), timeout=WAIT + 10)
        except (ActorUnavailableError, GetTimeoutError) as error:
            arrived.ends.append(type(error).__name__)
            time.sleep(0.5)
            continue
        for record in records:
            arrived.add(record)


def stream(actor: Any, arrived: Arrived, until: float) -> None:
    """Take samples from a streaming generator, which cannot be asked again for what was lost."""
    try:
        for reference in actor.stream.options(num_returns="streaming").remote():
            arrived.add(ray.get(reference))
            if time.monotonic() >= until:
                break
    except RayError as error:
        arrived.ends.append(type(error).__name__)


WAYS = {"asked for by number": poll, "streaming generator": stream}


@contextmanager
def agents(hosts: int) -> Iterator[list[Any]]:
    """Start an agent for each host, on the nodes that there are in turn; they do not report in step."""
    nodes, made = named_nodes(), []
    for number in range(hosts):
        strategy = NodeAffinitySchedulingStrategy(nodes[number % len(nodes)].id, soft=False)
        options = {"num_cpus": 0, "max_concurrency": 4, "scheduling_strategy": strategy}
        made.append(ray.remote(ReportingAgent).options(**options).remote(number / hosts))
    ray.get([agent.is_there.remote() for agent in made])
    try:
        yield made
    finally:
        for agent in made:
            with suppress(RayError):
                ray.get(agent.stop.remote(), timeout=20)
            ray.kill(agent)


def taken(
    take: Callable[[Any, Arrived, float], None], made: Sequence[Any], seconds: float, meanwhile: Callable[[], None]
) -> list[Arrived]:
    """Take what all agents report for so many seconds."""
    until, came = time.monotonic() + seconds, [Arrived([], [], []) for _ in made]
    threads = [threading.Thread(target=take, args=(*pair, until), daemon=True) for pair in zip(made, came, strict=True)]
    for thread in threads:
        thread.start()
    meanwhile()
    for thread in threads:
        thread.join(max(0.0, until + 5 - time.monotonic()))
    return came


def cpu_seconds(made: Sequence[Any]) -> tuple[float, float, float]:
    """Return the CPU seconds so far of this process, of Ray's own programs that it has started, and of all agents."""
    of_agents, of_ray = sum(ray.get([agent.cpu.remote() for agent in made])), 0.0
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if "ray::" not in " ".join(process.cmdline()) and process.name() != "cat":
                of_ray += sum(process.cpu_times()[:2])
    return time.process_time(), of_ray, of_agents


def show_costs(nodes: Nodes, hosts: Sequence[int], seconds: float) -> None:
    """Print what each way costs with so many hosts."""
    nodes.add("east")
    print(
        "| reports | hosts | CPU of the coordinator per host | of Ray's programs | of an agent | age: median | 99 % | samples |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    with connected(nodes.address):
        for count in hosts:
            for way, take in WAYS.items():
                with agents(count) as made:
                    came, costs = [], []

                    def account(made: Sequence[Any] = made, costs: list[Any] = costs) -> None:
                        time.sleep(WARM_UP)
                        costs.append(cpu_seconds(made))
                        time.sleep(seconds)
                        costs.append(cpu_seconds(made))

                    came = taken(take, made, WARM_UP + seconds + 1, account)
                own, of_ray, there = ((late - early) / seconds / count for early, late in zip(*costs, strict=True))
                ages = [age for one in came for second, age in zip(one.seconds, one.ages, strict=True) if second > WARM_UP]
                print(
                    f"| {way} | {count} | {own:.2%} | {of_ray:.2%} | {there:.2%} | {np.median(ages) * 1000:.0f} ms "
                    f"| {np.percentile(ages, 99) * 1000:.0f} ms | {len(ages):,} |",
                    flush=True,
                )


def show_cut(path: Path, seconds: float) -> None:
    """Print what each way makes of a network that is cut for so many seconds."""
    with cable() as way:
        nodes = Nodes(path, way.here)
        try:
            with nodes.beyond(way, "west"), connected(nodes.address):
                while not named_nodes():
                    time.sleep(0.5)
                for words, take in WAYS.items():
                    with agents(1) as made:
                        (one,) = taken(take, made, seconds + 40, lambda: _pull(way, seconds))
                    lacking = set(range(1, max(one.seconds) + 1)) - set(one.seconds)
                    again = len(one.seconds) - len(set(one.seconds))
                    print(
                        f"{words}, cut for {seconds:g} s: {max(one.seconds)} s arrived, {len(lacking)} lacking, {again} twice, "
                        f"the oldest when it arrived {max(one.ages):.1f} s; raised {one.ends or 'nothing'}",
                        flush=True,
                    )
        finally:
            nodes.end()


def _pull(way: Any, seconds: float) -> None:
    time.sleep(10)
    way.pull()
    time.sleep(seconds)
    way.plug()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, nargs="+", default=[1, 4, 16])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--cut", type=float, nargs="*", help="pull the cable of a host for so many seconds, and show no costs")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        if asked.cut is not None:
            for seconds in asked.cut:
                show_cut(Path(directory), seconds)
            return
        nodes = Nodes(Path(directory))
        try:
            show_costs(nodes, asked.hosts, asked.seconds)
        finally:
            nodes.end()


if __name__ == "__main__":
    main()
