"""How often a study on several hosts claims what is not so, and how often it finds that hosts disagree.

Hosts differ by 30 % in level and threefold in noise. A study is simulated from its first trial to its verdict, with its looks:
a false claim is a winner, or a candidate shown to be better, where that is not so on every host; or a disagreement where hosts
agree. The figures are in BENCHMARKS.md.
"""

from __future__ import annotations

import argparse
import functools
import math
import os
import random
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from dialin.model.study import Candidate, StudySpec, Until
from dialin.model.verdict import Outcome, Verdict
from dialin.question.plan import plan
from dialin.race.runner import Runner
from dialin.store.store import Store
from dialin.testing.fake_clock import FakeClock
from fixtures.silent_watcher import Silent
from fixtures.simulated_fleet import SimulatedFleet
from fixtures.simulated_trials import SimulatedTrials

LEVEL, NOISE = 0.3, (0.01, 0.03)


@dataclass(frozen=True, slots=True)
class Truth:
    """What is so: the gain of the last candidate on the first half of the hosts, and on the others, which are another kind."""

    first: float
    others: float


def study(truth: Truth, hosts: int, candidates: int, minutes: float, seed: int) -> Verdict:
    """Return the verdict of a simulated study on so many hosts."""
    chance = random.Random(seed)
    names = [str(1 << number) for number in range(candidates)]
    one = tuple(Candidate(name=name, setting={"innodb_io_capacity": 100 * int(name)}, server="mysql@9.7.4") for name in names)
    spec = StudySpec(candidates=one, baseline=names[0], minutes=minutes, measure=10, warmup=5, seed=seed, until=Until.BETTER)
    clock, workers = FakeClock(), {}
    for number in range(hosts):
        gain = truth.first if number < hosts // 2 else truth.others
        level = 1000 * (1 + LEVEL * chance.uniform(-0.5, 0.5))
        levels = {name: level * (1 + (gain if name == names[-1] else 0)) for name in names}
        noise = NOISE[0] if number % 2 else NOISE[1]
        forced = {name: {"innodb_io_capacity": str(100 * int(name))} for name in names}
        facts = {"cpu": "first kind" if number < hosts // 2 else "second kind", "cpus": 8}
        workers[f"host-{number}"] = SimulatedTrials(levels, noise=noise, jitter=0.02, in_force=forced, facts=facts)
    with (
        tempfile.TemporaryDirectory() as directory,
        Store.create(
            Path(directory), spec, created=0, dialin_version="0", command="", host={}, servers={"mysql@9.7.4": {}}
        ) as store,
    ):
        fleet = SimulatedFleet(workers, clock)
        return Runner(store, clock, Silent(), plan(spec), fleet, store.begin_session()).run()


def main() -> None:
    """Print the shares of studies with false claims, and with disagreements that were found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--candidates", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    print(f"{asked.studies} studies each: {asked.hosts} hosts, {asked.candidates} candidates, {asked.minutes:g} minutes\n")
    print("| what is so | claims a winner or a gain | says that hosts disagree | trials |\n|---|---:|---:|---:|")
    for words, truth in (
        ("nothing differs", Truth(0.0, 0.0)),
        ("10 % better on all hosts", Truth(0.1, 0.1)),
        ("10 % better on half of the hosts", Truth(0.1, 0.0)),
        ("10 % better on half, 10 % worse on the others", Truth(0.1, -0.1)),
        ("10 % worse on half of the hosts", Truth(-0.1, 0.0)),
    ):
        simulate = functools.partial(study, truth, asked.hosts, asked.candidates, asked.minutes)
        with ProcessPoolExecutor(asked.processes) as pool:
            verdicts = list(pool.map(simulate, range(asked.studies)))
        claims = sum(bool(one.winners) or one.shown_better or one.verdict is Outcome.WINNER for one in verdicts)
        disagree = sum(any(note.code == "hosts_disagree" for note in one.warnings) for one in verdicts)
        trials = sum(one.trials for one in verdicts) / len(verdicts)
        count = len(verdicts)
        print(
            f"| {words} | {claims / count:.1%} ± {_error(claims, count):.1%} | {disagree / count:.1%} | {trials:.0f} |",
            flush=True,
        )


def _error(times: int, of: int) -> float:
    share = (times + 1) / (of + 2)
    return 2 * math.sqrt(share * (1 - share) / of)


if __name__ == "__main__":
    main()
