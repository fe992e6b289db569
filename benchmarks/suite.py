"""Prints, as a Markdown table, how often suites claim what is not so, and how long they take, beside what people do.

    python benchmarks/suite.py [--suites 100] [--seed 1] [--jobs 2] [--only TEXT] [--minutes 20] [--results FILE]

Each workload of a suite is simulated second by second on a machine of known truth (benchmarks/world.py), and judged by the
functions that a real suite calls. `studies` are as many studies without a correction, each with its share of the minutes;
`runs` are one run of each candidate under each workload, compared by their seconds, as charts invite to. With `--results` each
suite is kept in a file of lines as it ends, and is not simulated again after a stop.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from decide import LOUD, QUIET, SANDBOX, rate
from result_lines import append, lines
from scipy.special import stdtrit
from world import Machine, World, observe, run

from dialin.model.study import Candidate, StudySpec, Until
from dialin.model.suite import Margin, SuiteMember, SuitePlan
from dialin.model.verdict import CandidateState
from dialin.question.plan import block_order
from dialin.stats.allocation import SIZE, next_block
from dialin.stats.decide import Decision, Rules
from dialin.stats.forecast import is_enough
from dialin.stats.standings import is_due
from dialin.stats.throughput import TrialSpeed, by_typical_speed, decide_throughput
from dialin.suites.joint import SuiteStudy, decide_mean, is_decided, is_reached, lacks_guard, margin_under

RUN_SECONDS = 300
_MATTERS = math.log1p(0.01) + 1e-9


@dataclass(frozen=True, slots=True)
class Row:
    design: str
    workloads: int
    candidates: int
    truth: str


def levels(row: Row) -> list[list[float]]:
    """Return the true levels of the candidates under each workload, on the log scale; the first candidate is the baseline."""
    table = np.zeros((row.workloads, row.candidates))
    match row.truth:
        case "one differs":
            table[0, 1] = math.log1p(0.05)
        case "opposite signs":
            table[:, 1] = np.where(np.arange(row.workloads) % 2, math.log1p(0.05), math.log1p(-0.05))
    return [[float(level) for level in of_workload] for of_workload in table]


def world_of(row: Row, workload: int) -> World:
    return (QUIET, LOUD)[workload % 2] if row.truth == "different noise" else SANDBOX


@dataclass(frozen=True, slots=True)
class Ended:
    """How one suite ended: minutes, whether any claim is false, whether any is made, and whether it came to its answer."""

    minutes: float
    false: bool
    claimed: bool
    resolved: bool = True


@dataclass(slots=True)
class Workload:
    """A workload of a simulated suite: its machine, its trials so far, what they say, and its next block.

    `judgement` is what the joint functions read of one.
    """

    machine: Machine
    spec: StudySpec
    levels: Sequence[float]
    trials: list[TrialSpeed] = field(default_factory=list)
    looked: int = 0
    decision: Decision | None = None
    judgement: Any = None
    block: Sequence[str] = ()
    is_over: bool = False
    orders: list[list[str]] = field(default_factory=list)

    def run_block(self, rng: np.random.Generator, clock: float) -> float:
        """Run the next block from a time on; return when it ends."""
        self.machine.clock = clock
        names, rules = self.spec.names, Rules.of(self.spec)
        order = block_order(int(rng.integers(2**31)), 1, self.block or names, before=self.orders)
        self.orders.append(order)
        for name in order:
            index = int(name[1:])
            self.trials.append(observe(rng, self.machine, index, self.levels[index]))
        if is_due(len(self.trials), self.looked):
            self.looked = len(self.trials)
            self.decision = decide_throughput(self.trials, names, names[0], rules)
            self.judgement = self._judge(self.decision)
        if len(names) > SIZE:  # right after the look, whose fit is still kept
            following = next_block(by_typical_speed(self.trials), names, names[0], rules, self.spec.until)
            self.block = [name for name in names if name in following]
        return self.machine.clock

    def _judge(self, decision: Decision) -> Any:
        counts = {name: sum(t.candidate == name for t in self.trials) for name in self.spec.names}
        verdict = SimpleNamespace(
            candidate=lambda name: SimpleNamespace(trials=counts[name], failed=0, state=CandidateState.TOO_CLOSE)
        )
        decided = decision.is_reached(self.spec.until, self.spec.baseline)
        return SimpleNamespace(fit=decision.fit, decided=decided, verdict=verdict, compared=())

    def claims(self) -> tuple[bool, bool]:
        """Return whether it claims of a candidate, against the baseline, what is not so; and whether it claims anything."""
        if self.decision is None or self.decision.fit is None:
            return False, False
        fit, base, needed = self.decision.fit, self.spec.baseline, Rules.of(self.spec).needed(self.decision.fit).worse
        others = [name for name in fit.names if name != base]
        better = [name for name in self.decision.better if name != base]
        worse = [name for name in others if is_enough(fit) and fit.difference(base, name).shows(needed)]
        true = {name: self.levels[int(name[1:])] - self.levels[0] for name in others}
        return any(true[name] <= 0 for name in better) or any(true[name] >= 0 for name in worse), bool(better or worse)


def begin(rng: np.random.Generator, row: Row, minutes: float, claims: int) -> tuple[SuitePlan, list[Workload]]:
    names = [f"c{index}" for index in range(row.candidates)]
    candidates = tuple(Candidate(name=name, server="simulated") for name in names)
    spec = StudySpec(candidates=candidates, baseline=names[0], minutes=minutes, claims=claims)
    members = [SuiteMember(name=f"w{one}", directory="", weight=1, options={}) for one in range(row.workloads)]
    about = {"title": "", "command": "", "started_in": "", "created": 0.0, "minutes": minutes, "confidence": 0.95}
    plan = SuitePlan(**about, worthwhile=0.01, until=Until.SAFE, members=members)
    true = levels(row)
    return plan, [Workload(world_of(row, one).begin(rng), spec, true[one]) for one in range(row.workloads)]


def suite(rng: np.random.Generator, row: Row, minutes: float) -> Ended:
    """Rounds of blocks, the joint decision and its end, as in a suite."""
    plan, workloads = begin(rng, row, minutes, row.workloads + 1)
    clock, false, claimed, reached = 0.0, False, False, False
    studies = [SuiteStudy(member, one.spec, None) for member, one in zip(plan.members, workloads, strict=True)]
    while not reached and clock < 60 * minutes and (running := [n for n, one in enumerate(workloads) if not one.is_over]):
        for number in running:
            one = workloads[number]
            clock = one.run_block(rng, clock)
            if one.looked == len(one.trials):  # else nothing is judged
                here = one.claims()
                false, claimed = false or here[0], claimed or here[1]
                studies[number] = replace(studies[number], judgement=one.judgement)
                one.is_over = is_decided(plan, one.spec, one.judgement) and not lacks_guard(plan, studies, studies[number])
                reached = is_reached(plan, studies)
                false = false or _mean_is_false(plan, studies, workloads)
            if reached or clock >= 60 * minutes:
                break
    return Ended(clock / 60, false, claimed, reached or all(one.is_over for one in workloads))


def _mean_is_false(plan: SuitePlan, studies: Sequence[SuiteStudy], workloads: Sequence[Workload]) -> bool:
    """Return whether the mean, or the guard of its choice, claims what is not so."""
    mean = decide_mean(plan, studies)
    if mean is None:
        return False
    true = np.mean([[level - one.levels[0] for level in one.levels] for one in workloads], axis=0)
    false = any(true[int(name[1:])] <= 0 for name in mean.better)
    if mean.choice not in (None, "c0"):
        kept = all(margin_under(plan, one.spec, one.judgement, mean.choice) is Margin.NOT_WORSE for one in studies)
        false |= kept and min(one.levels[int(mean.choice[1:])] - one.levels[0] for one in workloads) < -_MATTERS
    return false


def studies(rng: np.random.Generator, row: Row, minutes: float) -> Ended:
    """A study for each workload, one after the other, each at 95 % by itself."""
    _, workloads = begin(rng, row, minutes, 1)
    clock, false, claimed, resolved = 0.0, False, False, True
    for one in workloads:
        until = clock + 60 * minutes / row.workloads
        while clock < until and not (one.decision and one.decision.is_reached(Until.SAFE, "c0")):
            clock = one.run_block(rng, clock)
            here = one.claims()
            false, claimed = false or here[0], claimed or here[1]
        resolved = resolved and one.decision is not None and one.decision.is_reached(Until.SAFE, "c0")
    return Ended(clock / 60, false, claimed, resolved)


def runs(rng: np.random.Generator, row: Row, minutes: float) -> Ended:
    """One run of each candidate under each workload; a difference is claimed by Welch's t on the seconds."""
    _, workloads = begin(rng, row, minutes, 1)
    clock, false, claimed = 0.0, False, False
    for one in workloads:
        one.machine.clock = clock
        cells = [
            run(rng, one.machine, RUN_SECONDS, level, one.machine.world.habits(index)) for index, level in enumerate(one.levels)
        ]
        clock = one.machine.clock
        for cell, level in zip(cells[1:], one.levels[1:], strict=True):
            difference = float(cell.mean() - cells[0].mean())
            error = math.hypot(cell.std(ddof=1), cells[0].std(ddof=1)) / math.sqrt(RUN_SECONDS)
            if abs(difference) > float(stdtrit(RUN_SECONDS, 0.975)) * error:
                claimed = True
                false = false or difference * (level - one.levels[0]) <= 0
    return Ended(clock / 60, false, claimed)


DESIGNS = {"suite": suite, "studies": studies, "runs": runs}
ROWS = [
    Row(design, workloads, candidates, truth)
    for truth in ("all equal", "one differs", "opposite signs", "different noise")
    for workloads in (5, 20, 40)
    for candidates in (2, 7)
    for design in DESIGNS
]


def one_suite(row: Row, seed: int, number: int, minutes: float) -> Ended:
    return DESIGNS[row.design](np.random.default_rng([seed, number]), row, minutes * row.workloads)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suites", type=int, default=100, help="suites a row")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="only rows whose text holds this")
    parser.add_argument("--minutes", type=float, default=20, help="the budget of a suite, for each of its workloads")
    parser.add_argument("--results", type=Path, help="file to which each suite is added as it ends, and from which it is read")
    options = parser.parse_args()
    known = {line["suite"]: Ended(**line["ended"]) for line in lines(options.results)} if options.results else {}
    print(f"{options.suites} suites a row, {options.minutes:g} minutes for each workload; each rate with its 95 % interval.\n")
    titles = ("workloads", "candidates", "truth", "design", "minutes: median", "within the budget", "false claim", "any claim")
    print(f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}")
    with ProcessPoolExecutor(options.jobs) as pool:
        for row in ROWS:
            text = f"{row.workloads} {row.candidates} {row.truth}, {row.design}"
            if options.only not in text:
                continue
            names = [f"{text}: {options.seed}/{number}, {options.minutes:g} minutes" for number in range(options.suites)]
            tasks = {
                pool.submit(one_suite, row, options.seed, number, options.minutes): name
                for number, name in enumerate(names)
                if name not in known
            }
            for task in as_completed(tasks):
                known[tasks[task]] = ended = task.result()
                if options.results:
                    append(options.results, {"suite": tasks[task], "ended": asdict(ended)})
            print(line(row, [known[name] for name in names]), flush=True)


def line(row: Row, ended: Sequence[Ended]) -> str:
    shares: Mapping[str, int] = {what: sum(getattr(one, what) for one in ended) for what in ("resolved", "false", "claimed")}
    cells = [str(row.workloads), str(row.candidates), row.truth, row.design, f"{np.median([one.minutes for one in ended]):.0f}"]
    return f"| {' | '.join([*cells, *(rate(count, len(ended)) for count in shares.values())])} |"


if __name__ == "__main__":
    main()
