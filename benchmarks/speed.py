"""Prints how long the statistics of a large study take, and `dialin analyze` of nine logs, start-up included.

    python benchmarks/speed.py [--logs DIR] [--repeat 3]

The study has 7 candidates, 10 blocks and 10,000 measured seconds in each trial. The logs are written for it where none are
given: nine of 5,000 seconds, as sysbench writes them. Each is run several times; the least and the median are printed.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dialin.model.record import StudyRecord
from dialin.model.study import Candidate, StudySpec
from dialin.model.trial import Sample, Step, Trial, TrialState
from dialin.verdict.reach_verdict import reach_verdict

CANDIDATES, BLOCKS, SECONDS = 7, 10, 10_000


def record() -> StudyRecord:
    rng = np.random.default_rng(1)
    names = [str(number) for number in range(CANDIDATES)]
    candidates = tuple(Candidate(name=name, setting={"innodb_io_capacity": int(name)}, server="mysql@9.7.4") for name in names)
    trials, samples = [], {}
    for number, (block, name) in enumerate(((block, name) for block in range(1, BLOCKS + 1) for name in names), start=1):
        tps = 1000 * (1 + 0.05 * rng.standard_normal(SECONDS)) * np.exp(rng.normal() * 0.01)
        samples[number] = [Sample(i, float(i), Step.MEASURE, speed, 1, 1, 1, 5.0, 0, 0) for i, speed in enumerate(tps.tolist())]
        trials.append(Trial(number, block, 1, 1, name, TrialState.DONE, 0.0, {Step.MEASURE: float(SECONDS)}))
    spec = StudySpec(candidates=candidates, baseline="0", minutes=10_000)
    return StudyRecord("", spec, 0.0, "", {}, {}, "", trials=trials, samples=samples)


def write_logs(directory: Path) -> None:
    rng = np.random.default_rng(1)
    for number in range(9):
        lines = [
            f"[ {second}s ] thds: 56 tps: {tps:.2f} qps: {20 * tps:.2f} (r/w/o: {14 * tps:.2f}/{4 * tps:.2f}/{2 * tps:.2f}) "
            "lat (ms,95%): 11.24 err/s: 0.00 reconn/s: 0.00"
            for second, tps in enumerate(1000 * (1 + 0.05 * rng.standard_normal(5000)), start=1)
        ]
        (directory / f"run{number}.bpi{8 if number % 2 else 32}.txt").write_text("\n".join(lines))


def timed(work: Callable[[], object], repeat: int) -> str:
    took = []
    for _ in range(repeat):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return f"{min(took):.2f} s (median {statistics.median(took):.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=Path, help="a directory of logs whose names hold bpi8, bpi32 and the like")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    study = record()
    print("| what | took |\n|---|---|")
    print(f"| verdict of 7 candidates, 10,000 s, 10 trials each | {timed(lambda: reach_verdict(study), options.repeat)} |")
    with tempfile.TemporaryDirectory() as made:
        logs = options.logs or Path(made)
        if options.logs is None:
            write_logs(logs)
        command = [sys.executable, "-m", "dialin", "analyze", "--by", r"bpi(\d+)", str(logs)]
        took = timed(lambda: subprocess.run(command, check=False, capture_output=True), options.repeat)
        print(f"| dialin analyze of nine logs | {took} |")


if __name__ == "__main__":
    main()
