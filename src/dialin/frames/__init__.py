"""A study as polars frames, for notebooks and for other programs; reads the store only."""

from __future__ import annotations

from enum import StrEnum


class Format(StrEnum):
    """The file format of exported samples."""

    PARQUET = "parquet"
    CSV = "csv"
