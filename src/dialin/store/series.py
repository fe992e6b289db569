"""The figures of a trial over time. They are in Parquet because they are many, uniform and seldom read."""

from __future__ import annotations

import errno
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dialin.model.evidence import PointColumns
from dialin.model.trial import Trial

if TYPE_CHECKING:
    import polars as pl


def file_name(trial_id: int) -> str:
    return f"trial-{trial_id}.parquet"


@contextmanager
def as_os_errors() -> Iterator[None]:
    """Raise errors of Polars, such as a full disk, as OSError."""
    import polars as pl

    try:
        yield
    except pl.exceptions.PolarsError as error:
        raise OSError(errno.EIO, str(error)) from error


@contextmanager
def made_whole(path: Path) -> Iterator[Path]:
    """Yield where to write a file, which then appears at its path complete or not at all; errors are as `as_os_errors` says."""
    path.parent.mkdir(exist_ok=True)
    making = path.with_suffix(".making")
    try:
        with as_os_errors():
            yield making
        making.replace(path)
    finally:
        making.unlink(missing_ok=True)


def write(path: Path, points: PointColumns) -> None:
    """Write points to a file, which appears complete or not at all; without points there is no file.

    Raises:
        OSError: the file cannot be written.
    """
    import numpy as np
    import polars as pl

    if not points.at:
        return
    labels = pl.DataFrame(list(points.names), schema={"probe": pl.Categorical, "name": pl.Categorical}, orient="row")
    of_points = labels[np.asarray(points.which, dtype=np.int64)]
    at, value = (pl.Series(np.asarray(figures, dtype=np.float64)) for figures in (points.at, points.value))
    with made_whole(path) as making:
        of_points.select(at.alias("at"), "probe", "name", value.alias("value")).write_parquet(making, compression="zstd")


_MOST_ROWS = 50_000_000
"""Rows of any real file: a thousand figures a second for half a day. Equal rows take no space in a file, but in memory."""


def scan(path: Path) -> pl.LazyFrame:
    """Return the rows of a file, which are read when they are collected.

    Raises:
        OSError: the file cannot be read, or has more rows than any that dialin writes.
    """
    import polars as pl

    rows = pl.scan_parquet(path)
    if rows.select(pl.len()).collect().item() > _MOST_ROWS:
        raise OSError(errno.EFBIG, f"more than {_MOST_ROWS:,} rows", str(path))
    return rows


def read(path: Path, wanted: Collection[tuple[str, str]]) -> PointColumns:
    """Return the wanted figures of a trial, each by its probe and name, in order of time; empty if no file can be read."""
    import polars as pl

    if not path.is_file():
        return PointColumns()
    names = list(wanted)
    numbers = pl.LazyFrame(
        [(*name, number) for number, name in enumerate(names)],
        schema={"probe": pl.String, "name": pl.String, "which": pl.Int64},
        orient="row",
    )
    try:
        kinds = {"probe": pl.String, "name": pl.String, "at": pl.Float64, "value": pl.Float64}
        readings = scan(path).with_columns(pl.col(name).cast(kind) for name, kind in kinds.items()).drop_nulls()
        frame = readings.join(numbers, on=["probe", "name"], how="inner").sort("at").collect()
    except (OSError, pl.exceptions.PolarsError):
        return PointColumns()
    return PointColumns(names, frame["at"].to_list(), frame["which"].to_list(), frame["value"].to_list())


def read_all(directory: Path, trials: Iterable[Trial], wanted: Collection[tuple[str, str]]) -> dict[int, PointColumns]:
    """Return the wanted figures of trials, by trial; trials without any are left out."""
    points = {trial.id: read(directory / file_name(trial.id), wanted) for trial in trials} if wanted else {}
    return {trial_id: columns for trial_id, columns in points.items() if columns.at}
