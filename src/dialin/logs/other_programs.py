"""Reads runs of other programs than sysbench: HammerDB, go-tpc, BenchBase, YCSB, tpcc-mysql and others, and any CSV.

What the lines of a program look like is in the files of the workload `command`, which run it.
"""

from __future__ import annotations

import csv
import io
import re
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import chain, islice, pairwise

from dialin.errors import UserError
from dialin.logs import csv_tables
from dialin.logs.csv_tables import NO_COLUMNS, CsvColumns, of_summary
from dialin.logs.run_points import Point, runs_of_points
from dialin.readers.load_rows import MEAN, LoadRow, are_errors_alone, belongs
from dialin.readers.log_text import LONGEST_LINE, Opened, is_binary
from dialin.readers.sysbench_log import QPS, TPS, RunLog, Summary
from dialin.workloads.command import load_file
from dialin.workloads.command.load_file import LoadFile, Output
from dialin.workloads.command.preset_names import path_of, preset_names

_SNIFFED = 400
"""Lines at the start of a file by which its program is recognized."""
_START = 4096
"""Bytes at the start of a file by which it is told from a binary."""
_ENOUGH = 3
"""Rows among them that recognize it."""
_NOPM = re.compile(r"System achieved (?P<nopm>\d+) NOPM from (?P<tpm>\d+) (?:MySQL|MariaDB|Maria) TPM")
_USERS = re.compile(
    r"\b(?P<users>\d+) (?:Active )?Virtual Users (?:configured|created)|\"active_virtual_users\": (?P<active>\d+)",
    re.IGNORECASE,
)
_RESULTS = tuple(
    (program, unit, re.compile(pattern.replace("RATE", r"(?P<rate>\d+(?:\.\d+)?(?:E\d+)?)")))
    for program, unit, pattern in (
        ("YCSB", "operations/s", r"\[OVERALL\], Throughput\(ops/sec\), RATE"),
        ("go-tpc", "tpmC", r"^tpmC: RATE"),
        ("tpcc-mysql", "tpmC", r"^ *RATE TpmC$"),
        ("BenchmarkSQL", "tpmC", r"Measured tpmC \(NewOrders\) = RATE"),
        ("BenchBase", TPS, r'^\s*"Throughput \(requests/second\)": RATE'),
        ("BenchBase", TPS, r"Rate limited reqs/s: Results\(.*\) = RATE requests/sec"),
        ("HammerDB", "NOPM", r'^\s*"nopm": RATE'),
        ("k6", "iterations/s", r"^\s*iterations\.+: \d+ +RATE/s"),
    )
)
"""What programs print at the end of a run: the unit and the line of each. It counts where a file has nothing else of a run."""
_OF_HAMMERDB = re.compile(r"NOPM|Virtual Users", re.IGNORECASE)
_SLAP_CSV = re.compile(
    r"(?P<engine>\w*),(?P<load>[\w -]+),(?P<seconds>\d+\.\d{3}),\d+\.\d{3},\d+\.\d{3},(?P<clients>\d+),(?P<queries>\d+)"
)
"""A line of the file that mysqlslap writes for `--csv`."""
_SLAP = re.compile(
    r"^\s*(?:Running for engine (?P<engine>\w+)|Average number of seconds to run all queries: (?P<seconds>\d+(?:\.\d+)?)"
    r"|Number of clients running queries: (?P<clients>\d+)|Average number of queries per client: (?P<queries>\d+))"
)
"""The lines of a result of mysqlslap or mariadb-slap; the queries of each client come last."""
_TPCC_MYSQL = Output(
    lines=r"^ *(?P<time>\d+), (?:trx: )?(?P<count>\d+)(?:\(\d+\):[\d.|()]+)?, "
    r"(?:95%: (?P<p95_ms>[\d.]+), 99%: (?P<p99_ms>[\d.]+),|\d+\(\d+\):)"
)


def read_other(opened: Opened, where: str, columns: CsvColumns = NO_COLUMNS) -> tuple[RunLog, ...]:
    """Return the runs in a file that a known program wrote, or that is a CSV with a time and a throughput.

    `where` names the file in errors; `columns` are those that the user named.

    Raises:
        UserError: a CSV lacks a column that the user named.
    """
    with _lines(opened) as lines, suppress(csv.Error):  # a line that is longer than any of a CSV
        start = list(islice(lines, _SNIFFED))
        if not any("\0" in line for line in start):
            return tuple(_runs_of(start, lines, where, columns))
    return ()


def first_lines(opened: Opened) -> list[str]:
    with _lines(opened) as lines:
        return list(islice(lines, _ENOUGH))


@contextmanager
def _lines(opened: Opened) -> Iterator[Iterator[str]]:
    with opened() as stream:
        is_text = not is_binary(stream.read(_START))
    with opened() as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace")
        pieces = iter(lambda: text.readline(LONGEST_LINE), "") if is_text else iter(())
        yield (line.rstrip("\r\n") for line in pieces)
        text.detach()  # else it closes the stream, which may be opened again


def _runs_of(start: Sequence[str], rest: Iterator[str], where: str, columns: CsvColumns) -> list[RunLog]:
    if any(map(_NOPM.search, start)):
        return _of_results(chain(start, rest))
    if any(start) and all(map(_SLAP_CSV.fullmatch, filter(None, start))):
        runs = [_of_slap(figures.groupdict()) for figures in map(_SLAP_CSV.fullmatch, chain(start, rest)) if figures]
        return [run for run in runs if run.summary is not None and run.summary.tps > 0]
    if columns.are_given:
        return csv_tables.read(chain(start, rest), columns, where)
    if known := _program_of(start):
        results: list[str] = []
        runs = _of_rows(_keeping(chain(start, rest), results), *known)
        return _of_results(results) or runs
    if runs := csv_tables.read_known(start, rest, where):
        return runs
    return _of_results(chain(start, rest))


def _program_of(start: Sequence[str]) -> tuple[Output, LoadFile | None] | None:
    """Return the program that reads most of the lines; of several the last: go-tpc's TPC-C comes after its CH-benCHmark."""
    found: tuple[Output, LoadFile | None] | None = None
    most = max(1, min(_ENOUGH, len(start)))
    for output, program in _programs():
        read = output.reader()
        with suppress(UserError):  # a CSV without the columns of that program
            if (rows := sum(read(line) is not None for line in start)) >= most:
                found, most = (output, program), rows
    return found


def _keeping(lines: Iterable[str], results: list[str]) -> Iterator[str]:
    """Yield lines, and keep those that tell the result of HammerDB, which counts for more than its counter."""
    for line in lines:
        if _OF_HAMMERDB.search(line):
            results.append(line)
        yield line


@cache
def _programs() -> tuple[tuple[Output, LoadFile | None], ...]:
    described = [load_file.read(path_of(name)) for name in preset_names()]
    return (*((one.output, one) for one in described), (_TPCC_MYSQL, None))


def _of_results(lines: Iterable[str]) -> list[RunLog]:
    """Return a run for each result at the end of a run; of HammerDB with the virtual users that were active."""
    users, runs, slap = 0, list[RunLog](), dict[str, str]()
    for line in lines:
        if active := _USERS.search(line):
            users = int(active["users"] or active["active"])
        elif figure := _SLAP.search(line):
            slap |= {name: text for name, text in figure.groupdict().items() if text}
            if "queries" in slap:
                runs.append(_of_slap(slap))
                slap = {}
        elif result := _NOPM.search(line):
            total = Summary(int(result["tpm"]), float(result["nopm"]))
            if not runs or (runs[-1].summary, runs[-1].threads) != (total, users):  # printed twice
                runs.append(of_summary("HammerDB", "NOPM", total, users))
        else:
            runs += [
                of_summary(program, unit, Summary(round(rate := float(result["rate"])), rate), users)
                for program, unit, pattern in _RESULTS
                if (result := pattern.search(line))
            ]
    return [run for run in runs if run.summary is not None and run.summary.tps > 0]


def _of_slap(figures: Mapping[str, str]) -> RunLog:
    """Return a run of mysqlslap: queries per second, or where it counted none per client, rounds of all queries per second."""
    seconds, clients, queries = (float(figures.get(name, "0")) for name in ("seconds", "clients", "queries"))
    total, unit = (clients * queries, QPS) if queries else (1.0, "rounds/s")
    summary = Summary(round(total), total / seconds if seconds else 0.0)
    label = " ".join(filter(None, (figures.get("engine"), figures.get("load"))))
    return of_summary("mysqlslap", unit, summary, int(clients), label)


def _of_rows(lines: Iterable[str], output: Output, program: LoadFile | None) -> list[RunLog]:
    unit = f"{program.unit}s/s" if program and program.unit != "transaction" else TPS
    name, interval = (program.name, program.interval) if program else ("tpcc-mysql", 10.0)
    points = list(_points(_groups(lines, output), output, interval))
    if output.cumulative:
        points = points[1:]  # the first total may be of any length
    steps = [after.time - before.time for before, after in pairwise(points)]
    if steps and 0 <= steps[-1] < statistics.median(steps) / 2:
        points.pop()  # what a program reports at its end is of a part of an interval
    return runs_of_points(points, {"program": name}, unit)


def _groups(lines: Iterable[str], output: Output) -> Iterator[list[LoadRow]]:
    read, group = output.reader(), list[LoadRow]()
    for row in filter(None, map(read, lines)):
        if group and not belongs(group, row):
            yield group
            group = []
        group.append(row)
    if group:
        yield group


def _points(groups: Iterable[Sequence[LoadRow]], output: Output, interval: float) -> Iterator[Point]:
    per = 60.0 if output.per == "minute" else 1.0
    clock, totals, failed, alone = 0.0, dict[str, float](), 0.0, 0.0
    last: float | None = None
    for group in groups:
        if are_errors_alone(group):  # of the next interval
            alone = sum((row.errors for row in group), 0.0 if output.cumulative else alone)
            continue
        rows = sorted(group, key=lambda row: row.has_only_errors)  # these may lack the time
        time = rows[0].time
        if output.cumulative and time is not None and time == last:  # the next totals have it
            continue
        # A run that prints more often begins with less.
        printed = next((row.seconds for row in rows if row.seconds), None) or min(interval, time or interval)
        length = printed if time is None or last is None or time <= last else time - last  # where time goes back, a run begins
        clock, last = clock + length if time is None else time, time
        counted = [row for row in rows if not row.has_only_errors]
        counts = {row.kind: (row.count or 0.0) if row.rate is None else row.rate / per * length for row in counted}
        errors, alone = sum((row.errors for row in rows), 0.0 if output.cumulative else alone) or alone, 0.0
        if output.cumulative:
            counts, totals = {kind: count - totals.get(kind, 0.0) for kind, count in counts.items()}, {**totals, **counts}
            errors, failed = max(0.0, errors - failed), errors or failed  # a total that was not printed stays
        # Percentiles of several kinds cannot be put together: the highest stands for all.
        busy = [row for row in counted if counts.get(row.kind)] or rows
        known = set.intersection(*(set(row.latencies) for row in busy)) - {MEAN}
        yield Point(
            clock,
            max(0.0, sum(counts.values())) / length,
            errors / length,
            {int(one): max(row.latencies[one] for row in busy) for one in known if one == int(one)},
        )
