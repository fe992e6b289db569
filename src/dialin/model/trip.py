"""What makes the guard of a live server restore the baseline; without pydantic, which errors and --help need not wait for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Danger(StrEnum):
    """What a guard watches for."""

    LATENCY = "latency"
    STALLED = "stalled"
    ERRORS = "errors"
    RUNNING = "running"
    LAG = "lag"
    REPLICATION = "replication"
    DISK = "disk"
    MEMORY = "memory"
    NO_ANSWER = "no_answer"


@dataclass(frozen=True, slots=True)
class Trip:
    """A guard restored the baseline.

    Attributes:
        value: the observed value, in the unit of the danger: ms, statements or errors per second, threads, seconds, shares.
        limit: the limit that it exceeded, or fell below; in the same unit.
        usual: the usual level of the same figure; None where there is none.
        after: seconds from the change of the variable to the bad second.
        restored_in: seconds from then until the baseline's values were read back; None where they could not be restored.
    """

    danger: Danger
    value: float
    limit: float
    usual: float | None
    after: float
    restored_in: float | None = None
