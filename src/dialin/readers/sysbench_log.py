"""Parses what sysbench writes while it runs: one interval report, or a whole log."""

from __future__ import annotations

import bisect
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dialin.errors import UserError
from dialin.readers.interval_reports import COLUMNS, HUMAN, find_reports
from dialin.readers.log_text import DAMAGED, LONGEST_LINE, LogText, Opened, files

_Array = NDArray[np.float64]

_CHUNK = 1024**2
_IMPOSSIBLE = 1e12
"""Transactions per second above which a figure is a counter that went below zero: sysbench prints those as about 2**64."""
_FIGURES = ("number", "tps", "reads", "writes", "other", "latency_ms", "errors", "reconnects")

_EVENT = re.compile(
    rb"^(?P<banner>sysbench \d[^\r\n]{0,200})"
    rb"|^(?P<fatal>(?:FATAL|PANIC): [^\r\n]{1,500})"
    rb"|^(?P<checkpoint>\[ *\d{1,18}s ?\] Checkpoint report:)"
    rb"|^Number of unfinished transactions on forced shutdown: +(?P<unfinished>\d{1,9})"
    rb"|^(?P<option>[A-Z][A-Za-z ]{2,60}: +[^\r\n]{1,200}|Report intermediate results every [^\r\n]{1,80})"
    rb"|^(?P<finished>General statistics:|Test execution summary:)"
    rb"|^(?P<summary>[ \t]+(?:transactions|read/write requests|ignored errors|total time|time elapsed|approx\. +\d+ +percentile"
    rb"|\d{1,3}(?:st|nd|rd|th) percentile): +[^\r\n]{1,100})"
    rb"|^ +(?P<bucket>\d{1,12}\.\d{3} \|[* ]{1,60} \d{1,12})\r?$"
    rb"|--(?:max-)?time[= ](?P<time>\d{1,9})\b|(?P<script>[\w-]{1,100})\.lua\b",
    re.MULTILINE,
)
_NUMBER = re.compile(r"\d{1,18}(?:\.\d{1,18})?")
_COMMAND_KINDS = ("time", "script")
_HEADER_KINDS = ("banner", "option", *_COMMAND_KINDS)


TPS, QPS = "tps", "qps"


@dataclass(frozen=True, slots=True)
class Summary:
    """What sysbench prints at the end of a run.

    Attributes:
        transactions: total number.
        latency_ms: the percentile of transaction latency; None where it is not printed.
        percentile: which one `latency_ms` is.
        errors: total number of ignored errors; None where it is not printed.
        statements: total number of reads and writes, as sysbench before 1.0 prints it; 0 where it is not printed.
        statement_rate: the same per second.
        histogram: latencies in milliseconds, each with how many transactions had it; empty without `--histogram`.
    """

    transactions: int
    tps: float
    seconds: float | None = None
    latency_ms: float | None = None
    percentile: int | None = None
    errors: int | None = None
    statements: int = 0
    statement_rate: float = 0.0
    histogram: tuple[tuple[float, int], ...] = ()

    def percentile_of(self, percentile: int) -> float | None:
        """Return a percentile of latency by the histogram, in milliseconds; None without one."""
        total = sum(count for _, count in self.histogram)
        rank = 0
        for latency, count in self.histogram:
            rank += count
            if rank >= percentile / 100 * total:
                return latency
        return None


@dataclass(frozen=True, slots=True)
class Silence:
    """The end of a run that went on without transactions, because threads were gone, and never ended.

    Attributes:
        begin: the time of its first line, seconds since the run began.
        seconds: how long it lasted.
        threads_gone: threads that had ended before it began, or when it did.
    """

    begin: float
    seconds: float
    threads_gone: int


@dataclass(frozen=True, slots=True, eq=False)
class RunLog:
    """One run of sysbench, line by line; rates are per second. A run without interval reports has no lines.

    Attributes:
        times: seconds since the run began.
        latency_ms: the percentile of transaction latency.
        threads: concurrent connections; 0 where the log does not say.
        interval: seconds from one line to the next; 0 where there is one line only.
        percentile: which one `latency_ms` is; None where the log does not say.
        header: what the log says before its first line: the version, the options, and `time` and `script` where the command is
            shown.
        summary: what the log says after its last line; None where it has no summary.
        fatal: its first FATAL or PANIC line; None where it has none.
        impossible: the times of lines that were left out: their throughput is that of a counter below zero.
        unit: what `tps` is, per second; QPS where sysbench counted no transactions, because it was told to begin none; NOPM is
            HammerDB's new orders per minute.
        label: what a file with several runs calls this one.
        unfinished: transactions that did not finish when sysbench forced its end.
        silence: the zeros at its end that were left out; None where it has none.
        statements: what its lines count: reads, writes, or both; empty where they do not say.
        other_latencies: further percentiles of latency of each line, in milliseconds.
    """

    times: _Array
    tps: _Array
    latency_ms: _Array
    errors: _Array
    threads: int
    interval: float
    percentile: int | None
    header: Mapping[str, str] = field(default_factory=dict)
    summary: Summary | None = None
    fatal: str | None = None
    impossible: tuple[float, ...] = ()
    unit: str = TPS
    label: str = ""
    unfinished: int = 0
    silence: Silence | None = None
    statements: str = ""
    other_latencies: Mapping[int, _Array] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class LogFile:
    """The runs in a file, in order, and a digest of its unpacked text.

    Attributes:
        name: its name in an archive; None where it is a file of its own.
        zeros: NUL bytes in its text, which a power loss leaves; the lines with them were skipped.
        opened: opens it again, until the next file is read.
    """

    digest: str
    logs: tuple[RunLog, ...]
    opened: Opened
    name: str | None = None
    zeros: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class UnreadableLog:
    """A file, or a file in an archive by its name, that could not be read."""

    name: str | None
    error: Exception


def interval_figures(line: str) -> tuple[float, ...] | None:
    """Return the figures of one interval report of sysbench 1.0.20 as text; None for any other line.

    They are the time, transactions, reads, writes and other statements per second, the latency in milliseconds, and errors and
    reconnects per second.
    """
    match = HUMAN.search(line)
    if not match or float(match["tps"]) > _IMPOSSIBLE:
        return None
    return tuple(float(match[name]) for name in _FIGURES)


def parse(chunks: Iterable[bytes]) -> tuple[RunLog, ...]:
    """Read every run of a log, in the interval reports of sysbench 1.0 or 0.5, or as CSV.

    A new run begins at each line `sysbench VERSION`, and where time goes back. Without interval reports, it counts as a run
    if it has a summary, or a line `sysbench VERSION` and options or a FATAL or PANIC line.

    `chunks` are the text, cut between lines.
    """
    figures, events, rows = array("d"), [], 0  # an array that grows in place: no second copy of a long log
    for chunk in _between_records(chunks):
        starts, table = find_reports(chunk)
        for begin, end in _beside_reports(chunk, starts):
            for match in _EVENT.finditer(chunk, begin, end):
                kind = str(match.lastgroup)
                row = rows + bisect.bisect_left(starts, match.start())
                events.append((row, kind, match[kind].decode("utf-8", "replace")))
        rows += len(starts)
        figures.frombytes(table.tobytes())
    table = np.frombuffer(figures).reshape(-1, COLUMNS) if figures else np.empty((0, COLUMNS))
    runs = [run for run in _runs(table[:, 0], events) if _is_run(*run)]
    return tuple(_log(table[begin:end], run_events, begin) for begin, end, run_events in runs)


def _between_records(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a text, cut between the records of the JSON reporter, each of which takes several lines."""
    rest = b""
    for chunk in chunks:
        text = rest + chunk
        begin = text.rfind(b'"time":', -LONGEST_LINE)
        is_whole = begin < 0 or text.find(b'"reconnects":', begin) >= 0
        end = len(text) if is_whole else begin
        yield text[:end]
        rest = text[end:]
    yield rest


def read(path: Path) -> Iterator[LogFile | UnreadableLog]:
    """Read a log, or each log in an archive, as a stream: only its figures take memory.

    Yields:
        Each file that was read, or the reason why one could not be.
    """
    name: str | None = None
    try:
        for name, opened in files(path):
            try:
                yield _read(name, opened, str(path) if name is None else f"{path}: {name}")
            except (UserError, *DAMAGED, OSError) as error:
                yield UnreadableLog(name, error)
    except (UserError, *DAMAGED, OSError) as error:
        yield UnreadableLog(None, error)


def _read(name: str | None, opened: Opened, where: str) -> LogFile:
    text = LogText(where)
    with opened() as stream:
        logs = parse(text.lines(iter(lambda: stream.read(_CHUNK), b"")))
    return LogFile(text.digest.hexdigest(), logs, opened, name, text.zeros)


def _beside_reports(chunk: bytes, starts: list[int]) -> list[tuple[int, int]]:
    """Return the parts of a text that may hold anything but reports: searching all of it would take half of the time."""
    are_together = len(starts) > 2 and starts[1] == starts[-1]  # `find_reports` has seen that nothing is between them
    if are_together or (starts and chunk.count(b"\n", starts[0], starts[-1]) == len(starts) - 1):
        return [(0, starts[0]), (starts[-1], len(chunk))]
    return [(0, len(chunk))]


_Event = tuple[int, str, str]


def _runs(times: _Array, events: list[_Event]) -> list[tuple[int, int, list[_Event]]]:
    """Return the first row of each run, the row after its last one, and its events.

    A command that is shown just before a line `sysbench VERSION` belongs to the run that begins there.
    """
    banners = [row for row, kind, _ in events if kind == "banner"]
    if not len(times) and not any(kind in ("banner", "checkpoint") for _, kind, _ in events):
        return [(0, 0, group) for group in _excerpts(events)]
    restarts = [row for row in (np.flatnonzero(np.diff(times) < 0) + 1).tolist() if row not in banners]
    begins = sorted([*banners, *restarts])
    if not begins or begins[0] > 0:
        begins = [0, *begins]
    grouped: list[list[_Event]] = [[] for _ in begins]
    current, has_banner = 0, False
    for event in events:
        row, kind, _ = event
        if kind == "banner":
            commands = []
            if has_banner or row > 0:
                current = begins.index(row, current + 1)
                while (last := grouped[current - 1][-1:]) and last[0][0] == row and last[0][1] in _COMMAND_KINDS:
                    commands.append(grouped[current - 1].pop())
            grouped[current] += commands
            has_banner = True
        else:
            position = row if kind in _HEADER_KINDS else row - 1
            while current + 1 < len(begins) and begins[current + 1] <= position and begins[current + 1] not in banners:
                current += 1
        grouped[current].append(event)
    return list(zip(begins, [*begins[1:], len(times)], grouped, strict=True))


def _excerpts(events: list[_Event]) -> list[list[_Event]]:
    """Return the events of each run in totals that somebody copied out of logs."""
    groups: list[list[_Event]] = [[]]
    has_total = False
    for event in events:
        if has_total and (_is_total(event) or event[1] in _HEADER_KINDS):
            groups.append([])
            has_total = False
        has_total |= _is_total(event)
        groups[-1].append(event)
    return groups


def _is_total(event: _Event) -> bool:
    return event[1] == "summary" and event[2].lstrip().startswith("transactions:")


def _is_run(begin: int, end: int, events: list[_Event]) -> bool:
    """Return whether this is a run on a database: sysbench's tests of CPU and files end without a total of transactions."""
    kinds = {kind for _, kind, _ in events}
    if end > begin or any(map(_is_total, events)):
        return True
    return "banner" in kinds and ("fatal" in kinds or ("option" in kinds and "finished" not in kinds))


def _log(table: _Array, events: list[_Event], begin: int) -> RunLog:
    impossible = table[:, 2] > _IMPOSSIBLE
    dropped, table = tuple(table[impossible, 0].tolist()), table[~impossible]
    header, summary = _header(events, begin), _summary(events)
    silence = None if summary else _silence(table)
    table = table[table[:, 0] < silence.begin] if silence else table
    counts_statements = _counts_statements(table, summary)
    if counts_statements:
        table[:, 2] = table[:, 6] + table[:, 7]
        summary = replace(summary, transactions=summary.statements, tps=summary.statement_rate) if summary else None
    percentile = int(table[0, 5]) if len(table) and table[0, 5] else summary.percentile if summary else None
    threads = header.get("Number of threads", "")
    return RunLog(
        times=table[:, 0],
        tps=table[:, 2],
        latency_ms=table[:, 3],
        errors=table[:, 4],
        threads=int(threads) if threads.isdigit() else int(table[:, 1].max()) if len(table) else 0,
        interval=float(np.median(np.diff(table[:, 0]))) if len(table) > 1 else 0.0,
        percentile=percentile,
        header=header,
        summary=summary,
        fatal=next((text for _, kind, text in events if kind == "fatal"), None),
        impossible=dropped,
        unit=QPS if counts_statements else TPS,
        unfinished=sum(int(text) for _, kind, text in events if kind == "unfinished"),
        silence=silence,
        statements=_mix(table),
    )


def _counts_statements(table: _Array, summary: Summary | None) -> bool:
    """Return whether a run has statements, but neither transactions nor errors: sysbench 0.5 with `--oltp-skip-trx`."""
    if summary is not None and (summary.transactions or summary.errors or not summary.statements):
        return False
    if not len(table):
        return summary is not None
    return bool((table[:, 6] + table[:, 7]).all()) and not table[:, [2, 4]].any()


def _silence(table: _Array) -> Silence | None:
    """Return the zeros at the end of a run without totals in which threads are gone; None where it has none."""
    busy = np.flatnonzero(table[:, 2])
    if not busy.size or busy[-1] + 1 == len(table):
        return None
    begin, threads = table[busy[-1] + 1, 0], table[:, 1]
    gone = int(threads.max() - threads[-1])
    return Silence(float(begin), float(table[-1, 0] - table[busy[-1], 0]), gone) if gone > 0 else None


def _mix(table: _Array) -> str:
    """Return what the statements of a run do; an empty text where its lines do not say."""
    reads, writes = table[:, 6].any(), table[:, 7].any()
    return "reads and writes" if reads and writes else "reads" if reads else "writes" if writes else ""


def _header(events: list[_Event], begin: int) -> dict[str, str]:
    """Return what a log says before the report `begin`, its first; later lines of the form of an option set nothing."""
    header: dict[str, str] = {}
    for row, kind, text in events:
        if kind == "banner":
            header["sysbench"] = text.split()[1].rstrip(":")
        elif kind in _COMMAND_KINDS:
            header.setdefault(kind, text)
        elif kind == "option" and row <= begin:
            key, _, value = text.partition(": ")
            if value:
                header.setdefault(key, value.strip())
    return header


def _bucket(text: str) -> tuple[float, int]:
    latency, _, count = text.partition("|")
    return float(latency), int(count.split()[-1])


def _summary(events: list[_Event]) -> Summary | None:
    """Return the totals at the end of a run; those of `--report-checkpoints`, which cover a part of it, are passed over."""
    figures: dict[str, list[float]] = {}
    announced = is_checkpoint = False
    for _, kind, text in events:
        if kind == "checkpoint":
            announced = True
        elif kind == "summary":
            key, _, value = text.strip().rpartition(":")
            if key == "transactions":
                is_checkpoint, announced = announced, False
            if is_checkpoint:
                continue
            figures.setdefault(key, [float(number) for number in _NUMBER.findall(value)])
            if key.endswith("percentile"):
                figures["percentile"] = [float(_NUMBER.findall(key)[0]), *figures[key][:1]]
    total = figures.get("transactions")
    if not total:
        return None

    def first(key: str) -> float | None:
        return next(iter(figures.get(key, ())), None)

    percentile, errors = figures.get("percentile", []), first("ignored errors")
    seconds = first("total time") or first("time elapsed")
    return Summary(
        transactions=int(total[0]),
        tps=total[1] if len(total) > 1 else total[0] / seconds if seconds else 0.0,
        seconds=seconds,
        latency_ms=percentile[1] if len(percentile) > 1 else None,
        percentile=int(percentile[0]) if percentile else None,
        errors=None if errors is None else int(errors),
        statements=int(first("read/write requests") or 0),
        statement_rate=next(iter(figures.get("read/write requests", ())[1:]), 0.0),
        histogram=tuple(_bucket(text) for _, kind, text in events if kind == "bucket"),
    )
