"""Prints, as a Markdown table, how often the verdict errs and how soon it comes, on simulated studies of known truth.

    python benchmarks/decide_rates.py [--studies 400] [--seed 1]

Each study is simulated second by second: correlated noise (lag-1 correlation drawn from 0.5 to 0.9), stalls of 3 to 8 s at 10
to 50 % of the speed, a change from restart to restart, and a slow wave of drift. Beside what is measured a trial takes 15 s.
Three machines: an ordinary one (seconds vary by 5 %, restarts by 1 %, six stalls an hour), a loud one (10 %, 2 %) and a steady
one (2 %, 0.3 %, no stalls). Every study looks at its data as dialin does, after 3, 4, 6, 8, 12 and 16 blocks and when its
budget ends; "6, then 12" is a budget of 6 blocks that was extended to 12. Errors are counted over all looks, as if none of them
had ended the study, which is harsher than what a user meets.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from dialin.model.verdict import CandidateState, Outcome
from dialin.stats.blocks import Observation
from dialin.stats.decide import Decision, decide
from dialin.stats.looks import allowance, is_look
from dialin.stats.series import window

ALPHA = 0.05
OVERHEAD_SECONDS = 15
WAVE_SECONDS = 7200


@dataclass(frozen=True, slots=True)
class Machine:
    """How unsteady a machine is: coefficients of variation, and stalls an hour."""

    name: str
    seconds_cv: float
    restart_sd: float
    stalls_an_hour: float


ORDINARY = Machine("ordinary", 0.05, 0.01, 6)
LOUD = Machine("loud", 0.10, 0.02, 6)
STEADY = Machine("steady", 0.02, 0.003, 0)


@dataclass(frozen=True, slots=True)
class World:
    """A truth, in relative levels, and how it is measured; `budgets` are blocks, each one after the first an extension."""

    title: str
    levels: tuple[float, ...]
    machine: Machine = ORDINARY
    measured: int = 20
    worthwhile: float = 0.01
    drift_an_hour: float = 0.05
    failing: float = 0.0
    unsteady_last: float = 1.0
    budgets: tuple[int, ...] = (16,)


COLUMNS = (
    "truth",
    "candidates",
    "machine, trial",
    "blocks",
    "noise of a trial",
    "false difference",
    "false equality",
    "some interval misses",
    "verdict",
    "right verdict",
    "blocks to it",
)


def equal(count: int) -> tuple[float, ...]:
    return (1.0,) * count


WORLDS = (
    World("all equal", equal(2)),
    World("all equal", equal(3)),
    World("all equal", equal(7)),
    World("all equal", equal(7), LOUD),
    World("all equal", equal(7), STEADY),
    World("all equal, drift 20 %/h", equal(7), drift_an_hour=0.20),
    World("all equal, one trial in ten fails", equal(7), failing=0.1),
    World("all equal, one candidate five times noisier", equal(7), unsteady_last=5.0),
    World("all equal, worthwhile 2 %", equal(3), STEADY, worthwhile=0.02),
    World("one better by 10 %", (*equal(1), 1.10)),
    World("one better by 10 %", (*equal(6), 1.10)),
    World("one better by 10 %", (*equal(6), 1.10), measured=60),
    World("one better by 10 %", (*equal(6), 1.10), STEADY),
    World("one better by 3 %", (*equal(6), 1.03), measured=60),
    World("one better by 3 %", (*equal(6), 1.03), STEADY),
    World("one better by 2.01 %, worthwhile 2 %", (1.0, 1.0201), STEADY, worthwhile=0.02),
    World("all equal", equal(2), budgets=(6,)),
    World("all equal", equal(3), budgets=(6,)),
    World("all equal", equal(2), budgets=(6, 12)),
    World("one better by 10 %", (*equal(2), 1.10), budgets=(6,)),
    World("one better by 10 %", (*equal(2), 1.10), budgets=(6, 12)),
    World("one better by 10 %", (*equal(2), 1.10), budgets=(12,)),
    World("one better by 5 %", (*equal(2), 1.05), measured=60, budgets=(6,)),
    World("one better by 5 %", (*equal(2), 1.05), measured=60, budgets=(6, 12)),
    World("one better by 5 %", (*equal(2), 1.05), measured=60, budgets=(12,)),
)


def trial_seconds(rng: np.random.Generator, machine: Machine, seconds: int, mean: float, cv: float) -> NDArray[np.float64]:
    correlation = rng.uniform(0.5, 0.9)
    shocks = rng.normal(size=30 + seconds) * math.sqrt(1 - correlation**2)
    speed = mean * (1 + cv * lfilter([1], [1, -correlation], shocks)[30:])
    for _ in range(rng.poisson(machine.stalls_an_hour * seconds / 3600)):
        begin = int(rng.integers(seconds))
        speed[begin : begin + int(rng.integers(3, 9))] *= rng.uniform(0.1, 0.5)
    return np.maximum(speed, 0.0)


def simulate(rng: np.random.Generator, world: World) -> list[list[Observation]]:
    """Return the trials of a study, block by block."""
    amplitude = world.drift_an_hour * math.sqrt(2) * WAVE_SECONDS / 3600 / (2 * math.pi)
    phase, clock = rng.uniform(0, 2 * math.pi), 0
    seen: list[list[Observation]] = [[] for _ in range(world.budgets[-1])]
    for block in range(len(seen)):
        for index in rng.permutation(len(world.levels)):
            clock += world.measured + OVERHEAD_SECONDS
            if rng.uniform() < world.failing:
                continue
            noisier = world.unsteady_last if index == len(world.levels) - 1 else 1.0
            drift = amplitude * math.sin(phase + 2 * math.pi * clock / WAVE_SECONDS)
            level = world.levels[index] * math.exp(drift + rng.normal(scale=world.machine.restart_sd * noisier))
            tps = trial_seconds(rng, world.machine, world.measured, 1000 * level, world.machine.seconds_cv * noisier)
            seen[block].append(Observation(block, f"c{index}", window(tps.tolist()).location))
    return seen


def looks(seen: list[list[Observation]], world: World) -> Iterator[tuple[int, Decision]]:
    names = [f"c{index}" for index in range(len(world.levels))]
    spent = 0.0
    for before, end in zip((0, *world.budgets), world.budgets, strict=False):
        for blocks in range(before + 1, end + 1):
            if not is_look(blocks) and blocks != end:
                continue
            alpha = allowance(spent, ALPHA, blocks / end, last=blocks == end)
            spent += alpha
            so_far = [one for block in seen[:blocks] for one in block]
            yield blocks, decide(so_far, names, "c0", alpha=alpha, worthwhile=world.worthwhile)


def errs(found: Decision, world: World) -> tuple[bool, bool, bool]:
    """Tell whether a look claims a difference that is not so, an equality that is not so, or misses a true ratio."""
    level = dict(zip(found.states, world.levels, strict=True))
    best = max(level.values())
    different = any(state is CandidateState.LOSES and level[name] == best for name, state in found.states.items())
    same = found.outcome is Outcome.NO_WORTHWHILE_DIFFERENCE and best / min(level.values()) > 1 + world.worthwhile
    missed = any(
        ratio is not None
        and ratio.low is not None
        and ratio.high is not None
        and not ratio.low <= level[name] / level["c0"] <= ratio.high
        for name, ratio in found.ratios.items()
    )
    return different, same, missed


def right(found: Decision, world: World) -> bool:
    """Tell whether a verdict is the truth's: the best candidate alone, or no difference."""
    names, best = list(found.states), max(world.levels)
    if min(world.levels) == best:
        return found.outcome is Outcome.NO_WORTHWHILE_DIFFERENCE
    return found.winners == (names[world.levels.index(best)],)


def row(world: World, studies: int, rng: np.random.Generator) -> str:
    errors, verdicts, truths, blocks_to_verdict, noise = np.zeros(3), 0, 0, [], []
    for _ in range(studies):
        history = list(looks(simulate(rng, world), world))
        errors += np.any([errs(found, world) for _, found in history], axis=0)
        noise.append(history[-1][1].sd or 0.0)
        ended = next(((blocks, one) for blocks, one in history if one.outcome is not Outcome.UNRESOLVED), None)
        if ended:
            verdicts += 1
            truths += right(ended[1], world)
            blocks_to_verdict.append(ended[0])
    different, same, missed = (f"{share:.1%}" for share in errors / studies)
    cells = [
        world.title,
        len(world.levels),
        f"{world.machine.name}, {world.measured} s",
        ", then ".join(map(str, world.budgets)),
        f"{np.median(noise):.1%}",
        different,
        same if max(world.levels) / min(world.levels) > 1 + world.worthwhile else "-",
        missed,
        f"{verdicts / studies:.0%}",
        f"{truths / studies:.0%}",
        f"{np.median(blocks_to_verdict):.0f}" if blocks_to_verdict else "-",
    ]
    return f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(f"{options.studies} studies a row, confidence {1 - ALPHA:.0%}.\n")
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for number, world in enumerate(WORLDS):
        print(row(world, options.studies, np.random.default_rng([options.seed, number])), flush=True)


if __name__ == "__main__":
    main()
