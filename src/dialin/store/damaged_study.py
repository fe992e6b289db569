"""The file of a study, and studies that cannot be read: it is no longer a database, or somebody altered its rows by hand."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from dialin.errors import DialinError, MachineError, UserError, is_machine_fault
from dialin.model.record import StudyRecord
from dialin.store import STUDY_FILE, is_suite

BAD_ROWS = (ValidationError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
"""The errors that reading raises for rows that somebody altered by hand."""


NAME_ONE = "Name the directory that a dialin study was written to (its --out)"


def study_file(directory: Path) -> Path:
    """Return the file of a study's database.

    Raises:
        UserError: the directory holds none, or one that it would do harm to open.
    """
    path = directory / STUDY_FILE
    if not path.is_file():
        if is_suite(directory):
            raise UserError(f"{directory} is a suite of studies", "Name one of them, a directory inside it")
        raise UserError(f"{directory} holds no dialin study", NAME_ONE)
    check_journal(path)
    return path


def damaged(path: Path) -> UserError:
    """Return the error of a database that cannot be read."""
    return UserError(f"{path} is damaged and cannot be read", "Restore it from a backup, or start a new study")


_END_OF_NAME = bytes.fromhex("d9d505f920a163d7")
"""How SQLite marks the name of another file at the end of a rollback journal, after the name's length and checksum."""

_OF_NAME = 16


def check_journal(path: Path) -> None:
    """Make sure that SQLite, which rolls a database back before it reads it, does not delete another file after that.

    A change of several databases at once leaves the name of such a file in the journal. dialin makes none, so somebody else has
    written it, and it may be any file of whoever reads the study.

    Raises:
        UserError: the journal beside the database names a file.
        MachineError: this machine has no room to find out.
    """
    try:
        descriptor = os.open(path.with_name(f"{path.name}-journal"), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            end = os.pread(descriptor, _OF_NAME, max(0, os.fstat(descriptor).st_size - _OF_NAME))
        finally:
            os.close(descriptor)
    except OSError as error:
        if is_machine_fault(error):
            raise MachineError.of(error) from error
        return  # there is none, or SQLite can read it as little
    if end.endswith(_END_OF_NAME) and any(end[:4]):
        raise UserError(
            f"{path}-journal is not dialin's: SQLite would delete a file that it names",
            "Do not open that study; ask whoever gave it to you for a copy of one that has ended",
        )


_OTHER_TABLES = """
SELECT 1 FROM sqlite_master
WHERE sql IS NOT NULL
AND sql NOT LIKE 'CREATE TABLE %' AND sql NOT LIKE 'CREATE INDEX %' AND sql NOT LIKE 'CREATE UNIQUE INDEX %'
UNION ALL
SELECT 1 FROM sqlite_master AS made, pragma_table_xinfo(made.name) AS its WHERE its.hidden <> 0
"""
"""Finds what is calculated when it is read: views, triggers, virtual tables, generated columns. No study has any."""


def check_tables(execute: Callable[[str], Any], path: Path) -> None:
    """Raise UserError if reading a database would calculate, perhaps for ever, what somebody has written there."""
    if execute(_OTHER_TABLES).fetchone() is not None:
        raise damaged(path)


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


def machine_failed(error: object, directory: Path) -> MachineError | None:
    """Return the error of a study that cannot be read where this machine is the reason; else None."""
    if not isinstance(error, sqlite3.Error) or (getattr(error, "sqlite_errorcode", 0) & 0xFF) not in _OF_THE_MACHINE:
        return None
    remedy = "Check that you may write there, that the disk has space and no faults, and the limit of open files (ulimit -n)"
    return MachineError(f"The study in {directory} cannot be read: {error}", remedy)


def not_opened(path: Path, error: object) -> DialinError:
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
