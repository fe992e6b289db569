"""Measures what ways of running dialin-load, and sysbench, take of the CPU for the same transactions on one server.

    python benchmarks/driver.py [--cells read_write/16 ...] [--arm "NAME: COMMAND" ...] [--rounds 20] [--seconds 5]
                                [--bare] [--name table] [--server mysql@9.7] [--seed 1]

A cell is a workload of sysbench with a number of connections. An arm is a way of running dialin-load: options of its `run`, the
path of another binary, or a command that starts one with something changed; without --arm there is one, the driver as it is:

    --arm "today:"  --arm "one loop: --load-threads 1 --gather on"  --arm "LTO: /tmp/lto/release/dialin-load"
    --arm "batch: chrt -b 0 dialin-load --load-threads 1"  --arm "other: env NAME=VALUE dialin-load"
    --arm "short slices: python benchmarks/sched_slice.py 100 dialin-load"

One sandbox on a unix socket, with 8 tables of 100,000 rows that fit in memory, pareto. In a round of a cell sysbench and each
arm drive the server once, in random order; the rounds of all cells are mixed, so that nothing that changes on the machine meets
one cell alone. A driver is started for each slice, and its first two seconds do not count. A figure is the geometric mean over
the rounds with its 95 % interval (Student's, of logarithms); a ratio pairs the two slices of each round. The machine should
have nothing else to do: the table shows what other programs used. --bare adds the bare loop (bare_loop.py) to cells of
point selects: a client that sends the next request as soon as it can takes no less.

With --name, it writes the figures under that name into benchmarks/results/driver.json, and the table between the marks of that
name in benchmarks/results/driver.md, if there are such marks. Without it, it prints the table only.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import shlex
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bare_loop
import numpy as np
from scipy import stats

from dialin.errors import DialinError, UserError, WorkloadError
from dialin.model.workload import WorkloadSpec
from dialin.paths import replace_text
from dialin.probes import host
from dialin.servers import builds
from dialin.servers.sandbox import Sandbox
from dialin.trials.tools import Tools
from dialin.workloads import load_binary
from dialin.workloads.base import Load, Target, Workload
from dialin.workloads.dialin_load import DialinLoad
from dialin.workloads.kinds import make_workload
from dialin.workloads.sysbench_workloads import GROWING, SYSBENCH_SCRIPTS

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "driver.json"
PAGE = ROOT / "benchmarks" / "results" / "driver.md"

PREFIX = "oltp_"
WORKLOADS = tuple(name for name in SYSBENCH_SCRIPTS if name.startswith(PREFIX) and name not in GROWING)
CELLS = tuple(f"{name}/{count}" for name in ("read_write", "point_select") for count in (1, 16, 64, 150))
SYSBENCH = "sysbench"
BARE = "bare loop"
AS_IT_IS = "dialin-load:"
MOST_CONNECTIONS = 290
SETTING = {
    "innodb_buffer_pool_size": 512 * 1024**2,
    "innodb_flush_log_at_trx_commit": 2,
    "sync_binlog": 0,
    "max_connections": MOST_CONNECTIONS + 10,
}
PATIENCE = 60.0
SETTLE = 2
"""Seconds of a slice that do not count: connections are made, statements prepared."""


@dataclass(frozen=True)
class Cell:
    """A workload of sysbench, and how many connections apply it."""

    workload: str
    connections: int

    @classmethod
    def parse(cls, text: str) -> Cell:
        """Return the cell of a text such as read_write/16."""
        name, _, count = text.partition("/")
        if f"{PREFIX}{name}" not in WORKLOADS or not count.isdecimal() or not 1 <= int(count) <= MOST_CONNECTIONS:
            names = ", ".join(workload.removeprefix(PREFIX) for workload in WORKLOADS)
            raise argparse.ArgumentTypeError(f"{text} is not WORKLOAD/CONNECTIONS, up to {MOST_CONNECTIONS} of {names}")
        return cls(name, int(count))

    def __str__(self) -> str:
        return f"{self.workload}/{self.connections}"

    def spec(self, driver: str) -> WorkloadSpec:
        return WorkloadSpec(
            name=f"{PREFIX}{self.workload}",
            kind=driver,
            threads=self.connections,
            tables=8,
            table_size=100_000,
            rand_type="pareto",
        )


@dataclass(frozen=True)
class Arm:
    """A way of running dialin-load: the command that starts it, empty for the installed one, and options of its `run`."""

    name: str
    command: tuple[str, ...]
    options: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Arm:
        """Return the arm of a text such as `batch: chrt -b 0 dialin-load --load-threads 1`."""
        name, colon, line = text.partition(":")
        if not colon or not name.strip() or name.strip() in (SYSBENCH, BARE):
            raise argparse.ArgumentTypeError(
                f"{text!r} does not begin with a name and a colon, as in 'one loop: --load-threads 1'"
            )
        words = shlex.split(line)
        programs = [place for place, word in enumerate(words, 1) if Path(word).name == load_binary.NAME]
        if not programs and words and not words[0].startswith("--"):
            raise argparse.ArgumentTypeError(f"{line.strip()!r} names no dialin-load; options begin with --")
        end = programs[0] if programs else 0
        return cls(name.strip(), tuple(words[:end]), tuple(words[end:]))

    def write_program(self, directory: Path) -> Path:
        """Write a program that runs dialin-load in this way.

        Raises:
            UserError: a program of the command is missing.
        """
        command = list(self.command) or [load_binary.NAME]
        if command[-1] == load_binary.NAME:
            command[-1] = str(load_binary.need())
        if shutil.which(command[0]) is None:
            raise UserError(f"Arm {self.name}: there is no program {command[0]}", "Correct its path")
        # It runs in the directory of the sandbox.
        command = [str(Path(word).absolute()) if "/" in word and Path(word).exists() else word for word in command]
        program = directory / f"{self.name.replace('/', '_')}.sh"
        only_run = f'[ "$1" != run ] || set -- "$@" {shlex.join(self.options)}' if self.options else ""
        program.write_text(f'#!/bin/sh\n{only_run}\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
        program.chmod(0o700)
        return program


@dataclass(frozen=True)
class Slice:
    """What a driver did.

    Attributes:
        tps: transactions per second.
        cpu_us: CPU microseconds of the driver per transaction.
        others: the share of the machine's CPU time that other programs used.
        choice: load threads and gathering in the last second; empty for sysbench.
    """

    tps: float
    cpu_us: float
    others: float
    choice: str = ""


Round = Mapping[str, Slice]
"""A slice of sysbench and of each arm, by name."""


class DelayedError(Exception):
    """This program was held up: reports of seconds long past waited for it, and CPU time does not belong to them."""


def measure(load: Load, server: int, seconds: int) -> Slice:
    """Return what a running load does in so many seconds.

    Raises:
        DelayedError: the reports of these seconds took less time than that to arrive.
    """

    def clocks() -> tuple[float, float, float]:
        return load.cpu_seconds(), host.cpu_seconds(server), host.busy_seconds()

    read(load, SETTLE)
    began, begin = clocks(), time.monotonic()
    transactions, choice = read(load, seconds)
    if time.monotonic() - begin < seconds - 0.5:
        raise DelayedError
    driver, served, busy = (after - before for before, after in zip(began, clocks(), strict=True))
    if not transactions or driver <= 0:
        raise WorkloadError("no transaction was made, or too few to measure their CPU time")
    others = max(0.0, busy - driver - served) / seconds / host.cpu_count()
    return Slice(transactions / seconds, 1e6 * driver / transactions, others, choice)


def read(load: Load, seconds: int) -> tuple[float, str]:
    """Return the transactions of so many seconds, and what the driver had chosen by the last one."""
    reports = [load.read(PATIENCE) for _ in range(seconds)]
    if None in reports:
        raise WorkloadError(f"the driver reported nothing for {PATIENCE:.0f} s")
    last = reports[-1]
    choice = last.choice.describe() if last is not None and last.choice is not None else ""
    return sum(second.tps for second in reports if second is not None), choice


def run_slice(workload: Workload, connections: int, sandbox: Sandbox, seconds: int, seed: int) -> Slice:
    """Start a driver, measure it, and stop it; once more where this program was held up."""
    if sandbox.pid is None:
        raise WorkloadError("the server does not run")
    target = Target(sandbox.account, sandbox.directory)
    load = workload.start(target, threads=connections, seed=seed, cpus=None)
    try:
        return measure(load, sandbox.pid, seconds)
    except DelayedError:
        pass
    finally:
        load.stop()
    return run_slice(workload, connections, sandbox, seconds, seed)


def run_bare(library: ctypes.CDLL, cell: Cell, sandbox: Sandbox, seconds: int, seed: int) -> Slice:
    """Measure the bare loop."""
    socket, pid, spec = sandbox.account.socket, sandbox.pid, cell.spec(BARE)
    if pid is None or socket is None:
        raise WorkloadError("the server does not run")

    def clocks() -> tuple[float, float, float, float]:
        return time.monotonic(), time.process_time(), host.cpu_seconds(pid), host.busy_seconds()

    began = clocks()
    tps, cpu_us = bare_loop.drive(library, socket, cell.connections, spec.tables, spec.table_size, SETTLE, seconds, seed)
    elapsed, own, served, busy = (after - before for before, after in zip(began, clocks(), strict=True))
    return Slice(tps, cpu_us, max(0.0, busy - own - served) / elapsed / host.cpu_count())


def run_rounds(
    cells: Sequence[Cell],
    programs: Mapping[str, Path],
    bare: ctypes.CDLL | None,
    sandbox: Sandbox,
    rounds: int,
    seconds: int,
    seed: int,
) -> dict[Cell, list[Round]]:
    """Measure the rounds of all cells in random order."""
    rng = random.Random(seed)
    order = [cell for cell in cells for _ in range(rounds)]
    rng.shuffle(order)
    measured: dict[Cell, list[Round]] = {cell: [] for cell in cells}
    for number, cell in enumerate(order, 1):
        workloads: dict[str, Workload] = {SYSBENCH: make_workload(cell.spec(SYSBENCH))}
        workloads |= {name: DialinLoad(cell.spec(load_binary.NAME), program) for name, program in programs.items()}
        load_seed = rng.randrange(1, 2**31)
        drivers = [*workloads, *([BARE] if bare and cell.workload == "point_select" else [])]
        slices = {
            name: run_bare(bare, cell, sandbox, seconds, load_seed)
            if bare and name == BARE
            else run_slice(workloads[name], cell.connections, sandbox, seconds, load_seed)
            for name in rng.sample(drivers, len(drivers))
        }
        measured[cell].append(slices)
        ratios = (f"{name} {slices[name].cpu_us / slices[SYSBENCH].cpu_us:.2f}" for name in drivers if name != SYSBENCH)
        print(f"{number} of {len(order)}: {cell}: CPU / of sysbench: {', '.join(ratios)}", file=sys.stderr)
    return measured


def estimate(values: Iterable[float]) -> list[float]:
    """Return the geometric mean of values, one per round, with both ends of its 95 % interval."""
    logs = np.log(list(values))
    half = float(stats.t.ppf(0.975, logs.size - 1) * stats.sem(logs))
    mean = float(logs.mean())
    return [float(f"{np.exp(value):.5g}") for value in (mean, mean - half, mean + half)]


def compare(rounds: Sequence[Round], name: str, reference: str) -> dict[str, list[float]]:
    """Return CPU per transaction and throughput of a driver as ratios to another's of the same rounds."""
    return {
        "cpu": estimate(one[name].cpu_us / one[reference].cpu_us for one in rounds),
        "throughput": estimate(one[name].tps / one[reference].tps for one in rounds),
    }


def summarize(rounds: Sequence[Round], arms: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the figures of a cell by driver: sysbench, and each arm beside it and beside the first arm."""
    figures: dict[str, dict[str, Any]] = {}
    for name in (SYSBENCH, *arms, *([BARE] if BARE in rounds[0] else [])):
        slices = [one[name] for one in rounds]
        figures[name] = {
            "cpu_us": estimate(one.cpu_us for one in slices),
            "tps": estimate(one.tps for one in slices),
            "other_load": round(statistics.fmean(one.others for one in slices), 4),
        }
        if name != SYSBENCH:
            figures[name]["to_sysbench"] = compare(rounds, name, SYSBENCH)
            figures[name]["choices"] = dict(Counter(one.choice for one in slices).most_common())
        if name in (*arms[1:], BARE):
            figures[name]["to_first_arm"] = compare(rounds, name, arms[0])
    return figures


def show(value: Sequence[float] | None, digits: int) -> str:
    """Return a figure with its interval as text."""
    if value is None:
        return "–"
    mean, low, high = (f"{one:,.{digits}f}" for one in value)
    return f"{mean} ({low} to {high})"


def make_table(cells: Mapping[str, Mapping[str, Mapping[str, Any]]], arms: Sequence[str]) -> str:
    """Return all figures as a Markdown table, a row per cell and driver; every bracket is a 95 % interval."""
    has_others = any("to_first_arm" in figures for drivers in cells.values() for figures in drivers.values())
    references = {"to_sysbench": SYSBENCH} | ({"to_first_arm": arms[0]} if has_others else {})
    titles = ["load", "connections", "driver"]
    titles += [f"{what} / of {name}" for name in references.values() for what in ("CPU", "throughput")]
    titles += ["CPU per transaction, µs", "transactions/s", "other programs"]
    rows = [titles, ["---"] * len(titles)]
    for cell, drivers in cells.items():
        workload, _, connections = cell.partition("/")
        for name, figures in drivers.items():
            row = [f"{PREFIX}{workload}", connections, name]
            for key in references:
                row += [show(figures.get(key, {}).get(what), 2) for what in ("cpu", "throughput")]
            row += [show(figures["cpu_us"], 1), show(figures["tps"], 0), f"{100 * figures['other_load']:.1f} %"]
            rows.append(row)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def insert_into_page(page: str, name: str, text: str) -> str:
    """Return the page with the text between the two marks of a name; the page as it is where it has none."""
    begin, end = f"<!-- driver {name}: begin -->", f"<!-- driver {name}: end -->"
    before, found, rest = page.partition(begin)
    return f"{before}{begin}\n\n{text}\n\n{end}{rest.partition(end)[2]}" if found else page


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cells = [Cell.parse(cell) for cell in CELLS]
    parser.add_argument("--cells", nargs="+", type=Cell.parse, default=cells, metavar="WORKLOAD/CONNECTIONS")
    parser.add_argument("--arm", action="append", type=Arm.parse, metavar="NAME: COMMAND", help="may be repeated")
    parser.add_argument("--bare", action="store_true", help="also the bare loop, in cells of point selects")
    parser.add_argument("--rounds", type=int, default=20, help="of each cell")
    parser.add_argument("--seconds", type=int, default=5, help="measured of each slice")
    parser.add_argument("--name", help="under which the figures are stored")
    parser.add_argument("--server", default="mysql@9.7")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.arm = options.arm or [Arm.parse(AS_IT_IS)]
    if len({arm.name for arm in options.arm}) < len(options.arm):
        parser.error("each --arm takes a name of its own")
    if options.rounds < 2 or options.seconds < 1:
        parser.error("--rounds takes 2 or more, --seconds 1 or more")
    return options


def main() -> None:
    options = parse_options()
    arms: Sequence[Arm] = options.arm
    cells: Sequence[Cell] = list(dict.fromkeys(options.cells))
    tools = Tools.open(lambda text: print(text, file=sys.stderr))
    try:
        build = builds.find(options.server, builds.discover(tools.home, os.environ), tools.home)
        with tempfile.TemporaryDirectory() as directory:
            programs = {arm.name: arm.write_program(Path(directory)) for arm in arms}
            first = [DialinLoad(cells[0].spec(load_binary.NAME), program) for program in programs.values()]
            drivers = dict(zip((SYSBENCH, *programs), (make_workload(cells[0].spec(SYSBENCH)), *first), strict=True))
            for driver in drivers.values():
                driver.check()
            versions = {name: driver.version() for name, driver in drivers.items()}
            with tools.preparer.running(build, SETTING) as sandbox:
                with sandbox.connect() as query:
                    query("CREATE DATABASE sbtest")
                first[0].prepare(Target(sandbox.account, sandbox.directory))
                with bare_loop.compiled() if options.bare else nullcontext() as bare:
                    rounds = run_rounds(cells, programs, bare, sandbox, options.rounds, options.seconds, options.seed)
    except DialinError as error:
        sys.exit(str(error))
    names = [arm.name for arm in arms]
    figures = {str(cell): summarize(measured, names) for cell, measured in rounds.items()}
    machine = host.inventory(tools.home.root)
    facts = f"{build.id}, {options.rounds} rounds of {options.seconds} s, {machine.get('cpu')}, {machine.get('cpus')} CPUs"
    text = (
        f"{facts}; {', '.join(dict.fromkeys(versions.values()))}; in brackets 95 % intervals:\n\n{make_table(figures, names)}"
    )
    print(text)
    if not options.name:
        return
    facts_of_run = {
        "server": build.id,
        "rounds": options.rounds,
        "seconds": options.seconds,
        "seed": options.seed,
        "arms": {arm.name: shlex.join([*arm.command, *arm.options]) for arm in arms},
        "versions": versions,
        "host": machine,
        "cells": figures,
    }
    stored = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    RESULTS.parent.mkdir(exist_ok=True)
    replace_text(RESULTS, json.dumps({**stored, options.name: facts_of_run}, indent=1) + "\n")
    replace_text(PAGE, insert_into_page(PAGE.read_text(encoding="utf-8"), options.name, text))


if __name__ == "__main__":
    main()
