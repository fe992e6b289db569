"""Prints, as a Markdown table, what a container costs a server: its throughput, start and stop beside the plain sandbox.

    python benchmarks/container.py image:NAME [--connections 16] [--minutes 7] [--seconds 5]

Both ways run the same binary: the plain sandbox that of the copy of the image's files, with the image's own libraries. In a
round both are started on a copy of the same data, loaded with `oltp_read_write` and stopped, in random order; a ratio pairs the
two of each round and has a 95 % interval. The last round begins before the minutes are over.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from dataclasses import dataclass, replace

from driver import SETTING, Cell, estimate, show

from dialin.datasets.cache import copy
from dialin.errors import DialinError
from dialin.model.build import Build
from dialin.servers.sandbox import Sandbox
from dialin.trials.tools import Tools
from dialin.workloads import load_binary
from dialin.workloads.base import Target
from dialin.workloads.dialin_load import DialinLoad

WAYS = ("container", "plain")
WARM_UP = 2


@dataclass(frozen=True, slots=True)
class Figures:
    throughput: float
    start: float
    stop: float


def measure(tools: Tools, build: Build, workload: DialinLoad, connections: int, seconds: int, seed: int) -> Figures:
    """Start a server on prepared data, load it and stop it."""
    dataset = tools.preparer.prepared(build, workload, {})
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    try:
        with tools.preparer.in_use(dataset):
            copy(dataset.data, sandbox.data)
        began = time.monotonic()
        sandbox.boot(SETTING)
        started = time.monotonic()
        target = Target(sandbox.account, sandbox.directory, data=sandbox.data)
        load = workload.start(target, threads=connections, seed=seed, cpus=None)
        try:
            read = [load.read(workload.patience) for _ in range(WARM_UP + seconds)][WARM_UP:]
        finally:
            load.stop()
        throughput = sum(second.tps for second in read if second is not None) / seconds
        loaded = time.monotonic()
        sandbox.stop()
        return Figures(throughput, started - began, time.monotonic() - loaded)
    finally:
        sandbox.remove()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("image", help="such as image:mysql:8.4")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--minutes", type=float, default=7.0)
    parser.add_argument("--seconds", type=int, default=5)
    options = parser.parse_args()
    rng, tools = random.Random(1), Tools.open(lambda text: print(text, file=sys.stderr))
    figures: dict[str, list[Figures]] = {way: [] for way in WAYS}
    try:
        build = tools.find(options.image, [])
        builds = {"container": build, "plain": replace(build, image=None)}
        workload = DialinLoad(Cell("read_write", 64).spec(load_binary.NAME))
        measure(tools, build, workload, options.connections, 1, 1)  # prepares the data, and reads the image
        ends = time.monotonic() + 60 * options.minutes
        while time.monotonic() < ends:
            seed = rng.randrange(1, 2**31)
            for way in rng.sample(WAYS, len(WAYS)):
                figures[way].append(measure(tools, builds[way], workload, options.connections, options.seconds, seed))
                print(way, figures[way][-1], file=sys.stderr)
    except DialinError as error:
        sys.exit(str(error))
    print(f"{build.version_text}, {len(figures['plain'])} rounds\n")
    print("| | plain | container | container / plain |\n|---|---|---|---|")
    for name, unit, digits in (("throughput", "tps", 0), ("start", "s", 2), ("stop", "s", 2)):
        values = {way: [getattr(one, name) for one in each] for way, each in figures.items()}
        means = {way: sum(each) / len(each) for way, each in values.items()}
        ratio = estimate(one / other for one, other in zip(values["container"], values["plain"], strict=True))
        print(f"| {name}, {unit} | {means['plain']:,.{digits}f} | {means['container']:,.{digits}f} | {show(ratio, 3)} |")


if __name__ == "__main__":
    main()
