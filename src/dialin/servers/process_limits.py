"""Limits of the shell (`ulimit`) that are too low for a server and its data, named before anything is started."""

from __future__ import annotations

import resource
from contextlib import suppress

from dialin.errors import UserError

_MINIMUMS = (
    (resource.RLIMIT_AS, "-v", "address space", 8 * 1024**3),
    (resource.RLIMIT_FSIZE, "-f", "the size of a file", 4 * 1024**3),
)
"""For each limit: its number, its ulimit option, what it limits, and the minimum in bytes.

A server reserves several times the memory that it uses; a redo log or the tables of a load are files of hundreds of megabytes.
"""
_FEWEST_FILES, _FILES = 256, 65_536
"""Open files that dialin and its servers need, and as many as they get where the hard limit allows it.

A server that has too few files for its tables ends with an error of its own, which would count against a setting.
"""


def check() -> None:
    """Raise UserError where a limit of this shell is too low for servers and data; the soft limit of open files is raised."""
    for limit, option, what, minimum in _MINIMUMS:
        soft, _ = resource.getrlimit(limit)
        if soft != resource.RLIM_INFINITY and soft < minimum:
            raise UserError(
                f"ulimit {option} limits {what} to {soft / 1024**2:,.0f} MiB, which is too little for a server",
                f"Run `ulimit {option} unlimited` first",
            )
    if (files := _raised_files()) < _FEWEST_FILES:
        raise UserError(
            f"ulimit -Hn limits the number of open files to {files}, which is too little for a server",
            "Raise this hard limit: in /etc/security/limits.conf, or as LimitNOFILE= of the service",
        )


def _raised_files() -> int:
    """Return the soft limit of open files, raised as far as the hard one allows, which is low by default for old programs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return _FILES if soft == resource.RLIM_INFINITY else soft
    with suppress(OSError, ValueError):  # a sandbox may forbid it
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return soft


def too_low() -> str:
    """Return a sentence about a limit that is too low, a possible cause of memory and file errors; empty if none is."""
    try:
        check()
    except UserError as error:
        return str(error)
    return ""
