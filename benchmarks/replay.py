"""Whether a replay is the work that was captured: python benchmarks/replay.py [--builds mysql@9.7,...] [--rate 100].

For each build, dialin-load applies a workload (sysbench's oltp_read_write, or tpcc-like) to a server whose slow log has all
statements. The capture of that log is replayed on a copy of the data from before, at the pace of the capture and at full pace.
Rows are compared with those that the load left; of tpcc-like the consistency conditions are checked, too.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import driver

from dialin.datasets.cache import copy
from dialin.model.build import Build
from dialin.servers import builds
from dialin.servers.sandbox import Sandbox
from dialin.trials.tools import Tools
from dialin.workloads import load_binary

TPCC_LIKE = ["--option=warehouses=2", "--option=customers=300", "--option=items=1000"]
SETTING = {"innodb_flush_log_at_trx_commit": 0, "innodb_buffer_pool_size": 256 * 1024**2}


def main() -> None:
    """Capture and replay on each build; print a line for each replay."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--builds", default="mysql@9.7,mysql@5.6,mariadb@10.11")
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument(
        "--rate", type=int, default=100, help="transactions per second of the capture; 0 for as many as possible"
    )
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--paces", default="1,full")
    parser.add_argument("--rounds", type=int, default=1, help="pairs of the original load and its replay")
    parser.add_argument("--workload", default="oltp_read_write", choices=["oltp_read_write", "tpcc-like"])
    parser.add_argument("--tables", type=int, default=2, help="of oltp_read_write")
    parser.add_argument("--table-size", type=int, default=5000, help="rows of each; the fewer, the more transactions meet")
    asked = parser.parse_args()
    sbtest = [f"--option=tables={asked.tables}", f"--option=table-size={asked.table_size}"]
    asked.size = TPCC_LIKE if asked.workload == "tpcc-like" else sbtest
    tools = Tools.open(print)
    installed = builds.discover(tools.home, {})
    for text in asked.builds.split(","):
        with tempfile.TemporaryDirectory() as directory:
            measure(tools, builds.find(text, installed, tools.home), Path(directory), asked)


def measure(tools: Tools, build: Build, directory: Path, asked: argparse.Namespace) -> None:
    base, log, capture = directory / "base", directory / "slow.log", directory / "capture"
    with sandbox_on(tools, build, None) as sandbox:
        with sandbox.connect() as query:
            query("CREATE DATABASE sbtest")
        load("prepare", asked.workload, sandbox, *asked.size)
        before = rows(sandbox)
        sandbox.stop()
        copy(sandbox.data, base)
    total, after = original(tools, build, base, log, asked)
    subprocess.run([load_binary.need(), "capture", log, "--out", capture], check=True, capture_output=True)
    print(
        f"{build.id:18} {asked.workload} captured: {total['transactions']:,} transactions in {total['seconds']:.2f} s "
        f"({total['per_second']:,.0f}/s), errors {total['errors']}, {differing(before, after):,} rows changed",
        flush=True,
    )
    ratios: dict[str, list[tuple[float, float]]] = {}
    for number in range(asked.rounds):
        if number:
            total, _ = original(tools, build, base, log, asked)
        for pace in asked.paces.split(","):
            with sandbox_on(tools, build, base) as sandbox:
                summary = load("run", f"capture:{capture}", sandbox, f"--pace={pace}", "--json")
                show(pace, summary, total, differing(after, rows(sandbox)))
                if asked.workload == "tpcc-like":
                    load("check", asked.workload, sandbox, *asked.size)  # raises where a condition does not hold
                    print("        all consistency conditions hold", flush=True)
            one = summary["total"]
            cpu = (one["driver_cpu"] / one["transactions"]) / (total["driver_cpu"] / total["transactions"])
            ratios.setdefault(pace, []).append((one["per_second"] / total["per_second"], cpu))
    if asked.rounds == 1:
        return
    for pace, pairs in ratios.items():
        throughput, cpu = (driver.show(driver.estimate(figures), 2) for figures in zip(*pairs, strict=True))
        print(f"    pace {pace:5} of the original: throughput {throughput}, driver CPU per transaction {cpu}", flush=True)


def original(
    tools: Tools, build: Build, base: Path, log: Path, asked: argparse.Namespace
) -> tuple[dict[str, Any], dict[tuple[str, Any], Any]]:
    """Apply the load to a server that logs all statements; return dialin-load's totals and the rows that are left."""
    log.unlink(missing_ok=True)
    with sandbox_on(tools, build, base) as sandbox:
        log_options = ["long_query_time = 0", f"slow_query_log_file = '{log}'", "slow_query_log = ON"]
        if build.family == "mysql" and build.version >= (8, 0, 14):
            log_options.insert(0, "log_slow_extra = ON")
        with sandbox.connect() as query:
            for option in log_options:
                query(f"SET GLOBAL {option}")
        limits = [f"--time={asked.seconds}", f"--connections={asked.connections}"]
        limits += [f"--rate={asked.rate}"] if asked.rate else []
        summary = load("run", asked.workload, sandbox, *limits, *asked.size, "--json")
        with sandbox.connect() as query:
            query("SET GLOBAL slow_query_log = OFF")
        return summary["total"], rows(sandbox)


def show(pace: str, summary: dict[str, Any], original: dict[str, Any], rows_differing: int) -> None:
    total, replay = summary["total"], summary["total"]["replay"]
    print(
        f"    pace {pace:5} {total['transactions']:,} transactions in {total['seconds']:.2f} s ({total['per_second']:,.0f}/s, "
        f"{total['per_second'] / original['per_second']:.3f} of the original), late p95 {replay['late']['p95']} ms, "
        f"waited {replay['waited']:,} for {replay['waited_seconds']:.2f} s, errors {total['errors']} "
        f"(new {replay['new_errors']}, missing {replay['missing_errors']}, harmless {replay['harmless_errors']}), "
        f"played again {total['retries']}, repaired {replay['repaired']}, "
        f"other row counts {replay['other_row_counts']:,} of {replay['row_counts']:,}, rows differing {rows_differing:,}, "
        f"driver CPU {total['driver_cpu']:.2f} s (original {original['driver_cpu']:.2f})",
        flush=True,
    )


@contextmanager
def sandbox_on(tools: Tools, build: Build, data: Path | None) -> Iterator[Sandbox]:
    """Run a server on a copy of a data directory, or on an empty one."""
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    try:
        if data is None:
            tools.preparer.copy_blank(build, {}, sandbox.data)
        else:
            copy(data, sandbox.data)
        sandbox.boot(SETTING)
        yield sandbox
    finally:
        sandbox.remove()


def load(verb: str, workload: str, sandbox: Sandbox, *words: str) -> dict[str, Any]:
    """Run dialin-load; return its summary."""
    account = [f"--socket={sandbox.socket}", "--user=root", "--database=sbtest"]
    done = subprocess.run([load_binary.need(), verb, workload, *account, *words], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 5), done.stdout[-2000:] + done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return next((line for line in lines if line["type"] == "summary"), {})


def rows(sandbox: Sandbox) -> dict[tuple[str, Any], Any]:
    """Return all rows by table and what is in front: of tables with a primary key of one column, that."""
    found: dict[tuple[str, Any], Any] = {}
    with sandbox.connect() as query:
        tables = [row[0] for row in query("SELECT table_name FROM information_schema.tables WHERE table_schema = 'sbtest'")]
        for table in tables:
            for row in query(f"SELECT * FROM sbtest.`{table}`"):
                found[table, row[0] if table.startswith("sbtest") else row] = row
    return found


def differing(one: dict[tuple[str, Any], Any], other: dict[tuple[str, Any], Any]) -> int:
    return sum(one.get(key) != other.get(key) for key in one.keys() | other.keys())


if __name__ == "__main__":
    main()
