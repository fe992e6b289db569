"""`samples.parquet` and `samples.csv`: every second of every trial, for other programs.

Parquet holds all text as it is. CSV is opened in spreadsheets and shown in terminals, which run formulas and obey control
characters: there, control characters are written as escapes, and text that a spreadsheet would take for a formula begins with
an apostrophe. Numbers stay numbers.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import polars as pl

from dialin.errors import UserError
from dialin.frames import Format, columns
from dialin.frames.tables import frame, of_trial
from dialin.model.trial import LOST_GAP, LOST_OF_A_RUN, LOST_STOLEN, Trial
from dialin.paths import replacing
from dialin.store import STUDY_FILE, lock, requests
from dialin.store.series import as_os_errors
from dialin.store.store import Store
from dialin.text import csv_cell

_PIECE = 50_000
"""Rows that are read from the store at a time."""


def iterate_frames(store: Store, rows: int = _PIECE) -> Iterator[pl.DataFrame]:
    """Yield the samples of a study in order of trial and second, at most `rows` at a time."""
    trials = {trial.id: trial for trial in store.trials()}
    labels = _labels(trials)
    for piece in store.sample_columns(rows):
        yield _with_trials(pl.DataFrame(piece), labels)


def concatenate_frames(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Return pieces as one frame; they are not copied."""
    return pl.concat([frame(columns.SAMPLES, ()), *parts], rechunk=False)


def _labels(trials: Mapping[int, Trial]) -> pl.DataFrame:
    kinds = columns.schema(columns.SAMPLES)
    names = ("trial", "block", "candidate", "purpose", "state")
    rows = [(*of_trial(trial), str(trial.state)) for trial in trials.values()]
    return pl.DataFrame(rows, schema={name: kinds[name] for name in names}, orient="row")


def _with_trials(piece: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    kinds = columns.schema(columns.SAMPLES)
    joined = (
        piece.with_columns(pl.col("trial").cast(kinds["trial"]))
        .join(labels, on="trial", how="inner", maintain_order="left")
        .with_columns(
            (pl.col("at") * 1_000_000).round().cast(pl.Int64).cast(columns.TIME).alias("time"),
            pl.col("gap").alias("gap_s"),
            _lost().alias("lost"),
        )
    )
    return joined.select(pl.col(name).cast(kind) for name, kind in kinds.items())


def _lost() -> pl.Expr:
    stalled = pl.col("gap") >= pl.max_horizontal(pl.lit(LOST_GAP), LOST_OF_A_RUN * pl.col("seconds"))
    return stalled | (pl.col("stolen").cast(pl.Float64).fill_null(0.0) >= LOST_STOLEN)


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
    try:
        with replacing(path) as stream, as_os_errors():
            return write_csv(store, stream) if form is Format.CSV else _write_parquet(store, stream)
    except OSError as error:
        raise UserError(
            f"{path} cannot be written: {error.strerror}", "Name another file with --out, or free disk space"
        ) from error


def write_csv(store: Store, stream: BinaryIO) -> int:
    """Write the samples of a study as CSV with a header, piece by piece, and return how many there are."""
    frame(columns.SAMPLES, ()).write_csv(stream)
    count = 0
    for piece in iterate_frames(store):
        _plain(piece).write_csv(stream, include_header=False, datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ")
        count += piece.height
    return count


def _write_parquet(store: Store, stream: BinaryIO) -> int:
    whole = concatenate_frames(iterate_frames(store))
    whole.write_parquet(stream, compression="zstd")
    return whole.height


def _plain(piece: pl.DataFrame) -> pl.DataFrame:
    names = piece["candidate"].unique().to_list()
    return piece.with_columns(pl.col("candidate").replace(dict(zip(names, map(csv_cell, names), strict=True))))
