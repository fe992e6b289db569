"""Prints, as a Markdown table, what dialin-load does in the steps of one run beside runs of a single step.

    python benchmarks/steps.py [--connections 4 64] [--rounds 12] [--seconds 4] [--server mysql@9.7]

A scaling curve (`--connections 4,64`) is the curve of single runs where each step has the load threads that a run of its own
would have. In a round both ways are run once, in random order, on the sandbox of benchmarks/driver.py with `oltp_read_write`; a
ratio pairs the two of each round and has a 95 % interval.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
from collections.abc import Sequence

from driver import SETTING, Cell, estimate, show

from dialin.errors import DialinError
from dialin.servers import builds
from dialin.servers.sandbox import Sandbox
from dialin.trials.tools import Tools
from dialin.workloads import dialin_load_account, load_binary
from dialin.workloads.base import Target
from dialin.workloads.dialin_load import DialinLoad

WARM_UP = 2


def run(sandbox: Sandbox, connections: Sequence[int], seconds: int, seed: int) -> dict[int, tuple[float, int]]:
    """Run dialin-load; return transactions per second and load threads of each step."""
    account = dialin_load_account.options(sandbox.account, sandbox.directory, "sbtest")
    words = [str(load_binary.need()), "run", "oltp_read_write", *account, "--json", f"--seed={seed}", f"--warmup={WARM_UP}"]
    words += [f"--time={seconds}", f"--connections={','.join(map(str, connections))}"]
    words += ["--option", "tables=8", "--option", "table-size=100000", "--option", "rand-type=pareto"]
    done = subprocess.run(words, cwd=sandbox.directory, capture_output=True, text=True, check=True)
    summary = json.loads(done.stdout.splitlines()[-1])
    return {step["connections"]: (step["transactions"] / step["seconds"], step["load_threads"]) for step in summary["steps"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", nargs="+", type=int, default=[4, 64])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=4, help="measured of each step")
    parser.add_argument("--server", default="mysql@9.7")
    options = parser.parse_args()
    rng, tools = random.Random(1), Tools.open(lambda text: print(text, file=sys.stderr))
    together: dict[int, list[tuple[float, int]]] = {count: [] for count in options.connections}
    alone: dict[int, list[tuple[float, int]]] = {count: [] for count in options.connections}
    try:
        build = builds.find(options.server, builds.discover(tools.home), tools.home)
        with tools.preparer.running(build, SETTING) as sandbox:
            with sandbox.connect() as query:
                query("CREATE DATABASE sbtest")
            DialinLoad(Cell("read_write", 64).spec(load_binary.NAME)).prepare(Target(sandbox.account, sandbox.directory))
            for number in range(1, options.rounds + 1):
                ways = [options.connections, *([count] for count in options.connections)]
                seed = rng.randrange(1, 2**31)
                for steps in rng.sample(ways, len(ways)):
                    for count, figures in run(sandbox, steps, options.seconds, seed).items():
                        (alone if len(steps) == 1 else together)[count].append(figures)
                print(f"{number} of {options.rounds}", file=sys.stderr)
    except DialinError as error:
        sys.exit(str(error))
    print("| connections | load threads: single run | in steps | throughput in steps / of single runs |\n|---|---|---|---|")
    for count in options.connections:
        threads = [sorted({figures[1] for figures in way[count]}) for way in (alone, together)]
        ratio = estimate(one[0] / other[0] for one, other in zip(together[count], alone[count], strict=True))
        print(f"| {count} | {' or '.join(map(str, threads[0]))} | {' or '.join(map(str, threads[1]))} | {show(ratio, 3)} |")


if __name__ == "__main__":
    main()
