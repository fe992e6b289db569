"""Prints, as a Markdown table, whether go-tpc's TPC-C and dialin's tpcc-like answer a question alike, on the same builds.

    python benchmarks/go_tpc.py DIRECTORY [--servers mysql@9.7 mariadb@10.11] [--warehouses 1 4] [--minutes 45] [--threads 4]

DIRECTORY holds a study for each build, question, number of warehouses and program; the same command resumes those that were
interrupted and reads those that have ended, so that it can be stopped at any time. Each study starts its servers with
`innodb_flush_log_at_trx_commit=2` where that is not the question, so that a slow disk does not hide the buffer pool, and with
512M of pool in the other, so that reads do not hide the log. go-tpc is on PATH: `go install
github.com/pingcap/go-tpc/cmd/go-tpc@latest`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

QUESTIONS: Mapping[str, Sequence[str]] = {
    "innodb_buffer_pool_size=32M,512M": ("--baseline", "32M", "--set", "innodb_flush_log_at_trx_commit=2"),
    "innodb_flush_log_at_trx_commit=1,2": ("--baseline", "1", "--set", "innodb_buffer_pool_size=512M"),
}
"""A question with its other options; its first value is the baseline."""

PROGRAMS = ("go-tpc:tpcc", "tpcc-like")
_ENDED = (0, 1)
"""Exit codes of a study with a claim, and of one that is inconclusive."""


def study(directory: Path, words: Sequence[str]) -> dict[str, Any]:
    """Run a study, resume it, or only read it; return its verdict.

    Raises:
        RuntimeError: it was interrupted, or could not be run.
    """
    ended = directory.with_name(f"{directory.name}.ended")
    if not ended.exists():
        begun = ["resume", str(directory)] if directory.exists() else [*words, "--out", str(directory)]
        code = subprocess.run([sys.executable, "-m", "dialin", *begun, "--yes"], check=False, stdout=sys.stderr).returncode
        if code not in _ENDED:
            raise RuntimeError(f"{directory} ended with exit code {code}; run the same command again to resume it")
        ended.touch()
    return json.loads((directory / "verdict.json").read_text(encoding="utf-8"))


def sign(ratio: Mapping[str, float | None] | None) -> int:
    """Return 1 or -1 where the interval of a ratio is above or below 1, else 0."""
    if ratio is None or ratio["low"] is None or ratio["high"] is None:
        return 0
    return 1 if ratio["low"] > 1 else -1 if ratio["high"] < 1 else 0


def show(verdict: Mapping[str, Any]) -> str:
    ratio = verdict["candidates"][1]["ratio"]
    if ratio is None or ratio["low"] is None:
        return f"no interval ({verdict['verdict']})"
    text = " to ".join(f"{100 * (ratio[end] - 1):+.1f} %" for end in ("low", "high"))
    return f"{100 * (ratio['mean'] - 1):+.1f} % ({text}), {verdict['verdict']}"


def agreement(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    signs = {sign(verdict["candidates"][1]["ratio"]) for verdict in (one, other)}
    if 0 in signs:
        return "both are inconclusive" if len(signs) == 1 else "one is inconclusive"
    return "yes" if len(signs) == 1 else "no"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--servers", nargs="+", default=["mysql@9.7", "mariadb@10.11"])
    parser.add_argument("--warehouses", nargs="+", type=int, default=[1, 4])
    parser.add_argument("--minutes", type=int, default=45)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--questions", nargs="+", default=list(QUESTIONS), choices=list(QUESTIONS))
    options = parser.parse_args()
    if shutil.which("go-tpc") is None:
        sys.exit("go-tpc is not on PATH: go install github.com/pingcap/go-tpc/cmd/go-tpc@latest")
    print("| build | warehouses | question | go-tpc TPC-C | tpcc-like | same sign |\n|---|---|---|---|---|---|", flush=True)
    for server in options.servers:
        for warehouses in options.warehouses:
            for question in options.questions:
                verdicts = []
                for program in PROGRAMS:
                    name = f"{server}-{warehouses}-{question.partition('=')[0]}-{program.replace(':', '-')}"
                    words = ["sweep", question, *QUESTIONS[question], "--server", server, "--workload", program]
                    words += ["--workload-option", f"warehouses={warehouses}", "--threads", str(options.threads)]
                    verdicts.append(study(options.directory / name, [*words, "--minutes", str(options.minutes)]))
                cells = [server, warehouses, question, *map(show, verdicts), agreement(*verdicts)]
                print(f"| {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
