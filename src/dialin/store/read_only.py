"""Reading a study without leaving a trace: no file of it is written or made.

A study that runs, or that was killed, is read with the log beside it, whose index (`study.db-shm`) SQLite refreshes. One that
rests is read as it lies, from a medium that nobody can write to as well; should somebody begin to run it meanwhile, it is read
again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Engine, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from dialin.errors import UserError
from dialin.store import schema
from dialin.store.store import Store, study_file

Answer = TypeVar("Answer")

_LOG = "-wal"
"""What SQLite names the log after that a running study writes to; it is there before anything else changes."""


def read(directory: Path, ask: Callable[[Store], Answer]) -> Answer:
    """Return what a question finds in a study.

    Args:
        directory: the study's.
        ask: may only read, keeps nothing of the store that it is given, and may be called twice.

    Raises:
        UserError: the directory holds no study, one that is not made yet or is damaged, or one of another version of dialin.
    """
    path = study_file(directory)
    if not _is_under_way(path):
        before = _signature(path)
        try:
            answer = _asked(directory, path, "mode=ro&immutable=1", ask)
        except UserError:
            if not _is_under_way(path):
                raise
        else:
            if not _is_under_way(path) and _signature(path) == before:
                return answer
    return _asked(directory, path, "mode=ro", ask)


def signature(directory: Path) -> tuple[tuple[int, int], ...]:
    """Return what differs once a study has been written to; as good as free.

    Raises:
        UserError: the directory holds no study.
    """
    path = study_file(directory)
    return _signature(path), _signature(_log(path))


def _is_under_way(path: Path) -> bool:
    """Tell whether something stands in the log alone: of a study that runs, or that was killed."""
    return _signature(_log(path))[1] > 0


def _log(path: Path) -> Path:
    return path.with_name(path.name + _LOG)


def _signature(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _asked(directory: Path, path: Path, how: str, ask: Callable[[Store], Answer]) -> Answer:
    with _faults(path), closing(_connected(path, how)) as source:
        if source.execute("PRAGMA application_id").fetchone()[0] != schema.APPLICATION_ID:
            raise UserError(f"{path} was not written by dialin", "Name the directory that a dialin study was written to")
        _check_made(source, path)
        with Store.over(directory, _engine(source)) as store:
            return ask(store)


def _check_made(source: sqlite3.Connection, path: Path) -> None:
    is_there = source.execute("SELECT name FROM sqlite_master WHERE name = 'study'").fetchone()
    if not is_there or source.execute("SELECT 1 FROM study").fetchone() is None:
        raise UserError(
            f"{path} holds no study yet: it is being made, or its making was broken off",
            "Look again in a moment; if that stays so, start a new study",
        )


def _connected(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, check_same_thread=False)
    connection.execute("PRAGMA busy_timeout=10000")
    return connection


def _engine(connection: sqlite3.Connection) -> Engine:
    return create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)


@contextmanager
def _faults(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.DatabaseError, DBAPIError) as error:
        told = error.orig if isinstance(error, DBAPIError) else error
        if isinstance(told, sqlite3.OperationalError):
            raise UserError(f"{path} cannot be opened: {told}", "It must be yours to read") from error
        raise UserError(f"{path} is damaged and cannot be read", "Restore it from a backup, or start a new study") from error
