"""Limits of the shell (`ulimit`) that are too low for a server and its data, named before anything is started."""

from __future__ import annotations

import resource

from dialin.errors import UserError

_MINIMUMS = (
    (resource.RLIMIT_AS, "-v", "address space", 8 * 1024**3),
    (resource.RLIMIT_FSIZE, "-f", "the size of a file", 4 * 1024**3),
    (resource.RLIMIT_NOFILE, "-n", "the number of open files", 256),
)
"""For each limit: its number, its ulimit option, what it limits, and the minimum: bytes, or files.

A server reserves several times the memory that it uses; a redo log or the tables of a load are files of hundreds of megabytes;
and a server that has too few files for its tables ends with an error of its own, which would count against a setting.
"""


def check() -> None:
    """Make sure that servers and their data fit the limits of this shell.

    Raises:
        UserError: a limit is too low.
    """
    for limit, option, what, minimum in _MINIMUMS:
        soft, _ = resource.getrlimit(limit)
        if soft != resource.RLIM_INFINITY and soft < minimum:
            shown, wanted = (f"{soft}", "1024") if option == "-n" else (f"{soft / 1024**2:,.0f} MiB", "unlimited")
            raise UserError(
                f"ulimit {option} limits {what} to {shown}, which is too little for a server",
                f"Run `ulimit {option} {wanted}` first",
            )


def too_low() -> str:
    """Return a sentence about a limit that is too low, a possible cause of memory and file errors; empty if none is."""
    try:
        check()
    except UserError as error:
        return str(error)
    return ""
