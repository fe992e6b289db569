"""Runs A/A studies on real servers, and compares the noise of their trials with what the statistics assume.

    python benchmarks/aa.py run DIR      # ten studies one after the other: 3 hours and 36 minutes
    python benchmarks/aa.py show DIR [--relabelled 200] [--seed 1] [--figure docs/images/aa.svg]

`run` measures one setting under eight names: by restart and by SET, mysql@9.7 and mariadb@10.11, reads and writes; and one
under three names with the load of `make try` on its small data, 60 s in each trial. A study that is there already is left as
it is. `show` needs no server. Its names are all the same setting, so within each block names may be dealt again: every
dealing is a study of equal candidates with the real noise of this machine, and any claim in it is false.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from dialin.model.record import StudyRecord
from dialin.model.trial import Trial
from dialin.model.verdict import Estimate
from dialin.question.plan import block_order
from dialin.stats.decide import Rules
from dialin.stats.standings import is_due
from dialin.stats.throughput import by_typical_speed, decide_throughput
from dialin.stats.trial_figures import Figures, figures, trial_speeds
from dialin.stats.trial_fit import fit_trials
from dialin.store.read_only import read
from dialin.verdict.comparison import racing

RULES = Rules(worthwhile=0.01, confidence=0.95, choose=False)


@dataclass(frozen=True, slots=True)
class Study:
    """One A/A study, with the number of names, the seconds measured in a trial, and the minutes in all."""

    server: str
    workload: str
    switch: str
    names: int = 8
    threads: int = 16
    tables: int = 4
    table_size: int = 100_000
    measure: int = 30
    minutes: int = 24


STUDIES = {
    f"{server.partition('@')[0]}-{load.removeprefix('oltp_')}-{switch}": Study(server, load, switch, measure=measure)
    for server in ("mysql@9.7", "mariadb@10.11")
    for load in ("oltp_read_only", "oltp_write_only")
    for switch, measure in (("restart", 30), ("set", 15))
} | {
    f"mysql-small-{switch}": Study(
        "mysql@9.7",
        "oltp_update_non_index",
        switch,
        names=3,
        threads=4,
        tables=2,
        table_size=20_000,
        measure=60,
        minutes=12,
    )
    for switch in ("restart", "set")
}
SETTING = {"innodb_buffer_pool_size": "512M", "innodb_flush_log_at_trx_commit": "2"}


@dataclass(frozen=True, slots=True)
class Noise:
    """What the trials of one A/A study show.

    Attributes:
        trials: how many.
        minutes: from the first to the last.
        measured: measured seconds as a share of the study's wall clock.
        sd: standard deviation of a trial about its block, log scale.
        z: distance of each trial from the mean of its block, in standard deviations; independent normal ones would have
            mean 0 and variance 1.
        neighbours: correlation of trials that follow each other in a block, beyond what centring them makes of independent
            ones; and its standard error.
        drift: root mean square of the block means about their own mean beyond what noise makes of it, log scale.
        missed: share of the intervals of ratios of two names, at the end of all dealings, that exclude 1.
        false: share of dealings in which anything was claimed at any look.
    """

    trials: int
    minutes: float
    measured: float
    sd: float
    z: NDArray[np.float64]
    neighbours: tuple[float, float]
    drift: float
    missed: float
    false: float


def run(directory: Path) -> None:
    """Run the studies that are not there yet."""
    for name, study in STUDIES.items():
        out = directory / name
        if out.exists():
            continue
        directory.mkdir(parents=True, exist_ok=True)
        question = directory / f"{name}.toml"
        settings = "\n".join(f'{variable} = "{value}"' for variable, value in SETTING.items())
        question.write_text(
            f'aa = {study.names}\nserver = "{study.server}"\nworkload = "{study.workload}"\nthreads = {study.threads}\n'
            f"tables = {study.tables}\ntable-size = {study.table_size}\nminutes = {study.minutes}\n"
            f'switch = "{study.switch}"\nmeasure = {study.measure}\n[set]\n{settings}\n',
            encoding="utf-8",
        )
        print(f"{name}: {study.minutes} minutes", file=sys.stderr)
        # An A/A study that finds a difference ends with an exit code of its own: that is a result.
        subprocess.run([sys.executable, "-m", "dialin", "run", str(question), "--out", str(out), "--yes"], check=False)


def look(directory: Path, relabelled: int, rng: np.random.Generator) -> Noise:
    """Return what a study's trials show."""
    verdict = json.loads((directory / "verdict.json").read_text(encoding="utf-8"))
    record: StudyRecord = read(directory, lambda store: store.read())
    summed: dict[int, Figures] = {}
    for trial in record.trials:
        if (one := figures(record.samples.get(trial.id, ()))) is not None:
            summed[trial.id] = one
    trials = [trial for trial in racing(record.trials) if trial.id in summed]
    blocks: dict[int, list[Trial]] = defaultdict(list)
    for trial in trials:
        blocks[trial.block].append(trial)
    count = len({trial.candidate for trial in trials})
    whole = [block for block in blocks.values() if len(block) == count]
    logs = np.array([[math.log(summed[trial.id].typical) for trial in block] for block in whole])
    centred = logs - logs.mean(axis=1, keepdims=True)
    sd = math.sqrt((centred**2).sum() / (len(whole) * (count - 1)))
    z = centred / (sd * math.sqrt(1 - 1 / count))
    products = z[:, :-1] * z[:, 1:]
    drift = math.sqrt(max(float(np.var(logs.mean(axis=1), ddof=1)) - sd**2 / count, 0.0))
    missed, false = _deal(whole, summed, relabelled, rng)
    return Noise(
        trials=logs.size,
        minutes=(trials[-1].middle - trials[0].middle) / 60,
        measured=verdict["minutes_of_load"] / verdict["minutes_of_wall_clock"],
        sd=sd,
        z=z.ravel(),
        neighbours=(float(products.mean()) + 1 / (count - 1), float(products.std(ddof=1) / math.sqrt(products.size))),
        drift=drift,
        missed=missed,
        false=false,
    )


def _deal(
    blocks: Sequence[Sequence[Trial]], summed: Mapping[int, Figures], count: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Deal names again within blocks; return the share of intervals that exclude 1 at the end, and of dealings with a claim."""
    names = [trial.candidate for trial in blocks[0]]
    ratios: list[Estimate] = []
    claims = 0
    for _ in range(count):
        dealt: list[Trial] = []
        looked, claimed = 0, False
        seed, orders = int(rng.integers(2**31)), list[list[str]]()
        for block in blocks:
            orders.append(block_order(seed, len(orders) + 1, names, before=orders))
            dealt += [replace(trial, candidate=name) for trial, name in zip(block, orders[-1], strict=True)]
            if is_due(len(dealt), looked):
                looked = len(dealt)
                decision = decide_throughput(trial_speeds(dealt, summed), names, names[0], RULES)
                claimed |= bool(decision.better or (decision.winners and len(decision.winners) < len(names)))
                claimed |= any(state.value == "loses" for state in decision.states.values())
        claims += claimed
        fitted = fit_trials(by_typical_speed(trial_speeds(dealt, summed)), names)
        if fitted is not None:
            ratios += [fitted.ratio(a, b, RULES.alpha) for k, a in enumerate(names) for b in names[k + 1 :]]
    excluding = [one for one in ratios if one.low is not None and one.high is not None and not one.low <= 1 <= one.high]
    return len(excluding) / len(ratios), claims / count


def table(noises: Mapping[str, Noise]) -> str:
    """Return the figures as a Markdown table."""
    titles = ["study", "trials", "minutes", "measured", "SD of a trial", "kurtosis", "Anderson–Darling p"]
    titles += ["neighbours correlate by", "drift between blocks", "intervals that exclude 0 %", "dealings with a false claim"]
    rows = [titles, ["---"] * len(titles)]
    for name, one in noises.items():
        fit = stats.goodness_of_fit(stats.norm, one.z, statistic="ad", n_mc_samples=999, rng=np.random.default_rng(1))
        rows.append(
            [
                name,
                str(one.trials),
                f"{one.minutes:.0f}",
                f"{one.measured:.0%}",
                f"{one.sd:.2%}",
                f"{stats.kurtosis(one.z):+.1f}",
                f"{fit.pvalue:.2f}",
                f"{one.neighbours[0]:+.2f} ± {one.neighbours[1]:.2f}",
                f"{one.drift:.2%}",
                f"{one.missed:.1%}",
                f"{one.false:.1%}",
            ]
        )
    every = list(noises.values())
    means = [f"{np.mean([one.missed for one in every]):.1%}", f"{np.mean([one.false for one in every]):.1%}"]
    rows.append(["all", str(sum(one.trials for one in every)), f"{sum(one.minutes for one in every):.0f}", *[""] * 6, *means])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def draw(noises: Mapping[str, Noise]) -> str:
    """Return an SVG: for each study the quantiles of its trials' distances against those of a normal distribution."""
    side, gap, columns = 150, 30, 4
    rows = math.ceil(len(noises) / columns)
    width, height = columns * (side + gap) + gap, rows * (side + 2 * gap) + gap
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for number, (name, one) in enumerate(noises.items()):
        left, top = gap + number % columns * (side + gap), 2 * gap + number // columns * (side + 2 * gap)
        expected = stats.norm.ppf((np.arange(one.z.size) + 0.5) / one.z.size)
        scale = side / 8

        def place(x: float, y: float, left: int = left, top: int = top, scale: float = scale) -> tuple[float, float]:
            return left + side / 2 + scale * float(np.clip(x, -4, 4)), top + side / 2 - scale * float(np.clip(y, -4, 4))

        (x1, y1), (x2, y2) = place(-4, -4), place(4, 4)
        parts += [
            f'<text x="{left}" y="{top - 6}" fill="#222">{name}</text>',
            f'<rect x="{left}" y="{top}" width="{side}" height="{side}" fill="none" stroke="#888"/>',
            f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#888" stroke-dasharray="4 3"/>',
        ]
        for x, y in zip(expected, np.sort(one.z), strict=True):
            cx, cy = place(x, y)
            parts.append(f'<circle cx="{cx:.1f}" cy="{cy:.1f}" r="1.8" fill="#0b5cad"/>')
    parts.append(
        f'<text x="{gap}" y="{height - 8}" fill="#222">across: normal quantiles, −4 to 4; up: trials about their block</text>'
    )
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("directory", type=Path)
    showing = commands.add_parser("show")
    showing.add_argument("directory", type=Path)
    showing.add_argument("--relabelled", type=int, default=200, help="dealings of names of each study")
    showing.add_argument("--seed", type=int, default=1)
    showing.add_argument("--figure", type=Path, help="where an SVG is written")
    options = parser.parse_args()
    if options.command == "run":
        run(options.directory)
        return
    rng = np.random.default_rng(options.seed)
    there = [name for name in STUDIES if (options.directory / name).exists()]
    noises = {name: look(options.directory / name, options.relabelled, rng) for name in there}
    print(table(noises))
    if options.figure:
        options.figure.write_text(draw(noises), encoding="utf-8")


if __name__ == "__main__":
    main()
