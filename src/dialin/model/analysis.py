"""Results from the logs of runs made elsewhere: each run, each candidate, and how the candidates compare.

`Analysis` is the contract of `dialin analyze --json`; its JSON Schema is published in `schema/`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from dialin.model.course import Course, PeriodicDip
from dialin.model.frozen import Document, FrozenModel
from dialin.model.study import Goal
from dialin.model.verdict import CandidateState, Estimate, Note, Outcome
from dialin.model.why import Usl

_FASTER = 0.05
"""How much faster than the rest of its run a start must be to be reported; relative."""


class FolderKind(StrEnum):
    """What runs are to each other, which decides what is done with them."""

    ALTERNATIVES = "alternatives"
    SUITE = "suite"
    SCALING = "scaling"
    RATE_RAMP = "rate_ramp"


class Starts(StrEnum):
    """Whether repeats are separate starts of their server, as the files beside the logs or their times show."""

    SEPARATE = "separate"
    SHARED = "shared"
    UNKNOWN = "unknown"


class FileStatus(StrEnum):
    """How a file was used, or why it was not."""

    USED = "used"
    COPY = "copy"
    ENDED_EARLY = "ended_early"
    FAILED = "failed"
    SUMMARY_ONLY = "summary_only"
    TOO_SHORT = "too_short"
    UNREADABLE = "unreadable"
    TOO_LARGE = "too_large"
    BESIDE = "beside"
    NO_LOG = "no_log"


class FileEntry(FrozenModel):
    """One file, or one run in it, and how it was used. A run that ended early is used as far as it goes."""

    file: str
    status: FileStatus
    detail: str = Field(description="why, in a few words; empty where it was simply used")


class RunAnalysis(FrozenModel):
    """Results of one run, from its log alone. Rates are transactions per second, after the warm-up."""

    file: str = Field(description="the log's name, with the directories in which names differ; `#2` is the second run in it")
    label: str = Field(description="the name without the beginning and end that all names share")
    candidate: str | None = Field(description="the candidate of the run; null if the run was left out")
    copy_of: str | None = Field(description="the run that this is a copy of; a copy is not counted")
    conditions: dict[str, str] = Field(description="other facts of the name and the log that differ between runs")
    starts: Starts = Field(description="whether the repeats of this run are separate starts; unknown without repeats")
    starts_shown_by: str = Field(description="what shows it, in words; empty where nothing does")
    shared_start: str | None = Field(description="identifies the start that this run shares with repeats; null if unknown")
    host: str = Field(description="the host of its server; empty where no file beside the log says")
    threads: int
    unit: str = Field(
        description="what `tps` and all throughput of this run are: transactions per second unless the log says other"
    )
    requested_rate: float | None = Field(description="transactions per second that were requested; null without a limit")
    interval: float = Field(description="seconds from one line to the next; 0 for a log with a summary alone")
    seconds: float = Field(description="seconds that the log covers")
    warm_up_seconds: float = Field(description="seconds left out at its start")
    warm_up_given: bool = Field(description="whether they were given, not detected")
    start_change: float = Field(
        description="relative: by how much the seconds left out at the start were faster than the rest; below 0 where slower"
    )
    settled: bool = Field(description="whether it became steady before half of it was over")
    course: Course = Field(description="what its speed did after its start")
    change: float = Field(
        description=(
            "relative: of a trend from end to end, of a shift or collapse from before to after, of an oscillation to its "
            "crest, of two levels from the higher to the lower one"
        )
    )
    shift_at: float | None = Field(description="the second of the log at which the level shifted or collapsed")
    levels: tuple[float, float] | None = Field(
        description=(
            "transactions/s before and after a shift or collapse, at the start and the end of a trend, at the higher and the "
            "lower of two levels"
        )
    )
    switches: int = Field(description="how often it switched between two levels")
    low_share: float = Field(description="the share of its seconds at the lower of two levels")
    dip: PeriodicDip | None = Field(description="seconds in which it is slow in each period; null where there are none")
    period: float | None = Field(description="seconds of one cycle of an oscillation")
    cycles: float | None = Field(description="how many cycles were measured")
    tps: float = Field(description="plain mean")
    cv: float | None = Field(description="coefficient of variation of the lines; null for a log with a summary alone")
    worst_tps: float | None = Field(description="the lowest line; null for a log with a summary alone")
    stalls: int = Field(description="times that it fell below half of its median, or to nothing")
    stall_seconds: float = Field(description="how long these were in all")
    longest_stall: float
    latency_ms: float | None = Field(description="mean of the lines' percentiles, by transactions; null where none was logged")
    percentile: int | None = Field(description="which percentile that is; null if the log does not say")
    latencies_ms: dict[str, float] = Field(
        description="all percentiles of latency in the log, by name such as p99: means of lines, else of the whole run"
    )
    errors_per_s: float
    effective_seconds: float = Field(description="how many independent seconds the measured ones are worth")

    @property
    def cell(self) -> tuple[str, ...]:
        """The values that runs must share to be compared."""
        return tuple(self.conditions.values())

    @property
    def measured_seconds(self) -> float:
        return self.seconds - self.warm_up_seconds

    @property
    def slowed_down(self) -> bool:
        """Whether the seconds left out at the start were clearly faster than the rest, so that they are no warm-up."""
        return self.start_change >= _FASTER


class CandidateAnalysis(FrozenModel):
    """Results of the runs of one candidate. A figure is null if no run has it.

    All figures but `runs` rest on the cells that the candidate shares with the baseline; those of the baseline on the cells
    that it shares with any other candidate. Where there is no such cell they rest on all of its runs.
    """

    name: str
    runs: int = Field(description="distinct runs; copies are not counted")
    compared: int = Field(description="runs in a cell in which another candidate ran too; 0 where there is none")
    cells: int = Field(description="cells shared with the baseline; of the baseline, with any other candidate")
    tps: Estimate | None = Field(
        description="transactions per second: the geometric mean over runs and cells; with an interval where there is one cell"
    )
    baseline_tps: float | None = Field(
        description="that of the baseline over the same cells: `ratio` is the quotient of the two; null where not compared"
    )
    ratio: Estimate | None = Field(description="throughput as a ratio to the baseline's, within cells")
    goal_ratio: Estimate | None = Field(description="the measure of the goal as a ratio to the baseline's, within cells")
    cv: Estimate | None = Field(description="coefficient of variation of the typical run; null where logs cannot be compared")
    stall_seconds_per_1000: Estimate | None = Field(description="measured seconds below half of their run's median, per 1000")
    worst_tps: float | None
    latency_ms: Estimate | None
    errors_per_s: float | None = Field(description="errors per second that sysbench ignored, mean of the runs")
    starts: Starts = Field(description="whether its repeats are separate starts; where unknown, its interval allows for it")
    state: CandidateState


class FactorAnalysis(FrozenModel):
    """A factor in which runs differ besides the candidate."""

    name: str
    values: list[str]
    crossed: bool = Field(description="whether each candidate has runs of each value")


class CellCandidate(FrozenModel):
    """One candidate in one cell."""

    name: str
    runs: int
    tps: float = Field(description="transactions per second: the geometric mean of its runs")
    goal_ratio: Estimate | None = Field(
        description=(
            "the measure of the goal as a ratio to the baseline's in this cell; the intervals of all cells hold together; "
            "null where the baseline did not run here"
        )
    )


class CellAnalysis(FrozenModel):
    """Runs that differ only in the candidate."""

    where: dict[str, str] = Field(description="the value of each factor")
    candidates: list[CellCandidate]


class ThreadsPoint(FrozenModel):
    """The runs with one number of threads."""

    threads: int
    runs: int
    tps: float = Field(description="transactions per second: the geometric mean of the runs")
    latency_ms: float | None = Field(description="geometric mean of the runs' percentiles; null where one has none")
    percentile: int | None = Field(description="which percentile that is; null if the logs do not say, or differ")
    efficiency: float = Field(description="throughput per thread, relative to that with the fewest threads")


class ScalingCurve(FrozenModel):
    """How the throughput of one load on one server changes with the number of threads."""

    candidate: str = Field(description="empty where no candidates are compared")
    conditions: dict[str, str] = Field(description="what else is the same in all runs of the curve")
    points: list[ThreadsPoint]
    peak_threads: int = Field(description="the measured number of threads with the highest throughput")
    usl: Usl | None = Field(description="the universal scalability law; null with fewer than four points, or if no curve fits")


class RatePoint(FrozenModel):
    """A run in which transactions came at a requested rate."""

    file: str
    rate: float = Field(description="requested transactions per second")
    tps: float = Field(description="completed transactions per second, over the whole run")
    seconds: float
    latency_ms: float | None = Field(description="mean of the percentiles of its lines")
    latency_begin_ms: float | None = Field(description="that of the first tenth of its lines")
    latency_end_ms: float | None = Field(description="that of the last tenth of its lines")
    percentile: int | None
    waiting: float = Field(description="transactions that were requested and not completed at its end")
    overloaded: bool = Field(description="whether the queue of requested transactions was full, which ends the run")
    sustained: bool = Field(description="whether the server kept up with the rate, and latency did not rise")


class RateRamp(FrozenModel):
    """One server under rising rates of requested transactions."""

    candidate: str = Field(description="empty where no candidates are compared")
    conditions: dict[str, str]
    points: list[RatePoint]
    highest_sustained: float | None = Field(description="the highest rate that was sustained; null where none was")


class SuiteRow(FrozenModel):
    """The candidates under one load of a suite."""

    load: str
    verdict: Outcome | None = Field(description="the comparison under this load; null where the baseline did not run it")
    winners: list[str]
    candidates: list[CandidateAnalysis]


class Analysis(Document):
    """What `dialin analyze --json` prints."""

    schema_: Literal["dialin/analysis/1"] = Field(default="dialin/analysis/1", alias="schema")
    kind: FolderKind
    taken_as: list[str] = Field(description="what was taken for what, in sentences")
    unit: str = Field(description="of all throughput: tps unless the logs have another, such as NOPM")
    verdict: Outcome | None = Field(description="null where nothing is compared")
    goal: Goal
    headline: str = Field(description="the verdict in one sentence")
    assumptions: list[Note] = Field(description="what the verdict rests on and no file shows")
    reason: str = Field(description="what to make of it, in words")
    winners: list[str]
    baseline: str = Field(description="empty where nothing is compared")
    confidence: float
    worthwhile: float
    run_noise: float | None = Field(
        description="run-to-run standard deviation of one candidate under equal conditions, relative; null if unknown"
    )
    candidates: list[CandidateAnalysis] = Field(description="over all cells; empty for a suite, whose loads are not averaged")
    suite: list[SuiteRow]
    scaling: list[ScalingCurve]
    ramps: list[RateRamp]
    factors: list[FactorAnalysis] = Field(
        description="factors other than the candidate that differ between runs and were not ignored"
    )
    cells: list[CellAnalysis] = Field(description="the cells in which two candidates and more ran")
    proposals: list[str] = Field(description="arguments that name candidates, the best first; empty where they were named")
    runs: list[RunAnalysis]
    files: list[FileEntry] = Field(description="every file that was looked at; hidden ones are not")
    findings: list[Note] = Field(description="what else these runs show; no claim about future runs")
    confounds: list[Note]
    warnings: list[Note]
