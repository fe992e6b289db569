"""Prints what a long study takes in memory and on the disk, trial by trial: does it stay flat?

    PYTHONPATH=tests python benchmarks/long_run.py [--seconds 1000 10000] [--candidates 7] [--blocks 3] [--figures 600]
                                                   [--results FILE]

Servers and time are simulated; everything else is what a study does for each second: the driver's line with its histogram is
read, its probes' figures are kept, the second goes to the store, the trial is examined and summed up, the race is judged. Then
`dialin report` writes the report, in a process of its own. Told are the resident memory of the study after each block and its
peak, the size of the store, of the figures over time, and of the report, and the peak of the process that wrote it.

A study of each length runs in a process of its own. How long all take is said beforehand, by what a study with a minute's
trials takes, and after each trial what is left of its study. A row is written as its study ends, and a later call does not run
that study again (remove FILE to measure anew): stop it when you like, and give the same command again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil
from result_lines import append, lines

from dialin.fleet.fleet import FleetOfOne
from dialin.fleet.worker import BlockRequest, WorkerHost
from dialin.model.study import AA, Candidate, StudySpec
from dialin.probes.probe import Reading
from dialin.question.plan import plan
from dialin.race.recorder import ProgressWriter
from dialin.race.runner import Runner
from dialin.search.proposer import History, Room
from dialin.store import STUDY_FILE
from dialin.store.store import Store
from dialin.testing.fake_clock import FakeClock
from dialin.text import about, listed
from dialin.trials import trial_steps
from dialin.trials.events import Event, TrialEnded
from dialin.trials.probing import Probed
from dialin.workloads.base import Second
from dialin.workloads.dialin_load_lines import Report, parse_stream_line
from fixtures.fake_trial import FakeLoad, trial_context
from fixtures.histograms import encoded
from fixtures.silent_watcher import Silent
from fixtures.stream_lines import second

MINUTES = 7 * 24 * 60
"""The most that a study may have: the blocks end it, not the minutes."""
BRIEF = 60
"""Seconds of the trials by which is learnt how long others take."""
RESULTS = Path(__file__).parent / "results" / "long_run.jsonl"
REPORT = """import atexit
from dialin.cli.app import main
atexit.register(lambda: print(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]))
main()"""
"""Runs dialin, and prints the peak of its memory in KiB: `getrusage` would count what its parent had when it was started."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Bytes, and seconds of this machine; `blocks` is the resident memory after each block."""

    seconds: int
    trials: int
    blocks: list[int]
    peak: int
    store: int
    figures: int
    report: int
    report_peak: int
    took: float


class Figures:
    """A probe with so many counters, all of which rise; it is read when the load says so."""

    name = "status"
    period = 0.0

    def __init__(self, count: int) -> None:
        self._counters = {f"Counter_{number}": 0.0 for number in range(count)}
        self._chance = random.Random(count)

    def read(self) -> Reading:
        self._counters = {name: count + self._chance.randrange(1, 1000) for name, count in self._counters.items()}
        return Reading(self._counters, {})


class Watching(Probed):
    """What watches a trial, read once for each second of the load instead of by a thread, whose clock would be another."""

    def read(self) -> None:
        for account in self._accounts if self._open else ():
            self._read(account)


class Load(FakeLoad):
    """Seconds as the driver's lines tell them."""

    def __init__(self, clock: FakeClock, chance: random.Random) -> None:
        super().__init__(clock, sys.maxsize, lambda _: 1.0)
        self._chance = chance
        self.watch: Watching | None = None

    def read(self, timeout: float) -> Second:  # noqa: ARG002 - a second is always there
        self.clock.sleep(1)
        self.number += 1
        count = round(self._chance.gauss(1000, 40))
        slowest = [round(self._chance.lognormvariate(11, 0.6)) for _ in range(200)]
        histogram = encoded(slowest)
        histograms = {"latency_histogram": histogram, "undelayed_histogram": histogram}
        report = parse_stream_line(second(second=self.number, transactions=count, **histograms))
        assert isinstance(report, Report)
        if self.watch is not None:
            self.watch.read()
        return report.second


class Trials:
    """A worker whose trials are real but for their server, their load and the time."""

    def __init__(self, clock: FakeClock, figures: int, count: int) -> None:
        self.host = WorkerHost("simulated", {"cpus": 2})
        self.blocks: list[int] = []
        self._clock = clock
        self._figures = figures
        self._count = count
        self._ended = 0
        self._began = time.monotonic()

    def run_block(self, request: BlockRequest) -> Generator[Event, None, None]:
        for trial in request.trials:
            load = Load(self._clock, random.Random(trial.id))
            spec = request.spec
            context = trial_context(spec, self._clock, load, watch=self._watcher(load), host=self.host.name)
            for event in trial_steps.run(context, trial):
                yield event
                if isinstance(event, TrialEnded):
                    self._say_progress(spec.measure or 0)
                    if event.trial.position == len(spec.candidates):
                        self.blocks.append(psutil.Process().memory_info().rss)

    def _say_progress(self, seconds: float) -> None:
        self._ended += 1
        left = (time.monotonic() - self._began) / self._ended * (self._count - self._ended)
        memory = psutil.Process().memory_info().rss / 1e6
        print(f"{seconds:.0f} s: trial {self._ended} of {self._count}, {memory:.0f} MB, {about(left)} left", file=sys.stderr)

    def _watcher(self, load: Load) -> trial_steps.TrialWatcher:
        @contextmanager
        def watcher(*_: object) -> Iterator[Watching]:
            with Watching([Figures(self._figures)], self._clock) as load.watch:
                yield load.watch

        return watcher


@dataclass(frozen=True, slots=True)
class Blocks:
    """A proposer of so many blocks of all candidates."""

    count: int

    def propose(self, history: History, room: Room) -> Sequence[Candidate]:
        return history.in_the_race if room.block <= self.count else ()


def measured(seconds: int, candidates: int, blocks: int, figures: int) -> Cost:
    """Run a study of candidates that are alike, so that nobody leaves and it goes on."""
    began = time.monotonic()
    names = [f"c{number}" for number in range(candidates)]
    made = tuple(
        Candidate(name=name, setting={"innodb_io_capacity": number}, server="mysql@9.7.4")
        for number, name in enumerate(names, 1)
    )
    spec = StudySpec(candidates=made, baseline=names[0], minutes=MINUTES, measure=seconds, warmup=6, question=AA())
    clock = FakeClock()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        facts = {"created": 0, "dialin_version": "0", "command": "", "host": {}, "servers": {"mysql@9.7.4": {}}}
        with Store.create(directory, spec, **facts) as store:
            trials = Trials(clock, figures, candidates * blocks)
            progress = ProgressWriter(store, clock, Silent())
            fleet, proposer = FleetOfOne(trials), Blocks(blocks)
            Runner(store, clock, progress, plan(spec), fleet, store.begin_session(), proposer=proposer).run()
            ran = len(store.trials())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        report = subprocess.run([sys.executable, "-c", REPORT, "report", name], check=False, stdout=subprocess.PIPE)
        return Cost(
            seconds=seconds,
            trials=ran,
            blocks=trials.blocks,
            peak=peak,
            store=(directory / STUDY_FILE).stat().st_size,
            figures=sum(path.stat().st_size for path in (directory / "evidence").iterdir()),
            report=(directory / "report.html").stat().st_size,
            report_peak=int(report.stdout.split()[-1]) * 1024,
            took=time.monotonic() - began,
        )


def in_a_process(seconds: int, asked: argparse.Namespace) -> Cost:
    """Run a study in a process of its own."""
    words = [sys.executable, __file__, "--one", "--seconds", str(seconds), "--candidates", str(asked.candidates)]
    words += ["--blocks", str(asked.blocks), "--figures", str(asked.figures)]
    done = subprocess.run(words, check=True, stdout=subprocess.PIPE, env=os.environ)
    return Cost(**json.loads(done.stdout))


def show(cost: Cost) -> None:
    blocks = ", ".join(f"{size / 1e6:.0f}" for size in cost.blocks)
    sizes = (cost.peak, cost.store, cost.figures, cost.report, cost.report_peak)
    cells = " | ".join(f"{size / 1e6:.1f}" for size in sizes)
    print(f"| {cost.seconds:,} | {cost.trials} | {blocks} | {cells} | {cost.took:.0f} |", flush=True)


def main() -> None:
    """Print a row for each length of a trial."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--candidates", type=int, default=7)
    parser.add_argument("--blocks", type=int, default=3)
    parser.add_argument("--figures", type=int, default=600)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(asdict(measured(asked.seconds[0], asked.candidates, asked.blocks, asked.figures))))
        return
    what = {"candidates": asked.candidates, "blocks": asked.blocks, "figures": asked.figures}
    costs = [Cost(**line["cost"]) for line in lines(asked.results) if {key: line[key] for key in what} == what]
    left = [seconds for seconds in asked.seconds if seconds not in [cost.seconds for cost in costs]]
    if left:
        brief = in_a_process(BRIEF, asked)
        seconds = brief.took / (brief.trials * BRIEF) * asked.candidates * asked.blocks * sum(left)
        print(f"About {about(seconds)}: trials of {listed([str(seconds) for seconds in left])} s", file=sys.stderr)
    print(
        "| seconds | trials | after each block, MB | peak, MB | store, MB | figures, MB | report, MB | its peak, MB | took, s |"
    )
    print("|---:|---:|---|---:|---:|---:|---:|---:|---:|")
    for cost in costs:
        show(cost)
    for seconds in left:
        cost = in_a_process(seconds, asked)
        append(asked.results, {**what, "cost": asdict(cost)})
        show(cost)


if __name__ == "__main__":
    main()
