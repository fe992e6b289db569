"""What a candidate can lose that the baseline keeps, as codes and figures."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from dialin.model.frozen import FrozenModel


class Loss(StrEnum):
    """What is lost, the most serious first.

    A *server crash* ends the server's process alone (a bug, the OOM killer): the operating system still writes what it has. A
    *machine crash* (operating system, hypervisor, power) also loses what was written but not synced.
    """

    COMMITS_IN_SERVER_CRASH = "commits_in_server_crash"
    COMMITS_IN_MACHINE_CRASH = "commits_in_machine_crash"
    HALF_WRITTEN_PAGES = "half_written_pages"
    UNSYNCED_WRITES = "unsynced_writes"
    BINARY_LOG_EVENTS = "binary_log_events"
    BINARY_LOG = "binary_log"
    PAGE_CHECKSUMS = "page_checksums"
    REDO_LOG_CHECKSUMS = "redo_log_checksums"


class LossUnit(StrEnum):
    """The unit of an amount that is lost; the later ones are more."""

    NOTHING = "nothing"
    LATEST = "latest"
    COMMITS = "commits"
    SECONDS = "seconds"
    UNKNOWN = "unknown"


class LossAmount(FrozenModel):
    """How much a crash can lose: nothing, the latest commits, a number of commits or seconds, or an amount without a limit."""

    unit: LossUnit
    number: float = Field(default=0, description="commits or seconds at most; 0 with another unit")

    @property
    def order(self) -> tuple[int, float]:
        """Two amounts compare by this: the larger, the more is lost."""
        return list(LossUnit).index(self.unit), self.number

    @property
    def is_nothing(self) -> bool:
        return self.unit is LossUnit.NOTHING


class DurabilityLoss(FrozenModel):
    """One thing that a candidate can lose and the baseline keeps, or of which the candidate can lose more."""

    loss: Loss
    variables: list[str] = Field(description="the variables whose values cause it")
    amount: LossAmount = Field(description="how much the candidate can lose")
    of_baseline: LossAmount = Field(description="how much the baseline can lose")
