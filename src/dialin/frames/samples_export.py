"""`samples.parquet` and `samples.csv`: every second of every trial, for other programs.

Parquet holds all text as it is. CSV is opened in spreadsheets and shown in terminals, which run formulas and obey control
characters: there, control characters are written as escapes, and text that a spreadsheet would take for a formula begins with
an apostrophe. Numbers stay numbers.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import polars as pl

from dialin.errors import UserError
from dialin.frames import Format, columns, samples
from dialin.frames.tables import frame
from dialin.store import STUDY_FILE, lock, requests
from dialin.store.store import Store
from dialin.text import csv_cell

_REPLACEABLE = tuple(f".{form}" for form in Format)
_DIRECTORIES = ("evidence", "waits")
"""The directories beside a study's database."""


def check_place(path: Path, directory: Path) -> None:
    """Raise UserError where writing samples to a path would replace anything but samples."""
    if path.is_dir():
        raise UserError(f"{path} is a directory", "Name a file with --out")
    if _belongs_to_study(path, directory):
        raise UserError(f"{path} belongs to the study itself", "Name another file with --out")
    if os.path.lexists(path) and path.suffix.lower() not in _REPLACEABLE:
        raise UserError(
            f"{path} already exists, and its name ends in neither .csv nor .parquet", "Name another file with --out"
        )


def _belongs_to_study(path: Path, directory: Path) -> bool:
    place, home = (Path(os.path.realpath(each)) for each in (path.parent, directory))
    if place == home:
        return path.name in (STUDY_FILE, lock.LOCK_FILE, requests.STOP_FILE) or path.name.startswith(f"{STUDY_FILE}-")
    return place.parent == home and place.name in _DIRECTORIES


def write(store: Store, path: Path, form: Format) -> int:
    """Write the samples of a study to a file, which appears complete or not at all, and return how many there are.

    Raises:
        UserError: it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as stream, _as_os_errors():
            count = write_csv(store, stream) if form is Format.CSV else _write_parquet(store, stream)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        raise UserError(
            f"{path} cannot be written: {error.strerror}", "Name another file with --out, or free disk space"
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink()
    return count


def write_csv(store: Store, stream: BinaryIO) -> int:
    """Write the samples of a study as CSV with a header, piece by piece, and return how many there are."""
    frame(columns.SAMPLES, ()).write_csv(stream)
    count = 0
    for piece in samples.iterate_frames(store):
        _plain(piece).write_csv(stream, include_header=False, datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ")
        count += piece.height
    return count


def _write_parquet(store: Store, stream: BinaryIO) -> int:
    whole = samples.concatenate_frames(samples.iterate_frames(store))
    whole.write_parquet(stream, compression="zstd")
    return whole.height


def _plain(piece: pl.DataFrame) -> pl.DataFrame:
    names = piece["candidate"].unique().to_list()
    return piece.with_columns(pl.col("candidate").replace(dict(zip(names, map(csv_cell, names), strict=True))))


@contextmanager
def _as_os_errors() -> Iterator[None]:
    """Raise errors of polars, such as on a full disk, as OSError."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        raise OSError(errno.EIO, str(error)) from error
