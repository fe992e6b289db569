"""Writes docs/builds.md: every build that `dialin servers install` brings, what it takes, and that it works here.

    python scripts/builds.py [--output FILE] [BUILD ...]

Each build is installed where it is missing, initialised, booted and put under sysbench for ten seconds. A build that cannot be
had or does not work gets a row that says why, and the exit code is 1.
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
from dialin.servers.install.clients import directory_megabytes
from dialin.servers.install.installable import INSTALLABLE, Installable, installable
from dialin.servers.install.installer import install
from dialin.servers.sandbox import Sandbox
from dialin.trials.tools import Tools
from dialin.workloads.base import Target
from dialin.workloads.sysbench import Sysbench

THREADS = 4
LOAD = WorkloadSpec(name="oltp_read_write", threads=THREADS, tables=2, table_size=20_000)
SECONDS = 10
PATIENCE = 30.0

HEAD = ("Build", "version()", "From", "Fetched, MB", "Unpacked, MB", "Initialise, s", "Boot, s")
TEXT = """\
# Builds

What `dialin servers install` brings. Each build was tried on {machine} under sysbench ({load}). This page is
written by `make builds`.

{table}

- *Fetched* is about what a package client fetches, *unpacked* what stays in dialin's cache.
- *Initialise* makes an empty data directory; *boot* is from the start to the first answer, on a data directory that has been
  used before. Both depend on the disk and on what else the machine does.
"""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a build was seen to do; durations in seconds."""

    version: str
    unpacked: float
    initialise: float
    boot: float


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
        load=f"{LOAD.name}, {LOAD.tables} tables of {LOAD.table_size:,} rows, {THREADS} threads, {SECONDS} s",
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
    )


def watch(build: Build, tools: Tools) -> Seen:
    """Initialise a build, boot it, and put it under load.

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
        put_under_load(sandbox)
        sandbox.stop()
    return Seen(version, directory_megabytes(tools.home.builds / build.id), initialise, boot)


@contextmanager
def sandbox_of(build: Build, tools: Tools) -> Iterator[Sandbox]:
    """Make a sandbox that is removed at the end."""
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    try:
        yield sandbox
    finally:
        sandbox.remove()


def put_under_load(sandbox: Sandbox) -> None:
    """Prepare sysbench's tables, and run it.

    Raises:
        WorkloadError: it did not run, or made none.
    """
    workload = Sysbench(LOAD)
    workload.check()
    target = Target(sandbox.account, sandbox.directory)
    workload.prepare(target)
    load = workload.start(target, threads=THREADS, seed=1, cpus=None)
    try:
        seconds = [load.read(PATIENCE) for _ in range(SECONDS)]
    finally:
        load.stop()
    if not any(second.tps for second in seconds if second):
        raise WorkloadError(f"sysbench made no transaction on {sandbox.build.id}")


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
