"""Reads what lies beside logs: how runs were made, and when and where their servers ran."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from dialin.logs import error_logs, sibling_files, status_listings
from dialin.logs.error_logs import ErrorLog, read_error_logs
from dialin.logs.run_scripts import restarts_between
from dialin.logs.sibling_files import LISTINGS, SCRIPTS, SiblingFinder, read_options, read_text
from dialin.logs.status_listings import Uptime, read_status_listing
from dialin.variables.forms import listing

_Fact = TypeVar("_Fact")
PATTERNS = (*sibling_files.PATTERNS, *error_logs.PATTERNS, *status_listings.PATTERNS)
"""The patterns of file names that are read, in lower case."""
_CONTAINER = re.compile(r"[0-9a-f]{12}")
"""The host name that a container has if nobody names it: another one each time that it is made."""
_HOST_OPTIONS = ("mysql_host", "db_host", "host")
_THIS_HOST = ("localhost", "127.0.0.1", "::1", "$")


@dataclass(frozen=True, slots=True)
class RunScript:
    """A script that made repeats of a run, and whether it started the server anew for each."""

    path: Path
    restarts: bool


@dataclass(frozen=True, slots=True)
class Beside:
    """What the files beside a run's log say.

    Attributes:
        options: the options that they set, and the variables that the server reported.
        shares: what the counters of the server show, where one status listing lies beside the log.
        host: the name of the server's host; empty where none says.
    """

    options: Mapping[str, str] = field(default_factory=dict)
    error_log: ErrorLog | None = None
    uptime: Uptime | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    script: RunScript | None = None
    host: str = ""


def read_beside(logs: Mapping[str, Path], roots: Sequence[Path]) -> dict[str, Beside]:
    """Return what lies beside each run's log, by the run's name.

    Args:
        logs: the path of each run's log, by the run's name.
        roots: directories above which nothing is read.
    """
    finder = SiblingFinder(roots)
    options, errors = read_options(logs, finder), read_error_logs(logs, finder)
    statuses = _read_all(logs, finder, status_listings.PATTERNS, read_status_listing)
    scripts = _read_all(logs, finder, SCRIPTS, _script)
    hosts = _read_all(logs, finder, LISTINGS, _host)
    return {
        name: Beside(
            options=options[name],
            error_log=errors.get(name),
            uptime=max((one.uptime for one in statuses[name] if one.uptime), key=lambda one: one.seconds, default=None),
            shares=statuses[name][0].shares if len(statuses[name]) == 1 else {},
            script=scripts[name][0] if len({one.restarts for one in scripts[name]}) == 1 else None,
            host=_host_of(hosts[name], options[name]),
        )
        for name in logs
    }


def _read_all(
    logs: Mapping[str, Path], finder: SiblingFinder, patterns: Sequence[str], parse: Callable[[Path], _Fact | None]
) -> dict[str, list[_Fact]]:
    """Return what the nearest files say of each run, each file read once."""
    read: dict[Path, _Fact | None] = {}
    found: dict[str, list[_Fact]] = {}
    for name, log in logs.items():
        files = finder.nearest(log, patterns)
        for file in files:
            if file not in read:
                read[file] = parse(file)
        found[name] = [fact for file in files if (fact := read[file]) is not None]
    return found


def _script(path: Path) -> RunScript | None:
    restarts = restarts_between(read_text(path))
    return None if restarts is None else RunScript(path, restarts)


def _host(path: Path) -> str | None:
    return str((listing.read(read_text(path)) or {}).get("hostname", "")) or None


def _host_of(hosts: Sequence[str], options: Mapping[str, str]) -> str:
    """Return the host by the server's own name, else as the load program was told it; no name that tells no host."""
    names = {name for name in hosts if not _CONTAINER.fullmatch(name)}
    if not hosts:
        names = {options[key] for key in _HOST_OPTIONS if key in options and not options[key].startswith(_THIS_HOST)}
    return names.pop() if len(names) == 1 else ""
