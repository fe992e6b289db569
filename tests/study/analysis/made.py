"""Logs of sysbench of known answer."""

import gzip
from pathlib import Path

import numpy as np

HEADER = """sysbench 1.0.20 (using bundled LuaJIT 2.1.0-beta2)

Running the test with following options:
Number of threads: {threads}
Report intermediate results every 1 second(s)


Threads started!

"""
SUMMARY = """SQL statistics:
    transactions:                        {transactions} (100.00 per sec.)
Latency (ms):
         95th percentile:                       12.30
"""


def series(level=1000.0, seconds=200, *, cv=0.05, seed=1, warm_up=0, stalls=(), wave=(0.0, 1)):
    """Transactions of each second: noise about a level; a warm-up; stalls as (second, length); a wave as (crest, period)."""
    random = np.random.default_rng(seed)
    time = np.arange(seconds)
    x = level * (1 + cv * random.standard_normal(seconds)) * (1 + wave[0] * np.sin(2 * np.pi * time / wave[1]))
    x[:warm_up] *= np.linspace(0.1, 0.6, warm_up)
    for start, length in stalls:
        x[start : start + length] = 0.1 * level
    return np.round(np.maximum(x, 0), 2)


def csv(tps, *, threads=16, latency=12.3, interval=1, whole=True, start=1):
    rows = [
        f"{(start + index) * interval},{threads},{value:.2f},{20 * value:.2f},{14 * value:.2f},{4 * value:.2f},{2 * value:.2f},"
        f"{latency:.2f},0.50,0.00"
        for index, value in enumerate(tps)
    ]
    return _log(rows, tps, threads, interval, whole=whole)


def human(tps, *, threads=16, latency=12.3, interval=1, percentile=95, whole=True):
    rows = [
        f"[ {(1 + index) * interval}s ] thds: {threads} tps: {value:.2f} qps: {20 * value:.2f} (r/w/o: {14 * value:.2f}/"
        f"{4 * value:.2f}/{2 * value:.2f}) lat (ms,{percentile}%): {latency:.2f} err/s: 0.50 reconn/s: 0.00"
        for index, value in enumerate(tps)
    ]
    return _log(rows, tps, threads, interval, whole=whole)


def _log(rows, tps, threads, interval, *, whole):
    text = "\n".join(rows) + "\n"
    if not whole:
        return text
    return HEADER.format(threads=threads) + text + SUMMARY.format(transactions=round(sum(tps) * interval))


def write(directory: Path, **logs) -> Path:
    """Write logs by name; `__` in a name stands for a dot, and names that end in `gz` are packed."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in logs.items():
        path = directory / name.replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return directory
