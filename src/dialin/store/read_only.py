"""Reads a study without writing or creating any of its files.

A running or killed study is read with its write-ahead log, whose index (`study.db-shm`) SQLite updates. A study that has ended
is read as an immutable file, even from a read-only medium; if somebody resumes it meanwhile, it is read again. A killed study
is read from a copy if the index is missing and cannot be created in the directory, or if a change is to be rolled back.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from sqlalchemy import create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool

from dialin.errors import MachineError, UserError
from dialin.paths import parse_json
from dialin.scratch import scratch
from dialin.store import STUDY_FILE, schema
from dialin.store.damaged_study import BAD_ROWS, check_journal, check_tables, damaged, machine_failed, study_file
from dialin.store.store import Store

Answer = TypeVar("Answer")

_INDEX = "-shm"

_LOG = "-wal"
"""The suffix of SQLite's write-ahead log, to which a running study writes; the log exists before anything else changes."""

_JOURNAL = "-journal"
"""The suffix of what SQLite rolls back after a dialin was killed before its study had a write-ahead log."""


def read(directory: Path, ask: Callable[[Store], Answer]) -> Answer:
    """Call `ask` with the store of a study, and return its result.

    `ask` may only read, must not keep the store, and may be called twice.

    Raises:
        UserError: the directory holds no study, one that is not created yet or is damaged, or one of another version of dialin.
    """
    path = study_file(directory)
    if _has_content(path, _JOURNAL):
        return _ask_copy(directory, path, ask)
    if not _is_under_way(path):
        before = _signature(path)
        try:
            answer = _ask(directory, path, "mode=ro&immutable=1", ask)
        except UserError:
            if not _is_under_way(path):
                raise
        else:
            if not _is_under_way(path) and _signature(path) == before:
                return answer
    if not _beside(path, _INDEX).exists() and not os.access(path.parent, os.W_OK):  # no index can be made
        return _ask_copy(directory, path, ask)
    return _ask(directory, path, "mode=ro", ask)


def signature(directory: Path) -> tuple[tuple[int, int], ...]:
    """Return a value that changes whenever a study is written to; it is cheap to get.

    Raises:
        UserError: the directory holds no study.
    """
    path = study_file(directory)
    return _signature(path), _signature(_beside(path, _LOG))


def _is_under_way(path: Path) -> bool:
    """Return whether the write-ahead log has content, because the study is running or was killed."""
    return _has_content(path, _LOG)


def _has_content(path: Path, suffix: str) -> bool:
    return _signature(_beside(path, suffix))[1] > 0


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _signature(path: Path) -> tuple[int, int]:
    try:
        facts = path.stat()
    except FileNotFoundError:
        return 0, 0
    return facts.st_mtime_ns, facts.st_size


def _ask_copy(directory: Path, path: Path, ask: Callable[[Store], Answer]) -> Answer:
    with scratch() as place:
        copy = place / path.name
        try:
            for suffix in (_JOURNAL, _LOG, ""):
                if not suffix or _has_content(path, suffix):
                    shutil.copyfile(_beside(path, suffix), _beside(copy, suffix))
        except OSError as error:
            raise MachineError.of(error, f"The study in {directory} cannot be copied to be read") from error
        check_journal(copy)
        return _ask(directory, copy, "mode=rw", ask)


def _ask(directory: Path, path: Path, mode: str, ask: Callable[[Store], Answer]) -> Answer:
    with _as_user_errors(path), closing(_connect(path, mode)) as source:
        if source.execute("PRAGMA application_id").fetchone()[0] != schema.APPLICATION_ID:
            raise UserError(f"{path} was not written by dialin", "Name the directory that a dialin study was written to")
        _check_made(source, path)
        engine = create_engine("sqlite://", creator=lambda: source, poolclass=StaticPool, json_deserializer=parse_json)
        with Store.over(directory, engine) as store:
            return ask(store)


def _check_made(source: sqlite3.Connection, path: Path) -> None:
    check_tables(source.execute, path)
    is_there = source.execute("SELECT name FROM sqlite_master WHERE name = 'study'").fetchone()
    if not is_there or source.execute("SELECT 1 FROM study").fetchone() is None:
        raise UserError(
            f"{path} holds no study yet: it is being created, or its creation was interrupted",
            "Try again in a moment; if it stays so, start a new study",
        )


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, check_same_thread=False)
    connection.execute("PRAGMA busy_timeout=10000")
    return connection


@contextmanager
def _as_user_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.DatabaseError, DBAPIError) as error:
        fault = error.orig if isinstance(error, DBAPIError) else error
        if failed := machine_failed(fault, path.parent):
            raise failed from error
        if isinstance(fault, sqlite3.OperationalError):
            raise UserError(f"{path} cannot be opened: {fault}", "You need permission to read it") from error
        raise damaged(path) from error
    except BAD_ROWS as error:
        raise damaged(path) from error


@dataclass(slots=True)
class FoundStudies:
    """The studies below a directory.

    Attributes:
        problems: directories that could not be searched, with the reason.
    """

    studies: list[Path] = field(default_factory=list)
    problems: list[tuple[Path, str]] = field(default_factory=list)


def find_studies(directory: Path) -> FoundStudies:
    """Return the studies in a directory and below it. Hidden directories and symbolic links are not followed.

    Raises:
        UserError: there is no such directory.
    """
    if not directory.is_dir():
        raise UserError(f"{directory} is not a directory", "Name a directory that holds studies")
    result = FoundStudies()

    def note(error: OSError) -> None:
        result.problems.append((Path(error.filename), error.strerror or str(error)))

    for place, directories, files in os.walk(directory, onerror=note):
        if STUDY_FILE in files:
            result.studies.append(Path(place))
            directories.clear()  # a study contains no other study
        directories[:] = sorted(name for name in directories if not name.startswith("."))
    return result
