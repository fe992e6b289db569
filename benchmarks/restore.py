"""Measures what restoring the data of a trial costs: changed pages only, beside a full copy.

    python benchmarks/restore.py mysql@9.7 mysql@5.6 mariadb@10.11 [--gb 1,4,12] [--seconds 60] [--trials 3] [--results FILE]
    python benchmarks/restore.py --show [--results FILE]
    python benchmarks/restore.py mysql@9.7 mysql@5.6 mariadb@10.11 --prepare 3 [--gb 1]

Each trial restores the data, starts a server as a study does, waits until the buffer pool is loaded, applies `oltp_read_write`
by the driver and stops. Bytes are those that the restore itself read and wrote. The first two trials of each way are left out:
the first has nothing to restore from, and the second compares all bytes. The second table is on paper: what 100 GB take on two
disks, where the pages that a trial changes are as many as with the largest data here.

A row is a build, a size and a way. It is written as it ends, and not measured again by a later call: stop it when you like, and
give the same command again. The data of a row is removed after the last way that needs it, so the disk needs room for the
largest data twice, and DIALIN_CACHE_LIMIT_GB for it once.

With --prepare it measures how long preparing the data takes instead, so many times in turns: with a server that guards itself
against a crash, and as studies do it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from driver import ROOT, Cell

from dialin.datasets import filling
from dialin.datasets.cache import StoredDataset
from dialin.datasets.restore import TrialData
from dialin.errors import DialinError
from dialin.model.build import Build
from dialin.model.place import RestoreWay
from dialin.places.sandbox.site import sandbox_options
from dialin.servers import builds
from dialin.servers.connection import status
from dialin.servers.sandbox import Sandbox
from dialin.trials.tools import Tools
from dialin.trials.trial_steps import is_loading_pool
from dialin.workloads import load_binary
from dialin.workloads.base import Target
from dialin.workloads.dialin_load import DialinLoad

WAYS = (RestoreWay.COPY, RestoreWay.PAGES)
RESULTS = ROOT / "benchmarks" / "results" / "restore.jsonl"
TABLES = 8
ROW = 240
"""About how many bytes a row of sysbench takes on disk, with its index."""
WARM_UP = 12
SETTING = {"innodb_buffer_pool_size": 2 * 1024**3}
DISKS = {"400 MB/s": 400e6, "3 GB/s": 3e9}
LARGE = 100e9


@dataclass(frozen=True, slots=True)
class Trial:
    """Seconds and bytes of one trial; `share` of its wall clock was measured."""

    restore: float
    read: float
    written: float
    pool: float
    share: float


@dataclass(frozen=True, slots=True)
class Row:
    """What a way of restoring cost, mean of some trials; `prepared` is how many seconds the data took, None if it was there."""

    build: str
    gb: float
    way: str
    bytes: int
    trials: int
    prepared: float | None
    restore: float
    read: float
    written: float
    pool: float
    share: float


def one_trial(tools: Tools, build: Build, workload: DialinLoad, dataset: StoredDataset, data: TrialData, seconds: int) -> Trial:
    """Run a trial, and return what its restore cost."""
    began = time.monotonic()
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    try:
        data.take(dataset, sandbox.data)
        restored = time.monotonic() - began
        sandbox.boot(sandbox_options(SETTING, build))
        booted = time.monotonic()
        with sandbox.connect() as query:
            while is_loading_pool(status(query, "Innodb_buffer_pool_load_status") or ""):
                time.sleep(0.1)
        pool = time.monotonic() - booted
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
    read, written = (done["bytes_read"], done["bytes_written"]) if done else (dataset.size, dataset.size)
    return Trial(restored, read, written, pool, share)


def prepare(tools: Tools, build: Build, gb: float) -> tuple[DialinLoad, StoredDataset, float | None]:
    """Return a load with its data, and how many seconds preparing it took; None where it was there."""
    spec = Cell("read_write", 16).spec(load_binary.NAME)
    rows = max(1000, round(gb * 1e9 / TABLES / ROW))
    workload = DialinLoad(spec.model_copy(update={"tables": TABLES, "table_size": rows}))
    tools.preparer.blank(build, {})
    made: list[str] = []
    began = time.monotonic()
    dataset = tools.preparer.telling(made.append).prepared(build, workload, {})
    return workload, dataset, time.monotonic() - began if made else None


def measure(tools: Tools, build: Build, gb: float, way: RestoreWay, options: argparse.Namespace) -> tuple[Row, StoredDataset]:
    """Return a row of the table, and the data that it was measured with."""
    workload, dataset, prepared = prepare(tools, build, gb)
    data = TrialData(tools.home, tools.ledger, tools.clock, tools.say, way=way)
    try:
        with tools.preparer.in_use(dataset):
            trials = []
            for number in range(options.trials + 2):
                trials.append(one_trial(tools, build, workload, dataset, data, options.seconds))
                tools.say(f"{build.id} {gb:g} GB {way} {number + 1}/{options.trials + 2}: {asdict(trials[-1])}")
    finally:
        data.end()
    counted = trials[2:]
    means = {name: statistics.fmean(getattr(one, name) for one in counted) for name in Trial.__dataclass_fields__}
    row = Row(str(build.id), gb, str(way), dataset.size, len(counted), prepared, **means)
    return row, dataset


def prepare_in_turns(tools: Tools, build: Build, gb: float, rounds: int) -> None:
    """Print how long preparing takes with a server as it usually is, and as studies do it."""
    taken: dict[str, list[float]] = {"as usual": [], "as studies do": []}
    for _ in range(rounds):
        for (name, seconds), least in zip(taken.items(), (sys.maxsize, 0), strict=True):
            filling.FROM = least
            _, dataset, prepared = prepare(tools, build, gb)
            tools.preparer.remove(dataset)
            seconds.append(prepared or 0.0)
            tools.say(f"{build.id} {name}: {dataset.size / 1e9:.2f} GB in {prepared:.1f} s")
    ratios = [quick / usual for usual, quick in zip(*taken.values(), strict=True)]
    cells = " | ".join(f"{statistics.median(seconds):.1f}" for seconds in taken.values())
    print(
        f"| {build.id} | {gb:g} | {cells} | {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |",
        flush=True,
    )


def read(results: Path) -> list[Row]:
    """Return the rows that were measured so far."""
    return [Row(**json.loads(line)) for line in results.read_text().splitlines()] if results.exists() else []


def show(rows: Sequence[Row]) -> None:
    """Print the tables."""
    print("| build | data, GB | prepared, s | way | restore, s | read, GB | written, GB | pool, s | measured |")
    print("|---|---|---|---|---|---|---|---|---|")
    for row in sorted(rows, key=lambda row: (row.build, row.gb, row.way)):
        prepared = f"{row.prepared:.0f}" if row.prepared is not None else ""
        print(
            f"| {row.build} | {row.bytes / 1e9:.1f} | {prepared} | {row.way} | {row.restore:.2f} | {row.read / 1e9:.2f} "
            f"| {row.written / 1e9:.2f} | {row.pool:.1f} | {row.share:.0%} |"
        )
    print("\n| 100 GB on paper | " + " | ".join(DISKS) + " |\n|---|" + "---|" * len(DISKS))
    print("| a full copy | " + " | ".join(f"{2 * LARGE / rate:.0f} s" for rate in DISKS.values()) + " |")
    by_pages = {row.build: row for row in sorted(rows, key=lambda row: row.gb) if row.way == RestoreWay.PAGES}
    for build, row in by_pages.items():
        cells = " | ".join(f"{(LARGE / 4 + 2 * row.written) / rate:.0f} s" for rate in DISKS.values())
        print(f"| changed pages, {build} ({row.written / 1e9:.2f} GB) | {cells} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="*")
    parser.add_argument("--gb", default="1,4,12")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true", help="print the tables of what was measured, and measure nothing")
    parser.add_argument("--prepare", type=int, default=0, metavar="ROUNDS")
    options = parser.parse_args()
    failed = False
    if options.prepare:
        tools = Tools.open(lambda text: print(text, file=sys.stderr, flush=True))
        print("| build | GB | prepared as usual, s | as studies do, s | ratio |\n|---|---:|---:|---:|---|")
        for name in options.builds:
            build = tools.find(name, builds.discover(tools.home, os.environ))
            prepare_in_turns(tools, build, float(options.gb.split(",")[0]), options.prepare)
        return 0
    if not options.show:
        tools = Tools.open(lambda text: print(text, file=sys.stderr, flush=True))
        installed = builds.discover(tools.home, os.environ)
        for gb in map(float, options.gb.split(",")):
            for build in (tools.find(name, installed) for name in options.builds):
                done = {(row.build, row.gb, row.way) for row in read(options.results)}
                dataset = None
                for way in (way for way in WAYS if (build.id, gb, way) not in done):
                    try:
                        row, dataset = measure(tools, build, gb, way, options)
                    except DialinError as error:
                        failed = True
                        tools.say(f"{build.id} {gb:g} GB {way}: {error}\n{error.log_tail}")
                        continue
                    options.results.parent.mkdir(exist_ok=True)
                    with options.results.open("a") as file:
                        file.write(f"{json.dumps(asdict(row))}\n")
                if dataset is not None:
                    tools.preparer.remove(dataset)
    show(read(options.results))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
