"""Prints how late the timers of dialin-load are, beside a timer without any work, which is what this machine's kernel can do.

    python benchmarks/lateness.py [--rounds 8] [--seconds 2]

Both wait a thousand times per second, one after the other in each round: dialin-load in its self-test, with 16 connections to
a server that answers at once; the bare timer (lateness.c, which needs `cc`) for a timerfd in epoll. Figures are milliseconds;
the ratio is the geometric mean of the rounds' ratios of means.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import tempfile
from pathlib import Path

DRIVER = Path(__file__).parents[1] / ".venv" / "bin" / "dialin-load"


def bare(program: Path) -> list[float]:
    """Return how late each wake-up of the bare timer was."""
    return [float(line) for line in subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()]


def driver(seconds: int) -> dict[str, float]:
    """Return the lateness that a self-test reports."""
    words = [DRIVER, "self-test", "--json", "--seconds", str(seconds)]
    output = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    timers: dict[str, float] = json.loads(output.splitlines()[-1])["lateness"]["timers"]
    return timers


def main() -> None:
    """Print a row per round, and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=int, default=2)
    options = parser.parse_args()
    ratios = []
    print("| bare timer: mean | median | p99 | dialin-load: mean | p99 |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as directory:
        program = Path(directory) / "lateness"
        subprocess.run(["cc", "-O2", "-o", program, Path(__file__).with_suffix(".c")], check=True)
        for _ in range(options.rounds):
            late, timers = bare(program), driver(options.seconds)
            ratios.append(timers["late_mean"] / statistics.fmean(late))
            cells = [statistics.fmean(late), statistics.median(late), statistics.quantiles(late, n=100)[98]]
            cells += [timers["late_mean"], timers["late_p99"]]
            print(f"| {' | '.join(f'{cell:.3f}' for cell in cells)} |", flush=True)
    spread = statistics.stdev(map(math.log, ratios)) / len(ratios) ** 0.5
    print(f"\nratio of the means {statistics.geometric_mean(ratios):.2f}, standard error {spread:.2f} (log scale)")


if __name__ == "__main__":
    main()
