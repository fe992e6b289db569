"""What the coordinator of a study on many hosts costs, and how blocks per hour grow with hosts.

Hosts are simulated in time, and the coordinator is real: race, store, looks and progress. A host reports a sample each second,
so that the coordinator keeps up as long as it needs less CPU than the study takes. Up to there blocks per hour are linear;
beyond it hosts wait. The figures are in BENCHMARKS.md.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from dialin.model.study import Candidate, StudySpec
from dialin.question.plan import plan
from dialin.race.progress_writer import ProgressWriter
from dialin.race.runner import Runner
from dialin.store.store import Store
from dialin.testing.fake_clock import FakeClock
from fixtures.silent_watcher import Silent
from fixtures.simulated_fleet import SimulatedFleet
from fixtures.simulated_trials import SimulatedTrials


@dataclass(frozen=True, slots=True)
class Cost:
    """What a study cost the coordinator: `cpu` in seconds, `study` the seconds that it would take, `store` in bytes."""

    hosts: int
    trials: int
    blocks: int
    cpu: float
    study: float
    store: int
    memory: int

    @property
    def linear(self) -> float:
        """Blocks per hour with one CPU, as a share of what so many hosts would run without waiting for the coordinator."""
        return min(1.0, self.study / self.cpu)


def measured(hosts: int, minutes: float) -> Cost:
    """Run a study on so many simulated hosts."""
    names = ["1", "2"]
    one = tuple(Candidate(name=name, setting={"innodb_io_capacity": 100 * int(name)}, server="mysql@9.7.4") for name in names)
    spec = StudySpec(candidates=one, baseline="1", minutes=minutes, measure=30, warmup=10, aa=True)
    clock = FakeClock()
    workers = {f"host-{number:03}": SimulatedTrials(dict.fromkeys(names, 1000.0)) for number in range(hosts)}
    with (
        tempfile.TemporaryDirectory() as directory,
        Store.create(
            Path(directory), spec, created=0, dialin_version="0", command="", host={}, servers={"mysql@9.7.4": {}}
        ) as store,
    ):
        fleet, began = SimulatedFleet(workers, clock), clock.now()
        progress = ProgressWriter(store, clock, Silent())
        runner = Runner(store, clock, progress, plan(spec), fleet, store.begin_session())
        cpu = time.process_time()
        runner.run()
        cpu = time.process_time() - cpu
        trials, blocks = len(store.trials()), len(store.blocks())
        size = sum(path.stat().st_size for path in Path(directory).rglob("*") if path.is_file())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Cost(hosts, trials, blocks, cpu, clock.now() - began, size, memory)


def main() -> None:
    """Print a row for each number of hosts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, nargs="+", default=[1, 4, 16, 64, 256])
    parser.add_argument("--minutes", type=float, default=6)
    asked = parser.parse_args()
    print("| hosts | trials | blocks per hour | of linear | coordinator CPU per host | store | memory |")
    print("|---:|---:|---:|---:|---:|---:|---:|")
    for hosts in asked.hosts:
        cost = measured(hosts, asked.minutes)
        per_hour = cost.blocks / cost.study * 3600 * cost.linear
        share = cost.cpu / cost.study / hosts
        print(
            f"| {hosts} | {cost.trials} | {per_hour:,.0f} | {cost.linear:.2f} | {share:.2%} | {cost.store / 1e6:.1f} MB "
            f"| {cost.memory / 1e6:.0f} MB |",
            flush=True,
        )


if __name__ == "__main__":
    main()
