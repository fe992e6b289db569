"""Notes on the figures and the outcome of a verdict: what a choice costs, trials that were odd or failed, noise."""

from __future__ import annotations

import math
from enum import StrEnum

from pydantic import Field

from dialin.cause_sentences import with_advice
from dialin.measures.table import MEASURES
from dialin.model.cause import Cause
from dialin.model.course import Course
from dialin.model.durability import DurabilityLoss
from dialin.model.frozen import FrozenModel
from dialin.model.study import Goal, StudySpec
from dialin.model.verdict import Estimate
from dialin.sentences.changes import change_with_confidence, detectable_difference
from dialin.sentences.load_units import units
from dialin.sentences.names import DIRECTORY, name_in_sentence
from dialin.sentences.note import TypedNote
from dialin.text import change, counted, duration, exact_percent, how_to_resume, listed, percent
from dialin.variables.durability import losses_text


class CostsThroughput(TypedNote):
    """The recommended candidate has less throughput than the baseline, and another goal decided."""

    code = "costs_throughput"
    candidate: str
    ratio: Estimate

    def sentence(self, spec: StudySpec) -> str:
        costs = "costs" if self.ratio.high is not None and self.ratio.high < 1 else "may cost"
        figure = change_with_confidence(self.ratio, 1 - spec.alpha)
        return f"{name_in_sentence(spec, self.candidate)} {costs} throughput: {figure} against the baseline"


class MoreStalls(TypedNote):
    """The recommended candidate stalls more than the baseline: shares of the measured seconds."""

    code = "more_stalls"
    candidate: str
    share: float
    baseline: float

    def sentence(self, spec: StudySpec) -> str:
        return (
            f"{name_in_sentence(spec, self.candidate)} stalls more than the baseline: {1000 * self.share:.1f} stalled "
            f"seconds per 1000 s against {1000 * self.baseline:.1f}. If steadiness matters, use --goal stability"
        )


class FasterButStallsMore(TypedNote):
    """A candidate has a higher typical speed than the baseline (a ratio) and loses a larger share of it to stalls."""

    code = "faster_but_stalls_more"
    candidate: str
    typical: float
    cost: float
    baseline: float

    def sentence(self, spec: StudySpec) -> str:
        return (
            f"{name_in_sentence(spec, self.candidate)} has a higher typical speed ({change(self.typical)}) but stalls more: "
            f"stalls cost it {percent(self.cost)} of that speed, the baseline {percent(self.baseline)}. "
            "Throughput decides, and it includes stalls"
        )


class Remedy(StrEnum):
    """What helps where trials do not become steady."""

    RUNS = "runs"
    RATE = "rate"
    MEASURE = "measure"
    NONE = "none"
    WARMUP = "warmup"


_REMEDIES = {
    Remedy.RUNS: "start a new study with more runs (--workload-option runs=N)",
    Remedy.RATE: "start a new study with a lower --rate",
    Remedy.MEASURE: "start a new study with a longer --measure",
    Remedy.NONE: "a longer warm-up does not help; dialin explain shows what the server waited for",
    Remedy.WARMUP: "start a new study with a longer --warmup",
}


class CourseShape(FrozenModel):
    """Trials with one course: how many, their largest change, median period (seconds) and highest CV."""

    trials: int
    change: float
    period: float
    cv: float

    def text(self, course: Course) -> str:
        most = change(1 + self.change)
        match course:
            case Course.OSCILLATION:
                return f"{self.trials} oscillated with a period of {duration(self.period)}, and cover less than two periods"
            case Course.SHIFT:
                return f"{self.trials} shifted to another level ({most} at most)"
            case Course.TREND:
                return f"{self.trials} still followed a trend ({most} at most)"
            case Course.COLLAPSE:
                return f"{self.trials} collapsed and did not recover ({most} at most)"
            case Course.TWO_LEVELS:
                return f"{self.trials} switched between two levels ({most} from the higher to the lower one at most)"
            case Course.DEAD:
                return f"{self.trials} completed no transaction"
            case Course.ERRATIC:
                return f"{self.trials} varied too much (CV up to {percent(self.cv)})"
            case Course.STEADY:
                return f"{self.trials} needed most of the time to become steady"


class NotSteady(TypedNote):
    """Trials, `of` so many, that did not become steady."""

    code = "not_steady"
    trials: tuple[int, ...]
    of: int
    candidates: tuple[str, ...]
    by_latency: bool
    shapes: dict[Course, CourseShape]
    remedy: Remedy

    def sentence(self, spec: StudySpec) -> str:
        by = " in latency" if self.by_latency else ""
        return (
            f"{len(self.trials)} of {counted(self.of, 'trial')} did not become steady{by} ({', '.join(self.candidates)}): "
            f"{listed([shape.text(course) for course, shape in self.shapes.items()])}; {_REMEDIES[self.remedy]}"
        )


class NoisierThanExpected(TypedNote):
    """The trial-to-trial SD was larger than earlier studies let expect."""

    code = "noisier_than_expected"
    noise: float
    expected: float

    def sentence(self, spec: StudySpec) -> str:
        return (
            f"Noise was {percent(self.noise)}, expected {percent(self.expected)} from earlier studies: something disturbs "
            "this machine, so only larger differences than planned can be detected. Run dialin doctor to look for the cause"
        )


class HostLostSeconds(TypedNote):
    """Seconds, and their share of what was measured, that are left out because the host stalled."""

    code = "host_lost_seconds"
    seconds: int
    share: float
    trials: tuple[int, ...]

    def sentence(self, spec: StudySpec) -> str:
        where, lost = counted(len(self.trials), "trial"), f"({percent(self.share)})"
        if units(spec.workload).by_run:
            took = counted(self.seconds, "second")
            what = f"during runs of {where}, which took {took} {lost}: these runs are excluded"
        else:
            what = f"in {counted(self.seconds, 'measured second')} {lost}, in {where}: they are excluded"
        return f"The host itself stalled {what}. Run dialin doctor to see what can be done about it"


class OddTrials(TypedNote):
    """Trials of a candidate, `of` so many, that differ from its others; ratios of the goal's measure.

    `left_out` are trials of a proof that do not count.
    """

    code = "odd_trials"
    candidate: str
    of: int
    ratios: tuple[float, ...]
    trials: tuple[int, ...]
    left_out: bool = False

    def sentence(self, spec: StudySpec) -> str:
        worst = max(self.ratios, key=lambda ratio: abs(math.log(ratio)))
        how = ("slower", "faster") if spec.goal is Goal.THROUGHPUT else ("worse", "better")
        is_better = (worst > 1) == MEASURES[spec.goal].higher_is_better
        is_one = len(self.ratios) == 1
        why = "and does not count: something disturbed it" if self.left_out else "which its seconds do not explain"
        return (
            f"{name_in_sentence(spec, self.candidate)}: {len(self.ratios)} of {counted(self.of, 'trial')} "
            f"{'was' if is_one else 'were up to'} {percent(abs(worst - 1))} {how[is_better]} than its others, {why}. "
            f"Trials: {listed([str(number) for number in self.trials])}"
        )


class Unsafe(TypedNote):
    """The server of a candidate failed in more trials than the baseline's."""

    code = "unsafe"
    candidate: str
    failed: int
    trials: int
    baseline_failed: int
    baseline_trials: int

    def sentence(self, spec: StudySpec) -> str:
        return (
            f"{name_in_sentence(spec, self.candidate)} is never recommended: its server failed in {self.failed} of "
            f"{counted(self.trials, 'trial')}; the baseline's failed in {self.baseline_failed} of {self.baseline_trials}"
        )


class FailedTrials(TypedNote):
    """How many trials of a candidate failed, and why the newest did."""

    code = "failed_trials"
    candidate: str
    failed: int
    cause: Cause | None

    def sentence(self, spec: StudySpec) -> str:
        reason = (with_advice(self.cause) if self.cause else "") or "reason not available"
        return f"{name_in_sentence(spec, self.candidate)}: {counted(self.failed, 'trial')} failed; {reason}"


class Inconclusive(TypedNote):
    """A study that decided nothing: the seconds it took and had, and what a longer one may need in all; None if unknown."""

    code = "inconclusive"
    seconds: float
    budget: float
    trials: int
    detectable: float | None = None
    trials_needed: int | None = None
    minutes: int | None = None
    directory: str = Field(default=DIRECTORY, exclude=True)

    def sentence(self, spec: StudySpec) -> str:
        took = f"Nothing was decided in {duration(self.seconds)} of at most {duration(self.budget)}"
        if self.detectable is None:
            return took
        text = f"{took}. With this noise, {detectable_difference(self.trials, self.detectable)}"
        if self.trials_needed is not None:
            command = how_to_resume(self.directory, self.minutes)
            text += f"; a choice may take about {self.trials_needed:,} trials: {command}"
        return f"{text}. Or start a new study with a larger --worthwhile"


class WeakerDurability(TypedNote):
    """What a candidate can lose in a crash that the baseline keeps."""

    code = "weaker_durability"
    candidate: str
    losses: tuple[DurabilityLoss, ...]

    def sentence(self, spec: StudySpec) -> str:
        return f"{name_in_sentence(spec, self.candidate)} weakens durability: {losses_text(self.losses)}"


class SmallestMemory(TypedNote):
    """The smallest memory limit of a container whose candidate is shown to be as good as that of the largest, the baseline."""

    code = "smallest_memory"
    candidate: str

    def sentence(self, spec: StudySpec) -> str:
        largest = name_in_sentence(spec, spec.baseline)
        return (
            f"{name_in_sentence(spec, self.candidate)} is the smallest size shown not to be worse than {largest} by more than "
            f"{exact_percent(spec.worthwhile)}"
        )


class DifferentBuilds(TypedNote):
    """Candidates run on several builds."""

    code = "different_builds"
    builds: tuple[str, ...]

    def sentence(self, spec: StudySpec) -> str:
        return "Candidates run on different builds: every default that differs between them is part of the comparison"
