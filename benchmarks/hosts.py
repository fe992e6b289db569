"""How often a study on several hosts claims what is not so, and how often it finds that hosts disagree.

Hosts differ by 30 % in level and threefold in noise. A study is simulated from its first trial to its verdict, with its looks:
a false claim is a winner, or a candidate shown to be better, where that is not so on every host; or a disagreement where hosts
agree. Each study that has ended is a line of `--log`; a benchmark that is started again with it simulates only those that are
missing. The figures are in benchmarks/results/hosts.md.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import os
import random
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from dialin.model.study import Candidate, StudySpec, Until
from dialin.model.verdict import Outcome
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


Conditions = dict[str, Any]
"""What a study is simulated with, but its seed; as it is in JSON."""


def study(truth: Truth, seed: int, *, hosts: int, candidates: int, minutes: float) -> dict[str, Any]:
    """Return what a simulated study says: whether it claims a gain, whether that hosts disagree, and its trials."""
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
        verdict = Runner(store, clock, Silent(), plan(spec), fleet, store.begin_session()).run()
    claims = bool(verdict.winners) or bool(verdict.shown_better) or verdict.verdict is Outcome.WINNER
    disagree = any(note.code == "hosts_disagree" for note in verdict.warnings)
    return {"claims": claims, "disagree": disagree, "trials": verdict.trials}


def logged(log: Path, conditions: Conditions) -> dict[int, dict[str, Any]]:
    """Return what studies of these conditions have said, by seed."""
    lines = map(json.loads, log.read_text().splitlines()) if log.exists() else ()
    return {line["seed"]: line["said"] for line in lines if line["conditions"] == conditions}


def main() -> None:
    """Print the shares of studies with false claims, and with disagreements that were found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--candidates", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--log", type=Path, help="file of the studies that have ended")
    asked = parser.parse_args()
    print(f"{asked.studies} studies each: {asked.hosts} hosts, {asked.candidates} candidates, {asked.minutes:g} minutes\n")
    print("| what is so | claims a winner or a gain | says that hosts disagree | trials |\n|---|---:|---:|---:|")
    for words, truth in (
        ("nothing differs", Truth(0.0, 0.0)),
        ("10 % better on half of the hosts", Truth(0.1, 0.0)),
        ("10 % worse on half of the hosts", Truth(-0.1, 0.0)),
        ("10 % better on half, 10 % worse on the others", Truth(0.1, -0.1)),
        ("10 % better on all hosts", Truth(0.1, 0.1)),
    ):
        said = simulated(truth, asked)
        claims, disagree = (sum(one[what] for one in said) / asked.studies for what in ("claims", "disagree"))
        trials = sum(one["trials"] for one in said) / asked.studies
        print(
            f"| {words} | {claims:.1%} ± {_error(claims, asked.studies):.1%} "
            f"| {disagree:.1%} ± {_error(disagree, asked.studies):.1%} | {trials:.0f} |",
            flush=True,
        )


def simulated(truth: Truth, asked: argparse.Namespace) -> list[dict[str, Any]]:
    """Return what studies say, one of each seed; those that ended before are read from the log."""
    settings = {"hosts": asked.hosts, "candidates": asked.candidates, "minutes": asked.minutes}
    conditions = {"truth": asdict(truth), **settings}
    said = logged(asked.log, conditions) if asked.log else {}
    missing = [seed for seed in range(asked.studies) if seed not in said]
    with ProcessPoolExecutor(asked.processes) as pool:
        for seed, one in zip(missing, pool.map(functools.partial(study, truth, **settings), missing), strict=True):
            said[seed] = one
            if asked.log:
                with asked.log.open("a") as file:
                    file.write(json.dumps({"conditions": conditions, "seed": seed, "said": one}) + "\n")
    return [said[seed] for seed in range(asked.studies)]


def _error(share: float, of: int) -> float:
    """Return two standard errors of a share; one study of either kind is added, so that it is never 0."""
    share = (share * of + 1) / (of + 2)
    return 2 * math.sqrt(share * (1 - share) / of)


if __name__ == "__main__":
    main()
