"""How the throughput of a run changed over time: the kinds of course, which reports use as keys."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from dialin.model.frozen import FrozenModel


class Course(StrEnum):
    """The course of throughput over the measured seconds.

    The mean of `STEADY` seconds, and of an `OSCILLATION` of two cycles or more, is valid for the server.
    """

    STEADY = "steady"
    """Kept one level."""
    TREND = "trend"
    """Rose or fell all the time."""
    SHIFT = "shift"
    """Changed its level once and kept the new one."""
    OSCILLATION = "oscillation"
    """Swung about its mean with a period."""
    TWO_LEVELS = "two_levels"
    """Switched between two levels more than once."""
    COLLAPSE = "collapse"
    """Fell to less than half and did not recover."""
    DEAD = "dead"
    """Did nothing."""
    ERRATIC = "erratic"
    """Varied too much for any level, without another pattern."""


class PeriodicDip(FrozenModel):
    """Seconds in which speed falls again and again, at the same place in each period: something that runs by a clock."""

    period: float = Field(description="seconds from one dip to the next")
    seconds: list[float] = Field(
        description="the seconds of each period in which speed is low, counted from the start of the log and beginning with 0"
    )
    depth: float = Field(description="drop of throughput in them, relative to the seconds around them")
