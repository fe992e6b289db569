"""What a trial reports while it runs: all that is stored or shown of it. Every event can be pickled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dialin.model.evidence import PointColumns, RawWaits, Watched
from dialin.model.profile import Profile
from dialin.model.trial import Sample, Step, Trial


@dataclass(frozen=True, slots=True)
class Evidence:
    """What explains a trial.

    Attributes:
        waits: the raw waits that the trial collected; None where it collected none.
        waits_file: the file that holds each of them, for the receiver to take.
        profile: the profile of the server, in a trial for one.
    """

    watched: tuple[Watched, ...] = ()
    points: PointColumns = field(default_factory=PointColumns)
    waits: RawWaits | None = None
    waits_file: Path | None = None
    profile: Profile | None = None


@dataclass(frozen=True, slots=True)
class TrialBegan:
    """A trial begins; it is in state `RUNNING`."""

    trial: Trial


@dataclass(frozen=True, slots=True)
class StepBegan:
    """A step of the running trial begins."""

    step: Step


@dataclass(frozen=True, slots=True)
class Verified:
    """The variables of the running trial's server were read, before its load begins."""

    in_force: Mapping[str, str]
    real: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Sampled:
    """A second of the running trial was measured, or a run of a timed query."""

    sample: Sample


@dataclass(frozen=True, slots=True)
class TrialEnded:
    """The running trial ended, well or not; it is no longer in state `RUNNING`."""

    trial: Trial
    evidence: Evidence = field(default_factory=Evidence)


Event = TrialBegan | StepBegan | Verified | Sampled | TrialEnded
"""A trial reports `TrialBegan`, its steps and samples, and `TrialEnded`; one that is interrupted reports no end."""
