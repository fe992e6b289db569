"""Measures what dialin-load and sysbench take of the CPU for the same transactions, side by side on one server.

    python benchmarks/driver.py [--pairs 5] [--seconds 5] [--only read_write/16 ...] [--server mysql@9.7] [--seed 1]

One sandbox on a unix socket, with 8 tables of 100,000 rows that fit in memory, pareto. Slices of load come in pairs, one of
each driver in random order; the pairs of all cases are mixed, so that nothing that changes on the machine meets one case
alone. A driver is started for each slice, and its first two seconds do not count. A figure is the median over the pairs, its
range the least and the greatest. The machine should have nothing else to do: what other programs took of it is told.

Writes benchmarks/results/driver.json and the table in BENCHMARKS.md; with --only nothing is written, and the table is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from dialin.errors import DialinError, WorkloadError
from dialin.model.workload import WorkloadSpec
from dialin.paths import replace_text
from dialin.probes import host
from dialin.servers import builds
from dialin.servers.sandbox import Sandbox
from dialin.trials.tools import Tools
from dialin.workloads.base import Load, Target
from dialin.workloads.kinds import make_workload

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "driver.json"
PAGE = ROOT / "BENCHMARKS.md"
BEGIN, END = "<!-- driver: written by make bench-driver -->", "<!-- driver: end -->"

WORKLOADS = {"read_write": "oltp_read_write", "point_select": "oltp_point_select"}
CONNECTIONS = (1, 16, 64, 150)
DRIVERS = ("dialin-load", "sysbench")
SETTING = {
    "innodb_buffer_pool_size": 512 * 1024**2,
    "innodb_flush_log_at_trx_commit": 2,
    "sync_binlog": 0,
    "max_connections": 300,
}
PATIENCE = 60.0
SETTLE = 2
"""Seconds of a slice that do not count: connections are made, statements prepared."""

Case = tuple[str, int]


@dataclass(frozen=True)
class Slice:
    """What a driver did: transactions a second, its CPU microseconds for each, and what others took of the machine."""

    tps: float
    cpu_us: float
    others: float


@dataclass(frozen=True)
class Pair:
    """One slice of each driver, one after the other."""

    ours: Slice
    theirs: Slice

    @property
    def ratio(self) -> float:
        return self.ours.cpu_us / self.theirs.cpu_us

    @property
    def throughput(self) -> float:
        return self.ours.tps / self.theirs.tps


def spec(case: Case, driver: str) -> WorkloadSpec:
    name, connections = case
    return WorkloadSpec(
        name=WORKLOADS[name], kind=driver, threads=connections, tables=8, table_size=100_000, rand_type="pareto"
    )


def measured(load: Load, server: int, seconds: int) -> Slice:
    """Return what a running load does in so many seconds."""

    def clocks() -> tuple[float, float, float]:
        return load.cpu_seconds(), host.cpu_seconds(server), host.busy_seconds()

    read(load, SETTLE)
    began = clocks()
    transactions = read(load, seconds)
    driver, served, busy = (after - before for before, after in zip(began, clocks(), strict=True))
    if not transactions:
        raise WorkloadError("no transaction was made")
    others = max(0.0, busy - driver - served) / seconds / host.cpu_count()
    return Slice(transactions / seconds, 1e6 * driver / transactions, others)


def read(load: Load, seconds: int) -> float:
    """Return the transactions of so many seconds."""
    found = [load.read(PATIENCE) for _ in range(seconds)]
    if None in found:
        raise WorkloadError(f"the driver reported nothing for {PATIENCE:.0f} s")
    return sum(second.tps for second in found if second is not None)


def slice_of(case: Case, driver: str, sandbox: Sandbox, seconds: int, seed: int) -> Slice:
    target = Target(sandbox.account, sandbox.directory)
    load = make_workload(spec(case, driver)).start(target, threads=case[1], seed=seed, cpus=None)
    try:
        return measured(load, sandbox.pid, seconds)
    finally:
        load.stop()


def run(cases: Sequence[Case], sandbox: Sandbox, pairs: int, seconds: int, seed: int) -> dict[Case, list[Pair]]:
    """Measure all pairs in random order."""
    rng = random.Random(seed)
    order = [case for case in cases for _ in range(pairs)]
    rng.shuffle(order)
    found: dict[Case, list[Pair]] = {case: [] for case in cases}
    for number, case in enumerate(order, 1):
        both = {}
        load_seed = rng.randrange(1, 2**31)
        for driver in rng.sample(DRIVERS, len(DRIVERS)):
            both[driver] = slice_of(case, driver, sandbox, seconds, load_seed)
        pair = Pair(both["dialin-load"], both["sysbench"])
        found[case].append(pair)
        told = f"{case[0]} {case[1]}: CPU {pair.ratio:.2f}, throughput {pair.throughput:.2f}"
        print(f"{number} of {len(order)}: {told}", file=sys.stderr)
    return found


def summary(pairs: Sequence[Pair]) -> dict[str, float]:
    ratios = [pair.ratio for pair in pairs]
    figures = {
        "ratio": statistics.median(ratios),
        "low": min(ratios),
        "high": max(ratios),
        "throughput_ratio": statistics.median(pair.throughput for pair in pairs),
        "throughput_low": min(pair.throughput for pair in pairs),
        "throughput_high": max(pair.throughput for pair in pairs),
        "cpu_us": statistics.median(pair.ours.cpu_us for pair in pairs),
        "sysbench_cpu_us": statistics.median(pair.theirs.cpu_us for pair in pairs),
        "tps": statistics.median(pair.ours.tps for pair in pairs),
        "sysbench_tps": statistics.median(pair.theirs.tps for pair in pairs),
        "other_load": statistics.fmean(one.others for pair in pairs for one in (pair.ours, pair.theirs)),
    }
    return {"pairs": len(pairs), **{name: round(value, 4) for name, value in figures.items()}}


def table(results: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    head = (
        "| load | connections | CPU of dialin-load / of sysbench, median (range) | "
        "throughput / under sysbench, median (range) | "
        "CPU a transaction, µs: dialin-load | sysbench | other programs |\n|---|---|---|---|---|---|---|"
    )
    rows = [
        f"| {WORKLOADS[name]} | {connections} | **{one['ratio']:.2f}** ({one['low']:.2f} to {one['high']:.2f}) | "
        f"{one['throughput_ratio']:.2f} ({one['throughput_low']:.2f} to {one['throughput_high']:.2f}) | "
        f"{one['cpu_us']:.1f} | {one['sysbench_cpu_us']:.1f} | {100 * one['other_load']:.1f} % |"
        for name, by_connections in results.items()
        for connections, one in by_connections.items()
    ]
    return "\n".join([head, *rows])


def into_page(page: str, text: str) -> str:
    """Return the page with the text between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5, help="of each case")
    parser.add_argument("--seconds", type=int, default=5, help="measured of each slice")
    parser.add_argument("--only", nargs="+", default=[], metavar="LOAD/CONNECTIONS", help="such as read_write/16")
    parser.add_argument("--server", default="mysql@9.7")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    cases = list(product(WORKLOADS, CONNECTIONS))
    if options.only:
        cases = [case for case in cases if f"{case[0]}/{case[1]}" in options.only]
    if not cases:
        parser.error(f"--only takes {', '.join(f'{name}/{count}' for name, count in product(WORKLOADS, CONNECTIONS))}")
    workshop = Tools.open(lambda text: print(text, file=sys.stderr))
    try:
        build = builds.find(options.server, builds.discover(workshop.home, os.environ))
        for driver in DRIVERS:
            make_workload(spec(cases[0], driver)).check()
        with workshop.preparer.running(build, SETTING) as sandbox:
            with sandbox.connect() as query:
                query("CREATE DATABASE sbtest")
            make_workload(spec(cases[0], "dialin-load")).prepare(Target(sandbox.account, sandbox.directory))
            found = run(cases, sandbox, options.pairs, options.seconds, options.seed)
    except DialinError as error:
        sys.exit(str(error))
    results: dict[str, dict[str, dict[str, float]]] = {name: {} for name in WORKLOADS}
    for (name, connections), pairs in found.items():
        results[name][str(connections)] = summary(pairs)
    versions = {str(driver): make_workload(spec(cases[0], driver)).version() for driver in DRIVERS}
    machine = host.inventory(workshop.home.root)
    facts = f"{build.id}, {options.pairs} pairs of {options.seconds} s, {machine.get('cpu')}, {machine.get('cpus')} CPUs"
    text = f"{facts}; {versions['dialin-load']} and {versions['sysbench']}:\n\n{table(results)}"
    print(text)
    if options.only:
        return
    whole = {"server": build.id, "pairs": options.pairs, "seconds": options.seconds, "versions": versions, "host": machine}
    RESULTS.parent.mkdir(exist_ok=True)
    replace_text(RESULTS, json.dumps({**whole, **results}, indent=1) + "\n")
    replace_text(PAGE, into_page(PAGE.read_text(encoding="utf-8"), text))


if __name__ == "__main__":
    main()
