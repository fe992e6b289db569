"""Where a server writes the log of a capture: a separate file that dialin can read, on a disk with space."""

from __future__ import annotations

import os
import shutil
import socket
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dialin.capture.log_settings import Source, file_variable_of
from dialin.errors import UserError
from dialin.servers.account import Account
from dialin.text import exact_percent, percent, size

LEAST_FREE = 0.2
"""The share of the disk that must stay free; below it a capture ends."""

_ELSEWHERE = (
    "Log there with long_query_time=0, copy the file here, then: dialin capture from slow.log --out DIR (docs/capture.md)"
)


@dataclass(frozen=True, slots=True)
class LogPlace:
    """A directory for the log.

    Attributes:
        is_removable: dialin may remove the file at the end.
    """

    directory: Path
    is_removable: bool


def _space(directory: Path) -> tuple[int, int]:
    """Return the bytes of a file system that its users may still fill, and all that they may use, as df counts them."""
    usage = shutil.disk_usage(directory)
    return usage.free, usage.used + usage.free


def free_share(directory: Path) -> float:
    """Return the share of a file system that its users may still fill."""
    free, usable = _space(directory)
    return free / usable if usable else 0.0


def find_place(source: Source, variables: Mapping[str, str], account: Account, asked_for: Path | None) -> LogPlace:
    """Return where a server is to write a log: the directory asked for, else that of its own log, else its data directory.

    Raises:
        UserError: the server is on another machine, logs to tables or not at all, or dialin may not read the directory.
    """
    output = variables.get("log_output", "FILE").upper()
    if output != "FILE":
        raise UserError(
            f"The server does not write its logs to files only: log_output is {output}",
            "SET GLOBAL log_output = 'FILE' first; a capture reads files, and would fill the tables of logs",
        )
    hostname = variables.get("hostname", "")
    if not account.is_local or (account.socket is None and hostname != socket.gethostname()):
        raise UserError(
            f"The server runs on another machine ({hostname or account.host}), where dialin reads no log", _ELSEWHERE
        )
    current = Path(variables.get(file_variable_of(source), ""))
    directory = asked_for.absolute() if asked_for else current.parent if current.is_absolute() else Path(variables["datadir"])
    if not directory.is_dir():
        raise UserError(f"The directory of the server's log, {directory}, is not on this machine", _ELSEWHERE)
    if not os.access(directory, os.X_OK):
        raise UserError(
            f"You may not read {directory}, where the server would write the log",
            "Run dialin as root or as the server's user, or name with --log-dir a directory that both may use",
        )
    return LogPlace(directory, is_removable=os.access(directory, os.W_OK))


def check_free(free: float, usable: float, needed: float, directory: Path) -> None:
    """Make sure that a log of `needed` bytes leaves enough of the `usable` bytes of its disk free.

    Raises:
        UserError: it does not.
    """
    least = exact_percent(LEAST_FREE)
    if free < LEAST_FREE * usable:
        raise UserError(
            f"The disk of {directory} has {percent(free / usable)} free ({size(free)}); a capture needs {least}",
            "Free space, or name a directory on another disk with --log-dir",
        )
    if free - needed < LEAST_FREE * usable:
        raise UserError(
            f"A log of about {size(needed)} would leave less than {least} of the disk of {directory} free ({size(free)} now)",
            "Capture fewer --minutes, limit it by --max-size, or name another disk with --log-dir",
        )


def check_disk(directory: Path, needed: float) -> None:
    """Make sure that a log of `needed` bytes leaves enough of the disk free.

    Raises:
        UserError: it does not.
    """
    check_free(*_space(directory), needed, directory)


def make_private(path: Path, datadir: str) -> None:
    """Make the empty file of a log, readable by the server's user only, where dialin may; otherwise the server makes it.

    Raises:
        UserError: the file exists already, or cannot be made.
    """
    try:
        owner = Path(datadir).stat()
    except OSError:
        return
    if os.geteuid() not in (0, owner.st_uid):
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, stat.S_IRUSR | stat.S_IWUSR)
    except OSError as error:
        raise UserError(f"{path} cannot be made: {error.strerror}", "Name another directory with --log-dir") from error
    try:
        if os.geteuid() == 0:
            os.fchown(descriptor, owner.st_uid, owner.st_gid)
    finally:
        os.close(descriptor)


def check_is_written(path: Path) -> None:
    """Make sure that the server writes the log where dialin reads it.

    Raises:
        UserError: it does not.
    """
    try:
        with path.open("rb") as file:
            if file.read(1):
                return
    except PermissionError as error:
        raise UserError(
            f"{path} cannot be read: {error.strerror}", "Run dialin as root, as the server's user, or as a member of its group"
        ) from error
    except FileNotFoundError:
        pass
    raise UserError(f"The server does not write {path} on this machine: it runs elsewhere, or in a container", _ELSEWHERE)


def log_size(path: Path) -> int:
    """Return the bytes of a log; 0 where it is not there."""
    with suppress(OSError):
        return path.stat().st_size
    return 0
