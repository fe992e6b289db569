"""The options of a study on live traffic: when the server may be changed, and when the guard restores the baseline."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated

from pydantic import Field, field_validator

from dialin.model.frozen import FrozenModel
from dialin.model.option_types import LIVE, Fraction

PERIOD = 60.0
"""The default measured seconds of a period."""

DEFAULT_WASHOUT = 5.0
"""The default seconds left out at the start of a period, for variables whose effect settles at once."""

MOST_CANDIDATES = 4
"""The most candidates of a study on live traffic: with more, each would have too little of the time."""


class LiveOptions(FrozenModel):
    """The options of a study on live traffic: the one home of each, for study files and the store."""

    observe: Annotated[float, LIVE] = Field(
        default=600.0,
        ge=30,
        le=86_400,
        description="seconds to watch the server first, to learn its noise and usual level",
    )
    guard_latency: Annotated[float, LIVE] = Field(
        default=2.0,
        gt=1,
        le=1000,
        description="restore the baseline if latency exceeds its usual level by this factor",
    )
    guard_errors: Annotated[float, LIVE] = Field(
        default=5.0,
        gt=0,
        description="restore the baseline if errors and aborted connections per second exceed the usual ones by more",
    )
    guard_running: Annotated[float, LIVE] = Field(
        default=3.0, gt=1, description="restore the baseline if Threads_running exceeds its usual level by this factor"
    )
    guard_lag: Annotated[float, LIVE] = Field(
        default=10.0,
        gt=0,
        description="restore the baseline if the server, a replica, lags by more seconds",
    )
    guard_free: Annotated[Fraction, LIVE] = Field(
        default=0.05,
        ge=0,
        lt=1,
        description="restore the baseline if less of the memory or the disk is free, on this machine",
    )
    accept_resizing: Annotated[bool, LIVE] = Field(
        default=False,
        description="allow variables that allocate or free memory, such as innodb_buffer_pool_size; clients may wait meanwhile",
    )
    at_most: Annotated[Fraction, LIVE] = Field(
        default=0.5, gt=0, le=0.9, description="the largest share of the time away from the baseline"
    )
    between: Annotated[str | None, LIVE] = Field(
        default=None, description="change the server only in these local hours, such as 01:00-05:00"
    )
    stop_file: Annotated[str | None, LIVE] = Field(
        default=None, description="stop, and restore the baseline, as soon as this file exists"
    )

    @field_validator("between")
    @classmethod
    def _hours_of_the_day(cls, value: str | None) -> str | None:
        if value is not None:
            hours_between(value)
        return value


def hours_between(text: str) -> tuple[int, int]:
    """Return the seconds of the day at which hours such as `22:00-05:30` begin and end; they may pass midnight.

    Raises:
        ValueError: they are not written so, or begin when they end.
    """
    match = re.fullmatch(r"\s*(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})\s*", text)
    numbers = [int(number) for number in match.groups()] if match else []
    if not numbers or max(numbers[0], numbers[2]) > 23 or max(numbers[1], numbers[3]) > 59 or numbers[:2] == numbers[2:]:
        raise ValueError("must be hours of the day such as 01:00-05:00")
    return (60 * numbers[0] + numbers[1]) * 60, (60 * numbers[2] + numbers[3]) * 60


class LatencySource(StrEnum):
    """Where the latency of statements is read: the best source that a server has."""

    HISTOGRAM = "histogram"
    SUMMARY = "summary"
    RESPONSE_TIME = "response_time"
