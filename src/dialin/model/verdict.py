"""The verdict: who wins, ties or loses, by how much and how surely; and what is recommended.

`Verdict` is the contract of `verdict.json`; its JSON Schema is published in `schema/`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from dialin.model.setting import Value


class Outcome(StrEnum):
    """What a study found."""

    WINNER = "winner"
    TIE = "tie"
    NO_WORTHWHILE_DIFFERENCE = "no_worthwhile_difference"
    UNRESOLVED = "unresolved"


class CandidateState(StrEnum):
    """How a candidate came out. `open` means that the budget did not suffice to tell."""

    WINS = "wins"
    TIES = "ties"
    LOSES = "loses"
    OPEN = "open"
    FAILED = "failed"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Estimate(_Part):
    """A figure with its interval; the intervals of all candidates hold together at the study's confidence."""

    mean: float
    low: float | None = Field(description="lower end of the interval; null where there is too little data for one")
    high: float | None = Field(description="upper end of the interval; null where there is too little data for one")


class CandidateVerdict(_Part):
    """What the study found of one candidate. A figure is null where no trial of the candidate ended well."""

    name: str
    server: str = Field(description="the build it ran on, in full")
    setting: dict[str, Value] = Field(description="what was asked for")
    in_force: dict[str, str] = Field(description="what the server said of the same variables after boot")
    real: dict[str, str] = Field(
        default_factory=dict, description="what was counted of the real objects behind these variables, where it could be"
    )
    tps: Estimate | None = Field(description="transactions a second")
    ratio: Estimate | None = Field(description="throughput as a ratio to the baseline's")
    cv: float | None = Field(description="coefficient of variation of the measured seconds, within trials")
    worst_second_tps: float | None = Field(description="the lowest measured second of any trial")
    stall_seconds_per_1000: float | None = Field(description="measured seconds below half of their trial's median, per 1000")
    p95_ms: float | None = Field(description="95th percentile of transaction latency, mean over seconds by transactions")
    errors_per_s: float | None = Field(description="errors that the driver ignored (deadlocks and the like), a second")
    trials: int = Field(description="trials that ended well")
    failed: int = Field(description="trials that failed")
    state: CandidateState
    weaker_durability: list[str] = Field(
        default_factory=list, description="variables by which it can lose commits that the baseline keeps"
    )


class Note(_Part):
    """A warning or a confound: a code for scripts, a sentence for people, and the figures."""

    code: str
    text: str
    data: dict[str, Any] = Field(default_factory=dict)


class Verdict(_Part):
    """What `verdict.json` holds."""

    schema_: Literal["dialin/verdict/1"] = Field(default="dialin/verdict/1", alias="schema")
    verdict: Outcome
    headline: str = Field(description="the verdict in one sentence")
    reason: str = Field(description="why this is recommended, in words")
    recommended: dict[str, Value] = Field(description="the setting to use")
    recommended_candidate: str
    winners: list[str]
    baseline: str
    candidates: list[CandidateVerdict]
    blocks: int = Field(description="blocks that entered the comparison")
    minutes_of_load: float = Field(description="minutes in which load was measured")
    minutes_of_wall_clock: float
    confidence: float
    worthwhile: float
    detectable: float | None = Field(
        description="the smallest relative difference that this many blocks can tell apart at this noise; null if unknown"
    )
    trial_noise: float | None = Field(description="standard deviation of one trial within its block, relative")
    warnings: list[Note]
    confounds: list[Note]
    server: dict[str, Any]
    host: dict[str, Any]
    workload: dict[str, Any]

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
