"""What the coordinator of a study on many hosts costs, and how blocks per hour grow with hosts.

Hosts are simulated in time, and the coordinator is real: race, store, looks and progress. A host reports a sample each second.
The CPU that the coordinator takes passes on the clock of the study, so that a host waits for its next block as it would in
life; the CPU that simulates hosts does not. The figures are in benchmarks/results/fleet.md.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine, event

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from dialin.fleet.fleet import FleetEvent
from dialin.model.study import AA, Candidate, StudySpec
from dialin.question.plan import plan
from dialin.race.recorder import ProgressWriter
from dialin.race.runner import Runner
from dialin.store.store import Store
from dialin.testing.fake_clock import FakeClock
from fixtures.silent_watcher import Silent
from fixtures.simulated_fleet import SimulatedFleet
from fixtures.simulated_trials import SimulatedTrials


class WaitingFleet(SimulatedFleet):
    """Simulated hosts that wait while their coordinator computes.

    `cpu` are the seconds that it has taken, and `longest` those of the longest time in which it took no event.
    """

    cpu = 0.0
    longest = 0.0
    _returned: float | None = None

    def next_event(self) -> FleetEvent:
        if self._returned is not None:
            taken = time.process_time() - self._returned
            self.cpu += taken
            self.longest = max(self.longest, taken)
            self.clock.sleep(taken)
        try:
            return super().next_event()
        finally:
            self._returned = time.process_time()


@dataclass(frozen=True, slots=True)
class Cost:
    """What a study cost the coordinator.

    Attributes:
        cpu: seconds.
        longest: CPU seconds of the longest time in which it took no event.
        study: seconds that the study took.
        writes: transactions that were committed.
        store, memory: bytes.
    """

    hosts: int
    trials: int
    blocks: int
    cpu: float
    longest: float
    study: float
    writes: int
    store: int
    memory: int

    @property
    def blocks_per_hour(self) -> float:
        return self.blocks / self.study * 3600


@contextmanager
def counted_writes() -> Iterator[list[None]]:
    """Give a list that gets an element with each transaction that is committed."""
    commits: list[None] = []

    def add(_connection: object) -> None:
        commits.append(None)

    event.listen(Engine, "commit", add)
    try:
        yield commits
    finally:
        event.remove(Engine, "commit", add)


def measured(hosts: int, minutes: float) -> Cost:
    """Run a study on so many simulated hosts."""
    names = ["1", "2"]
    one = tuple(Candidate(name=name, setting={"innodb_io_capacity": 100 * int(name)}, server="mysql@9.7.4") for name in names)
    spec = StudySpec(candidates=one, baseline="1", minutes=minutes, measure=30, warmup=10, question=AA())
    clock = FakeClock()
    workers = {f"host-{number:03}": SimulatedTrials(dict.fromkeys(names, 1000.0)) for number in range(hosts)}
    with (
        tempfile.TemporaryDirectory() as directory,
        Store.create(
            Path(directory), spec, created=0, dialin_version="0", command="", host={}, servers={"mysql@9.7.4": {}}
        ) as store,
        counted_writes() as commits,
    ):
        fleet, began = WaitingFleet(workers, clock), clock.now()
        progress = ProgressWriter(store, clock, Silent())
        Runner(store, clock, progress, plan(spec), fleet, store.begin_session()).run()
        trials, blocks = len(store.trials()), len(store.blocks())
        size = sum(path.stat().st_size for path in Path(directory).rglob("*") if path.is_file())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    study = clock.now() - began
    return Cost(hosts, trials, blocks, fleet.cpu, fleet.longest, study, len(commits), size, memory)


def main() -> None:
    """Print a row for each number of hosts; what is linear is the first row's blocks per hour and host."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, nargs="+", default=[1, 4, 16, 64, 256])
    parser.add_argument("--minutes", type=float, default=6)
    asked = parser.parse_args()
    print(
        "| hosts | trials | blocks per hour | of linear | CPU per host | longest pause | store writes per s | store | memory |"
    )
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    of_one = 0.0
    for hosts in asked.hosts:
        cost = measured(hosts, asked.minutes)
        of_one = of_one or cost.blocks_per_hour / hosts
        print(
            f"| {hosts} | {cost.trials:,} | {cost.blocks_per_hour:,.0f} | {cost.blocks_per_hour / hosts / of_one:.2f} "
            f"| {cost.cpu / cost.study / hosts:.2%} | {cost.longest:.2f} s | {cost.writes / cost.study:,.0f} "
            f"| {cost.store / 1e6:.1f} MB | {cost.memory / 1e6:.0f} MB |",
            flush=True,
        )


if __name__ == "__main__":
    main()
