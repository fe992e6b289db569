"""How fast logs are read into captures, and with how much memory: python benchmarks/capture_speed.py LOG... [--mib 1000]."""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
from pathlib import Path

from dialin.workloads import load_binary


def main() -> None:
    """Repeat each log until it is long enough; print what a capture of it takes, without its text (one thread) and with it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", metavar="LOG", nargs="+", type=Path)
    parser.add_argument("--mib", type=int, default=1000, help="the least size of a log, in MiB")
    asked = parser.parse_args()
    for log in asked.logs:
        with tempfile.TemporaryDirectory() as directory:
            long = Path(directory, "long.log")
            text = log.read_bytes()
            with long.open("wb") as stream:
                while stream.tell() < asked.mib * 1024**2:
                    stream.write(text)
            for words in (["--forget-text"], []):
                measure(log, long, Path(directory), words)


def measure(log: Path, long: Path, directory: Path, words: list[str]) -> None:
    """Print megabytes per second of wall clock and of CPU, and the peak of resident memory."""
    out = directory / "-".join(["out", *words])
    begin = time.perf_counter()
    process = subprocess.Popen([load_binary.need(), "capture", long, "--out", out, *words], stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begin
    assert status == 0
    cpu = used.ru_utime + used.ru_stime
    megabytes = long.stat().st_size / 1e6
    written = sum(path.stat().st_size for path in out.iterdir()) / 1e6
    print(
        f"{log.name:28} {' '.join(words) or 'with text':14} {megabytes:6,.0f} MB: {megabytes / seconds:5.0f} MB/s, "
        f"{megabytes / cpu:5.0f} MB per second of CPU, peak {used.ru_maxrss / 1024:4.0f} MiB, capture {written:6.1f} MB"
    )


if __name__ == "__main__":
    main()
