"""Logs of runs made elsewhere: where they are, what they are called, and which are copies of another."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from dialin.errors import UserError
from dialin.study.analysis.sibling_files import options_beside
from dialin.text import counted, number
from dialin.workloads.sysbench_log import LARGEST, Log, head, read

FEWEST = 20
"""Lines below which nothing can be told of a run."""

_SAME = 20
"""Lines at the start that tell two runs apart: no two runs of a server have twenty seconds alike to the hundredth."""


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """One run of sysbench, as a log tells of it.

    Attributes:
        name: of its file, with the directories in which names differ; `#2` for the second run in one file.
        log: what it did.
        copy_of: the run that this is a copy of.
        exact: whether that copy is one byte for byte; else only its figures are the same.
        options: what run scripts, option files and lists of parameters beside it set.
    """

    name: str
    log: Log
    copy_of: str | None = None
    exact: bool = False
    options: Mapping[str, str] = field(default_factory=dict)


def load(paths: Sequence[Path]) -> tuple[list[Run], list[str]]:
    """Read the logs that were named, and those in directories that were named.

    Returns:
        The runs, in order of their names, copies told; and what was left out, a sentence each.

    Raises:
        UserError: a file that was named is no log of sysbench, a log cannot be read, or there is none.
    """
    named, searched = _find(paths)
    files = sorted({*named, *searched}, key=lambda path: natural(str(path)))
    logs = {path: read(path) for path in files}
    empty = [path for path in named if not logs[path].logs]
    if empty:
        raise UserError(
            f"{empty[0]} holds no interval report of sysbench",
            "Log runs with --report-interval=1, in sysbench 1.0's own lines or as CSV",
        )
    files = [path for path in files if logs[path].logs]
    if not files:
        raise UserError(
            f"There is no log of sysbench in {paths[0]}", "Name files with its interval reports, or their directory"
        )
    runs, left_out, texts = [], [], {}
    root = Path(os.path.commonpath([path.parent for path in files]))
    for path, name in zip(files, _names(files), strict=True):
        for index, log in enumerate(logs[path].logs):
            label = name if len(logs[path].logs) == 1 else f"{name}#{index + 1}"
            if log.times.size < FEWEST:
                left_out.append(f"{label} has {counted(log.times.size, 'line')}, which is too few, and was left out")
                continue
            if log.interval <= 0:
                left_out.append(f"{label}, whose time does not move on, was left out")
                continue
            runs.append(Run(label, log, options=options_beside(path, root)))
            texts[label] = (logs[path].digest, index)
    if not runs:
        raise UserError(left_out[0], f"Runs of {FEWEST} lines and more can be analyzed")
    return _with_copies(runs, texts), left_out


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


def _find(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Return the files that were named, and those found in directories that could be logs."""
    named, searched = [], []
    for path in paths:
        if path.is_dir():
            for directory, below, names in os.walk(path.absolute()):
                below[:] = sorted(name for name in below if not name.startswith("."))
                found = (Path(directory, name) for name in names if not name.startswith("."))
                searched += [one for one in found if one.is_file() and _could_be_a_log(one)]
        elif path.is_file():
            named.append(path.absolute())
        elif path.exists():
            raise UserError(f"{path} is neither a file nor a directory", "Name logs, or the directory that holds them")
        else:
            raise UserError(f"There is no {path}", "Name logs, or the directory that holds them")
    return list(dict.fromkeys(named)), list(dict.fromkeys(searched))


def _could_be_a_log(path: Path) -> bool:
    """Tell text, packed or not, from all else that may lie about; what looks damaged is let through, to be told of."""
    try:
        return path.stat().st_size <= LARGEST and b"\0" not in head(path)
    except OSError:
        return False


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
