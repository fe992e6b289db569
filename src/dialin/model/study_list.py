"""The studies below a directory: what `dialin studies --json` prints."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from dialin.model.frozen import Document, FrozenModel
from dialin.model.setting import Value
from dialin.model.study import Goal
from dialin.model.verdict import Estimate, Outcome


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
