"""Reads the logs of runs that dialin did not make: finds and names them, and marks copies."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

import numpy as np

from dialin.errors import UserError
from dialin.logs.csv_tables import NO_COLUMNS, TABLE, CsvColumns, columns_of
from dialin.logs.other_programs import first_lines, read_other
from dialin.model.analysis import FileEntry, FileStatus
from dialin.readers.log_text import DAMAGED, TooLargeError
from dialin.readers.sysbench_log import LogFile, RunLog, UnreadableLog, read
from dialin.text import counted, listed, number

FEWEST = 20
"""The smallest number of lines by which a run can be judged."""

_WHOLE = 0.95
"""The share of the planned time below which a run ended early."""
_ENOUGH_RUNS = 3
"""Runs from which on a frequent length is taken as the planned time of a run."""
_REMEDY = "Name logs of a load program, or their directory; for a CSV of your own: --time-column and --throughput-column"
_PARTS = ("samples.csv", "raw.csv", "results.csv", "summary.json")
_OF_BENCHBASE = re.compile(
    r"(?P<run>.+)\.(?P<part>samples\.csv|raw\.csv|results(?:\.\w+)?\.csv|summary\.json)(?:\.(?:gz|bz2|xz|zst))?"
)
"""The files that BenchBase writes of one run, and the one of them that is read, the first that there is."""
_IN_FILE = re.compile(r"#\d+$")
"""What tells the runs of one file apart."""
_LAST = 1.5
"""Intervals between the last line of a complete run and its end."""
_TIMES = 6
"""Lines that were left out whose times are named."""
_SAME = 20
"""Lines at the start that distinguish two runs: no two runs of a server have 20 seconds with identical figures."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One run of sysbench, as its log reports it.

    Attributes:
        name: the path of its file below the common directory of all logs, with `#2` for the second run in one file.
        copy_of: the name of the run that this run is a copy of; None where it is not a copy.
        exact: whether the log of a copy is identical byte for byte; if not, only the figures are identical.
        zeros: NUL bytes in its file, which a power loss leaves; the lines with them were skipped.
        written: when its file was last written, in seconds of Unix time; 0 where it holds several runs.
        left_out: its lines that were too few to be judged by.
    """

    name: str
    path: Path
    log: RunLog
    copy_of: str | None = None
    exact: bool = False
    zeros: int = 0
    written: float = 0.0
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Folder:
    """The runs and files that were read.

    Attributes:
        runs: the runs that can be judged, in order of their names, with copies marked.
        files: the status of every file, or of every run in a file with several.
    """

    runs: tuple[Run, ...]
    files: tuple[FileEntry, ...]


def load(paths: Sequence[Path], columns: CsvColumns = NO_COLUMNS) -> Folder:
    """Read the logs at the given paths and in the given directories. Each file that is left out is listed with the reason.

    `columns` are those of a CSV of the user's own.

    Raises:
        UserError: a path does not exist, a CSV lacks a column, or no run that can be judged was found.
    """
    named, searched = _find(paths)
    paths_of = sorted({*named, *searched}, key=lambda path: natural_order(str(path)))
    if not paths_of:
        raise UserError(f"There is no file in {paths[0]}", _REMEDY)
    root = Path(os.path.commonpath([path.parent for path in paths_of]))
    runs: list[Run] = []
    files: list[FileEntry] = []
    texts: dict[str, tuple[str, int]] = {}
    for path in paths_of:
        for name, logs in _read(path, str(path.relative_to(root)), files, columns):
            for index, log in enumerate(logs.logs):
                own_name = f"{name}/{log.label}" if log.label else name
                label = own_name if len(logs.logs) == 1 else f"{own_name}#{index + 1}"
                written = path.stat().st_mtime if len(logs.logs) == 1 and logs.name is None else 0.0
                run = _by_totals(Run(label, path, log, zeros=logs.zeros, written=written))
                if (left_out := _unusable(run)) is None:
                    runs.append(run)
                    texts[label] = (logs.digest, index)
                else:
                    files.append(left_out)
    runs = _without_samples(runs, files)
    if not runs:
        first = next((entry for entry in files if entry.status is not FileStatus.NO_LOG), files[0])
        raise UserError(f"{first.file}: {first.detail}", _REMEDY)
    usual = _usual_length(runs)
    trimmed = [_trimmed(run, _planned(run, usual)) for run in _with_copies(runs, texts)]
    files += [_entry(run, planned) for run, planned in trimmed]
    return Folder(tuple(run for run, _ in trimmed), tuple(sorted(files, key=lambda entry: natural_order(entry.file))))


def _without_samples(runs: Sequence[Run], entries: list[FileEntry]) -> list[Run]:
    """Leave out files of a run that another file has as well, which are listed as such.

    These are the CSV files beside a result of HammerDB, of BenchBase's files of one run all but the first of `_PARTS`, and
    tables of results beside the logs that they were made of.
    """
    own_logs = [run for run in runs if not _sums_up(run)]
    if own_logs and len(own_logs) < len(runs):
        sums = dict.fromkeys(_file_of(run) for run in runs if run not in own_logs)
        detail = "a table of results beside the logs"
        entries += [FileEntry(file=name, status=FileStatus.BESIDE, detail=detail) for name in sums]
        runs = own_logs
    results = {PurePath(run.name).parent for run in runs if run.log.header.get("program") == "HammerDB"}
    tables = {run.name for run in runs if run.log.header.get("program") in ("CSV", "HammerDB TPROC-C")}
    samples = {name for name in tables if PurePath(name).parent in results}
    parts: dict[str, list[tuple[int, str]]] = {}
    for run in runs:
        if match := _OF_BENCHBASE.fullmatch(run.name):
            rank = _PARTS.index(match["part"]) if match["part"] in _PARTS else len(_PARTS)
            parts.setdefault(match["run"], []).append((rank, run.name))
    # Where none of `_PARTS` is there, `PREFIX.results.r1.csv` is a name that somebody chose.
    samples |= {name for of in parts.values() if min(of)[0] < len(_PARTS) for _, name in sorted(of)[1:]}
    entries += [
        FileEntry(file=name, status=FileStatus.BESIDE, detail="samples of the run beside it") for name in sorted(samples)
    ]
    return [run for run in runs if run.name not in samples]


def _sums_up(run: Run) -> bool:
    """Return whether a run is a line of a table, or one of several totals that somebody copied out of logs."""
    program = run.log.header.get("program", run.log.header.get("sysbench"))
    return program == TABLE or (program is None and is_summary_only(run) and _IN_FILE.search(run.name) is not None)


def _file_of(run: Run) -> str:
    return run.name.partition("/" + run.log.label)[0] if run.log.label else _IN_FILE.sub("", run.name)


def _read(path: Path, name: str, entries: list[FileEntry], columns: CsvColumns) -> Iterator[tuple[str, LogFile]]:
    """Yield the name and logs of a file, or of each member of an archive; add files that cannot be used to `entries`."""
    for file in read(path):
        label = name if file.name is None else f"{name}/{file.name}"
        if isinstance(file, UnreadableLog):
            entries.append(_unreadable(label, file.error, path))
        elif file.logs:
            yield label, file
        else:
            try:
                logs = read_other(file.opened, str(path) if file.name is None else f"{path}: {file.name}", columns)
                names = [] if logs else columns_of(first_lines(file.opened))
            except (TooLargeError, *DAMAGED, OSError) as error:
                entries.append(_unreadable(label, error, path))
                continue
            if logs:
                yield label, replace(file, logs=logs)
                continue
            detail = "no report of a load program in it"
            if names:
                detail = f"a CSV with {', '.join(names)}: name its columns of time and throughput"
            entries.append(FileEntry(file=label, status=FileStatus.NO_LOG, detail=detail))


def _unreadable(label: str, error: Exception, path: Path) -> FileEntry:
    if isinstance(error, TooLargeError):
        return FileEntry(file=label, status=FileStatus.TOO_LARGE, detail=str(error).removeprefix(f"{path} "))
    reason = getattr(error, "strerror", None) or "truncated or damaged: it cannot be unpacked"
    return FileEntry(file=label, status=FileStatus.UNREADABLE, detail=reason)


def is_summary_only(run: Run) -> bool:
    """Return whether a log has no interval reports, so that the throughput in its summary is used for the run."""
    return not run.log.times.size and run.log.summary is not None and run.log.summary.tps > 0


def _by_totals(run: Run) -> Run:
    """Return a run of too few lines, such as six of ten seconds, without these where its summary covers as many seconds."""
    log, nothing = run.log, np.empty(0)
    if not 0 < log.times.size < FEWEST or log.summary is None or not log.summary.tps or (log.summary.seconds or 0) < FEWEST:
        return run
    log = replace(log, times=nothing, tps=nothing, latency_ms=nothing, errors=nothing, interval=0.0)
    return replace(run, log=log, left_out=run.log.times.size)


def rate_of(run: Run) -> str:
    """Return the transactions per second that a run requested; empty where it ran as fast as it could."""
    match = re.match(r"\d+", run.log.header.get("Target transaction rate", ""))
    return match[0] if match else ""


def is_queue_full(log: RunLog) -> bool:
    """Return whether a run ended because the server could not keep up with `--rate`."""
    return log.fatal is not None and "event queue is full" in log.fatal


def _unusable(run: Run) -> FileEntry | None:
    log = run.log
    count = counted(log.times.size, "line")
    if log.fatal is not None and log.summary is None and not (is_queue_full(log) and log.times.size >= FEWEST):
        return FileEntry(file=run.name, status=FileStatus.FAILED, detail=f"{log.fatal} (after {count})")
    if is_summary_only(run):
        return None
    if not log.times.size and "sysbench" in log.header and log.summary is None:
        return FileEntry(file=run.name, status=FileStatus.FAILED, detail="it never began: no line and no total")
    if log.times.size < FEWEST:
        return FileEntry(file=run.name, status=FileStatus.TOO_SHORT, detail=f"{count}; at least {FEWEST} are needed")
    if log.interval <= 0:
        return FileEntry(file=run.name, status=FileStatus.UNREADABLE, detail="its timestamps do not increase")
    return None


def _planned(run: Run, usual: float | None) -> float | None:
    """Return the planned time of a run in seconds: by its log, else the usual length of the runs."""
    if (planned := run.log.header.get("time", "")).isdigit() and int(planned) > 0:
        return float(planned)
    return usual


def _usual_length(runs: Sequence[Run]) -> float | None:
    """Return the length in seconds that more than half of at least three runs have; None where they have none in common."""
    lengths = Counter(round(float(one.log.times[-1]), -1) for one in runs if one.log.times.size)
    length, count = lengths.most_common(1)[0] if lengths else (0.0, 0)
    return length if len(runs) >= _ENOUGH_RUNS and 2 * count > len(runs) else None


def _trimmed(run: Run, planned: float | None) -> tuple[Run, float | None]:
    """Return a run without the seconds at its end that do not represent it, and its planned time.

    After the planned time, connections only finish the transactions that they began. The last report of a run that was killed
    may cover a server that was being stopped.
    """
    log, keep = run.log, run.log.times.size
    if planned is not None and "time" in log.header:
        keep = int(np.searchsorted(log.times, planned + log.interval / 2))
    if log.summary is None and log.header and _is_short(log, planned):
        keep -= 1
    if keep >= log.times.size or keep < FEWEST:
        return run, planned
    cut = {name: getattr(log, name)[:keep] for name in ("times", "tps", "latency_ms", "errors")}
    others = {percentile: latencies[:keep] for percentile, latencies in log.other_latencies.items()}
    return replace(run, log=replace(log, **cut, other_latencies=others)), planned


def _is_short(log: RunLog, planned: float | None) -> bool:
    return planned is not None and log.times.size > 0 and float(log.times[-1]) < _WHOLE * planned


def _entry(run: Run, planned: float | None) -> FileEntry:
    if run.copy_of is not None:
        return FileEntry(file=run.name, status=FileStatus.COPY, detail=f"of {run.copy_of}")
    if is_summary_only(run):
        what = f"{counted(run.left_out, 'line')}, too few" if run.left_out else "no interval reports"
        detail = f"{what}: the throughput of its summary is used"
        return FileEntry(file=run.name, status=FileStatus.SUMMARY_ONLY, detail=detail)
    if planned is not None and _is_short(run.log, planned):
        took = f"{number(float(run.log.times[-1]))} of {number(planned)} s"
        killed = " and has no summary: it was killed" if run.log.summary is None and run.log.header else ""
        return FileEntry(file=run.name, status=FileStatus.ENDED_EARLY, detail=f"ended after {took}{killed}")
    return FileEntry(file=run.name, status=FileStatus.USED, detail="")


def natural_order(text: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts numbers within text by their size, however long they are: `8` before `32`."""
    parts = re.split(r"0*([0-9]+)", text)
    return [(1, len(part), part) if index % 2 else (0, 0, part) for index, part in enumerate(parts)]


def incomplete(run: Run) -> list[str]:
    """Return sentences on what a log lacks: lines, figures, or transactions that its summary counts."""
    log, sentences = run.log, []
    if run.zeros:
        zeros = counted(run.zeros, "NUL byte")
        sentences.append(f"the lines with {zeros} were skipped; a power loss leaves them where data was not written yet")
    if log.impossible:
        times = listed([f"{number(time)} s" for time in log.impossible[:_TIMES]])
        what = "the line was" if len(log.impossible) == 1 else f"{len(log.impossible)} lines were"
        sentences.append(f"at {times} {what} left out, because the throughput is impossible: a counter went below zero")
    if not sentences and not is_summary_only(run):
        sentences += _missing(log)
    return [f"{run.name}: {sentence}" for sentence in sentences]


def _missing(log: RunLog) -> list[str]:
    expected = (log.times[-1] - log.times[0]) / log.interval + 1 if log.interval > 0 else 0
    if log.times.size < 0.98 * expected:
        return [f"{number(expected - log.times.size)} of {number(expected)} lines are missing"]
    in_summary = log.summary.transactions if log.summary else None
    in_lines = float(log.tps.sum()) * log.interval
    if log.summary and log.summary.seconds and 0 < log.summary.seconds - log.times[-1] < _LAST * log.interval:
        in_lines *= log.summary.seconds / (log.times.size * log.interval)  # sysbench often ends before it prints its last line
    if in_summary and abs(in_lines / in_summary - 1) > 0.02:
        return [f"its summary counts {number(in_summary)} transactions, its lines {number(in_lines)}; the log is incomplete"]
    return []


def _find(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    named, searched = [], []
    for path in paths:
        if path.is_dir():
            for directory, below, names in os.walk(path.absolute()):
                below[:] = sorted(name for name in below if not name.startswith("."))
                visible_paths = (Path(directory, name) for name in names if not name.startswith("."))
                searched += [path_below for path_below in visible_paths if path_below.is_file()]
        elif path.is_file():
            named.append(path.absolute())
        elif path.exists():
            raise UserError(f"{path} is neither a file nor a directory", "Name logs, or the directory that holds them")
        else:
            raise UserError(f"There is no {path}", "Name logs, or the directory that holds them")
    return list(dict.fromkeys(named)), list(dict.fromkeys(searched))


def _with_copies(runs: Sequence[Run], texts: dict[str, tuple[str, int]]) -> list[Run]:
    """Mark the runs that are copies: two runs with the same figures from the first line to the end of the shorter one.

    The longest run is the original; of equally long runs, the one with the shortest name.
    """
    by_start: dict[bytes, list[Run]] = {}
    for run in runs:
        by_start.setdefault(_figures(run.log, _SAME), []).append(run)
    copies = {}
    for group in by_start.values():
        originals: list[Run] = []
        for run in sorted(group, key=lambda one: (-one.log.times.size, len(one.name))):
            length = run.log.times.size
            original = next((one for one in originals if _figures(one.log, length) == _figures(run.log, length)), None)
            if original is None:
                originals.append(run)
            else:
                copies[run.name] = original
    return [
        replace(run, copy_of=copies[run.name].name, exact=texts[run.name] == texts[copies[run.name].name])
        if run.name in copies
        else run
        for run in runs
    ]


def _figures(log: RunLog, length: int) -> bytes:
    if not log.times.size and log.summary is not None:
        return repr((log.threads, log.label, log.summary)).encode()
    return np.stack([log.tps[:length], log.latency_ms[:length]]).tobytes()
