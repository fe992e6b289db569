"""Prints, as a Markdown table, how long the published grid and dialin take to find the best of seven, and how often they err.

    python benchmarks/decide.py [--studies 400] [--seed 1] [--jobs 2] [--only TEXT]

Each study is simulated second by second (benchmarks/world.py) and judged by the functions that a real study calls. The grid
runs each value once for 10,000 s, one after the other, and compares means by their seconds, as it is published. dialin runs
blocks, gives trials to the contenders and stops as `dialin sweep` does, with a budget of 240 minutes.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

import numpy as np
from bound import trials_to_choose, trials_to_show_better
from scipy.special import betaincinv, stdtrit
from world import BEST, DYNAMIC, LEVELS, RESTART, Machine, World, observe, run, truth

from dialin.model.study import Until
from dialin.model.verdict import AgainstBest, Estimate, Outcome
from dialin.question.plan import block_order
from dialin.stats.allocation import next_block
from dialin.stats.blocks import Observation, fit
from dialin.stats.decide import Decision, Rules
from dialin.stats.intervals import stall_seconds_per_1000, typical
from dialin.stats.standings import Failures, is_due, unsafe
from dialin.stats.throughput import TrialSpeed, by_typical_speed, decide_throughput

RULES = Rules(worthwhile=0.01, confidence=0.95)
"""What `dialin sweep` decides by where nothing else is asked for."""
GRID_SECONDS = 10_000
BUDGET = 240 * 60
CONFIRMING_BLOCKS = 6


@dataclass(frozen=True, slots=True)
class Ended:
    """How one study ended.

    Attributes:
        minutes: of machine time.
        right: whether the throughput of the value it chose is within 1 % of the best one's, unsafe candidates left out.
        false: whether it claimed a difference that is not so.
        claimed: whether it claimed any difference.
        resolved: whether it came to a choice within its budget; else the value that leads counts as chosen.
        missed: for each kind of interval, how many were printed and how many missed the truth.
        equal: whether it claimed that nothing differs where something does by more than 1 %.
        noise: standard deviation of a trial within its block, as the verdict prints it.
        unsafe: whether it chose a candidate whose server failed more often than the baseline's.
        left: whether it chose another candidate than the baseline.
    """

    minutes: float
    right: bool
    false: bool
    claimed: bool
    resolved: bool = True
    missed: dict[str, tuple[int, int]] = field(default_factory=dict)
    equal: bool = False
    noise: float | None = None
    unsafe: bool = False
    left: bool = False

    @property
    def some_missed(self) -> bool:
        """Whether any ratio to the baseline lies outside its interval; they hold together."""
        return self.missed.get("ratio to the baseline", (0, 0))[1] > 0


@dataclass(frozen=True, slots=True)
class Row:
    """A design in a world; `failing` is the share of trials that fail, `crashing` that of the best candidate's trials."""

    design: str
    world: World
    shape: str
    difference: float
    until: Until = Until.SAFE
    failing: float = 0.0
    crashing: float = 0.0


def grid(rng: np.random.Generator, row: Row) -> Ended:
    """One long run for each value, in order; a difference is claimed by Welch's t on the seconds, as a chart invites to."""
    world, levels = row.world, LEVELS[row.shape](row.difference)
    machine = world.begin(rng)
    runs = [run(rng, machine, GRID_SECONDS, level, world.habits(index)) for index, level in enumerate(levels)]
    means = np.array([run.mean() for run in runs])
    errors = np.array([run.std(ddof=1) / math.sqrt(run.size) for run in runs])
    claims = [
        (i, j)
        for i in range(len(runs))
        for j in range(len(runs))
        if (means[i] - means[j]) / math.hypot(errors[i], errors[j]) > float(stdtrit(GRID_SECONDS, 0.975))
    ]
    false = any(levels[i] <= levels[j] for i, j in claims)
    right = levels[int(means.argmax())] >= max(levels) - _MATTERS
    return Ended(machine.clock / 60, right, false, bool(claims))


def dialin(rng: np.random.Generator, row: Row) -> Ended:
    """Blocks of contenders, looks and stopping as in a study."""
    world, levels = row.world, LEVELS[row.shape](row.difference)
    names = [f"c{index}" for index in range(len(levels))]
    machine = world.begin(rng)
    true = [level + truth(world, machine.correlation, world.habits(i)).cost for i, level in enumerate(levels)]
    failures = dict.fromkeys(names, Failures(0, 0))
    trials: list[TrialSpeed] = []
    block, looked, false, claimed = list(names), 0, False, False
    seed, orders = int(rng.integers(2**31)), list[list[str]]()
    while True:
        orders.append(block_order(seed, len(orders) + 1, block, before=orders))
        for name in orders[-1]:
            index = names.index(name)
            trial = observe(rng, machine, index, levels[index])
            fails = rng.random() < max(row.failing, row.crashing if index == BEST else 0.0)
            failures[name] = Failures(failures[name].failed + fails, failures[name].trials + 1)
            trials += [] if fails else [trial]
        out = unsafe(failures, names[0])
        safe = [name for name in names if name not in out]
        compared = [trial for trial in trials if trial.candidate in safe]
        block = list(next_block(by_typical_speed(compared), safe, names[0], RULES, row.until))
        over = machine.clock + len(block) * world.trial_seconds > BUDGET
        if over or is_due(len(trials), looked):
            looked = len(trials)
            decision = decide_throughput(compared, safe, names[0], RULES)
            shown = {name: true[names.index(name)] for name in safe}
            here = claims(decision, shown, names[0])
            false, claimed = false or here[0], claimed or here[1]
            if over or decision.is_reached(row.until, names[0]):
                break
    chosen = decision.choice or (decision.leader if decision.leader in safe else None) or names[0]
    missed = misses(decision, shown, names[0], machine)
    minutes, resolved = machine.clock / 60, decision.is_reached(row.until, names[0])
    if chosen != names[0]:
        missed["confirmed gain"] = confirm(rng, machine, levels, true, names.index(chosen))
    equal = decision.outcome is Outcome.NO_WORTHWHILE_DIFFERENCE and max(shown.values()) > min(shown.values()) + _MATTERS
    right = shown[chosen] >= max(shown.values()) - _MATTERS
    left = decision.choice not in (None, names[0])
    return Ended(minutes, right, false, claimed, resolved, missed, equal, decision.sd, chosen in out, left)


_MATTERS = math.log1p(RULES.worthwhile) + 1e-9


def claims(decision: Decision, true: Mapping[str, float], baseline: str, matters: float = _MATTERS) -> tuple[bool, bool]:
    """Return whether a decision claims what is not so, and whether it claims any difference.

    Args:
        decision: what the trials say.
        true: throughput of the candidates compared, log scale.
        baseline: the candidate that ratios are taken to.
        matters: the smallest difference that does, on the log scale.
    """
    top = max(true.values())
    losing = [name for name, state in decision.states.items() if state is AgainstBest.LOSES]
    false = any(true[name] >= top for name in losing)
    false |= any(true[name] <= true[baseline] for name in decision.better)
    if decision.choice is not None:
        false |= decision.shown_best and true[decision.choice] < top - matters
    false |= any(true[name] < top - matters for name in decision.winners)
    return false, bool(losing or decision.better)


def misses(decision: Decision, true: Mapping[str, float], baseline: str, machine: Machine) -> dict[str, tuple[int, int]]:
    """Count the intervals of each kind that the verdict prints, and those that miss the truth; see `claims`."""
    longest = max((length for own in machine.windows.values() for w in own for length in w.stall_lengths), default=0)
    counted: dict[str, tuple[int, int]] = {}

    def count(kind: str, estimate: Estimate | None, true: float) -> None:
        if estimate is None or estimate.low is None or estimate.high is None:
            return
        printed, missed = counted.get(kind, (0, 0))
        counted[kind] = printed + 1, missed + (not estimate.low <= true <= estimate.high)

    for name, level in true.items():
        own, alpha = machine.windows[name], 1 - RULES.confidence
        usual = truth(machine.world, machine.correlation, machine.world.habits(int(name[1:])))
        if name != baseline:
            count("ratio to the baseline", decision.ratios[name], math.exp(level - true[baseline]))
        if name == decision.choice and name != baseline:
            count("ratio of the choice", decision.ratios[name], math.exp(level - true[baseline]))
        throughput = 1000 * math.exp(level + float(np.mean(machine.drifts)))
        count("throughput", decision.levels[name], throughput)
        if name == decision.choice:
            count("throughput of the choice", decision.levels[name], throughput)
        count("variation", typical([w.cv for w in own], alpha), usual.cv)
        lengths = [length for w in own for length in w.stall_lengths]
        count("stalls", stall_seconds_per_1000(lengths, sum(w.seconds for w in own), longest, alpha), 1000 * usual.stalled)
    return counted


def confirm(
    rng: np.random.Generator, machine: Machine, levels: Sequence[float], true: Sequence[float], chosen: int
) -> tuple[int, int]:
    """Measure the choice afresh against the baseline; return one interval, and whether it misses the truth."""
    fresh = [
        Observation(block, f"c{index}", observe(rng, machine, index, levels[index]).mean)
        for block in range(CONFIRMING_BLOCKS)
        for index in ((chosen, 0) if block % 2 else (0, chosen))
    ]
    found = fit(fresh, (f"c{chosen}", "c0"))
    gain = found.ratio(f"c{chosen}", "c0", 1 - RULES.confidence) if found else None
    inside = gain and gain.low is not None and gain.high is not None
    return 1, int(not inside or not gain.low <= math.exp(true[chosen] - true[0]) <= gain.high)


def bound_minutes(row: Row) -> float | None:
    """Return the minutes that any method would take on average for what a row asks (benchmarks/bound.py).

    None where nothing bounds it: no candidate is better than the baseline, or trials fail, which the bound knows nothing of.
    """
    if row.design == "grid" or row.failing or row.crashing:
        return None
    levels = LEVELS[row.shape](row.difference)
    minutes = []
    for correlation in row.world.correlations:
        usual = [truth(row.world, correlation, row.world.habits(index)) for index in range(len(levels))]
        noise, true = [one.noise for one in usual], [level + one.cost for level, one in zip(levels, usual, strict=True)]
        if row.until is Until.BETTER:
            trials = trials_to_show_better(true, noise) if row.difference else None
        else:
            trials = trials_to_choose(true, noise, _MATTERS)
        if trials is None:
            return None
        minutes.append(trials * row.world.trial_seconds / 60)
    return float(np.mean(minutes))


DESIGNS = {"grid": grid, "dialin": dialin}
TRUTHS = (
    *(("one", difference) for difference in (0.0, 0.01, 0.015, 0.02, 0.03, 0.10)),
    *(("graded", difference) for difference in (0.01, 0.03, 0.10)),
)
BACK_AND_FORTH = World(
    "SET back and forth under one load (2 s to switch, 10 s measured)", switch=2.0, measured=10, restart=0.001
)
SANDBOX = World("SET, a sandbox on small data (6 s to switch, 30 s measured)", switch=6.0, measured=30, restart=0.003)
REBOOT = World("restart, a sandbox on small data (8 s to switch)", switch=8.0)
UNEVEN = World("restart, one candidate three times noisier", uneven=3.0)
ERRATIC = World("restart, one candidate five times noisier", uneven=5.0)
QUIET = World("restart, quiet machine", cv=0.025, restart=0.005)
LOUD = World("restart, loud machine", cv=0.10, restart=0.02)
DRIFTING = World("restart, drift 20 %/h", drift=0.20)
HEAVY = World("restart, heavy-tailed seconds", heavy=0.05)
JUMPING = World("restart, the machine's level jumps once an hour by 5 %", jumps=1.0, step=0.05)
STALLING = World("restart, the best in typical speed stalls ten times as often", stalls_of_best=60.0)
ROWS = (
    *(Row("grid", RESTART, shape, d) for shape, d in TRUTHS),
    *(Row("dialin", RESTART, shape, d) for shape, d in TRUTHS),
    *(Row("dialin", DYNAMIC, shape, d) for shape, d in TRUTHS),
    *(Row("dialin", world, "two", 0.03) for world in (RESTART, DYNAMIC)),
    *(Row("dialin", RESTART, "one", d, until=until) for until in (Until.BETTER, Until.BEST) for d in (0.0, 0.03, 0.10)),
    *(Row("dialin", DYNAMIC, "one", d, until=Until.BEST) for d in (0.03, 0.10)),
    *(Row("dialin", RESTART, "two", 0.03, until=until) for until in (Until.BETTER, Until.BEST)),
    *(Row("dialin", world, shape, d) for world in (REBOOT, SANDBOX) for shape, d in TRUTHS[:6]),
    *(Row("dialin", world, "one", d) for world in (UNEVEN, QUIET, LOUD, DRIFTING, HEAVY, JUMPING) for d in (0.0, 0.03, 0.10)),
    *(Row("dialin", ERRATIC, "one", d) for d in (0.0, 0.03)),
    *(
        Row("dialin", w, "pair", 0.03, until=until)
        for w in (DYNAMIC, SANDBOX, BACK_AND_FORTH)
        for until in (Until.SAFE, Until.BEST)
    ),
    *(Row("dialin", RESTART, "one", d, failing=0.1) for d in (0.0, 0.10)),
    *(Row("dialin", RESTART, "one", 0.10, crashing=share) for share in (0.1, 0.5)),
    *(Row("dialin", STALLING, "one", d) for d in (0.0, 0.03, 0.10)),
)
SHAPES = {"two": "two better by", "graded": "graded,", "pair": "two candidates, one better by"}
COLUMNS = (
    "design",
    "world",
    "truth",
    "minutes: median",
    "P90",
    "median / bound",
    "within the budget",
    "right choice",
    "false claim",
    "any claim",
    "false equality",
    "some ratio misses",
    "unsafe choice",
    "leaves the baseline",
    "noise of a trial",
)


def study(row: Row, seed: int, number: int) -> Ended:
    return DESIGNS[row.design](np.random.default_rng([seed, number]), row)


def rate(count: int, of: int) -> str:
    """Return a share with its 95 % interval (Clopper and Pearson)."""
    low = float(betaincinv(count, of - count + 1, 0.025)) if count else 0.0
    high = float(betaincinv(count + 1, of - count, 0.975)) if count < of else 1.0
    return f"{count / of:.1%} ({low:.1%} to {high:.1%})"


def line(row: Row, ended: Sequence[Ended]) -> str:
    minutes = [one.minutes for one in ended]
    true = f"{row.shape} better by {100 * row.difference:g}%" if row.difference else "all equal"
    noise = [one.noise for one in ended if one.noise is not None]
    cells = [
        row.design if row.until is Until.SAFE else f"{row.design} --until {row.until}",
        row.world.name
        + (f", {row.failing:.0%} of trials fail" if row.failing else "")
        + (f", {row.crashing:.0%} of the best one's trials crash" if row.crashing else ""),
        true if row.shape == "one" or not row.difference else f"{SHAPES[row.shape]} {100 * row.difference:g}%",
        f"{np.median(minutes):.0f}",
        f"{np.quantile(minutes, 0.9):.0f}",
        f"{np.median(minutes) / bound:.1f}" if (bound := bound_minutes(row)) else "-",
        *(rate(sum(getattr(one, what) for one in ended), len(ended)) for what in ("resolved", "right", "false", "claimed")),
        *(
            rate(sum(getattr(one, what) for one in ended), len(ended)) if noise else "-"
            for what in ("equal", "some_missed", "unsafe", "left")
        ),
        f"{np.median(noise):.1%}" if noise else "-",
    ]
    return f"| {' | '.join(cells)} |"


def coverage(every: Sequence[Ended]) -> list[str]:
    kinds = list(dict.fromkeys(kind for one in every for kind in one.missed))
    found = []
    for kind in kinds:
        printed = sum(one.missed.get(kind, (0, 0))[0] for one in every)
        missed = sum(one.missed.get(kind, (0, 0))[1] for one in every)
        found.append(f"| {kind} | {printed:,} | {1 - missed / printed:.1%} |")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=400, help="studies a row")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="", help="only rows whose text holds this")
    options = parser.parse_args()
    print(f"{options.studies} studies a row; each rate with its 95 % interval.\n")
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    covered: dict[str, list[Ended]] = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        for row in ROWS:
            if options.only not in f"{row} {row.world.name}":
                continue
            tasks = [pool.submit(study, row, options.seed, number) for number in range(options.studies)]
            ended = [task.result() for task in tasks]
            print(line(row, ended), flush=True)
            if row.design != "grid":
                covered.setdefault(row.world.name, []).extend(ended)
    for world, ended in covered.items():
        print(f"\nIntervals printed, {world}, {len(ended):,} studies:\n")
        print("| interval | printed | covers the truth |\n|---|---|---|")
        print("\n".join(coverage(ended)), flush=True)


if __name__ == "__main__":
    main()
