"""Prints, as a Markdown table, what `tune` finds and proves on simulated servers, and how often it errs.

    python benchmarks/tune.py [--surfaces 20] [--first 1000] [--minutes 60 120] [--gains 0.4 0.7 0] [--methods dialin random]
        [--worlds few] [--choose 8] [--jobs 1]

The servers are those of benchmarks/surfaces.py; each surface and session has its number as seed. dialin is asked and told
as by a study, its proof included in the budget. Random search, TPE and SMAC have the same budget, trials of 30 s and the known
memory formula, and recommend the trial with the highest throughput, as is usual. TPE needs Optuna and SMAC smac, which
dialin does not (benchmarks/results/tune.md). What is missing is left out, and said. With `--worlds many`
thirty variables carry 0 to 1.5 % each, 9 % together; with `interacting` seventeen do, ten of them in pairs. With `--choose`,
dialin takes only so many variables, ranked as without names: first those of rules, then by what they carry, known to a factor
of 4.5.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import math
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
from surfaces import Machine, Surface, make_additive_surface, make_surface

from dialin.model.dimension import Dimension
from dialin.model.setting import Value, same_value
from dialin.model.verdict import TuneOutcome
from dialin.search.constraints import Constraints
from dialin.search.space import Space
from dialin.search.trial_records import Options, TrialOutcome
from dialin.search.tuner import Tuner

SECONDS = 30.0
"""Measured in a trial of random search, TPE and SMAC."""
USELESS = 0.003
"""A recommended variable is useless if its default would cost less than this, on the log scale."""
WORSE = -0.01


@dataclass(frozen=True, slots=True)
class Ended:
    """How one session ended; gains are on the log scale.

    Attributes:
        true: of the recommended setting.
        claimed: what the session says of it; None where it claims no gain.
        interval: of the claim; None where there is none.
        useless: how many recommended variables carry next to nothing.
        cpu: seconds that the method took, without the simulation.
    """

    true: float
    claimed: float | None
    interval: tuple[float, float] | None
    useless: int
    changed: int
    crashes: int
    trials: int
    cpu: float


def ended(
    surface: Surface,
    machine: Machine,
    setting: Mapping[str, Value],
    claimed: float | None,
    interval: tuple[float, float] | None,
    cpu: float,
) -> Ended:
    true = surface.log_throughput(setting)
    without = [{name: value for name, value in setting.items() if name != one} for one in setting]
    useless = sum(true - surface.log_throughput(one) < USELESS for one in without)
    return Ended(true, claimed, interval, useless, len(setting), machine.crashes, machine.trials, cpu)


def dialin(surface: Surface, minutes: float, seed: int, choose: int | None = None) -> Ended:
    machine = Machine(surface, seed)
    begun, simulated = time.process_time(), 0.0
    space, constraints = chosen(surface, seed, choose or len(surface.space))
    tuner = Tuner(space, constraints, Options(minutes), seed)
    while (ask := tuner.ask()) is not None:
        before = time.process_time()
        ok, throughput, cost = machine.run(ask.setting, ask.seconds)
        simulated += time.process_time() - before
        tuner.tell(TrialOutcome(ask, ok, throughput, machine.life, cost))
    result = tuner.result()
    cpu = time.process_time() - begun - simulated
    if machine.clock > 60 * minutes:
        raise AssertionError("the budget was exceeded")
    gain = result.gain
    shown = result.outcome is TuneOutcome.GAIN and gain is not None and gain.low is not None and gain.high is not None
    if not shown:
        return ended(surface, machine, result.setting, None, None, cpu)
    interval = math.log(gain.low), math.log(gain.high)
    return ended(surface, machine, result.setting, math.log(gain.mean), interval, cpu)


def chosen(surface: Surface, seed: int, count: int) -> tuple[Space, Constraints]:
    """Return the space of the first variables in an imperfect order of importance, and what is known of its memory."""
    rng, best = np.random.default_rng([seed, 5]), surface.log_throughput(surface.best)

    def rank(one: Dimension) -> tuple[bool, float]:
        without = {name: value for name, value in surface.best.items() if name != one.name}
        carries = best - surface.log_throughput(without) + 1e-4
        return one.rule is None or same_value(one.rule, one.default), -carries * math.exp(rng.normal(scale=1.5))

    ranks = {one.name: rank(one) for one in surface.space.dimensions}
    taken = sorted(surface.space.dimensions, key=lambda one: ranks[one.name])[:count]
    memory = surface.constraints.memory
    if memory is not None:
        names = {one.name for one in taken}
        outside = sum(f * float(surface.space.defaults[name]) for name, f in memory.factors.items() if name not in names)
        inside = {name: f for name, f in memory.factors.items() if name in names}
        memory = replace(memory, constant=memory.constant + outside, factors=inside)
    return Space(tuple(taken) if count < len(surface.space) else surface.space.dimensions), Constraints(memory=memory)


def random_search(surface: Surface, minutes: float, seed: int) -> Ended:
    """Each variable at its default with probability one half, else anywhere; the memory formula is obeyed."""
    rng, space = np.random.default_rng([seed, 9]), surface.space

    def suggest() -> dict[str, Value]:
        moves = rng.random(len(space)) < 0.5
        return space.setting(np.where(moves, space.random_points(1, rng)[0], space.default_point))

    return _luckiest(surface, minutes, seed, suggest, lambda _throughput: None)


def tpe(surface: Surface, minutes: float, seed: int) -> Ended:
    """Optuna's TPE as it comes; special values are numbers at the end of the axis, a crash is a failed trial."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    study.enqueue_trial({one.name: _coordinate(surface, index) for index, one in enumerate(surface.space.dimensions)})
    asked = []

    def suggest() -> dict[str, Value]:
        trial = study.ask()
        asked.append(trial)
        point = surface.space.default_point
        for index, one in enumerate(surface.space.dimensions):
            if one.values:
                point[index] = 2.0 + trial.suggest_categorical(one.name, list(range(len(one.values))))
            else:
                low = -0.15 if one.special else 0.0
                drawn = trial.suggest_float(one.name, low, 1.0)
                point[index] = drawn if drawn >= 0 else 2.0
        return surface.space.setting(point)

    def learn(throughput: float | None) -> None:
        state = optuna.trial.TrialState.FAIL if throughput is None else optuna.trial.TrialState.COMPLETE
        study.tell(asked[-1], throughput, state=state)

    return _luckiest(surface, minutes, seed, suggest, learn)


def smac(surface: Surface, minutes: float, seed: int) -> Ended:
    """SMAC's random forest as it comes; special values and crashes as for TPE."""
    from ConfigSpace import CategoricalHyperparameter, ConfigurationSpace, UniformFloatHyperparameter
    from smac import HyperparameterOptimizationFacade, Scenario
    from smac.runhistory.dataclasses import TrialValue
    from smac.runhistory.enumerations import StatusType

    space = ConfigurationSpace(seed=seed)
    for index, one in enumerate(surface.space.dimensions):
        at = _coordinate(surface, index)
        if one.values:
            space.add(CategoricalHyperparameter(one.name, list(range(len(one.values))), default_value=at))
        else:
            low = -0.15 if one.special else 0.0
            space.add(UniformFloatHyperparameter(one.name, low, 1.0, default_value=at))
    with tempfile.TemporaryDirectory() as folder:
        scenario = Scenario(
            space,
            deterministic=True,
            n_trials=int(2 * minutes),
            seed=seed,
            use_default_config=True,
            output_directory=Path(folder),
        )
        facade = HyperparameterOptimizationFacade(
            scenario, lambda _config, seed=0: 0.0 * seed, logging_level=False, overwrite=True
        )
        asked = []

        def suggest() -> dict[str, Value]:
            trial = facade.ask()
            asked.append(trial)
            point = surface.space.default_point
            for index, one in enumerate(surface.space.dimensions):
                drawn = float(trial.config[one.name])
                point[index] = 2.0 + drawn if one.values else drawn if drawn >= 0 else 2.0
            return surface.space.setting(point)

        def learn(throughput: float | None) -> None:
            status = StatusType.CRASHED if throughput is None else StatusType.SUCCESS
            cost = 1.0 if throughput is None else 1 / throughput  # SMAC takes the logarithm
            facade.tell(asked[-1], TrialValue(cost=cost, status=status))

        return _luckiest(surface, minutes, seed, suggest, learn)


def _coordinate(surface: Surface, index: int) -> float | int:
    position = float(surface.space.default_point[index])
    if surface.space.dimensions[index].values:
        return int(position - 2)
    return position if position < 2 else -0.1


def _luckiest(
    surface: Surface,
    minutes: float,
    seed: int,
    suggest: Callable[[], dict[str, Value]],
    learn: Callable[[float | None], None],
) -> Ended:
    """Run trials until the budget is over, and recommend the one of the highest throughput, compared with the first."""
    machine, begun, simulated = Machine(surface, seed), time.process_time(), 0.0
    _, baseline, _ = machine.run({}, SECONDS)
    best: tuple[float, dict[str, Value]] = (baseline, {})
    while machine.clock + SECONDS + 60 <= 60 * minutes:
        setting = surface.constraints.repaired(surface.space, suggest())
        before = time.process_time()
        ok, throughput, _ = machine.run(setting, SECONDS)
        simulated += time.process_time() - before
        learn(throughput if ok else None)
        best = max(best, (throughput, setting), key=lambda one: one[0]) if ok else best
    cpu = time.process_time() - begun - simulated
    claimed = math.log(best[0] / baseline) if best[1] and baseline else None
    return ended(surface, machine, best[1], claimed, None, cpu)


METHODS: dict[str, Callable[[Surface, float, int], Ended]] = {
    "dialin": dialin,
    "random": random_search,
    "tpe": tpe,
    "smac": smac,
}
NEEDS = {"tpe": "optuna", "smac": "smac"}
"""The package that a method needs."""
COLUMNS = (
    "method", "best log gain", "minutes", "true gain: median", "P10", "claims a gain", "false claims",
    "claim too high by, median", "interval covers", "half-width, median", "changed", "useless", "worse than the baseline",
    "crashes", "trials", "CPU s",
)  # fmt: skip


WORLDS: dict[str, Callable[..., Surface]] = {
    "few": make_surface,
    "many": lambda seed, **_: make_additive_surface(seed, count=30, gain=math.log(1.09), most=0.015),
    "interacting": lambda seed, gain, **_: make_additive_surface(seed, count=17, gain=gain, most=gain, interacting=10),
}
"""Servers by what their variables do: few act on resources, thirty carry a little each, ten of seventeen interact."""


def session(world: str, method: str, minutes: float, seed: int, choose: int | None = None, **surface: Any) -> Ended:
    made = WORLDS[world](seed, **surface)
    return dialin(made, minutes, seed, choose) if method == "dialin" else METHODS[method](made, minutes, seed)


def row(method: str, gain: float, minutes: float, sessions: list[Ended]) -> list[str]:
    """Return the cells of one row; a claim is false where its interval lies above 0 and the truth does not exceed 0.005."""
    claims = [one for one in sessions if one.claimed is not None]
    false = [one for one in claims if one.true <= 0.005]
    covered = [one.interval[0] <= one.true <= one.interval[1] for one in claims if one.interval]
    halves = [(one.interval[1] - one.interval[0]) / 2 for one in claims if one.interval]
    return [
        method,
        f"{gain:g}",
        f"{minutes:g}",
        f"{median(one.true for one in sessions):.3f}",
        f"{np.quantile([one.true for one in sessions], 0.1):.3f}",
        f"{len(claims)} of {len(sessions)}",
        f"{len(false)} of {len(sessions)}",
        f"{100 * median(one.claimed - one.true for one in claims):+.1f}%" if claims else "-",
        f"{sum(covered)} of {len(covered)}" if covered else "-",
        f"{100 * median(halves):.1f}%" if halves else "-",
        f"{fmean(one.changed for one in sessions):.1f}",
        f"{fmean(one.useless for one in sessions):.1f}",
        f"{sum(one.true < WORSE for one in sessions)} of {len(sessions)}",
        f"{fmean(one.crashes for one in sessions):.2f}",
        f"{fmean(one.trials for one in sessions):.0f}",
        f"{fmean(one.cpu for one in sessions):.1f}",
    ]


def main() -> None:
    """Print the table, a row as soon as its sessions ended."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--surfaces", type=int, default=20)
    parser.add_argument("--first", type=int, default=1000, help="seed of the first surface")
    parser.add_argument("--minutes", type=float, nargs="+", default=[60.0, 120.0])
    parser.add_argument("--gains", type=float, nargs="+", default=[0.4, 0.7, 0.0])
    parser.add_argument("--worlds", choices=list(WORLDS), default="few", help="what the variables of the servers do")
    parser.add_argument("--choose", type=int, help="variables that dialin takes; default all")
    parser.add_argument("--variables", type=int, default=20)
    parser.add_argument("--easy", action="store_true", help="a third of the variables act, and resources limit less sharply")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=["dialin", "random", "tpe", "smac"])
    parser.add_argument("--jobs", type=int, default=1, help="sessions at a time")
    asked = parser.parse_args()
    missing = {name: needed for name, needed in NEEDS.items() if not importlib.util.find_spec(needed)}
    methods = [name for name in asked.methods if name not in missing]
    for name in sorted(set(asked.methods) - set(methods)):
        print(f"{name} is left out: {missing[name]} is not installed", file=sys.stderr)
    kind = "easy" if asked.easy else "hard"
    print(f"{asked.surfaces} surfaces from {asked.first} on, {asked.variables} variables, {kind}\n")
    print("| " + " | ".join(COLUMNS) + " |\n|" + "---|" * len(COLUMNS), flush=True)
    seeds = range(asked.first, asked.first + asked.surfaces)
    with ProcessPoolExecutor(asked.jobs) as pool:
        for gain, minutes, name in itertools.product(asked.gains, asked.minutes, methods):
            surface = {"count": asked.variables, "gain": gain, "hard": not asked.easy}
            run = partial(session, asked.worlds, name, minutes, choose=asked.choose, **surface)
            print("| " + " | ".join(row(name, gain, minutes, list(pool.map(run, seeds)))) + " |", flush=True)


if __name__ == "__main__":
    main()
