"""What a running study reports to watchers, which cannot affect its trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

from dialin.model.study import StudySpec
from dialin.model.trial import Sample, Step, Trial
from dialin.model.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Standing:
    """A candidate's figures so far.

    Attributes:
        trials: the number of completed trials.
        tps: throughput over the completed trials, at the machine's mean state, or None.
        ratio: the goal's measure as a ratio to the baseline's; None where the two cannot be compared.
        out: whether it gets no further trials, because it is unsafe or could never be measured.
        figure: the goal's figure over the completed trials, where the goal is not throughput.
    """

    trials: int
    failed: int
    tps: float | None
    ratio: float | None
    out: bool = False
    figure: float | None = None


class SessionState(StrEnum):
    """The state of a run of dialin on a study. A run that was killed stays `RUNNING`."""

    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class HostProgress:
    """What a host of a study does now.

    Attributes:
        trials: how many trials ended there in this session.
        trial: the number of the running trial; None where the host is idle.
        step: the step of that trial; None until its first step begins.
        since: when that step, the trial or the pause began, seconds since the epoch.
    """

    trials: int = 0
    trial: int | None = None
    block: int | None = None
    candidate: str = ""
    step: Step | None = None
    since: float = 0.0

    def began(self, trial: Trial, now: float) -> HostProgress:
        return replace(self, trial=trial.id, block=trial.block, candidate=trial.candidate, step=None, since=now)

    def at_step(self, step: Step, now: float) -> HostProgress:
        return replace(self, step=step, since=now)

    def ended(self, now: float) -> HostProgress:
        return HostProgress(self.trials + 1, since=now)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a study has come, stored for other processes.

    Attributes:
        began: when it began or was resumed, seconds since the epoch.
        blocks: about how many blocks are planned; 0 until its trials begin.
        ends: when it is estimated to end; None until its trials begin.
        step: the step of the running trial; None between trials.
    """

    session: SessionState
    began: float
    blocks: int = 0
    ends: float | None = None
    step: Step | None = None
    step_began: float = 0.0
    standings: Mapping[str, Standing] = field(default_factory=dict)
    reason: str = ""
    hosts: Mapping[str, HostProgress] = field(default_factory=dict)


class Watcher(Protocol):
    """Listens to a study. Every method may be called from the study's own thread only, and must return at once."""

    def study_began(self, spec: StudySpec, blocks_planned: int, seconds_planned: float) -> None:
        """The study starts or resumes."""

    def hosts_changed(self, hosts: Sequence[str]) -> None:
        """The hosts of the study are these now: one joined, was lost, or was left out."""

    def candidates_entered(self, spec: StudySpec) -> None:
        """Candidates entered the study; `spec` has them all."""

    def message(self, text: str) -> None:
        """Something happened that is worth a line: data is prepared, a trial failed, a look was taken."""

    def trial_began(self, trial: Trial, seconds_left: float) -> None:
        """A trial starts; `seconds_left` is the estimate for the whole study."""

    def step_began(self, trial: Trial, step: Step) -> None:
        """A step of the running trial starts."""

    def sampled(self, trial: Trial, sample: Sample) -> None:
        """A second of the running trial was measured."""

    def trial_ended(self, trial: Trial, standings: Mapping[str, Standing]) -> None:
        """A trial ended, completed or not."""

    def study_ended(self, verdict: Verdict) -> None:
        """The study has a verdict."""
