"""Measures what restoring the data of a trial costs: changed pages only, beside a full copy.

    python benchmarks/restore.py [mysql@9.7 mysql@5.6 mariadb@10.11] [--gb 12,4,1] [--seconds 60] [--trials 3] [--results FILE]
    python benchmarks/restore.py --show [--results FILE]
    python benchmarks/restore.py mysql@9.7 mysql@5.6 mariadb@10.11 --prepare 3 [--gb 1]

Each trial restores the data, starts a server as a study does, waits until the buffer pool is loaded, applies `oltp_read_write`
by the driver and kills the server, as a study does. Bytes are those that the restore itself read and wrote. The first two
trials by changed pages are left out: the first has nothing to restore from, and the second compares all bytes. The second table
is on paper: what 100 GB take on two disks, where the pages that a trial changes are as many as with the largest data here, and
where reading 4 KiB of each page costs between a quarter of reading all and as much.

A row is a build, a size and a way. It is written as it ends, and a later call with the same seconds and trials does not measure
it again: stop it when you like, and give the same command again. The sizes come in the order in which they are given, and
`mysql@5.6 --gb 12` measures the two rows of one size of one build alone. How long the rows that are left take is said before
each of them, and which were not measured below the table. The data of a row is removed after the last way that needs it, so the
disk needs room for the largest data twice, and DIALIN_CACHE_LIMIT_GB for it once.

With --prepare it measures how long preparing the data takes instead, so many times in turns: with a server that guards itself
against a crash, and as studies do it. Each preparation is written into `prepare.jsonl` beside the results as it ends.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

from driver import ROOT, Cell
from result_lines import append, lines

from dialin.datasets import filling
from dialin.datasets.cache import StoredDataset
from dialin.datasets.restore import TrialData, bytes_per_second
from dialin.errors import DialinError
from dialin.model.build import Build
from dialin.model.place import RestoreWay
from dialin.places.sandbox.site import sandbox_options
from dialin.servers import builds
from dialin.servers.connection import status
from dialin.servers.sandbox import Sandbox
from dialin.text import about, counted
from dialin.trials.tools import Tools
from dialin.trials.trial_steps import is_loading_pool
from dialin.workloads import load_binary
from dialin.workloads.base import Target
from dialin.workloads.dialin_load import DialinLoad

BUILDS = ("mysql@9.7", "mysql@5.6", "mariadb@10.11")
WAYS = (RestoreWay.COPY, RestoreWay.PAGES)
RESULTS = ROOT / "benchmarks" / "results" / "restore.jsonl"
TABLES = 8
ROW = 240
"""About how many bytes a row of sysbench takes on disk, with its index."""
WARM_UP = 12
SETTING = {"innodb_buffer_pool_size": 2 * 1024**3}
DISKS = {"400 MB/s": 400e6, "3 GB/s": 3e9}
LARGE = 100e9
LEFT_OUT = {RestoreWay.COPY: 0, RestoreWay.PAGES: 2}
"""The first trials of a row, which are not counted."""
BESIDE = 15
"""About how many seconds a trial takes beside its restore and its load."""
PREPARED = 60.0
"""About how many seconds a GB takes to be prepared, until one was."""
LEAST = {"as usual": sys.maxsize, "as studies do": 0}
"""From how many bytes on a server that fills tables does not guard itself, by name."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Seconds and bytes of one trial; `share` of its wall clock was measured, `by_blocks`: only first blocks were read."""

    restore: float
    read: float
    written: float
    pool: float
    share: float
    by_blocks: float


@dataclass(frozen=True, slots=True)
class Row:
    """What a way of restoring cost, mean of `trials` trials that each measured for `seconds`.

    `prepared` is how many seconds the data took, None if some of it was there.
    """

    build: str
    gb: float
    way: str
    bytes: int
    trials: int
    seconds: int
    prepared: float | None
    restore: float
    read: float
    written: float
    pool: float
    share: float
    by_blocks: float


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
        sandbox.kill()  # what the next restore finds is what a study's finds
        data.keep(dataset, sandbox.data)
    finally:
        sandbox.remove()
    share = seconds / (time.monotonic() - began)
    done = data.last
    read, written = (done["bytes_read"], done["bytes_written"]) if done else (dataset.size, dataset.size)
    return Trial(restored, read, written, pool, share, bool(done and done["by_blocks"]))


def prepare(tools: Tools, build: Build, gb: float) -> tuple[DialinLoad, StoredDataset, float | None]:
    """Return a load with its data, and how many seconds preparing it took; None where it was there, in whole or in part."""
    spec = Cell("read_write", 16).spec(load_binary.NAME)
    rows = max(1000, round(gb * 1e9 / TABLES / ROW))
    workload = DialinLoad(spec.model_copy(update={"tables": TABLES, "table_size": rows}))
    tools.preparer.blank(build, {})
    made: list[str] = []
    began = time.monotonic()

    def say(line: str) -> None:
        made.append(line)
        tools.say(line)

    dataset = tools.preparer.telling(say).prepared(build, workload, {})
    is_whole = made and not any(line.startswith("Resuming") for line in made)
    return workload, dataset, time.monotonic() - began if is_whole else None


def measure(tools: Tools, build: Build, gb: float, way: RestoreWay, options: argparse.Namespace) -> tuple[Row, StoredDataset]:
    """Return a row of the table, and the data that it was measured with."""
    workload, dataset, prepared = prepare(tools, build, gb)
    data = TrialData(tools.home, tools.ledger, tools.clock, tools.say, way=way)
    try:
        with tools.preparer.in_use(dataset):
            trials = []
            for number in range(count := options.trials + LEFT_OUT[way]):
                trials.append(one_trial(tools, build, workload, dataset, data, options.seconds))
                tools.say(f"{build.id} {gb:g} GB {way} {number + 1}/{count}: {asdict(trials[-1])}")
    finally:
        data.end()
    those = trials[LEFT_OUT[way] :]
    means = {name: statistics.fmean(getattr(one, name) for one in those) for name in Trial.__dataclass_fields__}
    row = Row(str(build.id), gb, str(way), dataset.size, len(those), options.seconds, prepared, **means)
    return row, dataset


def measure_all(tools: Tools, installed: Sequence[Build], options: argparse.Namespace) -> bool:
    """Measure the rows that are not there yet; return whether all could be."""
    sizes = [float(size) for size in options.gb.split(",")]
    asked = [(gb, tools.find(name, installed), way) for gb in sizes for name in options.builds for way in WAYS]
    done = {(row.gb, row.build, row.way) for row in read(options)}
    left = [(gb, build, way) for gb, build, way in asked if (gb, str(build.id), str(way)) not in done]
    rate = bytes_per_second(tools.home, tools.clock) if left else 0.0
    all_well, dataset = True, None
    for number, (gb, build, way) in enumerate(left):
        seconds = expected(left[number:], read(options), rate, options)
        tools.say(f"{counted(len(left) - number, 'row')} left, about {about(seconds)}")
        try:
            row, dataset = measure(tools, build, gb, way, options)
            append(options.results, asdict(row))
        except DialinError as error:
            all_well = False
            tools.say(f"{build.id} {gb:g} GB {way}: {error}\n{error.log_tail}")
        if dataset is not None and left[number][:2] not in [one[:2] for one in left[number + 1 :]]:
            tools.preparer.remove(dataset)
            dataset = None
    return all_well


def expected(
    left: Sequence[tuple[float, Build, RestoreWay]], done: Sequence[Row], rate: float, options: argparse.Namespace
) -> float:
    """Return about how many seconds rows take on a disk that writes `rate` bytes per second."""
    of_trials = sum(
        (options.trials + LEFT_OUT[way]) * (options.seconds + WARM_UP + BESIDE + 2 * gb * 1e9 / rate) for gb, _, way in left
    )
    per_gb = max((row.prepared / row.gb for row in done if row.prepared), default=PREPARED)
    return of_trials + per_gb * sum({(gb, str(build.id)): gb for gb, build, _ in left}.values())


def prepare_in_turns(tools: Tools, build: Build, gb: float, options: argparse.Namespace) -> None:
    """Print how long preparing takes with a server as it usually is, and as studies do it."""
    results, what = options.results.with_name("prepare.jsonl"), {"build": str(build.id), "gb": gb}
    taken: dict[str, list[float]] = {name: [] for name in LEAST}
    for line in lines(results):
        if {key: line[key] for key in what} == what:
            taken[line["name"]].append(line["seconds"])
    while (left := options.prepare * len(taken) - sum(map(len, taken.values()))) > 0:
        name = min(taken, key=lambda one: len(taken[one]))
        so_far = [one for seconds in taken.values() for one in seconds]
        each = statistics.fmean(so_far) if so_far else PREPARED * gb
        tools.say(f"{build.id}: {counted(left, 'preparation')} left, about {about(left * each)}")
        filling.FROM = LEAST[name]
        _, dataset, prepared = prepare(tools, build, gb)
        tools.preparer.remove(dataset)
        if prepared is not None:
            taken[name].append(prepared)
            append(results, {**what, "name": name, "bytes": dataset.size, "seconds": prepared})
    ratios = [quick / usual for usual, quick in zip(*taken.values(), strict=False)]
    cells = " | ".join(f"{statistics.median(seconds):.1f}" for seconds in taken.values())
    print(
        f"| {build.id} | {gb:g} | {cells} | {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |",
        flush=True,
    )


def read(options: argparse.Namespace) -> list[Row]:
    """Return the rows that were measured so far, with as many trials of as many seconds as are asked for."""
    rows = [Row(**line) for line in lines(options.results)]
    return [row for row in rows if (row.trials, row.seconds) == (options.trials, options.seconds)]


def missing(rows: Sequence[Row], options: argparse.Namespace) -> list[str]:
    """Return the rows that were asked for and are not there; a build is asked for by the beginning of its version."""

    def is_there(gb: float, name: str, way: RestoreWay) -> bool:
        return any((row.gb, row.way) == (gb, str(way)) and f"{row.build}.".startswith(f"{name}.") for row in rows)

    asked = product(map(float, options.gb.split(",")), options.builds, WAYS)
    return [f"{name} {gb:g} GB {way}" for gb, name, way in asked if not is_there(gb, name, way)]


def show(rows: Sequence[Row], options: argparse.Namespace) -> None:
    """Print the tables, and what is not in them."""
    print(f"Means of {options.trials} trials of {options.seconds} s.\n")
    print("| build | data, GB | prepared, s | way | restore, s | read, GB | written, GB | by blocks | pool, s | measured |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for row in sorted(rows, key=lambda row: (row.build, row.gb, row.way)):
        prepared = f"{row.prepared:.0f}" if row.prepared is not None else ""
        print(
            f"| {row.build} | {row.bytes / 1e9:.1f} | {prepared} | {row.way} | {row.restore:.2f} | {row.read / 1e9:.2f} "
            f"| {row.written / 1e9:.2f} | {row.by_blocks:.0%} | {row.pool:.1f} | {row.share:.0%} |"
        )
    print(f"\nNot measured: {', '.join(missing(rows, options)) or 'nothing that was asked for'}.")
    print("\n| 100 GB on paper | " + " | ".join(DISKS) + " |\n|---|" + "---|" * len(DISKS))
    print("| a full copy | " + " | ".join(f"{2 * LARGE / rate:.0f} s" for rate in DISKS.values()) + " |")
    by_pages = {row.build: row for row in sorted(rows, key=lambda row: row.gb) if row.way == RestoreWay.PAGES}
    for build, row in by_pages.items():
        bytes_moved = [LARGE * read + 2 * row.written for read in (1 / 4, 1)]
        cells = " | ".join(" to ".join(f"{moved / rate:.0f}" for moved in bytes_moved) + " s" for rate in DISKS.values())
        print(f"| changed pages, {build} ({row.written / 1e9:.2f} of {row.bytes / 1e9:.1f} GB) | {cells} |")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="*", default=BUILDS)
    parser.add_argument("--gb", default="12,4,1")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true", help="print the tables of what was measured, and measure nothing")
    parser.add_argument("--prepare", type=int, default=0, metavar="ROUNDS")
    options = parser.parse_args()
    all_well = True
    if not options.show:
        tools = Tools.open(lambda text: print(text, file=sys.stderr, flush=True))
        tools.ledger.end_orphans(tools.say)  # what a killed call has left
        installed = builds.discover(tools.home, os.environ)
        if options.prepare:
            print("| build | GB | prepared as usual, s | as studies do, s | ratio |\n|---|---:|---:|---:|---|")
            for name in options.builds:
                prepare_in_turns(tools, tools.find(name, installed), float(options.gb.split(",")[0]), options)
            return 0
        all_well = measure_all(tools, installed, options)
    show(read(options), options)
    return int(not all_well)


if __name__ == "__main__":
    sys.exit(main())
