"""Where a server writes the log of a capture: a separate file that dialin can read, on a disk with space."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from dialin.capture.log_settings import Source, file_variable_of
from dialin.errors import UserError
from dialin.servers.account import Account
from dialin.servers.attached.server_files import ServerFiles, open_own
from dialin.text import size, visible

_RESERVE = 0.2
"""The share of a disk that a capture leaves free by default."""

_LARGEST_RESERVE = 10 * 1024**3
"""The most bytes that it leaves free by default: what a server writes besides the log in some minutes is no share of a disk."""

_ELSEWHERE = (
    "Log there with long_query_time=0, copy the file here, then: dialin capture from slow.log --out DIR (docs/capture.md)"
)


@dataclass(frozen=True, slots=True)
class LogPlace:
    """A directory for the log.

    Attributes:
        user: the ID of the user that the server runs as.
        is_removable: dialin may remove the file at the end.
    """

    directory: Path
    user: int
    is_removable: bool


def free_space(directory: Path) -> int:
    """Return the bytes of a file system that its users may still fill."""
    return shutil.disk_usage(directory).free


def reserve_of(directory: Path) -> int:
    """Return the bytes of its disk that a capture leaves free by default: a fifth, and 10 GiB at most."""
    usage = shutil.disk_usage(directory)
    return int(min(_RESERVE * (usage.used + usage.free), _LARGEST_RESERVE))  # what its users may use, as df counts it


def find_place(
    source: Source, variables: Mapping[str, str], account: Account, files: ServerFiles | None, asked_for: Path | None
) -> LogPlace:
    """Return where a server is to write a log: the directory asked for, else that of its own log, else its data directory.

    `files` are what is proved to be the server's on this machine.

    Raises:
        UserError: the server is on another machine, logs to tables or not at all, or dialin may not read the directory.
    """
    output = variables.get("log_output", "FILE").upper()
    if output != "FILE":
        raise UserError(
            f"The server does not write its logs to files only: log_output is {output}",
            "SET GLOBAL log_output = 'FILE' first; a capture reads files, and would fill the tables of logs",
        )
    if not account.is_local:
        hostname = variables.get("hostname") or account.host
        raise UserError(f"The server runs on another machine ({hostname}), where dialin reads no log", _ELSEWHERE)
    if files is None or files.data is None:
        raise UserError(
            f"No server of this machine listens at {account}: its process or its data directory is not seen here, as behind a "
            "tunnel or a proxy, in a container, or without permission",
            f"Run dialin as root or as the server's user on the server's machine. {_ELSEWHERE}",
        )
    named = variables.get(file_variable_of(source), "")
    directory = asked_for.absolute() if asked_for else files.directory_of(named)
    if directory is None:
        raise UserError(
            f"The directory of the server's log, {visible(named)}, does not belong to the server on this machine",
            "Name a directory that the server may write to with --log-dir",
        )
    if not directory.is_dir():
        raise UserError(f"The directory of the server's log, {directory}, is not on this machine", _ELSEWHERE)
    if not os.access(directory, os.X_OK):
        raise UserError(
            f"You may not read {directory}, where the server would write the log",
            "Run dialin as root or as the server's user, or name with --log-dir a directory that both may use",
        )
    return LogPlace(directory, files.process.user, is_removable=os.access(directory, os.W_OK))


def check_free(directory: Path, needed: float, least: int) -> None:
    """Raise UserError where a log of `needed` bytes leaves less than `least` bytes of its directory's disk free."""
    free = free_space(directory)
    if free - needed >= least:
        return
    smaller = "Free space, " if free < least else "Capture fewer --minutes, limit the log by --max-size, "
    raise UserError(
        f"The disk of {directory} has {size(free)} free: a log of about {size(needed)} would leave less than {size(least)}",
        f"{smaller}name a directory on another disk with --log-dir, or give a smaller --min-free",
    )


def make_private(path: Path, user: int) -> None:
    """Make the empty file of a log, readable by the server's user only, where dialin may; otherwise the server makes it.

    Raises:
        UserError: the file exists already, or cannot be made.
    """
    if os.geteuid() not in (0, user):
        return
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, stat.S_IRUSR | stat.S_IWUSR)
    except OSError as error:
        raise UserError(f"{path} cannot be made: {error.strerror}", "Name another directory with --log-dir") from error
    try:
        if os.geteuid() == 0:
            os.fchown(descriptor, user, -1)
    finally:
        os.close(descriptor)


def open_log(path: Path, user: int) -> BinaryIO:
    """Open the log, once the server has written to it.

    Raises:
        UserError: the server does not write it where dialin reads it, or it may not be read.
    """
    elsewhere = f"The server does not write {path} on this machine: it runs elsewhere, or in a container"
    try:
        descriptor = open_own(path, user)
    except FileNotFoundError:
        raise UserError(elsewhere, _ELSEWHERE) from None
    except OSError as error:
        raise UserError(
            f"{path} cannot be read: {error.strerror}", "Run dialin as root, as the server's user, or as a member of its group"
        ) from error
    if os.fstat(descriptor).st_size == 0:
        os.close(descriptor)
        raise UserError(elsewhere, _ELSEWHERE)
    return os.fdopen(descriptor, "rb")


def check_same(path: Path, opened: BinaryIO) -> None:
    """Raise UserError where the server, or somebody else, has replaced the log that was opened."""
    try:
        is_same = os.path.samestat(path.lstat(), os.fstat(opened.fileno()))
    except OSError:
        is_same = False
    if not is_same:
        raise UserError(f"{path} was replaced while the server wrote it", "Nothing was captured; capture again")


def log_size(path: Path) -> int:
    """Return the bytes of a log; 0 where it is not there."""
    with suppress(OSError):
        return path.stat().st_size
    return 0
