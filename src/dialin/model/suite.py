"""A suite: several workloads under which the same candidates are compared, and their joint result.

`Suite` is the contract of `suite.json`; its JSON Schema is published in `schema/`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from dialin.model.durability import DurabilityLoss
from dialin.model.frozen import Document, FrozenModel
from dialin.model.study import Goal, Until
from dialin.model.verdict import CandidateState, Estimate, Outcome
from dialin.model.why import CostRow, ProfileComparison, Scaling


class SuiteMember(FrozenModel):
    """One workload of a suite: a study in a directory of its own."""

    name: str
    directory: str = Field(description="the study's directory, inside the suite's")
    weight: float = Field(gt=0, le=1e6, description="its weight in the mean over the suite")
    options: dict[str, Any] = Field(description="the options of its study, as a study file has them")


class SuitePlan(FrozenModel):
    """What a suite asks, all that it takes to begin it or to resume it."""

    title: str = Field(description="the name of the suite; empty where its workloads were listed")
    command: str
    started_in: str = Field(description="the directory to which paths in the options are relative")
    created: float = Field(ge=0, le=1e11, description="seconds since the epoch")
    minutes: float = Field(gt=0, le=1e7, description="wall-clock budget of all trials together")
    confidence: float = Field(
        gt=0, lt=1, description="confidence of the claims of all workloads together, with that of their mean"
    )
    worthwhile: float = Field(gt=0, le=100, description="the smallest relative difference that matters in the mean")
    until: Until
    fail_if_worse: float | None = Field(
        default=None, gt=0, lt=1, description="the margin of the gate, as a share; null without a gate"
    )
    members: list[SuiteMember] = Field(min_length=1)

    @property
    def claims(self) -> int:
        """How many claims hold together: one for each workload, and that of their mean."""
        return len(self.members) + 1


class Margin(StrEnum):
    """Whether a candidate is worse than the baseline by more than a margin.

    `failed`: its server failed where the baseline's did not, so that nothing can be compared.
    """

    NOT_WORSE = "not_worse"
    WORSE = "worse"
    OPEN = "open"
    FAILED = "failed"


class SuiteCell(FrozenModel):
    """A candidate other than the baseline under one workload."""

    candidate: str
    ratio: Estimate | None = Field(description="performance as a ratio to the baseline's, above 1 where it is better")
    state: CandidateState
    margin: Margin = Field(description="against the margin of the gate, else against what is worthwhile")
    trials: int
    weaker_durability: list[DurabilityLoss] = Field(default_factory=list)


class SuiteRow(FrozenModel):
    """The result of one workload."""

    name: str
    directory: str
    weight: float
    load: str = Field(description="the load, in words")
    goal: Goal
    unit: str = Field(description="the unit of `baseline`")
    baseline: Estimate | None = Field(description="the baseline's level; null where it has no completed trial")
    outcome: Outcome | None = Field(description="the outcome of its study; null while it has none")
    decided: bool = Field(description="whether it needs no more trials")
    seconds: float = Field(description="wall clock of its trials")
    noise: float | None = Field(default=None, description="trial-to-trial SD as a share; null where it has too few trials")
    cells: list[SuiteCell]
    costs: list[CostRow] = Field(description="per operation and candidate, as `dialin explain --json` has them")
    scaling: list[Scaling] = Field(
        default_factory=list, description="throughput by number of threads; empty where the workload has one number only"
    )
    moved: str = Field(default="", description="what changed most with the measure, in a sentence; empty where nothing did")
    profile: ProfileComparison | None = Field(default=None, description="null where no trial profiled the server")
    failure: str = Field(default="", description="the error that ended its study; empty where none did")

    def cell(self, candidate: str) -> SuiteCell:
        """Return the cell of a candidate other than the baseline; each row has one for every such candidate."""
        return next(cell for cell in self.cells if cell.candidate == candidate)


class SuiteOutcome(StrEnum):
    """What a suite ends with.

    `better`: a candidate is proven to be better in the weighted mean, and no workload is worse by more than is worthwhile.
    `safe_choice`: a candidate is near the best in the mean, very probably, and no workload is worse by more than is worthwhile.
    `trade_off`: the candidate that is best in the mean is proven to be worse under some workload. `unguarded`: it is near the
    best in the mean, and some workload may be worse by more than is worthwhile. `keep`: the baseline is near the best.
    `identical`: between identical candidates (A/A) no difference is claimed, as it should be. `false_claim`: one is.
    """

    BETTER = "better"
    SAFE_CHOICE = "safe_choice"
    TRADE_OFF = "trade_off"
    UNGUARDED = "unguarded"
    KEEP = "keep"
    IDENTICAL = "identical"
    FALSE_CLAIM = "false_claim"
    INCONCLUSIVE = "inconclusive"


class BarReason(StrEnum):
    """Why a candidate is not recommended, whatever its figures."""

    UNSAFE = "unsafe"
    NOT_MEASURED = "not_measured"
    NO_CLAIM = "no_claim"
    WEAKER_DURABILITY = "weaker_durability"


class SuiteCandidate(FrozenModel):
    """A candidate over all workloads; names of workloads are those of the rows."""

    name: str
    label: str = Field(description="its name in tables")
    full: str = Field(description="its name in a sentence")
    mean: Estimate | None = Field(description="weighted geometric mean of the ratios; null while a workload has too few trials")
    state: CandidateState = Field(description="by the weighted mean")
    better: list[str] = Field(description="workloads under which it is proven to be better than the baseline")
    worse: list[str] = Field(description="workloads under which it is proven to be worse")
    likely_better: list[str] = Field(description="workloads under which it is probably better, without that proof")
    likely_worse: list[str] = Field(description="workloads under which it is probably worse, without that proof")
    unguarded: list[str] = Field(description="workloads under which it may be worse by more than the margin")
    barred: BarReason | None = None

    @property
    def is_trade_off(self) -> bool:
        return bool(self.better and self.worse)


class GateState(StrEnum):
    """`worse`: some workload is proven to be worse by more than the margin. `passed`: none can be worse by more than that."""

    PASSED = "passed"
    WORSE = "worse"
    OPEN = "open"


class Gate(FrozenModel):
    """The answer to `--fail-if-worse`: each workload with its candidate where that is worse, or not answered yet."""

    margin: float
    state: GateState
    worse: list[tuple[str, str]]
    open: list[tuple[str, str]]
    minutes_needed: float | None = Field(
        default=None, description="about how many more minutes would answer what is open; null where that is unknown"
    )


class SuiteResult(FrozenModel):
    """The joint result of a suite."""

    outcome: SuiteOutcome
    recommended: str
    baseline: str
    confidence: float = Field(description="confidence of each interval, so that those of all workloads hold together")
    candidates: list[SuiteCandidate]
    rows: list[SuiteRow] = Field(description="by effect: the workload with the largest difference first")
    gate: Gate | None = None
    minutes: float = Field(description="wall clock of all trials")

    def candidate(self, name: str) -> SuiteCandidate:
        return next(one for one in self.candidates if one.name == name)

    @property
    def others(self) -> list[SuiteCandidate]:
        """All candidates but the baseline."""
        return [one for one in self.candidates if one.name != self.baseline]

    @property
    def is_aa(self) -> bool:
        """Whether the candidates are identical, and have trials enough to tell what is claimed of them."""
        return self.outcome in (SuiteOutcome.IDENTICAL, SuiteOutcome.FALSE_CLAIM)

    @property
    def is_answered(self) -> bool:
        """Whether what the suite asks has an answer."""
        if self.gate is not None:
            return self.gate.state is not GateState.OPEN
        return self.outcome not in (SuiteOutcome.INCONCLUSIVE, SuiteOutcome.UNGUARDED)


class Suite(Document):
    """What `suite.json` holds."""

    schema_: Literal["dialin/suite/1"] = Field(default="dialin/suite/1", alias="schema")
    plan: SuitePlan
    headline: str = ""
    result: SuiteResult | None = Field(default=None, description="null until a study of it has begun")
