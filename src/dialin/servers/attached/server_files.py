"""The files of an attached server that dialin may touch: the one place through which every path goes that a server names.

A server may name any path, and the server of a tunnel names paths of another machine. So a file is read only if

- the server's process is seen here, and the path leads it and us to the same file;
- the file is a regular one, owned by the user that the server runs as, without a link at its end, and in a directory of that
  user, or one that only root may change, such as /var/log; a server that runs as root must also work in the directory;
- the server has it open, as far as this user may see that.

It is opened without waiting, and no more than its end is read. Of a log, only lines that a server writes are used.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from dialin.servers.attached.server_process import ServerProcess
from dialin.text import visible

MOST_BYTES = 64 * 1024
"""How much of the end of a file is read."""

_LINES = 30
_LONGEST = 1000
"""Characters of a line that are shown."""

_TIME = r"(\d{4}-\d\d-\d\d[T ] ?\d{1,2}:\d\d:\d\d\S*|\d{6} +\d{1,2}:\d\d:\d\d)"
_LOG_LINE = re.compile(
    rf"{_TIME} +((0x[0-9a-f]+|\d+) +)?(\[(ERROR|Warning|Note|System|Info)\]|InnoDB:|mysqld|mariadbd)"
    rf"|({_TIME}|\d\d:\d\d:\d\d)( UTC)? - (mysqld|mariadbd) got "
    r"|InnoDB: |(\S*/)?(mysqld|mariadbd)(: |\(.*\) ?\[0x)| ?#\d+ 0x[0-9a-f]+ "
)
"""How a line of the error log begins: MySQL 5.5 to 9.7, MariaDB 10.1 to 11.4, and what a server writes when it crashes."""


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """What is proved to be a server's on this machine. It stays valid after the server has ended.

    Attributes:
        process: the process that it was proved by.
        data: the data directory, without links; None where it is not proved to be the server's.
        log: the error log, without links in its directory; None where it is not proved to be the server's.
    """

    process: ServerProcess
    data: Path | None
    log: Path | None

    @classmethod
    def prove(cls, process: ServerProcess, variables: Mapping[str, str]) -> ServerFiles:
        """Return what is proved of the paths in a server's variables."""
        data = own_directory(process, variables.get("datadir", ""))
        return cls(process, data, _own_log(process, variables, data))

    def log_tail(self) -> str:
        """Return the last lines of the error log, escaped; empty where it is not proved to be the server's."""
        return "" if self.log is None else log_lines(read_tail(self.log, self.process.user))

    def directory_of(self, named: str) -> Path | None:
        """Return the directory of a file that the server names, without links; None where it is not the server's own."""
        path = Path(named)
        return own_directory(self.process, str(path.parent)) if path.is_absolute() else self.data


def own_directory(process: ServerProcess, named: str) -> Path | None:
    """Return a directory that a server names, without links; None where it is not the server's own, on this machine."""
    if not named.startswith("/") or "\0" in named:
        return None
    path = Path(os.path.realpath(named))
    try:
        facts = path.lstat()
    except OSError:
        return None
    is_own = stat.S_ISDIR(facts.st_mode) and facts.st_uid == process.user and process.sees(path)
    if is_own and process.user == 0:  # to which all of the system belongs
        is_own = process.works_in(path)
    return path if is_own else None


def _own_log(process: ServerProcess, variables: Mapping[str, str], data: Path | None) -> Path | None:
    named = variables.get("log_error", "")
    if not named or named == "stderr" or "\0" in named:
        return None
    path = Path(variables.get("datadir", "")) / named
    if not path.is_absolute() or not path.name:
        return None
    directory = Path(os.path.realpath(path.parent))
    if directory != data and not own_directory(process, str(directory)) and not _is_roots(process, directory):
        return None
    log = directory / path.name
    try:
        descriptor = open_own(log, process.user)
    except OSError:
        return None
    try:
        facts = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    files = process.open_files()
    return log if files is None or (facts.st_dev, facts.st_ino) in files.values() else None


def _is_roots(process: ServerProcess, directory: Path) -> bool:
    """Return whether only root may change what is in a directory."""
    with suppress(OSError):
        facts = directory.lstat()
        is_roots = facts.st_uid == 0 and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        return stat.S_ISDIR(facts.st_mode) and is_roots and process.sees(directory)
    return False


def open_own(path: Path, user: int) -> int:
    """Open a file to be read: a regular one of this user, without following a link and without waiting.

    Raises:
        OSError: it is none, or cannot be opened.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(path, flags)
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode) or facts.st_uid != user:
        os.close(descriptor)
        raise PermissionError(errno.EPERM, "it is not a regular file of the server's user", str(path))
    return descriptor


def read_tail(path: Path, user: int) -> str:
    """Return the end of a file of this user, from the beginning of a line; empty where it cannot be read."""
    try:
        descriptor = open_own(path, user)
    except OSError:
        return ""
    try:
        begin = max(0, os.fstat(descriptor).st_size - MOST_BYTES)
        read = os.pread(descriptor, MOST_BYTES, begin)
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return (read.partition(b"\n")[2] if begin else read).decode("utf-8", "replace")


def log_lines(text: str) -> str:
    """Return the last lines of a text that are lines of a server's error log, escaped."""
    lines = [line for line in text.splitlines() if _LOG_LINE.match(line)]
    return "\n".join(visible(line[:_LONGEST]) for line in lines[-_LINES:])
