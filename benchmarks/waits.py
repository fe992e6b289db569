"""Prints how long ten million raw waits of 20 instruments and 3 operations take to be read from Parquet and summarised.

python benchmarks/waits.py [--events 10000000] [--repeat 5]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from dialin.store.waits_file import ALL, summarise

INSTRUMENTS = [f"wait/synch/rwlock/innodb/lock_{number}" for number in range(20)]
OPERATIONS = ["shared_lock", "exclusive_lock", "shared_exclusive_lock"]
TICK = 385.0
"""Picoseconds of a cycle at 2.6 GHz: the times that servers tell are multiples of it."""


def invent(path: Path, events: int) -> None:
    """Write waits as a busy server tells them: mostly a hundred nanoseconds, a few a hundred thousand times that."""
    rng = np.random.default_rng(1)
    wait = np.exp(rng.normal(np.log(100_000), 0.7, events)) * np.where(rng.random(events) < 0.002, 10_000, 1)
    start = np.cumsum(rng.exponential(8e6, events)).astype(np.uint64)
    thread = rng.integers(40, 104, events, dtype=np.uint32)
    pl.DataFrame(
        {
            "thread": thread,
            "event": np.arange(events, dtype=np.uint64),
            "instrument": _drawn(rng, INSTRUMENTS, events),
            "operation": _drawn(rng, OPERATIONS, events),
            "start_ps": start,
            "wait_ps": (np.round(wait / TICK) * TICK).astype(np.uint64),
        }
    ).write_parquet(path, compression="lz4")


def _drawn(rng: np.random.Generator, texts: list[str], events: int) -> pl.Series:
    weight = 1 / np.arange(1, len(texts) + 1)
    codes = rng.choice(len(texts), events, p=weight / weight.sum())
    return pl.Series(texts).gather(codes).cast(pl.Categorical)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "trial-1.parquet"
        invent(path, options.events)
        took = []
        for _ in range(options.repeat):
            began = time.perf_counter()
            rows = summarise(path)
            took.append(time.perf_counter() - began)
        size = path.stat().st_size / options.events
    assert sum(row.count for row in rows if row.operation == ALL) == options.events
    print("| what | took |\n|---|---|")
    text = f"{min(took):.2f} s (median {statistics.median(took):.2f})"
    print(f"| {options.events:,} raw waits ({len(rows)} rows, {size:.1f} bytes an event) summarised from Parquet | {text} |")


if __name__ == "__main__":
    main()
