"""The options of the replay of a capture."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from dialin.model.option_types import Fraction, kebab

CAPTURE = "capture"
FULL = "full"
BACKUP = "backup"


class ReplayOptions(BaseModel):
    """The options of a replay.

    Attributes:
        data: the data from before the capture: a data directory, or a dump.
        pace: speed as a multiple of the captured speed; `full` for as fast as the order of transactions allows.
        since: transactions that ended at this time or before, in seconds since 1970, are in the data already; `backup` for the
            moment of the one backup that the capture shows.
        warm_up: the share of the capture that comes first and is not measured.
    """

    model_config = ConfigDict(alias_generator=kebab, populate_by_name=True, extra="forbid", frozen=True)

    data: str = Field(min_length=1)
    pace: float | Literal["full"] = Field(default=1.0)
    since: float | Literal["backup"] | None = Field(default=None, alias="from")
    warm_up: Fraction = Field(default=0.2, ge=0, le=0.9)

    @property
    def is_full(self) -> bool:
        return self.pace == FULL
