"""Prints, as Markdown tables, what restoring the data of a trial costs: changed pages only, beside a full copy.

    python benchmarks/restore.py mysql@9.7 mysql@5.6 mariadb@10.11 [--gb 1,4,12] [--seconds 60] [--trials 3]

Each trial restores the data, starts a server, applies `oltp_read_write` by the driver and stops. Bytes are those that the
restore itself read and wrote. The first two trials of each way are left out: the first has nothing to restore from, and the
second compares all bytes. The second table is on paper: what 100 GB take on two disks, where the pages that a trial changes are
as many as with the largest data here.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from dataclasses import dataclass

from driver import Cell

from dialin.datasets.cache import StoredDataset
from dialin.datasets.restore import TrialData
from dialin.errors import DialinError
from dialin.model.build import Build
from dialin.model.place import RestoreWay
from dialin.servers import builds
from dialin.servers.sandbox import Sandbox
from dialin.trials.tools import Tools
from dialin.workloads import load_binary
from dialin.workloads.base import Target
from dialin.workloads.dialin_load import DialinLoad

WAYS = (RestoreWay.COPY, RestoreWay.PAGES)
TABLES = 8
ROW = 240
"""About how many bytes a row of sysbench takes on disk, with its index."""
WARM_UP = 12
SETTING = {"innodb_buffer_pool_size": 2 * 1024**3}
DISKS = {"400 MB/s": 400e6, "3 GB/s": 3e9}
LARGE = 100e9


@dataclass(frozen=True, slots=True)
class Figures:
    restore: float
    read: float
    written: float
    share: float
    """Of the wall clock that was measured."""


def one_trial(
    tools: Tools, build: Build, workload: DialinLoad, dataset: StoredDataset, data: TrialData, seconds: int
) -> Figures:
    """Run a trial, and return what its restore cost."""
    began = time.monotonic()
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    try:
        data.take(dataset, sandbox.data)
        restored = time.monotonic() - began
        sandbox.boot(SETTING)
        load = workload.start(Target(sandbox.account, sandbox.directory, data=sandbox.data), threads=16, seed=1, cpus=None)
        try:
            for _ in range(WARM_UP + seconds):
                load.read(workload.patience)
        finally:
            load.stop()
        sandbox.stop()
        data.keep(dataset, sandbox.data)
    finally:
        sandbox.remove()
    share = seconds / (time.monotonic() - began)
    done = data.last
    read, written = (done.bytes_read, done.bytes_written) if done else (dataset.size, dataset.size)
    return Figures(restored, read, written, share)


def measure(tools: Tools, build: Build, gb: float, way: RestoreWay, seconds: int, trials: int) -> tuple[int, list[Figures]]:
    """Return the bytes of the data, and the figures of each trial but the first two."""
    spec = Cell("read_write", 16).spec(load_binary.NAME)
    rows = max(1000, round(gb * 1e9 / TABLES / ROW))
    workload = DialinLoad(spec.model_copy(update={"tables": TABLES, "table_size": rows}))
    dataset = tools.preparer.prepared(build, workload, {})
    data = TrialData(tools.home, tools.ledger, tools.clock, tools.say, way=way)
    try:
        with tools.preparer.in_use(dataset):
            figures = [one_trial(tools, build, workload, dataset, data, seconds) for _ in range(trials + 2)]
    finally:
        data.end()
    return dataset.size, figures[2:]


def mean(figures: list[Figures], name: str) -> float:
    return statistics.fmean(getattr(one, name) for one in figures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="+")
    parser.add_argument("--gb", default="1,4,12")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--trials", type=int, default=3)
    options = parser.parse_args()
    tools = Tools.open(lambda text: print(text, file=sys.stderr))
    changed: dict[str, float] = {}
    print("| build | data, GB | way | restore, s | read, GB | written, GB | measured, % |\n|---|---|---|---|---|---|---|")
    try:
        for name in options.builds:
            build = tools.find(name, builds.discover(tools.home, os.environ))
            for gb in map(float, options.gb.split(",")):
                for way in WAYS:
                    size, figures = measure(tools, build, gb, way, options.seconds, options.trials)
                    seconds, read, written, share = (mean(figures, one) for one in ("restore", "read", "written", "share"))
                    print(
                        f"| {name} | {size / 1e9:.1f} | {way} | {seconds:.2f} | {read / 1e9:.2f} | {written / 1e9:.2f} "
                        f"| {share:.0%} |",
                        flush=True,
                    )
                    if way is RestoreWay.PAGES:
                        changed[name] = written
    except DialinError as error:
        sys.exit(str(error))
    print("\n| 100 GB on paper | " + " | ".join(DISKS) + " |\n|---|" + "---|" * len(DISKS))
    print("| a full copy | " + " | ".join(f"{2 * LARGE / rate:.0f} s" for rate in DISKS.values()) + " |")
    for name, pages in changed.items():
        cells = " | ".join(f"{(LARGE / 4 + 2 * pages) / rate:.0f} s" for rate in DISKS.values())
        print(f"| changed pages, {name} | {cells} |")


if __name__ == "__main__":
    main()
