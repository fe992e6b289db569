"""The figures of a trial over time, in Parquet: many, alike, and read seldom."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from pathlib import Path

from dialin.model.evidence import Point


def file_name(trial_id: int) -> str:
    """Return the name of a trial's file."""
    return f"trial-{trial_id}.parquet"


def write(path: Path, points: Iterable[Point]) -> None:
    """Write points to a file that is there whole or not at all; none where there are no points.

    Raises:
        OSError: it cannot be written.
    """
    import polars as pl

    rows = [(point.at, point.probe, point.name, point.value) for point in points]
    if not rows:
        return
    schema = {"at": pl.Float64, "probe": pl.Categorical, "name": pl.Categorical, "value": pl.Float64}
    path.parent.mkdir(exist_ok=True)
    making = path.with_suffix(".making")
    try:
        pl.DataFrame(rows, schema=schema, orient="row").write_parquet(making, compression="zstd")
        making.replace(path)
    except pl.exceptions.PolarsError as error:  # a full disk is reported like this
        raise OSError(errno.EIO, str(error)) from error
    finally:
        making.unlink(missing_ok=True)
