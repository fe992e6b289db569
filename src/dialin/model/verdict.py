"""The verdict: who wins, ties or loses, by how much and how surely; and what is recommended.

`Verdict` is the contract of `verdict.json`; its JSON Schema is published in `schema/`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from dialin.model.durability import DurabilityLoss
from dialin.model.frozen import Document, FrozenModel
from dialin.model.setting import Value
from dialin.model.study import Goal


class Outcome(StrEnum):
    """The outcome of a study.

    A `winner` was shown to be better than every other candidate; `safe_choice` is within what is worthwhile of the best, very
    probably, though not shown to beat each of the others. A `gain` ends a tune: the recommended setting was proven to be better
    than the baseline in confirmation trials.
    """

    WINNER = "winner"
    SAFE_CHOICE = "safe_choice"
    TIE = "tie"
    NO_WORTHWHILE_DIFFERENCE = "no_worthwhile_difference"
    INCONCLUSIVE = "inconclusive"
    GAIN = "gain"


class ReasonCode(StrEnum):
    """Why a candidate is recommended; those from `fewest_changes` on are of a tune."""

    IDENTICAL_CANDIDATES = "identical_candidates"
    ANY_BUT_FAILED_BASELINE = "any_but_failed_baseline"
    NOTHING_TO_GAIN = "nothing_to_gain"
    BASELINE_AMONG_BEST = "baseline_among_best"
    BASELINE_IS_BEST = "baseline_is_best"
    OTHERS_WORSE = "others_worse"
    NEAR_THE_BEST = "near_the_best"
    AMONG_BEST = "among_best"
    BEST_BUT_FAILED_BASELINE = "best_but_failed_baseline"
    WEAKER_DURABILITY = "weaker_durability"
    CONFOUNDED = "confounded"
    DRIVER_DELAYED = "driver_delayed"
    LATE_EFFECT = "late_effect"
    HOSTS_DISAGREE = "hosts_disagree"
    NOT_ON_EACH_KIND = "not_on_each_kind"
    BASELINE_FAILED = "baseline_failed"
    OTHERS_UNSAFE = "others_unsafe"
    OTHERS_FAILED = "others_failed"
    SHOWN_BETTER = "shown_better"
    NOTHING_SHOWN = "nothing_shown"
    FEWEST_CHANGES = "fewest_changes"
    GAIN_EXCLUDED = "gain_excluded"
    GAIN_NOT_SHOWN = "gain_not_shown"
    CHOICE_UNSAFE = "choice_unsafe"
    CHOICE_NOT_PROVEN = "choice_not_proven"


class DecidedBy(StrEnum):
    """The figure of each trial that candidates were compared by: that of the goal, or the typical speed.

    Throughput is the plain mean, transactions divided by seconds. The typical speed forgives stalls, and decides in place of
    throughput only while these do not differ between candidates.
    """

    GOAL = "goal"
    TYPICAL_SPEED = "typical_speed"


class AgainstBest(StrEnum):
    """How a candidate compares with the best one, while a study is decided; what a reader sees is `CandidateState`.

    One that `loses` was shown to be worse. One that is `behind` is very probably worse by more than is worthwhile, without that
    proof. `inconclusive` means that neither a difference nor its absence was shown. One that is `unsafe` had more server
    failures than the baseline and is not compared; one that `failed` could not be measured.
    """

    WINS = "wins"
    TIES = "ties"
    LOSES = "loses"
    BEHIND = "behind"
    INCONCLUSIVE = "inconclusive"
    UNSAFE = "unsafe"
    FAILED = "failed"


class CandidateState(StrEnum):
    """What a study says of a candidate against the baseline, and of the baseline against the best of the others.

    `better` and `worse` are proven, for all candidates and looks together; `worse` is also a candidate that is proven to be
    worse than the best and not better than the baseline. `likely_better` and `likely_worse`: its own interval excludes 0 %, or
    it is very probably not the best, without that proof. `safe_choice` is the study's choice where that is not proven to be
    better. `equal`: its whole interval is within what is worthwhile. `no_claim`: there are too few trials, or something else
    could explain a difference. One that is `not_measured` has no completed trial.
    """

    BETTER = "better"
    LIKELY_BETTER = "likely_better"
    SAFE_CHOICE = "safe_choice"
    EQUAL = "equal"
    TOO_CLOSE = "too_close"
    LIKELY_WORSE = "likely_worse"
    WORSE = "worse"
    UNSAFE = "unsafe"
    NO_CLAIM = "no_claim"
    NOT_MEASURED = "not_measured"


class Estimate(FrozenModel):
    """A figure with its interval, which holds by itself at the study's confidence.

    What is claimed of all candidates and looks together rests on stricter thresholds, so an interval may exclude a difference
    of zero where a claim is not made yet.
    """

    mean: float
    low: float | None = Field(description="lower end of the interval; null where there is too little data for one")
    high: float | None = Field(description="upper end of the interval; null where there is too little data for one")

    @classmethod
    def alone(cls, mean: float) -> Estimate:
        """Return a figure without an interval."""
        return cls(mean=mean, low=None, high=None)

    @property
    def excludes_one(self) -> bool:
        """Whether there is an interval that lies wholly above or wholly below 1."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high

    def reaching(self, ratio: float) -> Estimate:
        """Return the figure with an interval that holds `ratio` as well; without any interval as it is."""
        if self.low is None or self.high is None:
            return self
        return Estimate(mean=self.mean, low=min(self.low, ratio), high=max(self.high, ratio))

    def scaled(self, factor: float) -> Estimate:
        """Return the figure in another unit: the mean and both ends times a positive factor."""
        low, high = (None if end is None else factor * end for end in (self.low, self.high))
        return Estimate(mean=factor * self.mean, low=low, high=high)

    def inverted(self) -> Estimate:
        """Return one divided by the figure, which must be above zero; the ends change places."""
        low, high = (None if end is None else 1 / end for end in (self.high, self.low))
        return Estimate(mean=1 / self.mean, low=low, high=high)


class ComparedFigure(FrozenModel):
    """A figure of a candidate and its ratio to the baseline's, both of one estimate: levels divide to ratios."""

    level: Estimate = Field(description="the figure itself; of what probes count it has no interval")
    ratio: Estimate | None = Field(description="as a ratio to the baseline's; null where the two cannot be compared")

    def scaled(self, factor: float, of_ratio: float) -> ComparedFigure:
        """Return the figure in another unit: the level times one factor, the ratio times another."""
        return ComparedFigure(level=self.level.scaled(factor), ratio=self.ratio and self.ratio.scaled(of_ratio))


class CandidateVerdict(FrozenModel):
    """Results of one candidate. A figure is null if no trial of the candidate was completed."""

    name: str
    server: str = Field(description="the build it ran on, in full")
    setting: dict[str, Value] = Field(description="the requested values")
    in_force: dict[str, str] = Field(
        description="the effective values of the same variables, as the server reported them after boot"
    )
    real: dict[str, str] = Field(
        default_factory=dict, description="counts of the real objects behind these variables, where they can be counted"
    )
    tps: Estimate | None = Field(description="throughput: transactions divided by measured seconds")
    ratio: Estimate | None = Field(description="throughput as a ratio to the baseline's")
    queries_per_transaction: float | None = Field(
        default=None, description="queries of all its trials divided by their transactions; null where none were counted"
    )
    qps: Estimate | None = Field(default=None, description="queries per second: `tps` times `queries_per_transaction`")
    typical_ratio: Estimate | None = Field(
        default=None, description="typical speed, which leaves out stalls, as a ratio to the baseline's; it is not throughput"
    )
    stall_cost: float | None = Field(default=None, description="share of the typical speed that stalls cost")
    goal_ratio: Estimate | None = Field(
        default=None,
        description="the measure of the goal (throughput, variation, latency, a cost) as a ratio to the baseline's",
    )
    probability: float | None = Field(
        default=None, description="probability of being within `worthwhile` of the best candidate, by the goal; null if unknown"
    )
    shortfall: float | None = Field(
        default=None, description="how far it is behind the best candidate on average, by the goal, as a share; null if unknown"
    )
    pareto: bool = Field(
        default=False, description="of two trials or more, and no other candidate like that is both faster and steadier"
    )
    cv: Estimate | None = Field(description="coefficient of variation of the measured seconds of a trial")
    worst_second_tps: float | None = Field(description="the lowest measured second of any trial")
    stall_seconds_per_1000: Estimate | None = Field(description="measured seconds below half of their trial's median, per 1000")
    latency_ms: Estimate | None = Field(description="latency, ms; `percentile` says which percentile")
    latency_ratio: Estimate | None = Field(default=None, description="the same as a ratio to the baseline's")
    cost: Estimate | None = Field(
        default=None,
        description="the figure of a goal that is a cost to the server, such as cpu: per transaction, or per statement of live "
        "traffic; null with any other goal",
    )
    effective_seconds: float | None = Field(
        default=None, description="how many independent seconds the measured seconds are worth"
    )
    lost_seconds: int = Field(default=0, description="seconds excluded because the host itself stalled")
    unsteady: int = Field(default=0, description="trials that did not become steady")
    errors_per_s: float | None = Field(description="ignored errors (such as deadlocks) per second")
    trials: int = Field(description="completed trials")
    failed: int = Field(description="trials that failed")
    state: CandidateState
    weaker_durability: list[DurabilityLoss] = Field(
        default_factory=list, description="what it can lose in a crash that the baseline keeps, by its whole effective setting"
    )


class Confirmation(FrozenModel):
    """What confirmation trials say of a choice that was made before them, so that choosing does not flatter it."""

    candidate: str
    ratio: Estimate = Field(
        description="ratio of the goal's measure to the baseline's; the interval holds for this comparison alone"
    )
    blocks: int


class Note(FrozenModel):
    """A warning or a confound: a code with its figures, and the sentence that is made of them."""

    code: str
    text: str = Field(default="", description="for people; made of the code and the data when a verdict is written or shown")
    data: dict[str, Any] = Field(default_factory=dict)


class TuneOutcome(StrEnum):
    """What a tune ended with; `running` while it has not ended."""

    GAIN = "gain"
    NOTHING = "nothing"
    INCONCLUSIVE = "inconclusive"
    RUNNING = "running"


class FigureSource(StrEnum):
    """What a figure of a tune rests on: confirmation trials of its proof, or the model of all trials."""

    PROOF = "proof"
    MODEL = "model"


class ResponsePoint(FrozenModel):
    """What one value of a variable is expected to do, by the model of all trials of a tune.

    Where confirmation trials measured what the variable carries, the response is stretched so that it leads through that.
    """

    value: Value
    ratio: Estimate = Field(
        description="the measure with the best setting and this value as a ratio to that with the same setting, but this "
        "variable as in the baseline; the interval is of 95 %"
    )


class TunedVariable(FrozenModel):
    """Results of a tune for one variable, by the measure of the goal."""

    name: str
    before: Value = Field(description="the baseline's value")
    recommended: Value | None = Field(default=None, description="null where the baseline's value stays")
    effect: float | None = Field(
        default=None,
        description="by how much the measure changes along its range at most, all else as in the best setting; relative, by "
        "the model of all trials",
    )
    carries: Estimate | None = Field(
        default=None,
        description="the measure with the recommended setting as a ratio to that with the same setting, but this variable as "
        "in the baseline",
    )
    carries_by: FigureSource | None = Field(default=None, description="what `carries` rests on")
    companions: list[str] = Field(
        default_factory=list,
        description="recommended variables that no trial changed without this one: which of them carries it is not known",
    )
    response: list[ResponsePoint] = Field(
        default_factory=list,
        description="the measure along its range, special values and words after it; empty before the first trial has ended",
    )


class TunedPair(FrozenModel):
    """Two recommended variables that depend on each other."""

    variables: tuple[str, str]
    ratio: Estimate = Field(
        description="what both gain together, to the product of what each gains without the other, by the model; above 1 each "
        "needs the other, below 1 one can replace the other"
    )


class TuneFailure(FrozenModel):
    """A setting whose server crashed or did not start, or that was refused."""

    trial: int
    setting: dict[str, Value]
    reason: str


class TuneFindings(FrozenModel):
    """Results of a tune."""

    outcome: TuneOutcome
    best: dict[str, Value] = Field(
        description="the best setting so far by the model, without proof: what it changes; at the end, the one that was proven"
    )
    expected: float | None = Field(
        default=None,
        description="its measure by the goal as a ratio to the baseline's, by the model; null once it was proven",
    )
    recommended: dict[str, Value] = Field(default_factory=dict, description="what is recommended to change of the baseline")
    gain: Estimate | None = Field(
        default=None,
        description="its measure as a ratio to the baseline's, from confirmation trials only",
    )
    worthwhile: float = Field(description="a gain below this is nothing")
    variables: list[TunedVariable] = Field(description="recommended changes first, those that carry most, then by effect")
    interactions: list[TunedPair] = Field(
        default_factory=list, description="pairs of recommended variables that depend on each other, the strongest first"
    )
    failures: list[TuneFailure] = Field(default_factory=list)
    memory_limit: float | None = Field(default=None, description="bytes of memory that a setting may use; null for no limit")
    fence: float | None = Field(default=None, description="bytes that settings stay below since a crash; null without one")
    searched: int = Field(default=0, description="trials of the search")
    proven: int = Field(default=0, description="completed trials of the proof")
    left_out: list[int] = Field(
        default_factory=list,
        description="trials of the proof that do not count: far slower than all others predict, as no other of its setting",
    )


class LiveCandidate(FrozenModel):
    """Results of one candidate on live traffic; ratios are to the baseline's."""

    name: str
    load: Estimate | None = Field(description="statements that clients sent per second, as a ratio")
    with_load: Estimate | None = Field(
        description="the goal's measure as a ratio, with the offered load and its mix as covariates"
    )
    without_load: Estimate | None = Field(description="the same without covariates")
    latency: Estimate | None = Field(
        default=None, description="where latency is not the goal: latency as a ratio, with the load and its mix as covariates"
    )
    disagrees: bool = Field(default=False, description="`with_load` and `without_load` disagree: nothing is claimed")
    costs: dict[Goal, Estimate] = Field(
        default_factory=dict,
        description="what a statement cost the server, by goal, as a ratio; with the load and its mix as covariates",
    )
    settling: Estimate | None = Field(
        default=None, description="the effect in the second half of periods as a ratio to that in the first; 1 once it settled"
    )
    after_other: Estimate | None = Field(
        default=None,
        description="the goal's measure in a period that follows one of this candidate as a ratio to one that follows the "
        "baseline",
    )
    carries_over: bool = Field(default=False, description="`settling` or `after_other` is clearly not 1")
    lasts: bool = Field(
        default=False,
        description="most of the effect may be still to come when a period ends, or its direction changes within one: it has "
        "no interval, and nothing is claimed",
    )
    trips: int = Field(default=0, description="periods in which the guard restored the baseline")


class LiveFindings(FrozenModel):
    """What a study on live traffic has beside its verdict."""

    quads: int = Field(description="pairs of blocks in mirrored order that entered the comparison")
    quads_needed: int = Field(description="how many of them are needed before anything is claimed or chosen")
    statements_per_s: float = Field(description="what clients sent per second in the measured seconds of all periods")
    cpu_share: float | None = Field(
        default=None, description="the share of its machine's CPU that the server used; null where it runs elsewhere"
    )
    second_halves: bool = Field(
        default=False,
        description="an effect may settle more slowly than the washout: second halves of periods alone were compared",
    )
    washout: float | None = Field(
        default=None,
        description="seconds at the start of a period that are left out; periods with a shorter one are not compared",
    )
    shorter: int = Field(default=0, description="periods that are not compared, because their washout was shorter")
    washout_needed: float | None = Field(
        default=None,
        description="how long the washout must be, seconds, because an effect settles so slowly that most of it may be still "
        "to come when a period ends; null where none does",
    )
    saturated: float = Field(
        default=0.0, description="the share of periods in which the server was saturated, by its CPU or by threads that run"
    )
    running: float | None = Field(default=None, description="threads that ran, in the median period")
    own_share: float = Field(description="the share of the measured time in which the server answered dialin's own readings")
    candidates: list[LiveCandidate]


class Verdict(Document):
    """What `verdict.json` holds."""

    schema_: Literal["dialin/verdict/1"] = Field(default="dialin/verdict/1", alias="schema")
    verdict: Outcome
    goal: Goal = Field(default=Goal.THROUGHPUT, description="what decides")
    decided_by: DecidedBy = Field(
        default=DecidedBy.GOAL, description="the figure of each trial that candidates were compared by"
    )
    percentile: int = Field(
        default=95, description="which percentile `latency_ms` is; 0 for the mean of a fixed mix of statements"
    )
    headline: str = Field(description="the verdict in one sentence")
    reason: str = Field(description="why this is recommended, in words; made of the code and the data below")
    reason_code: ReasonCode
    reason_data: dict[str, Any] = Field(default_factory=dict, description="the figures of the reason")
    recommended: dict[str, Value] = Field(description="the setting to use")
    recommended_candidate: str
    winners: list[str]
    baseline: str
    candidates: list[CandidateVerdict]
    shown_best: bool = Field(
        default=False, description="shown that nothing is better than the recommended candidate by more than what is worthwhile"
    )
    shown_better: bool = Field(default=False, description="shown that the recommended candidate is better than the baseline")
    probability_all_near: float | None = Field(
        default=None, description="probability that all candidates are within `worthwhile` of the best; null if unknown"
    )
    blocks: int = Field(description="blocks that entered the comparison")
    trials: int = Field(description="completed trials that entered the comparison")
    minutes_of_load: float = Field(description="minutes in which load was measured")
    minutes_of_wall_clock: float = Field(description="minutes of all steps of all trials, without waiting for a server")
    confidence: float
    worthwhile: float
    detectable: float | None = Field(
        description="the smallest relative difference that this many trials can detect at this noise; null if unknown"
    )
    detectable_planned: float | None = Field(
        default=None, description="the same, as expected before the study started; null if the noise was unknown"
    )
    confirmed: Confirmation | None = Field(
        default=None, description="the recommended candidate against the baseline in confirmation trials, with --confirm"
    )
    lost_seconds: int = Field(default=0, description="measured seconds excluded because the host itself stalled")
    trial_noise: float | None = Field(description="trial-to-trial standard deviation about the machine's drift, relative")
    warnings: list[Note]
    confounds: list[Note]
    server: dict[str, Any]
    host: dict[str, Any]
    workload: dict[str, Any] = Field(
        description="the load; `driver` describes the load driver in one line, `driver_choices` holds what it chose in the "
        "first trial and used in every later one, for each number of threads"
    )
    tune: TuneFindings | None = Field(default=None, description="results of a tune; null in other studies")
    live: LiveFindings | None = Field(default=None, description="results on live traffic; null in other studies")

    def candidate(self, name: str) -> CandidateVerdict:
        return next(candidate for candidate in self.candidates if candidate.name == name)

    @property
    def is_throughput_offered(self) -> bool:
        """Whether clients decided the throughput, so that it says nothing of the candidates."""
        return self.live is not None and self.goal is not Goal.THROUGHPUT

    @property
    def minutes_to_decide(self) -> int | None:
        """About how many minutes in all may decide what is inconclusive; None where that is unknown."""
        named = [self.reason_data, *(note.data for note in self.warnings if note.code == "inconclusive")]
        return next((data["minutes"] for data in named if data.get("minutes")), None)

    @property
    def chosen(self) -> CandidateVerdict:
        return self.candidate(self.recommended_candidate)
