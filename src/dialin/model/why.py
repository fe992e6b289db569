"""Why a verdict came out as it did: what `dialin explain` and the reports show."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field

from dialin.model.frozen import Document, FrozenModel
from dialin.model.verdict import ComparedFigure, Estimate

Values = dict[str, list[float]]
"""A figure by candidate: one value for each trial, in the order that they ran."""


class ReasonKind(StrEnum):
    """The kind of a reason.

    `moved`: a metric that changed with the verdict, which is correlation. `raw`: raw waits, of few trials and so without an
    interval. `unused`: memory or capacity of which little was used. `limit`: a limit that was reached. The
    last two apply whether or not candidates differ.
    """

    MOVED = "moved"
    RAW = "raw"
    UNUSED = "unused"
    LIMIT = "limit"


class ReasonChart(FrozenModel):
    """The chart of a reason: a dot for each trial, by candidate."""

    title: str
    unit: str = Field(description="of the values; `bytes` and `share` (0 to 1) are written as such")
    values: Values
    levels: dict[str, float] = Field(
        description="the figure of each candidate that the text has: the level that is compared, or the highest use"
    )


class Reason(FrozenModel):
    """One fact that explains a verdict."""

    code: str = Field(description="code of the rule, for scripts")
    kind: ReasonKind
    subject: str = Field(default="", description="the figure that changed, in a few words; empty for what did not change")
    text: str = Field(description="the fact with its figures, a sentence or two")
    source: str = Field(description="where the rule comes from")
    strength: float = Field(
        description="the least change of the figure: doublings from no change to the nearer end of its interval; "
        "0 where there is no interval"
    )
    correlation: float | None = Field(
        default=None,
        description="Pearson correlation of the figure with the goal's, over trials less their block; null if unknown",
    )
    chart: ReasonChart | None = None


class CostRow(FrozenModel):
    """How much one query, or one transaction, uses of one resource; by candidate."""

    name: str = Field(description="such as `server CPU`")
    unit: str = Field(description="such as `µs`")
    per_query: dict[str, ComparedFigure] = Field(
        description="the cost per transaction divided by the candidate's queries per transaction"
    )
    per_transaction: dict[str, ComparedFigure]


class ScalingPoint(FrozenModel):
    """Throughput at a number of threads."""

    threads: int
    tps: Estimate
    to_highest: Estimate | None = Field(
        default=None,
        description="as a ratio to that of the candidate with the highest throughput at so many threads, which has 1; null "
        "where they cannot be compared",
    )
    to_baseline: Estimate | None = Field(
        default=None,
        description="the same as a ratio to the baseline's; null for the baseline and where they cannot be compared",
    )


class Usl(FrozenModel):
    """Gunther's universal scalability law fitted to the points: X(n) = lambda n / (1 + sigma (n-1) + kappa n (n-1))."""

    rate: float = Field(description="lambda: throughput of one thread")
    contention: float = Field(description="sigma: the share that is done one after the other")
    coherency: float = Field(description="kappa: the price of agreement between each two threads")
    peak: float | None = Field(description="threads at which throughput is highest; null where it rises without end")
    relative_error: float = Field(description="typical deviation of the points from the curve, relative")


class Scaling(FrozenModel):
    """How one candidate's throughput grows with threads."""

    candidate: str
    points: list[ScalingPoint]
    usl: Usl | None = Field(description="null with fewer than four thread counts, with a rate, or if no curve fits")


class WaitSummary(FrozenModel):
    """The raw waits of one instrument and operation of one candidate; times in nanoseconds and in the timer's ticks."""

    candidate: str
    instrument: str
    operation: str
    count: int
    per_second: float
    mean_ns: float
    p50_ns: float
    p90_ns: float
    p99_ns: float
    p999_ns: float
    max_ns: float
    mean_cycles: float
    p50_cycles: float
    p90_cycles: float
    p99_cycles: float
    p999_cycles: float
    max_cycles: float
    total_ms: float
    total_cycles: float
    worst_share: float = Field(description="the share of the total that the longest 1 % are, 0 to 1")
    ten_share: float = Field(description="the share of the total that the ten longest are, 0 to 1")
    histogram: list[int] = Field(description="waits by power of two of nanoseconds")


class WaitTrial(FrozenModel):
    """A trial that collected raw waits, and what that cost it."""

    candidate: str
    pattern: str
    seconds: float
    events: int
    lost: int
    timer: str
    ticks_per_second: float
    tps: float | None
    notes: list[str] = Field(default_factory=list, description="what could not be recorded, a sentence each")
    slowdown: float | None = Field(
        description="share of throughput that collecting cost, against the candidate's clean trials; null where unknown"
    )


class ProfiledFunction(FrozenModel):
    """The CPU time of one function, without that of the functions it calls; microseconds per transaction."""

    function: str = Field(description="its name; time in the kernel belongs to the system call; [file] has no name for it")
    baseline_us: float
    other_us: float
    difference_us: Estimate = Field(description="other less baseline; the interval allows for the number of functions")
    is_certain: bool = Field(description="whether it changed by more than chance")


class ProfiledCall(FrozenModel):
    """How often a system call was made, per transaction."""

    call: str
    baseline: float
    other: float
    difference: Estimate = Field(description="other less baseline; the interval allows for the number of system calls")
    is_certain: bool = Field(description="whether it changed by more than chance")


class ProfileTrial(FrozenModel):
    """A trial that profiled the server's CPU, and what that cost it."""

    candidate: str
    samples: int
    cpu_seconds: float = Field(description="CPU time that the samples stand for")
    cpu_us: float = Field(description="the same per transaction, in microseconds")
    tps: float = Field(description="throughput while stacks were sampled")
    throughput: Estimate | None = Field(
        description="the same as a ratio to the candidate's trials that were not profiled; its interval is that of one trial"
    )
    traced: float | None = Field(
        default=None, description="throughput while waits were traced, as a ratio to that while stacks were sampled"
    )
    nameless: float = Field(description="share of the samples in functions without a name, 0 to 1")
    seen: float | None = Field(
        default=None, description="CPU time that the samples stand for, as a ratio to what the kernel counted for the server"
    )


class ProfileComparison(FrozenModel):
    """The CPU profiles of two candidates."""

    baseline: str
    other: str
    trials: list[ProfileTrial]
    gained: list[ProfiledFunction] = Field(description="functions that took more time with `other`; certain changes first")
    lost: list[ProfiledFunction] = Field(description="functions that took less; certain changes first")
    functions: int = Field(description="how many functions were compared")
    are_alike: bool = Field(
        default=True, description="false where both saw shares of the server's CPU that differ by over 10 %: nothing is certain"
    )
    waits: list[ProfiledFunction] = Field(
        default_factory=list,
        description="where threads of connections waited longest, with the system call; microseconds per transaction",
    )
    calls: list[ProfiledCall] = Field(default_factory=list, description="the system calls that were made most often")
    untraced: str = Field(default="", description="why waits and system calls are not known; empty where they are")


class StatementFigures(FrozenModel):
    """Figures of one statement with one candidate; all but `per_second` are per execution."""

    per_second: float = Field(description="executions per second")
    mean_us: float = Field(description="microseconds per execution")
    rows_examined: float
    rows_sent: float
    lock_us: float = Field(description="microseconds that one waits for table locks, as the server counts them")
    disk_tables: float = Field(description="temporary tables on disk")


class StatementRow(FrozenModel):
    """A statement that the server spent much of its time on."""

    digest: str = Field(description="the statement's text without its values, cut after 200 characters")
    candidates: dict[str, StatementFigures] = Field(description="without those candidates that never ran it")


class StatementTimes(FrozenModel):
    """Times of one candidate's statements, from the server's histogram.

    A percentile is the upper end of the bucket that it lies in; null where that is the last bucket, which has no end.
    """

    candidate: str
    statements: int = Field(description="how many the histogram holds, over all trials")
    p50_us: float | None
    p95_us: float | None
    p99_us: float | None


class TransactionLatency(FrozenModel):
    """How long one candidate's transactions took from when they were due, in the measured seconds of its trials.

    A percentile is that of a trial, at most 1 % too long.
    """

    transaction: str = Field(description="the kind; empty for all kinds together")
    candidate: str
    transactions: int = Field(description="how many there are, over all trials")
    per_second: float = Field(description="throughput; of a kind, its share of the throughput")
    p50_ms: ComparedFigure | None = Field(description="milliseconds; null without transactions")
    p95_ms: ComparedFigure | None = Field(description="null where trials have fewer than 20 transactions")
    p99_ms: ComparedFigure | None = Field(description="null where they have fewer than 100")
    p999_ms: ComparedFigure | None = Field(description="null where they have fewer than 1000")
    longest_ms: list[float] = Field(description="the longest of each trial")


class TransactionKind(FrozenModel):
    """What one kind of transaction did under one candidate, as a load program without histograms reports it."""

    transaction: str = Field(description="the kind, as the program names it")
    candidate: str
    per_second: ComparedFigure
    errors: ComparedFigure | None = Field(description="failed transactions per second; null where no trial has them")
    mean_ms: ComparedFigure | None = Field(description="mean latency, milliseconds; null where the program reports none")
    percentile_ms: ComparedFigure | None = Field(
        description="the study's percentile of latency, milliseconds, mean of the samples' percentiles; null likewise"
    )


class SemaphorePlace(FrozenModel):
    """A place in InnoDB's source where threads waited for a semaphore."""

    place: str = Field(description="file and line, such as `btr0sea.cc:122`")
    lock: str = Field(description="what was waited for there, such as `S-lock`")
    waiting: dict[str, float] = Field(description="by candidate: threads waiting at a reading, on average")


class SpinRow(FrozenModel):
    """Attempts of threads to get one kind of InnoDB lock; per second, by candidate."""

    kind: str = Field(description="`mutex`, `rw_shared`, `rw_excl` or `rw_sx`")
    spins: dict[str, float] = Field(description="times that a thread had to spin")
    rounds: dict[str, float] = Field(description="rounds that they spun")
    os_waits: dict[str, float] = Field(description="times that a thread went to sleep")


class Semaphores(FrozenModel):
    """Semaphores of InnoDB's status."""

    places: list[SemaphorePlace] = Field(description="most threads first, at most eight")
    spins: list[SpinRow] = Field(description="empty where the server counts none")
    notes: list[str] = Field(description="what the server does not report, a sentence each")


class ProbeCost(FrozenModel):
    """What one probe cost, over all trials that it watched."""

    probe: str
    readings: int
    waited_ms_per_s: float = Field(description="milliseconds per measured second in which the server answered this probe")
    cpu_ms_per_s: float = Field(description="milliseconds of CPU that dialin used per measured second")
    notes: list[str]


class Why(Document):
    """What `dialin explain --json` prints."""

    schema_: Literal["dialin/why/1"] = Field(default="dialin/why/1", alias="schema")
    summary: str = Field(description="which metrics changed with the verdict, in one sentence")
    reasons: list[Reason] = Field(description="strongest first; those of kind `unused` and `limit` follow")
    costs: list[CostRow]
    memory: dict[str, ComparedFigure] = Field(
        default_factory=dict, description="resident memory of the server in bytes, by candidate; empty where it is not known"
    )
    scaling: list[Scaling]
    statements: list[StatementRow] = Field(description="those that took most time, all candidates together; at most five")
    latencies: list[TransactionLatency] = Field(
        default_factory=list,
        description="all kinds of transaction together first, then each where there are several; empty where the load driver "
        "reports no histograms, as sysbench does not",
    )
    kinds: list[TransactionKind] = Field(
        default_factory=list,
        description="by kind of transaction, where the load is a program that reports several kinds without histograms",
    )
    statement_times: list[StatementTimes] = Field(description="empty where the build has no histogram of them")
    semaphores: Semaphores
    waits: list[WaitSummary]
    wait_trials: list[WaitTrial]
    profile: ProfileComparison | None = Field(default=None, description="null where no trial profiled the server")
    other_profiles: list[ProfileComparison] = Field(
        default_factory=list, description="those of other candidates, each with that of the baseline"
    )
    probes: list[ProbeCost]

    @classmethod
    def empty(cls, summary: str = "") -> Why:
        """Return an explanation without evidence."""
        return cls(
            summary=summary,
            reasons=[],
            costs=[],
            scaling=[],
            statements=[],
            statement_times=[],
            semaphores=Semaphores(places=[], spins=[], notes=[]),
            waits=[],
            wait_trials=[],
            probes=[],
        )
