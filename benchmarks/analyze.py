"""Prints, as a Markdown table, how often `dialin analyze` claims what is not so, and how often it finds what is planted.

    python benchmarks/analyze.py [--folders 400] [--seed 1] [--jobs 2] [--only TEXT]

Each folder is a set of runs as somebody else could have made them: benchmarks/folders.py simulates each run as sixty seconds,
and `analyze` judges them as it judges logs. The rows "as text" write logs and read them again.
"""

from __future__ import annotations

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from decide import rate
from folders import ROWS, Folder, Row, judge_folder

from dialin.model.analysis import Analysis
from dialin.model.verdict import CandidateState, Outcome

WORTHWHILE = 0.01
_NEGLIGIBLE = 1e-9


@dataclass(frozen=True, slots=True)
class Judged:
    """What the analysis of one folder said.

    Attributes:
        false_verdict: a candidate called better, worse or equal that is not.
        false_dependence: a ratio called different between cells that is the same in all.
        missed_cells: an interval of some cell that does not hold the true ratio.
        found: what was planted was found; where nothing was, whether anything was claimed.
        assumed: the verdict says that it assumes what does not hold in this folder, and what no file shows.
    """

    false_verdict: bool
    false_dependence: bool
    missed_cells: bool
    found: bool
    assumed: bool

    @property
    def false(self) -> bool:
        """Whether any claim is false that does not name the assumption it fails by; intervals of cells are counted apart."""
        return (self.false_verdict and not self.assumed) or self.false_dependence


def check(folder: Folder, row: Row, analysis: Analysis) -> Judged:
    """Compare what was said with what is so."""
    overall = {name: float(np.mean(list(ratios.values()))) for name, ratios in folder.truth.items()}
    depends = [note for note in analysis.findings if note.code == "depends_on_cell"]
    constant = all(max(ratios.values()) - min(ratios.values()) < _NEGLIGIBLE for ratios in folder.truth.values())
    missed = False
    for cell in analysis.cells:
        key = tuple(cell.where.get(factor, "") for factor in folder.factors)
        levels = {one.name: folder.truth[one.name].get(key, overall[one.name]) for one in cell.candidates}
        for one in cell.candidates:
            if analysis.baseline not in levels or one.goal_ratio is None or one.goal_ratio.low is None:
                continue
            truth = np.exp(levels[one.name] - levels[analysis.baseline])
            missed |= not one.goal_ratio.low * (1 - _NEGLIGIBLE) <= truth <= one.goal_ratio.high * (1 + _NEGLIGIBLE)
    return Judged(
        false_verdict=_false_verdict(analysis, overall, folder),
        false_dependence=constant and bool(depends),
        missed_cells=missed,
        found=row.found(analysis),
        assumed=any(note.code == row.breaks for note in analysis.assumptions),
    )


def _false_verdict(analysis: Analysis, overall: dict[str, float], folder: Folder) -> bool:
    best = max(overall.values())
    for one in analysis.candidates:
        if one.state is CandidateState.WORSE and overall[one.name] >= best - _NEGLIGIBLE:
            return True
        if analysis.verdict is Outcome.WINNER and one.name in analysis.winners and overall[one.name] < best - _NEGLIGIBLE:
            return True
    equal = list(analysis.winners)
    if analysis.verdict in (Outcome.TIE, Outcome.NO_WORTHWHILE_DIFFERENCE):
        cells = {cell for name in equal for cell in folder.truth[name]}
        spread = [
            max(folder.truth[name][cell] for name in equal if cell in folder.truth[name])
            - min(folder.truth[name][cell] for name in equal if cell in folder.truth[name])
            for cell in cells
        ]
        return max(spread) > np.log(1 + WORTHWHILE) + _NEGLIGIBLE
    return False


def run(task: tuple[int, int, int]) -> list[Judged]:
    """Judge some folders of a row; a folder is the same whatever the number of jobs."""
    index, seed, count = task
    row, judged = ROWS[index], []
    for number in range(seed, seed + count):
        folder = row.make(np.random.default_rng([index, number]))
        judged.append(check(folder, row, judge_folder(folder)))
    return judged


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folders", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    print(
        "| folder | folders | false verdict | false dependence | any false claim | cell intervals missed | claimed or found |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    with ProcessPoolExecutor(options.jobs) as pool:
        for index, row in enumerate(ROWS):
            if options.only not in row.name:
                continue
            count = options.folders
            step = max(1, count // (4 * options.jobs))
            tasks = [(index, options.seed * 1_000_000 + begin, min(step, count - begin)) for begin in range(0, count, step)]
            judged = [one for part in pool.map(run, tasks) for one in part]
            rates = [
                rate(sum(getattr(one, name) for one in judged), count)
                for name in ("false_verdict", "false_dependence", "false", "missed_cells", "found")
            ]
            print(f"| {row.name} | {count} | {' | '.join(rates)} |", flush=True)


if __name__ == "__main__":
    main()
