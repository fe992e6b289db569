"""The options of the replay of a capture, and how far a replay may differ from the capture."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from dialin.model.option_types import Fraction, kebab
from dialin.model.workload import LoadLimit

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


LIMITS = (
    LoadLimit(gauge="replay_not_captured", most=0.05, code="replay_not_captured"),
    LoadLimit(gauge="replay_left_out", most=0.01, code="replay_left_out"),
    LoadLimit(gauge="replay_new_errors", most=0.001, code="replay_new_errors"),
    LoadLimit(gauge="replay_missing_errors", most=0.001, code="replay_missing_errors"),
    LoadLimit(gauge="replay_other_rows", most=0.01, code="replay_other_rows"),
    LoadLimit(gauge="replay_other_changes", most=0.01, code="replay_other_changes"),
    LoadLimit(gauge="replay_out_of_order", most=0.05, code="replay_out_of_order"),
    LoadLimit(gauge="replay_rows_returned", most=0.02, code="replay_rows_returned", is_equal=True),
    LoadLimit(gauge="replay_rows_changed", most=0.02, code="replay_rows_changed", is_equal=True),
    LoadLimit(gauge="replay_late", most=0.05, code="replay_late"),
    LoadLimit(gauge="replay_waiting", most=0.5, code="replay_waiting"),
    LoadLimit(gauge="replay_time_elsewhere", most=0.5, code="replay_time_elsewhere"),
    LoadLimit(gauge="replay_prepared_again", most=0.01, code="replay_prepared_again"),
    LoadLimit(gauge="replay_rows_examined", most=0.2, code="replay_rows_examined", is_ratio=True),
    LoadLimit(gauge="replay_page_misses", most=0.5, code="replay_page_misses", is_ratio=True),
    LoadLimit(gauge="replay_lock_waits", most=0.5, code="replay_lock_waits", is_ratio=True),
    LoadLimit(gauge="replay_disk_tables", most=0.5, code="replay_disk_tables", is_ratio=True),
    LoadLimit(gauge="replay_threads_running", most=0.5, code="replay_threads_running", is_ratio=True),
)
"""Limits of the figures of a replay; see `replay_run.ReplayRun.facts`. What the load did comes first, then when, then how the
server did it."""
