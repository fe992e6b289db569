"""The protocols of a site, where trials take place, and of a stage, which provides the instance of one trial."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from dialin.model.study import StudySpec
from dialin.model.trial import EffectiveSettings, Step, Trial
from dialin.servers.capabilities import Versioned
from dialin.servers.instance import Instance
from dialin.trials.change_detector import ChangeDetector
from dialin.workloads.base import Target


class Stage(Protocol):
    """Makes the instance of one trial ready, gives access to it, and cleans up after the trial."""

    @property
    def build(self) -> Versioned:
        """The build of the instance."""

    @property
    def detector(self) -> ChangeDetector:
        """Detects variables that somebody other than dialin changes on this instance."""

    def ready(self) -> Generator[Step, None, Instance]:
        """Make the instance ready: yield each step as it begins, and return the instance.

        Raises:
            SettingRefusedError: the server refuses the setting.
            ServerError: the server does not start, or does not answer.
            VariablesChangedError: somebody else changed the server since dialin started or left it; no variable was set.
        """

    def instance(self) -> Instance | None:
        """Return the instance, once there is one."""

    def target(self) -> Target:
        """Return the server that the load is applied to."""

    def went_away(self) -> bool:
        """Return, after a failure, whether the server went away for a reason that need not be the candidate.

        If so, the trial is run again. Called once per failure.
        """

    def hide(self, value: str) -> str:
        """Return a variable's value without the parts that differ from trial to trial."""

    def end(self, *, well: bool) -> None:
        """Clean up after this trial; where it ended `well`, the next trial may use what it leaves."""


class OpenSite(Protocol):
    """A site that is ready for trials."""

    def stage(self, trial: Trial) -> Stage:
        """Set up the stage of a trial."""

    def add_candidates(self, spec: StudySpec, effective: Mapping[str, EffectiveSettings]) -> None:
        """Make ready for candidates that have entered the study since; `effective` holds their settings as inspected.

        Raises:
            DialinError: their data cannot be prepared.
        """


class Site(Protocol):
    """Where the trials of a study take place: sandboxes that dialin starts, or a server that it is attached to."""

    def open(self, say: Callable[[str], None], study: Path | None = None) -> AbstractContextManager[OpenSite]:
        """Make ready what all trials share, above all the data; `say` is called with a line for each step.

        `study` is the directory of the study; an attached server shows it to other dialin processes.

        Raises:
            DialinError: the site cannot be made ready, or its server cannot be put back at the end.
        """
