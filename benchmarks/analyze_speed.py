"""How long `dialin analyze` takes for many logs, and how much CPU and memory: python benchmarks/analyze_speed.py --help."""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def main() -> None:
    """Write logs, analyze them in a process of their own, print its seconds and its peak of resident memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--seconds", type=int, default=10_000, help="lines of each log")
    parser.add_argument("--csv", action="store_true", help="CSV instead of lines for people")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        size = sum(write(Path(directory), index, asked.seconds, as_csv=asked.csv) for index in range(asked.files))
        command = [sys.executable, "-m", "dialin", "analyze", "--by", r"pool(\d+)"]
        with tempfile.TemporaryDirectory() as compiled:  # as an installation has it, also where nothing may be kept here
            environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
            environment.pop("PYTHONDONTWRITEBYTECODE", None)
            subprocess.run(
                [*command, *Path(directory).glob("*-r0.log")], stdout=subprocess.DEVNULL, env=environment, check=False
            )
            before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
            ended = subprocess.run([*command, directory], stdout=subprocess.DEVNULL, env=environment, check=False)
            seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    used = f"{seconds:.1f} s, {cpu:.1f} s of CPU, peak {after.ru_maxrss / 1024:,.0f} MiB"
    print(f"{asked.files} files, {size / 1024**2:,.0f} MiB: {used} (exit code {ended.returncode})")


def write(directory: Path, index: int, seconds: int, *, as_csv: bool) -> int:
    """Write one log and return its size in bytes."""
    random = np.random.default_rng(index)
    tps = 1000 * (1 + 0.05 * random.standard_normal(seconds))
    if as_csv:
        form = "{0},16,{1:.2f},{2:.2f},{2:.2f},{1:.2f},{1:.2f},12.30,0.00,0.00"
    else:
        form = "[ {0}s ] thds: 16 tps: {1:.2f} qps: {2:.2f} (r/w/o: {2:.2f}/{1:.2f}/{1:.2f}) "
        form += "lat (ms,95%): 12.30 err/s: 0.00 reconn/s: 0.00"
    text = "".join(form.format(second + 1, value, 20 * value) + "\n" for second, value in enumerate(tps))
    return (directory / f"pool{8 * (1 + index % 2)}-r{index}.log").write_text(text)


if __name__ == "__main__":
    main()
