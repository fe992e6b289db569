"""Data of a server that dialin did not start: a copy of its data directory, or a dump.

The active parts of such data (events, replication, persisted variables) must have no effect on the sandbox that uses it.
"""

from __future__ import annotations

import fcntl
import hashlib
import mmap
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path

from dialin.errors import UserError
from dialin.model.build import Build
from dialin.model.query import Query
from dialin.model.setting import Value
from dialin.servers.capabilities import Capability, has
from dialin.text import visible

ISOLATION: dict[str, Value] = {"event_scheduler": "OFF", "loose_skip_slave_start": 1, "loose_skip_replica_start": 1}
"""Options of each server that runs on such data: it runs no events and no replication, whatever the data contains."""

_SERVER_FILES = ("auto.cnf", "mysqld-auto.cnf", "*.pid", "*.sock", "*.sock.lock", "*.err")
"""Files of a data directory that are not data: the server's identity, persisted variables, PID file, sockets and logs."""

_UNNEEDED_LINKS = ("*.log", "*.pem", "*.crt", "*.key")
"""Links in a data directory to what no server needs to start: other logs, certificates and keys. A copy does not have them, so
that no server on it writes to where they lead."""
_UNNEEDED_FILES = (
    *_UNNEEDED_LINKS,
    "*.log.*",
    "*.err",
    "*.err.*",
    "*.cer",
    "*.csr",
    "*.der",
    "*.srl",
    "*.crl",
    "*.p12",
    "*.cnf",
)
"""Files of a directory of logs or certificates: a link to a directory with no other files is no schema, and left out, too."""

_CHECKPOINTS = ("xtrabackup_checkpoints", "mariadb_backup_checkpoints")
_PREPARED = ("full-prepared", "log-applied")
_REMEDY = "Give a copy of the data directory of a server that was stopped, a prepared backup, or an SQL dump (--data)"
_FILE = re.compile(rb"\.?/[^\x00-\x1f]{1,511}?\.ib[du]")
"""The file of a table or an undo log in the dictionary of MySQL 8.0 and later; one in the data directory begins with `./`."""
_DIRECTORY = re.compile(rb"DIRECTORY ?= ?'(/[^']{0,511})'")
"""A clause of CREATE TABLE in a dump; in a text among its rows, quotes are escaped."""


def check_data(source: Path) -> None:
    """Make sure that a server can be started on a copy of the data.

    Raises:
        UserError: `source` is neither a data directory nor a dump, cannot be read, is a backup that was not prepared, has files
            elsewhere, or a server is running on it.
    """
    if source.is_file():
        if not os.access(source, os.R_OK):
            raise UserError(f"{source} cannot be read", _REMEDY)
        return
    if not source.is_dir():
        raise UserError(f"There is no {source}", _REMEDY)
    system = next((source / name for name in ("ibdata1", "mysql.ibd") if (source / name).exists()), None)
    if system is None or (not (source / "mysql").exists() and not (source / "mysql.ibd").exists()):
        raise UserError(f"{source} is not a data directory", _REMEDY)
    if not os.access(system, os.R_OK):
        raise UserError(f"{system} cannot be read", "Run dialin as a user that may read the data, or copy them")
    for name in _CHECKPOINTS:
        if (source / name).exists() and not any(word in (source / name).read_text(errors="replace") for word in _PREPARED):
            raise UserError(
                f"{source} is a backup that was not prepared", "Prepare it first (xtrabackup or mariabackup --prepare)"
            )
    if (file := next(_files_elsewhere(source), None)) is not None:
        raise _lies_elsewhere(file)
    if (link := next(_links_out(source), None)) is not None:
        raise UserError(
            f"{link} leads to files outside of {source}: a server on a copy of this directory would change them",
            "Give a directory that has the files themselves: of a stopped server by `cp -rL`, or a dump",
        )
    if _is_locked(system):
        raise UserError(f"A server is running on {source}", "Stop it and copy its data directory, or take a backup")


def _links_out(source: Path) -> Iterator[Path]:
    """Yield the links that lead out of a directory, or name a file in it by its whole path, but for those that no copy has."""
    root = source.resolve()
    for path in sorted(source.rglob("*")):
        if not path.is_symlink() or (path.parent == source and _is_left_out(path)):
            continue
        if path.readlink().is_absolute() or not path.resolve().is_relative_to(root):
            yield path


def _is_left_out(path: Path) -> bool:
    """Return whether a copy of a data directory does not have one of its files, or a link to a directory without data."""
    patterns = (*_SERVER_FILES, *_UNNEEDED_LINKS) if path.is_symlink() else _SERVER_FILES
    if any(fnmatchcase(path.name, pattern) for pattern in patterns):
        return True
    files = [file.name for file in path.resolve().rglob("*") if not file.is_dir()] if path.is_symlink() else []
    return bool(files) and all(any(fnmatchcase(name, pattern) for pattern in _UNNEEDED_FILES) for name in files)


def _files_elsewhere(source: Path) -> Iterator[str]:
    """Yield the files of tables that lie outside of a data directory, as far as its files name them.

    InnoDB up to MySQL 5.7, and MariaDB's, has a file with the path in place of each. The dictionary of later versions may also
    have paths of tables that are gone: a path counts where there is a file, since no other can be changed.
    """
    yield from _named_by_files(source)
    if (dictionary := source / "mysql.ibd").is_file():
        with _content(dictionary) as content:
            paths = sorted({os.fsdecode(found[0]) for found in _FILE.finditer(content)})
        yield from (path for path in paths if path.startswith("/") and os.path.lexists(path))


def _named_by_files(source: Path) -> Iterator[str]:
    for path in sorted(source.rglob("*.isl")):
        yield path.read_text(errors="replace").strip() or str(path)


def _lies_elsewhere(path: str) -> UserError:
    return UserError(
        f"{visible(path)} is a file of that data, and lies outside of its directory: a server on a copy would change it",
        "Create such tables without DATA DIRECTORY, and copy the data again, or give an SQL dump",
    )


def check_prepared(data: Path) -> None:
    """Raise UserError if a load has created tables outside of a sandbox's data directory: no restore would change them back.

    MySQL 8.0 and later refuse that themselves.
    """
    for file in chain(_named_by_files(data), map(os.path.realpath, _links_out(data))):
        raise _lies_elsewhere(file)


def check_dump(dump: Path) -> None:
    """Raise UserError if an SQL dump creates tables outside of the data directory of the server that it is loaded into."""
    with _content(dump) as content:
        found = _DIRECTORY.search(content)
        if found is not None:
            raise UserError(
                f"{dump} creates a table in {visible(os.fsdecode(found[1]))}, outside of the server's data directory",
                "Remove DATA DIRECTORY and INDEX DIRECTORY from its CREATE TABLE statements",
            )


@contextmanager
def _content(path: Path) -> Iterator[mmap.mmap | bytes]:
    """Yield the content of a file, which may be larger than memory."""
    with path.open("rb") as file:
        if not os.fstat(file.fileno()).st_size:
            yield b""
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            yield content


def _is_locked(file: Path) -> bool:
    """Return whether InnoDB holds its lock on a file; False if the lock cannot be tested."""
    try:
        with file.open("r+b") as opened:
            fcntl.lockf(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(opened, fcntl.LOCK_UN)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def digest_of_data(source: Path) -> str:
    """Return a digest of the names, sizes and modification times of all files, which shows changes without reading the data."""
    digest = hashlib.sha256()
    for path in sorted(source.rglob("*")) if source.is_dir() else [source]:
        facts = path.lstat()
        digest.update(f"{path.relative_to(source)}\0{facts.st_size}\0{facts.st_mtime_ns}\n".encode(errors="surrogateescape"))
    return digest.hexdigest()


def data_bytes(source: Path) -> int:
    """Return how many bytes the data takes on disk; for a dump, an estimate: twice the size of the file."""
    if source.is_file():
        return 2 * source.stat().st_size
    return sum(path.lstat().st_blocks * 512 for path in source.rglob("*"))


def remove_unneeded(data: Path, source: Path) -> None:
    """Remove from a copy of the directory `source` what belongs to the original server and is not data."""
    for path in sorted(source.iterdir()):
        if _is_left_out(path):
            (data / path.name).unlink(missing_ok=True)


def check_files(query: Query) -> None:
    """Raise UserError if a server that was started on a copy of data directories has tables in files elsewhere.

    `check_data` cannot see their paths where MySQL's dictionary is encrypted.
    """
    if rows := query(_FILES_ELSEWHERE):
        raise _lies_elsewhere(str(rows[0][0]))


_FILES_ELSEWHERE = (
    "SELECT FILE_NAME FROM information_schema.FILES WHERE FILE_TYPE = 'TABLESPACE' AND FILE_NAME LIKE '/%' ORDER BY 1 LIMIT 1"
)


def root_login_statements(build: Build) -> list[str]:
    """Return the statements that let root log in over the socket without a password; for a server with `skip_grant_tables`."""
    root = "'root'@'localhost'"
    grant = f"GRANT ALL PRIVILEGES ON *.* TO {root}"
    if not has(build, Capability.ALTER_USER):
        return ["FLUSH PRIVILEGES", f"{grant} IDENTIFIED BY '' WITH GRANT OPTION", "FLUSH PRIVILEGES"]
    if build.family == "mariadb":
        create = f"CREATE OR REPLACE USER {root} IDENTIFIED VIA mysql_native_password USING ''"
        return ["FLUSH PRIVILEGES", create, f"{grant} WITH GRANT OPTION"]
    plugin = "caching_sha2_password" if has(build, Capability.PERSIST) else "mysql_native_password"
    return [
        "FLUSH PRIVILEGES",
        f"CREATE USER IF NOT EXISTS {root}",
        f"ALTER USER {root} IDENTIFIED WITH {plugin} BY '' PASSWORD EXPIRE NEVER ACCOUNT UNLOCK",
        f"{grant} WITH GRANT OPTION",
    ]
