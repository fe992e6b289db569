"""Writes docs/builds.md: every build that `dialin servers install` brings, what it takes, and that it works here.

    python scripts/builds.py [--output FILE] [BUILD ...]

Each build is installed where it is missing, initialised, booted, put under sysbench for ten seconds and asked what it says of
innodb_buffer_pool_instances. A build that cannot be had or does not work gets a row that says why, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dialin.cli.console import say
from dialin.errors import DialinError, WorkloadError
from dialin.model.build import Build, BuildReference
from dialin.model.workload import WorkloadSpec
from dialin.paths import replace_text
from dialin.servers.capabilities import Capability, has
from dialin.servers.connection import global_variables
from dialin.servers.install.clients import directory_megabytes
from dialin.servers.install.installable import INSTALLABLE, Installable, installable
from dialin.servers.install.installer import install
from dialin.servers.objects import instrumented, real_objects
from dialin.servers.sandbox import Sandbox
from dialin.trials.tools import Tools
from dialin.variables.catalogue import Catalogue
from dialin.workloads.base import Target
from dialin.workloads.sysbench import Sysbench

VARIABLE = "innodb_buffer_pool_instances"
LOAD = WorkloadSpec(name="oltp_read_write", threads=4, tables=2, table_size=20_000)
SECONDS = 10
PATIENCE = 30.0

HEAD = (
    "Build",
    "version()",
    "From",
    "Fetched, MB",
    "Unpacked, MB",
    "Initialise, s",
    "Boot, s",
    f"sysbench in {SECONDS} s, transactions",
    "Default",
    "Real pools",
    "Range",
    "Dynamic",
)
TEXT = """\
# Builds

What `dialin servers install` brings, tried on {machine}. This page is written by `make builds`.

{table}

- *Fetched* is about what a package client fetches, *unpacked* what stays in dialin's cache.
- *Initialise* makes an empty data directory; *boot* is from the start to the first answer, on a data directory that has been
  used before. Both depend on the disk and on what else the machine does.
- *sysbench* shows that the load prepares its tables ({load}) and runs. **The numbers of transactions are not comparable**: each
  was measured once, with the build's defaults, minutes apart, on a machine that does other things. Comparing is what
  `dialin sweep` is for.
- The last four columns are what the build says of `{variable}` when started with nothing set, and how many buffer pools
  it then really has. Below 1 GiB of pool some builds report instances that they do not have.
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a build was seen to do; durations in seconds."""

    version: str
    unpacked: float
    initialise: float
    boot: float
    transactions: float
    real_pools: str


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the builds and write the page; return the exit code."""
    parser = argparse.ArgumentParser(description="Write docs/builds.md from the builds themselves.")
    parser.add_argument("builds", nargs="*", metavar="BUILD", help="such as mysql@5.6; all where none is given")
    parser.add_argument("--output", type=Path, default=Path(__file__).parents[1] / "docs" / "builds.md")
    given = parser.parse_args(arguments)
    try:
        rows = [installable(BuildReference.parse(text)) for text in given.builds] or list(INSTALLABLE)
    except (DialinError, ValueError) as error:
        parser.error(str(error))
    tools = Tools.open(say)
    lines, failed = [], False
    for row in rows:
        try:
            lines.append(line_of(row, tools))
        except DialinError as error:
            say(f"{row.reference}: {error}")
            failed = True
            lines.append((str(row.reference), f"not here: {error.what}", row.source.description, *[""] * (len(HEAD) - 3)))
    text = TEXT.format(
        machine=f"{os.cpu_count()} CPUs, {platform.system()} {platform.release()}",
        table=table([HEAD, *lines]),
        load=f"{LOAD.name}, {LOAD.size}, {LOAD.threads} threads",
        variable=VARIABLE,
    )
    replace_text(given.output, text)
    say(f"written: {given.output}")
    return 1 if failed else 0


def line_of(row: Installable, tools: Tools) -> tuple[str, ...]:
    """Return a build's line of the table.

    Raises:
        DialinError: it cannot be had, or does not work.
    """

    def verify(installed: Build) -> None:
        tools.catalogue(installed)

    build = install(tools.home, row.reference, say, verify=verify)
    say(f"trying {build.id}")
    seen = watch(build, tools)
    return (
        str(row.reference),
        seen.version,
        row.source.description,
        f"{row.fetched}",
        f"{seen.unpacked:.0f}",
        f"{seen.initialise:.1f}",
        f"{seen.boot:.1f}",
        f"{seen.transactions:,.0f}",
        *told(tools.catalogue(build), seen.real_pools),
    )


def watch(build: Build, tools: Tools) -> Seen:
    """Initialise a build, boot it, put it under load, and count its pools.

    Raises:
        DialinError: it did not do so.
    """
    with sandbox_of(build, tools) as sandbox:
        initialise = timed(tools, lambda: sandbox.initialise({}))
        sandbox.boot({})
        with sandbox.connect() as query:
            query("CREATE DATABASE sbtest")
            version = str(query("SELECT VERSION()")[0][0])
        sandbox.stop()
        boot = timed(tools, lambda: sandbox.boot({}))
        transactions = put_under_load(sandbox)
        sandbox.stop()
        sandbox.boot(instrumented(build))
        pools = count_pools(sandbox)
        sandbox.stop()
    return Seen(version, directory_megabytes(tools.home.builds / build.id), initialise, boot, transactions, pools)


@contextmanager
def sandbox_of(build: Build, tools: Tools) -> Iterator[Sandbox]:
    """Make a sandbox that is removed at the end."""
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    try:
        yield sandbox
    finally:
        sandbox.remove()


def put_under_load(sandbox: Sandbox) -> float:
    """Prepare sysbench's tables, run it, and return how many transactions it made.

    Raises:
        WorkloadError: it did not run, or made none.
    """
    workload = Sysbench(LOAD)
    workload.check()
    target = Target(sandbox.account, sandbox.directory)
    workload.prepare(target)
    load = workload.start(target, seed=1, cpus=None)
    try:
        seconds = [load.read(PATIENCE) for _ in range(SECONDS)]
    finally:
        load.stop()
    transactions = sum(second.tps for second in seconds if second)
    if transactions <= 0:
        raise WorkloadError(f"sysbench made no transaction on {sandbox.build.id}")
    return transactions


def count_pools(sandbox: Sandbox) -> str:
    """Return how many buffer pools there are, also where no variable tells."""
    build = sandbox.build
    with sandbox.connect() as query:
        if has(build, Capability.POOL_STATS):
            return str(query("SELECT COUNT(*) FROM information_schema.innodb_buffer_pool_stats")[0][0])
        return real_objects(query, sandbox.pid, build, global_variables(query)).get(VARIABLE, "")


def told(catalogue: Catalogue, real_pools: str) -> tuple[str, str, str, str]:
    """Return the columns on the variable: its default, the real pools, its range, and whether it is dynamic."""
    variable = catalogue.variables.get(VARIABLE)
    if variable is None:
        return "no such variable", real_pools, "", ""
    bounds = [variable.minimum, variable.maximum]
    dynamic = {True: "yes", False: "no", None: "unknown"}[variable.dynamic]
    span = " to ".join(f"{each:,}" for each in bounds if each is not None)
    return variable.default or "", real_pools, span if None not in bounds else "unknown", dynamic


def timed(tools: Tools, act: Callable[[], None]) -> float:
    """Return how many seconds something takes."""
    began = tools.clock.monotonic()
    act()
    return tools.clock.monotonic() - began


def table(lines: Sequence[Sequence[str]]) -> str:
    """Return lines as a Markdown table, the first its head."""
    rows = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
    return "\n".join([rows[0], "|" + "---|" * len(lines[0]), *rows[1:]])


if __name__ == "__main__":
    sys.exit(main())
