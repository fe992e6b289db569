"""Finds which runs one start of a server may have served, by what lies beside their logs and by their times. Pure.

Runs of one start are no repeats: what that start gave all of them, such as the layout of memory and files, is in each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dialin.logs.beside_logs import Beside
from dialin.logs.stamps import Spans
from dialin.logs.status_listings import Uptime
from dialin.model.analysis import RunAnalysis, Starts

_NO_TIME = 2.0
"""Seconds between two runs in which no server was stopped and started again."""
_COVERED = 0.9
"""The share of a run's length by which the uptimes of two runs of one start differ at least."""
_AGREE = 5.0
"""Seconds within which listings of one start agree on the moment of that start."""


@dataclass(frozen=True, slots=True)
class ServedBy:
    """What is known of the start that served a run.

    Attributes:
        state: whether the repeats of its candidate in its cell are separate starts.
        start: identifies the start among those of its candidate and cell; empty where nothing is known.
        by: what shows it, in words; empty where nothing does.
        count: the number of starts that `start` stands for: an error log does not show which of them served which run.
        against: what shows the contrary, in words; empty where nothing does.
    """

    state: Starts = Starts.UNKNOWN
    start: str = ""
    by: str = ""
    count: int = 1
    against: str = ""


_Groups = Mapping[str, str]
"""What identifies the start of each run, by the run's name."""


def find_starts(
    runs: Sequence[RunAnalysis], beside: Mapping[str, Beside], spans: Spans, *, restarted: bool
) -> dict[str, ServedBy]:
    """Return what is known of the start of each run: among repeats, runs of one candidate in one cell.

    An error log counts before all else, and the word of the user before the rest. Then what shows that one start served two
    repeats counts before what shows that each has its own.

    Args:
        runs: those that count.
        beside: what lies beside each run's log.
        spans: when each run began and ended; empty where that is not known.
        restarted: whether somebody says that the server was started anew before each run.
    """
    repeats: dict[tuple[object, ...], list[RunAnalysis]] = {}
    for run in runs:
        repeats.setdefault((run.candidate, run.cell), []).append(run)
    unbroken = _unbroken(runs, spans)
    sources: tuple[tuple[str, Callable[[Sequence[RunAnalysis]], _Groups | None]], ...] = (
        ("uptime in its status listings", lambda of: _by_uptime(of, runs, beside)),
        ("run script", lambda of: _by_script(of, beside)),
        ("dates, which leave no time for a restart", lambda of: _by_time(of, unbroken)),
    )
    served: dict[str, ServedBy] = {}
    for group in (group for group in repeats.values() if len(group) > 1):
        known = [(by, starts) for by, source in sources if (starts := source(group)) is not None]
        known.sort(key=lambda one: len(set(one[1].values())) == len(group))
        if (starts := _by_error_log(group, beside)) is not None:
            for run in group:
                log = beside[run.file].error_log
                served[run.file] = _served(run, starts, "error log", log.starts if log else 1)
        elif restarted:
            against = known[0][0] if known and len(set(known[0][1].values())) < len(group) else ""
            served |= {run.file: ServedBy(Starts.SEPARATE, run.file, "--restarted", against=against) for run in group}
        elif known:
            by, starts = known[0]
            served |= {run.file: _served(run, starts, by) for run in group}
    return served


def _served(run: RunAnalysis, starts: _Groups, by: str, count: int = 1) -> ServedBy:
    is_shared = len(set(starts.values())) < len(starts)
    return ServedBy(Starts.SHARED if is_shared else Starts.SEPARATE, starts[run.file], by, count if is_shared else 1)


def _unbroken(runs: Sequence[RunAnalysis], spans: Spans) -> dict[str, str]:
    """Return what identifies each series of runs of one candidate between which no server can have been restarted."""
    series: dict[str, str] = {}
    before: RunAnalysis | None = None
    for run in sorted((run for run in runs if run.file in spans), key=lambda run: spans[run.file]):
        follows = (
            before is not None and before.candidate == run.candidate and spans[run.file][0] - spans[before.file][1] <= _NO_TIME
        )
        series[run.file] = series[before.file] if follows and before is not None else run.file
        before = run
    return series


def _by_error_log(runs: Sequence[RunAnalysis], beside: Mapping[str, Beside]) -> _Groups | None:
    """Each run's error log shows how many starts served; fewer than its runs here, and they share them."""
    logs = {run.file: log for run in runs if (log := beside.get(run.file, Beside()).error_log) and log.starts}
    if len(logs) < len(runs):
        return None
    paths = [log.path for log in logs.values()]
    return {name: str(log.path) if paths.count(log.path) > log.starts else f"{log.path}\0{name}" for name, log in logs.items()}


def _by_uptime(runs: Sequence[RunAnalysis], every: Sequence[RunAnalysis], beside: Mapping[str, Beside]) -> _Groups | None:
    """The uptime of a server that served two runs has grown by the length of one of them, or covers all that have its listing.

    A server that was started anew and idled has grown, too: listings of one start also agree on the moment of the start.
    """
    uptimes = {run.file: uptime for run in every if (uptime := beside.get(run.file, Beside()).uptime)}
    if any(run.file not in uptimes for run in runs):
        return None
    paths = {uptimes[run.file].path for run in runs}
    if len(paths) == 1:
        (path,) = paths
        served = sum(run.seconds for run in every if run.file in uptimes and uptimes[run.file].path == path)
        return dict.fromkeys((run.file for run in runs), str(path)) if uptimes[runs[0].file].seconds >= served else None
    if len(paths) < len(runs):
        return None
    last: list[Uptime] = []
    groups = {}
    for run in sorted(runs, key=lambda run: uptimes[run.file].seconds):
        uptime = uptimes[run.file]
        grown = [place for place, one in enumerate(last) if uptime.seconds - one.seconds >= _COVERED * run.seconds]
        same = [place for place in grown if abs(uptime.began - last[place].began) <= _AGREE]
        if grown and not same:
            return None
        start = same[0] if same else len(last)
        last[start : start + 1] = [uptime]
        groups[run.file] = str(start)
    return groups


def _by_script(runs: Sequence[RunAnalysis], beside: Mapping[str, Beside]) -> _Groups | None:
    scripts = [beside.get(run.file, Beside()).script for run in runs]
    if any(script is None for script in scripts):
        return None
    return {
        run.file: run.file if script.restarts else str(script.path)
        for run, script in zip(runs, scripts, strict=True)
        if script is not None
    }


def _by_time(runs: Sequence[RunAnalysis], unbroken: Mapping[str, str]) -> _Groups | None:
    """Runs without a pause share a start; a pause shows nothing."""
    series = {run.file: unbroken[run.file] for run in runs if run.file in unbroken}
    return series if len(series) == len(runs) and len(set(series.values())) < len(runs) else None
