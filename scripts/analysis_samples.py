"""Writes the samples of `dialin analyze --json` in schema/: good ones from made logs, and bad ones with one fault each.

PYTHONPATH=tests python scripts/analysis_samples.py
"""

from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dialin import json_documents
from dialin.logs.analyze_runs import analyze
from dialin.logs.assignment import AssignmentRule
from dialin.logs.judgement import Request
from dialin.logs.log_folder import load
from dialin.model.study import Goal
from fixtures.sysbench_logs import csv, human, series, write

SCHEMA = Path(__file__).parents[1] / "schema"
ROUGH = [(second, 8) for second in range(100, 900, 100)]
_DAYS = ("08-20-11-00.bpi8", "08-20-10-00.bpi32", "08-21-10-00.bpi8", "08-21-11-00.bpi32", "08-22-11-00.bpi8",
         "08-22-10-00.bpi32", "08-23-10-00.bpi8", "08-23-11-00.bpi32")  # fmt: skip

GOOD: Mapping[str, tuple[Mapping[str, str], Request]] = {
    "human-ten-seconds": (
        {"one.log": human(series(1000, 200), interval=10)},
        Request(rule=AssignmentRule(by="one")),
    ),
    "not-compared": (
        {"io5000.bpi8.txt": csv(series(1000)), "io7000.bpi32.txt": csv(series(1100, seed=2))},
        Request(rule=AssignmentRule(by=r"bpi(\d+)"), goal=Goal.STABILITY),
    ),
    "single-runs": (
        {
            "a.io7000.bpi8.txt": csv(series(1000, 900, cv=0.2, stalls=ROUGH)),
            "b.io7000.bpi32.txt": csv(series(1000, 900, seed=2)),
            "b-r2.io7000.bpi32.txt": csv(series(1000, 900, seed=2)),
        },
        Request(rule=AssignmentRule(by=r"bpi(\d+)", ignored=("wording",))),
    ),
    "winner": (
        {f"{name}.txt": csv(series(1000 if name.endswith("bpi8") else 1100, seed=index)) for index, name in enumerate(_DAYS)},
        Request(rule=AssignmentRule(by=r"bpi(\d+)")),
    ),
    "depends-on-cell": (
        {
            f"t{threads}.bpi{value}-r{run}.txt": csv(
                series(1000 * (1.2 if (value == 32) == (threads == 64) else 1.0), seed=100 * threads + value + run),
                threads=threads,
            )
            for threads in (8, 16, 32, 64)
            for value in (8, 32)
            for run in range(2)
        },
        Request(rule=AssignmentRule(by=r"bpi(\d+)")),
    ),
    "scaling": (
        {
            f"{load}_{threads}thr.log": csv(series(level, seed=threads), threads=threads)
            for load, levels in (("read_only", (600, 2200, 5000, 7000)), ("write_only", (300, 900, 1200, 1000)))
            for threads, level in zip((1, 4, 16, 64), levels, strict=True)
        },
        Request(),
    ),
    "rate-ramp": (
        {
            f"rate{rate}.log": human(series(min(rate, 900), seed=rate)).replace(
                "Report intermediate", f"Target transaction rate: {rate}/sec\nReport intermediate"
            )
            for rate in (300, 600, 1200)
        },
        Request(),
    ),
    "suite": (
        {
            f"{name}/{load}-r{run}.log": csv(series(level, seed=100 * run + level))
            for name, levels in (("old", (1000, 50)), ("new", (1100, 45)))
            for load, level in zip(("insert", "scan"), levels, strict=True)
            for run in range(3)
        },
        Request(baseline="old"),
    ),
}


def _without(*path: str | int) -> Callable[[dict[str, Any]], None]:
    def change(sample: dict[str, Any]) -> None:
        part: Any = sample
        for key in path[:-1]:
            part = part[key]
        del part[path[-1]]

    return change


def _with(value: object, *path: str | int) -> Callable[[dict[str, Any]], None]:
    def change(sample: dict[str, Any]) -> None:
        part: Any = sample
        for key in path[:-1]:
            part = part[key]
        part[path[-1]] = value

    return change


BAD: Mapping[str, Callable[[dict[str, Any]], None]] = {
    "finding-without-code": _without("findings", 0, "code"),
    "interval-without-high": _without("candidates", 0, "tps", "high"),
    "no-headline": _without("headline"),
    "of-another-schema": _with("dialin/verdict/1", "schema"),
    "run-without-file": _without("runs", 0, "file"),
    "tps-as-text": _with("fast", "runs", 0, "tps"),
    "unknown-key": _with("good", "mood"),
    "unknown-outcome": _with("perhaps", "verdict"),
}


def main() -> None:
    """Write all samples."""
    for name, (logs, request) in GOOD.items():
        with tempfile.TemporaryDirectory() as directory:
            rendered = json_documents.render(analyze(load([write(Path(directory), **logs)]), request))
        (SCHEMA / "good" / f"analysis-{name}.json").write_text(rendered, encoding="utf-8")
    base = json.loads((SCHEMA / "good" / "analysis-single-runs.json").read_text(encoding="utf-8"))
    for name, change in BAD.items():
        sample = copy.deepcopy(base)
        change(sample)
        (SCHEMA / "bad" / f"analysis-{name}.json").write_text(json.dumps(sample, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
