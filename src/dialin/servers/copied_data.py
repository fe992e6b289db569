"""Data of a server that dialin did not start: a copy of its data directory, or a dump.

The active parts of such data (events, replication, persisted variables) must have no effect on the sandbox that uses it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from pathlib import Path

from dialin.errors import UserError
from dialin.model.build import Build
from dialin.model.setting import Value
from dialin.servers.capabilities import Capability, has

ISOLATION: dict[str, Value] = {"event_scheduler": "OFF", "loose_skip_slave_start": 1, "loose_skip_replica_start": 1}
"""Options of each server that runs on such data: it runs no events and no replication, whatever the data contains."""

_SERVER_FILES = ("auto.cnf", "mysqld-auto.cnf", "*.pid", "*.sock", "*.sock.lock", "*.err")
"""Files of a data directory that are not data: the server's identity, persisted variables, PID file, sockets and logs."""

_CHECKPOINTS = ("xtrabackup_checkpoints", "mariadb_backup_checkpoints")
_PREPARED = ("full-prepared", "log-applied")
_REMEDY = "Give a copy of the data directory of a server that was stopped, a prepared backup, or an SQL dump (--data)"


def check_data(source: Path) -> None:
    """Make sure that a server can be started on a copy of the data.

    Raises:
        UserError: `source` is neither a data directory nor a dump, cannot be read, is a backup that was not prepared, or a
            server is running on it.
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
    if _is_locked(system):
        raise UserError(f"A server is running on {source}", "Stop it and copy its data directory, or take a backup")


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


def remove_identity(data: Path) -> None:
    """Remove from a copy the files of the original server that are not data."""
    for pattern in _SERVER_FILES:
        for path in data.glob(pattern):
            path.unlink()


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
