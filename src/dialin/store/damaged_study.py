"""Studies that cannot be read: a file that is no longer a database, or rows that somebody altered by hand."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from pydantic import ValidationError

from dialin.errors import DialinError, MachineError, UserError
from dialin.model.record import StudyRecord

BAD_ROWS = (ValidationError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
"""The errors that reading raises for rows that somebody altered by hand."""


def damaged(path: Path) -> UserError:
    """Return the error of a database that cannot be read."""
    return UserError(f"{path} is damaged and cannot be read", "Restore it from a backup, or start a new study")


_OF_THE_MACHINE = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
    }
)
"""Errors of SQLite that a full or failing disk causes, too little memory, or a limit of open files."""


def machine_failed(error: object, directory: Path, what: str = "read") -> MachineError | None:
    """Return the error of a study that could not be read or written where this machine is the reason; else None."""
    if not isinstance(error, sqlite3.Error) or (getattr(error, "sqlite_errorcode", 0) & 0xFF) not in _OF_THE_MACHINE:
        return None
    remedy = "Check that you may write there, that the disk has space and no faults, and the limit of open files (ulimit -n)"
    return MachineError(f"The study in {directory} cannot be {what}: {error}", remedy)


def not_opened(path: Path, error: object) -> DialinError:
    """Return the error of a database that cannot be opened."""
    request = UserError(f"{path} cannot be opened: {error}", "You need permission to read and write it")
    return machine_failed(error, path.parent) or request


def read_mark(path: Path) -> int:
    """Return SQLite's application id of a file, which is opened read-only because it may belong to another program."""
    try:
        try:
            return _application_id(path, "mode=ro")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_READONLY:
                raise
            # A dialin that was killed in the middle of a change left it to be rolled back, which whoever opens to write does.
            return _application_id(path, "mode=ro&immutable=1")
    except sqlite3.OperationalError as error:
        raise not_opened(path, error) from error
    except sqlite3.DatabaseError as error:
        raise damaged(path) from error


def _application_id(path: Path, mode: str) -> int:
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True)) as connection:
        return int(connection.execute("PRAGMA application_id").fetchone()[0])


def check_candidates(record: StudyRecord) -> None:
    """Raise LookupError if the baseline, a trial or the verdict names a candidate that the study does not have."""
    known = set(record.spec.names)
    named = {record.spec.baseline, *(trial.candidate for trial in record.trials)}
    if record.verdict is not None:
        named |= {candidate.name for candidate in record.verdict.candidates}
    if unknown := named - known:
        raise LookupError(unknown)
