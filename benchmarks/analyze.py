"""Prints, as a Markdown table, how often `dialin analyze` errs on folders of runs that somebody else made, and what it finds.

    python benchmarks/analyze.py [--folders 400] [--seed 1] [--jobs 2]

Each folder is simulated: every run has seconds that follow each other, a start that moves it as a whole, and a place in a cell
whose level is its own. The runs are judged by the function that the command calls; only the files are left out.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.special import betaincinv

from dialin.model.analysis import Analysis
from dialin.model.verdict import CandidateState, Outcome
from dialin.study.analysis.judge import Request, analyze
from dialin.study.analysis.logs import Run
from dialin.study.analysis.sort import Rule
from dialin.workloads.sysbench_log import Log

SECONDS = 60
START = 0.01
"""Standard deviation by which a start of a server moves a whole run, relative."""
THREADS = (1, 2, 4, 8, 16, 32, 64, 512)
RULE = Rule(by=r"bpi(\d+)")


def run(rng: np.random.Generator, name: str, level: float, threads: int = 16) -> Run:
    """Return a run of a minute whose seconds vary by 5 % and have a lag-1 correlation of 0.6."""
    shocks = rng.standard_normal(SECONDS) * 0.8
    tps = level * np.maximum(1 + 0.05 * lfilter([1], [1, -0.6], shocks), 0)
    return Run(name, _log(tps, threads))


def _log(tps: NDArray[np.float64], threads: int) -> Log:
    flat = np.full(tps.size, 10.0)
    return Log(np.arange(1.0, tps.size + 1), tps, flat, np.zeros(tps.size), threads, 1.0, 95, None)


def start(rng: np.random.Generator) -> float:
    return float(np.exp(rng.normal(scale=START)))


def one_start(rng: np.random.Generator, gain: float) -> Iterator[Run]:
    """One start of each candidate, measured at eight numbers of threads."""
    for value, factor in ((8, 1.0), (32, 1 + gain)):
        moved = factor * start(rng)
        for threads in THREADS:
            yield run(rng, f"bpi{value}.threads{threads}.log", 100 * threads * moved, threads)


def repeats(rng: np.random.Generator, gain: float, cells: int = 1, runs: int = 3) -> Iterator[Run]:
    for io in range(cells):
        for value, factor in ((8, 1.0), (32, 1 + gain)):
            for number in range(runs):
                yield run(rng, f"io{1000 * (io + 1)}.bpi{value}-r{number}.log", (1000 + 500 * io) * factor * start(rng))


def copies(rng: np.random.Generator, gain: float) -> Iterator[Run]:
    """One run of each candidate, and two copies of each under other names."""
    for value, factor in ((8, 1.0), (32, 1 + gain)):
        first = run(rng, f"bpi{value}-r0.log", 1000 * factor * start(rng))
        yield first
        yield from (Run(f"bpi{value}-r{n}.log", first.log, first.name, exact=True) for n in (1, 2))


def versions(rng: np.random.Generator, gain: float) -> Iterator[Run]:
    """Two versions that differ by 15 %, of which one candidate ran mostly on the older and the other on the newer."""
    for version, level, counts in (("10.11.5", 1000, (3, 2)), ("10.11.10", 1150, (2, 3))):
        for (value, factor), count in zip(((8, 1.0), (32, 1 + gain)), counts, strict=True):
            for number in range(count):
                yield run(rng, f"mariadb-{version}/bpi{value}-r{number}.log", level * factor * start(rng))


def drift(rng: np.random.Generator, gain: float) -> Iterator[Run]:
    """Three runs of one candidate, then three of the other, on a machine that grows slower by 1 % from run to run."""
    for day, value in enumerate((8, 8, 8, 32, 32, 32)):
        level = 1000 * (1 + gain * (value == 32)) * 0.99**day
        yield run(rng, f"2026-01-0{day + 1}-06-00.bpi{value}.log", level * start(rng))


def interaction(rng: np.random.Generator, gain: float) -> Iterator[Run]:
    """As one start; one candidate is worse by 5 % but at 512 threads, where it gains."""
    moved = {8: start(rng), 32: start(rng)}
    for threads in THREADS:
        for value in (8, 32):
            factor = 1.0 if value == 8 else 1 + gain if threads == THREADS[-1] else 0.95
            yield run(rng, f"bpi{value}.threads{threads}.log", 100 * threads * factor * moved[value], threads)


@dataclass(frozen=True, slots=True)
class Row:
    """A kind of folder; `gain` is what the second candidate truly gains."""

    text: str
    make: Callable[[np.random.Generator, float], Iterator[Run]]
    gain: float = 0.0


ROWS = (
    Row("equal; one start of each at 8 numbers of threads", one_start),
    Row("equal; 3 runs of each in one cell", repeats),
    Row("equal; 2 runs of each in 4 cells", lambda rng, gain: repeats(rng, gain, 4, 2)),
    Row("equal; one run of each and two copies of it", copies),
    Row("equal; two versions that differ by 15 %, unevenly", versions),
    Row("equal; one after the other on a machine that slows down", drift),
    Row("+10 %; 3 runs of each in one cell", repeats, 0.10),
    Row("+10 %; 2 runs of each in 4 cells", lambda rng, gain: repeats(rng, gain, 4, 2), 0.10),
    Row("+10 %; two versions that differ by 15 %, unevenly", versions, 0.10),
    Row("−5 %, but +80 % at 512 threads; one start of each", interaction, 0.80),
)


def claims(found: Analysis) -> bool:
    """Return whether a difference is claimed."""
    states = {one.state for one in found.candidates}
    return found.verdict in (Outcome.WINNER, Outcome.TIE) or CandidateState.LOSES in states


def folder(index: int, seed: int, number: int) -> tuple[bool, bool]:
    """Return whether a claim about one folder is false, and whether what was planted is found."""
    row = ROWS[index]
    found = analyze(list(row.make(np.random.default_rng([seed, number]), row.gain)), [], Request(rule=RULE))
    depends = any(note.code == "depends_on_cell" and "threads" in note.data["factors"] for note in found.findings)
    if row.make is interaction:
        return claims(found), depends
    false = (claims(found) and (not row.gain or found.winners != ["32"])) or depends
    equal = bool(row.gain) and found.verdict is Outcome.NO_WORTHWHILE_DIFFERENCE
    return false or equal, found.winners == ["32"]


def rate(hits: Sequence[bool]) -> str:
    """Return a share with its 95 % interval (Clopper and Pearson)."""
    count, of = sum(hits), len(hits)
    low = float(betaincinv(count, of - count + 1, 0.025)) if count else 0.0
    high = float(betaincinv(count + 1, of - count, 0.975)) if count < of else 1.0
    return f"{count / of:.1%} ({low:.1%} to {high:.1%})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folders", type=int, default=400, help="folders a row")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    print(f"{options.folders} folders a row; each rate with its 95 % interval.\n")
    print("| folder | false claim | planted effect found |\n|---|---|---|")
    with ProcessPoolExecutor(options.jobs) as pool:
        for index, row in enumerate(ROWS):
            tasks = [pool.submit(folder, index, options.seed, number) for number in range(options.folders)]
            results = [task.result() for task in tasks]
            planted = rate([found for _, found in results]) if row.gain else "–"
            print(f"| {row.text} | {rate([false for false, _ in results])} | {planted} |", flush=True)


if __name__ == "__main__":
    main()
