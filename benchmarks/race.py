"""How long a study takes between one trial and the next, early and late: PYTHONPATH=tests python benchmarks/race.py --help.

The trials are simulated; everything else is what a study does: samples and trials go to its store, progress is written down,
the race is judged after each block, and looks are taken.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

from dialin.fleet.fleet import FleetOfOne
from dialin.fleet.worker import BlockRequest
from dialin.model.study import AA, Candidate, StudySpec
from dialin.question.plan import plan
from dialin.race.runner import Runner
from dialin.store.store import Store
from dialin.testing.fake_clock import FakeClock
from dialin.trials.events import Event, Sampled, TrialBegan
from fixtures.silent_watcher import Silent
from fixtures.simulated_trials import SimulatedTrials

SECONDS = 60


class Timed:
    """Runs simulated trials, and notes how long the study took from the end of each to the beginning of the next."""

    def __init__(self, trials: SimulatedTrials) -> None:
        self._trials = trials
        self._ended: float | None = None
        self.between: list[float] = []

    def run_block(self, request: BlockRequest) -> Generator[Event, None, None]:
        for event in self._trials.run_block(request):
            if isinstance(event, TrialBegan) and self._ended is not None:
                self.between.append(time.perf_counter() - self._ended)
            yield event
            if isinstance(event, Sampled):
                self._ended = time.perf_counter()


def measured(trials: int, candidates: int) -> list[float]:
    """Return the seconds between the trials of one study whose candidates are alike, so that nobody leaves and it goes on."""
    names = [f"c{number}" for number in range(candidates)]
    one = tuple(
        Candidate(name=name, setting={"innodb_io_capacity": number}, server="mysql@9.7.4")
        for number, name in enumerate(names, 1)
    )
    minutes = trials * (SECONDS + 20) / 60
    spec = StudySpec(candidates=one, baseline=names[0], minutes=minutes, measure=SECONDS, warmup=10, question=AA())
    with (
        tempfile.TemporaryDirectory() as directory,
        Store.create(
            Path(directory), spec, created=0, dialin_version="0", command="", host={}, servers={"mysql@9.7.4": {}}
        ) as store,
    ):
        clock = FakeClock()
        timed = Timed(SimulatedTrials(dict.fromkeys(names, 1000.0), clock=clock))
        Runner(store, clock, Silent(), plan(spec), FleetOfOne(timed), store.begin_session()).run()
    return timed.between


def main() -> None:
    """Print the seconds between trials, early and late."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--candidates", type=int, default=5)
    asked = parser.parse_args()
    between = measured(asked.trials, asked.candidates)
    width = 4 * asked.candidates
    print(f"{len(between) + 1} trials of {SECONDS} s, {asked.candidates} candidates; mean of {width} trials\n")
    print("| around trial | ms to the next |\n|---:|---:|")
    early = 0.0
    for centre in [centre for centre in (10, 50, 100, 250, 500) if centre < len(between)]:
        own = between[max(0, centre - width // 2) : centre + width // 2]
        mean = 1000 * statistics.fmean(own)
        early = early or mean
        print(f"| {centre} | {mean:.1f} |")
    print(f"\nlast to first: {mean / early:.2f}")


if __name__ == "__main__":
    main()
