"""What `dialin studies --json` and the difference of two studies print."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field

from dialin.model.frozen import Document, FrozenModel
from dialin.model.setting import Value
from dialin.model.study import Goal
from dialin.model.verdict import Estimate, Outcome


class Area(StrEnum):
    """What a fact belongs to, in the order of suspicion."""

    BUILD = "build"
    VARIABLES = "variables"
    HOST = "host"
    WORKLOAD = "workload"
    OPTIONS = "options"


class Difference(FrozenModel):
    """A fact that differs between the studies."""

    area: Area
    name: str
    a: str | None = Field(description="in the first study; null where it has no such fact")
    b: str | None = Field(description="in the second study; null where it has no such fact")


class ComparedStudy(FrozenModel):
    """One of the two studies."""

    directory: str
    began: datetime = Field(description="UTC")
    verdict: Outcome | None = Field(description="null where there is no verdict yet")
    recommended_candidate: str | None = Field(description="null where there is no verdict yet")
    trials: int = Field(description="completed trials that are compared")
    noise: float = Field(description="trial-to-trial standard deviation of all candidates together, relative")


class CandidateChange(FrozenModel):
    """How one candidate changed from the first study to the second, by the measure of the goal."""

    name: str = Field(description="its name in the first study")
    name_in_b: str = Field(description="its name in the second study")
    setting: dict[str, Value]
    level_a: Estimate = Field(description="the goal's measure in the first study: tps, CV or milliseconds")
    level_b: Estimate
    level_change: Estimate = Field(description="level in the second study divided by that in the first")
    ratio_a: Estimate = Field(description="ratio to the baseline in the first study")
    ratio_b: Estimate
    ratio_change: Estimate = Field(description="ratio in the second study divided by that in the first")


class StudyDiff(Document):
    """What `dialin diff --json` prints; each interval holds by itself at `confidence`."""

    schema_: Literal["dialin/diff/1"] = Field(default="dialin/diff/1", alias="schema")
    goal: Goal
    percentile: int = Field(description="which percentile of latency a study by latency compares")
    baseline: str = Field(description="the name, in the first study, of the candidate that ratios are taken to in both")
    confidence: float
    a: ComparedStudy
    b: ComparedStudy
    differences: list[Difference] = Field(description="what differs in build, effective variables, host, workload and options")
    candidates: list[CandidateChange] = Field(description="the candidates that both studies measured")
    only_a: list[str] = Field(description="candidates that only the first study has, or could measure")
    only_b: list[str] = Field(description="candidates that only the second study has, or could measure")
    noise_change: Estimate = Field(description="noise of the second study divided by that of the first")


class ListedStudy(FrozenModel):
    """A study in the list. Where it cannot be read, `problem` says why and the rest is null or empty."""

    directory: str = Field(description="the directory of the study, below the one that was searched")
    began: datetime | None = Field(default=None, description="when the study began, UTC")
    variables: list[str] = Field(default_factory=list, description="the variables under test; empty where builds are compared")
    builds: list[str] = Field(default_factory=list, description="the builds that the candidates run on")
    workload: str | None = Field(default=None, description="the load in one line")
    goal: Goal | None = Field(default=None, description="what decides")
    trials: int = Field(default=0, description="completed trials, those that confirm a choice or collect waits included")
    verdict: Outcome | None = Field(default=None, description="null where there is no verdict yet")
    baseline: str | None = Field(default=None, description="the name of the baseline")
    recommended_candidate: str | None = Field(default=None, description="null where there is no verdict yet")
    recommended: dict[str, Value] = Field(default_factory=dict, description="the setting to use")
    gain: Estimate | None = Field(
        default=None,
        description="the goal's measure of the recommended candidate as a ratio to the baseline's; null where that is unknown",
    )
    problem: str | None = Field(default=None, description="why the study cannot be read; null where it can")


class StudyList(Document):
    """What `dialin studies --json` prints: the oldest study first, and last what cannot be read."""

    schema_: Literal["dialin/studies/1"] = Field(default="dialin/studies/1", alias="schema")
    directory: str = Field(description="the directory that was searched")
    studies: list[ListedStudy]
