"""Where trials take place, and what one trial finds there: the protocols of sites and stages."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from dialin.model.study import StudySpec
from dialin.model.trial import Step, Trial
from dialin.servers.capabilities import Versioned
from dialin.servers.instance import Instance
from dialin.verdict.changed_during_trial import ChangeDetector
from dialin.verdict.effective_settings import EffectiveSettings
from dialin.workloads.base import Target


class Stage(Protocol):
    """One trial's instance, from before it is there until it is gone."""

    @property
    def build(self) -> Versioned:
        """What runs."""

    @property
    def detector(self) -> ChangeDetector:
        """What notices variables that somebody else changes on this instance."""

    def ready(self) -> Generator[Step, None, Instance]:
        """Bring the instance about: yield each step as it begins, and return the instance.

        Raises:
            ServerError: it does not start, or refuses the setting.
            VariablesChangedError: a server is not as dialin started or left it; it was not set.
        """

    def instance(self) -> Instance | None:
        """Return the instance, once there is one."""

    def target(self) -> Target:
        """Return where the load goes."""

    def went_away(self) -> bool:
        """Tell, after a failure, whether the server went away for a reason that need not be the candidate.

        The trial is then run again.
        """

    def hide(self, value: str) -> str:
        """Return a variable's value without what differs from trial to trial."""

    def end(self, *, well: bool) -> None:
        """Take away what this trial brought about; where it ended `well`, the next trial may use what it leaves."""


class OpenSite(Protocol):
    """A site that is ready for trials."""

    def stage(self, trial: Trial) -> Stage:
        """Set up the stage of a trial."""

    def take_in(self, spec: StudySpec, effective: Mapping[str, EffectiveSettings]) -> None:
        """Make ready for candidates that have entered the study since; `effective` is as they were inspected.

        Raises:
            DialinError: their data cannot be prepared.
        """


class Site(Protocol):
    """Where the trials of a study take place: sandboxes that dialin starts, or a server that it is attached to."""

    def open(self, say: Callable[[str], None], study: Path | None = None) -> AbstractContextManager[OpenSite]:
        """Make ready what all trials share, data above all; `say` takes a line for each step.

        `study` is the directory of the study, which other dialins are told of.

        Raises:
            DialinError: it cannot be made ready, or not be put back at the end.
        """
