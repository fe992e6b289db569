"""Logs of runs made elsewhere: where they are, what they are called, and which are copies of another."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dialin.errors import UserError
from dialin.model.analysis import FileEntry, FileStatus
from dialin.text import counted, number
from dialin.workloads.log_text import DAMAGED, members
from dialin.workloads.sysbench_log import Log, LogFile, Summary, TooLargeError, read

FEWEST = 20
"""Lines below which nothing can be told of a run."""

_SAME = 20
"""Lines at the start that tell two runs apart: no two runs of a server have twenty seconds alike to the hundredth."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One run of sysbench, as a log shows it.

    Attributes:
        name: of its file, with the directories in which names differ; `#2` for the second run in one file.
        path: the file.
        log: what it did, without the seconds after its planned end and without the last one of a killed run.
        copy_of: the run that this is a copy of.
        exact: whether that copy is one byte for byte; else only its figures are the same.
        planned_seconds: how long it was to run; None where the log does not show the command.
        ended_early: whether it ended before that.
        killed: whether it ended without a summary, before its planned end or, where that is not known, after a header.
        fatal: the error that ended it.
    """

    name: str
    path: Path
    log: Log
    copy_of: str | None = None
    exact: bool = False
    planned_seconds: float | None = None
    ended_early: bool = False
    killed: bool = False
    fatal: str | None = None

    @property
    def header(self) -> Mapping[str, str]:
        """What the log says before its first line."""
        return self.log.header

    @property
    def summary(self) -> Summary | None:
        """What the log says after its last line."""
        return self.log.summary


@dataclass(frozen=True, slots=True, eq=False)
class Folder:
    """The runs that can be used, in order of their names, and every file that was looked at."""

    runs: tuple[Run, ...]
    files: tuple[FileEntry, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _File:
    """A file, or a member of a zip archive: what it holds, or why nothing of it can be used."""

    path: Path
    member: str | None = None
    content: LogFile | None = None
    problem: FileStatus = FileStatus.NOT_A_LOG
    detail: str = ""


def load(paths: Sequence[Path]) -> Folder:
    """Read the logs that were named, and those in directories that were named. No file is dropped in silence.

    Raises:
        UserError: a path does not exist, or nothing in all of them can be used.
    """
    found = _find(paths)
    if not found:
        raise UserError(
            f"There is no log of sysbench in {paths[0]}", "Name files with its interval reports, or their directory"
        )
    runs, entries, texts = [], [], {}
    for path, name in zip(found, _names(found), strict=True):
        for file in _read(path):
            label = name if file.member is None else f"{name}/{file.member}"
            logs = file.content.logs if file.content else ()
            if not logs:
                entries.append(FileEntry(file=label, status=file.problem, detail=file.detail))
            for index, log in enumerate(logs):
                run = _run(label if len(logs) == 1 else f"{label}#{index + 1}", path, log)
                entry = _entry(run)
                entries.append(entry)
                if entry.status in _USABLE:
                    runs.append(run)
                    texts[run.name] = (file.content.digest if file.content else "", index)
    if not runs:
        raise _nothing_usable(entries, paths)
    runs = _with_copies(runs, texts)
    copies = {run.name: run for run in runs if run.copy_of is not None}
    return Folder(tuple(runs), tuple(_copy_entry(copies[one.file]) if one.file in copies else one for one in entries))


_USABLE = (FileStatus.USED, FileStatus.ENDED_EARLY)


def _read(path: Path) -> list[_File]:
    """Read a file, each member of it where it is a zip archive."""
    try:
        names = members(path)
    except (OSError, *DAMAGED) as error:
        return [_File(path, problem=FileStatus.UNREADABLE, detail=getattr(error, "strerror", None) or "damaged archive")]
    files = []
    for member in names:
        try:
            files.append(_File(path, member, read(path, member)))
        except TooLargeError as error:
            files.append(_File(path, member, problem=FileStatus.TOO_LARGE, detail=error.what))
        except UserError as error:
            files.append(_File(path, member, problem=FileStatus.UNREADABLE, detail=error.what))
    return files


def _run(name: str, path: Path, log: Log) -> Run:
    """Return a run without the seconds that are no evidence of its server.

    Lines after the planned end report threads that finish their last transaction. The last line of a killed run may report a
    server that was being killed.
    """
    planned = float(log.header["time"]) if "time" in log.header else None
    last = float(log.times[-1]) if log.times.size else 0.0
    early = planned is not None and log.times.size > 0 and last < planned - max(log.interval, 1.0)
    killed = log.summary is None and log.times.size > 0 and (early or (planned is None and "sysbench" in log.header))
    end = log.times.size if planned is None else int(np.searchsorted(log.times, planned, side="right"))
    cut = replace(log, **{key: getattr(log, key)[: end - killed] for key in ("times", "tps", "latency_ms", "errors")})
    return Run(name, path, cut, planned_seconds=planned, ended_early=early, killed=killed, fatal=log.fatal)


def _entry(run: Run) -> FileEntry:
    """Return the status of a run by its log alone."""
    log, summary = run.log, run.summary
    status, detail = FileStatus.USED, ""
    if run.fatal is not None and summary is None:
        status, detail = FileStatus.FAILED, run.fatal
    elif log.times.size == 0 and summary is not None:
        figure = f"the summary says {number(summary.tps)} tps; not compared, as it shows no seconds"
        status, detail = FileStatus.NO_INTERVALS, figure
    elif log.times.size < FEWEST:
        status, detail = FileStatus.TOO_SHORT, f"{counted(log.times.size, 'line')}; {FEWEST} are needed"
    elif log.interval <= 0:
        status, detail = FileStatus.UNREADABLE, "its time does not move on"
    elif run.ended_early and run.planned_seconds is not None:
        status, detail = FileStatus.ENDED_EARLY, f"{number(log.times[-1])} of {run.planned_seconds:,.0f} s"
    elif run.killed:
        status, detail = FileStatus.ENDED_EARLY, f"it has no summary; its last line is at {log.times[-1]:,.0f} s"
    return FileEntry(file=run.name, status=status, detail=detail)


def _copy_entry(run: Run) -> FileEntry:
    return FileEntry(file=run.name, status=FileStatus.COPY, detail=f"of {run.copy_of}")


def _nothing_usable(entries: Sequence[FileEntry], paths: Sequence[Path]) -> UserError:
    """Return the error for files of which none can be used: it says what the first one that is no stranger lacks."""
    entry = next((one for one in entries if one.status is not FileStatus.NOT_A_LOG), None)
    if entry is None:
        return UserError(
            f"{paths[0]} holds no interval report of sysbench",
            "Log runs with --report-interval=1, in sysbench's own lines or as CSV",
        )
    return UserError(f"{entry.file} cannot be used: {entry.detail}", f"Runs of {FEWEST} lines and more can be analyzed")


def natural(text: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts numbers within text by their size: `8` before `32`."""
    parts = re.split(r"(\d+)", text)
    return [(1, int(part), "") if index % 2 else (0, 0, part) for index, part in enumerate(parts)]


def incomplete(run: Run) -> str | None:
    """Return what a log lacks, in a sentence: lines in between, or what its own summary counts; None where it is whole."""
    log = run.log
    expected = (log.times[-1] - log.times[0]) / log.interval + 1 if log.interval > 0 else 0
    if log.times.size < 0.98 * expected:
        return f"{run.name}: {number(expected - log.times.size)} of {number(expected)} lines are missing"
    told, seen = log.transactions, float(log.tps.sum()) * log.interval
    if told and abs(seen / told - 1) > 0.02:
        return f"{run.name}: its summary counts {number(told)} transactions, its lines {number(seen)}; it is not whole"
    return None


def _find(paths: Sequence[Path]) -> list[Path]:
    """Return the files that were named, and all in directories but hidden ones, in order of their names."""
    files: set[Path] = set()
    for path in paths:
        if path.is_dir():
            for directory, below, names in os.walk(path.absolute()):
                below[:] = sorted(name for name in below if not name.startswith("."))
                visible = (Path(directory, name) for name in names if not name.startswith("."))
                files.update(one for one in visible if one.is_file() or not one.exists())
        elif path.is_file():
            files.add(path.absolute())
        elif path.exists():
            raise UserError(f"{path} is neither a file nor a directory", "Name logs, or the directory that holds them")
        else:
            raise UserError(f"There is no {path}", "Name logs, or the directory that holds them")
    return sorted(files, key=lambda path: natural(str(path)))


def _names(files: Sequence[Path]) -> list[str]:
    """Return what files are called: by their paths below the directory that holds them all."""
    above = Path(os.path.commonpath([path.parent for path in files]))
    return [str(path.relative_to(above)) for path in files]


def _with_copies(runs: Sequence[Run], texts: dict[str, tuple[str, int]]) -> list[Run]:
    """Tell which runs are copies: of the same figures from the first line on, as far as the shorter one goes.

    The longest of them is the run, and the others are copies of it; among equally long ones that of the shortest name.
    """
    alike: dict[bytes, list[Run]] = {}
    for run in runs:
        alike.setdefault(_figures(run.log, _SAME), []).append(run)
    copies = {}
    for group in alike.values():
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


def _figures(log: Log, length: int) -> bytes:
    return np.stack([log.tps[:length], log.latency_ms[:length]]).tobytes()
