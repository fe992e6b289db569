"""The options of a scan: which table, which query, and how cold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from dialin.model.option_types import as_share, kebab
from dialin.workloads.kind import option_error

SCAN = "scan"
"""The workload that times queries; dialin applies it itself."""

UNIT = "run"
"""The unit in which a scan is counted."""

DEFAULT_SIZE = "512M"

_FORMATS = {
    "InnoDB": ("dynamic", "compact", "redundant", "compressed"),
    "MyISAM": ("fixed", "dynamic"),
    "Aria": ("page", "fixed", "dynamic"),
}
"""The row formats of each engine; the first is the default."""

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)\s*([kmgt]?)i?b?", re.IGNORECASE)
_QUERY = re.compile(r"[(\s]*(select|with|table|values)\b", re.IGNORECASE)
_WRITES = re.compile(r"\b(delete|update|insert|replace|into|truncate|alter|drop)\b", re.IGNORECASE)


class ScanQuery(StrEnum):
    """What a run does.

    `full` reads all rows in the order in which they are stored. `ordered` sorts all of them by a column without an index.
    `join` reads every row and looks up another one for each by its primary key.
    """

    FULL = "full"
    ORDERED = "ordered"
    JOIN = "join"


class Cache(StrEnum):
    """What a run finds in memory: nothing of the table (`cold`), or what the run before it left there (`warm`)."""

    COLD = "cold"
    WARM = "warm"


def _bytes(value: object) -> object:
    if isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        return round(float(match[1]) * 1024 ** " kmgt".index(match[2].lower() or " "))
    if isinstance(value, str):
        raise ValueError("is not a size such as 512M or 4G")
    return value


def _engine(value: object) -> object:
    named = {name.lower(): name for name in _FORMATS}
    if isinstance(value, str) and value.lower() in named:
        return named[value.lower()]
    raise ValueError(f"is not one of {', '.join(_FORMATS)}")


class ScanOptions(BaseModel):
    """The options of a scan.

    Attributes:
        size: bytes that the table is to take; None where its rows are given instead.
        row_bytes: bytes of a row's columns.
        sql: a query of the user, which runs instead of `query`.
        runs: how many runs a trial measures, for each number of threads.
        fragmented: the share of rows that are deleted and put back, and of those that are updated, after loading.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=kebab)

    engine: Annotated[str, BeforeValidator(_engine)] = "InnoDB"
    size: Annotated[int | None, BeforeValidator(_bytes)] = Field(default=None, ge=1024**2, le=16 * 1024**4)
    row_format: str = ""
    row_bytes: int = Field(default=200, ge=32, le=2000)
    query: ScanQuery = ScanQuery.FULL
    sql: str | None = Field(default=None, min_length=1)
    cache: Cache = Cache.COLD
    runs: int = Field(default=3, ge=1, le=1000)
    fragmented: Annotated[float, BeforeValidator(as_share)] = Field(default=0.0, ge=0, le=0.9)

    @field_validator("row_format")
    @classmethod
    def _in_lower_case(cls, value: str) -> str:
        return value.lower()

    @model_validator(mode="after")
    def _fits_together(self) -> ScanOptions:
        formats = _FORMATS[self.engine]
        if self.row_format and self.row_format not in formats:
            raise ValueError(f"{self.engine} has no row-format {self.row_format!r}; it has {', '.join(formats)}")
        if self.sql is not None and "query" in self.model_fields_set:
            raise ValueError("query and sql cannot be combined; give one of them")
        return self

    @property
    def format(self) -> str:
        """The requested row format, else the engine's default."""
        return self.row_format or _FORMATS[self.engine][0]

    @property
    def is_cold(self) -> bool:
        """Whether a run finds nothing of the table in memory."""
        return self.cache is Cache.COLD

    @property
    def sorts(self) -> bool:
        """Whether a run sorts the whole table."""
        return self.sql is None and self.query is ScanQuery.ORDERED

    @property
    def may_write(self) -> bool:
        """Whether the user's query might change the table: it does not begin like a query, or has a keyword that writes.

        Such a keyword may stand anywhere, as in `WITH ... DELETE`; where it writes nothing after all, it costs a restart per
        block.
        """
        return self.sql is not None and (_QUERY.match(self.sql) is None or _WRITES.search(self.sql) is not None)


def read_scan_options(options: Mapping[str, str]) -> ScanOptions:
    """Read the options of a workload; raise UserError where an option is unknown or invalid."""
    try:
        return ScanOptions.model_validate(options)
    except ValidationError as error:
        raise option_error(SCAN, error, ScanOptions, "See docs/scan.md") from None
