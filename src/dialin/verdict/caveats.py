"""Notes on a verdict's figures: unsteady trials, seconds that the host lost, and what a winner costs."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from dialin.evidence.load_limits import load_figures
from dialin.measures.table import MEASURES
from dialin.model.course import Course
from dialin.model.evidence import Watched
from dialin.model.study import Goal, StudySpec
from dialin.model.trial import Trial
from dialin.model.workload import LoadLimit
from dialin.sentences.load_notes import BeyondLimit, NotCold, NotTheCapture, OwnLimit
from dialin.sentences.note import TypedNote
from dialin.sentences.result_notes import (
    CostsThroughput,
    CourseShape,
    FasterButStallsMore,
    HostLostSeconds,
    MoreStalls,
    NoisierThanExpected,
    NotSteady,
    OddTrials,
    Remedy,
)
from dialin.stats.contrasts import odd_trials
from dialin.stats.decide import Decision
from dialin.stats.trial_figures import Figures
from dialin.stats.trial_fit import TimedTrial, TrialFit
from dialin.text import counted, percent

_MORE_STALLS = 2.0
"""How many times the baseline's share of stalled seconds a candidate must have for a note."""
_LEAST_STALLS = 3
"""Stalled seconds below which there is no note, because a few occur by chance."""
_NOISIER = 1.5
"""How many times the expected noise a study must have for a note."""


def cost_notes(spec: StudySpec, choice: str, speed: Decision, figures: Mapping[str, Sequence[Figures]]) -> Iterator[TypedNote]:
    """Yield notes on what the recommended candidate costs that did not decide the study: throughput, or more stalls."""
    base = spec.baseline
    if choice == base or choice not in figures or base not in figures:
        return
    ratio = speed.ratios.get(choice)
    if spec.goal is not Goal.THROUGHPUT and ratio is not None and ratio.mean < 1 - MEASURES[Goal.THROUGHPUT].worthwhile:
        yield CostsThroughput(candidate=choice, ratio=ratio)
    if _is_timed_by_the_run(spec):
        return  # a run that takes twice as long as others is not a stall
    stalls, stalls_of_baseline = (sum(one.window.stalls for one in figures[name]) for name in (choice, base))
    seconds = [sum(one.window.seconds for one in figures[name]) for name in (choice, base)]
    shares = (stalls / seconds[0], stalls_of_baseline / seconds[1])
    if stalls >= _LEAST_STALLS and shares[0] >= _MORE_STALLS * shares[1]:
        yield MoreStalls(candidate=choice, share=shares[0], baseline=shares[1])


def stall_notes(spec: StudySpec, speed: Decision, figures: Mapping[str, Sequence[Figures]]) -> Iterator[FasterButStallsMore]:
    """Yield a note for each candidate whose typical speed is higher than the baseline's, but which loses more to stalls.

    `speed` is the decision by throughput.
    """
    if not speed.stalls_differ or spec.baseline not in figures:
        return
    baseline_cost = stall_cost(figures[spec.baseline])
    for name, typical in speed.typical_ratios.items():
        plain, cost = speed.ratios.get(name), stall_cost(figures.get(name, ()))
        if typical is None or plain is None or cost is None or baseline_cost is None or name == spec.baseline:
            continue
        if typical.mean <= 1 + spec.worthwhile or cost - baseline_cost <= spec.worthwhile:
            continue
        yield FasterButStallsMore(candidate=name, typical=typical.mean, cost=cost, baseline=baseline_cost)


def stall_cost(figures: Sequence[Figures]) -> float | None:
    """Return the share of the typical speed that stalls cost over all trials of a candidate; None where that speed is 0."""
    typical = sum(one.typical for one in figures)
    return 1 - sum(one.window.mean for one in figures) / typical if typical else None


_NO_WARM_UP = (Course.COLLAPSE, Course.TWO_LEVELS, Course.DEAD, Course.ERRATIC)
"""Courses that a longer warm-up does not change."""


def steadiness_notes(
    spec: StudySpec, done: Sequence[Trial], figures: Mapping[int, Figures], short: Collection[int] = ()
) -> list[NotSteady]:
    """Return a warning where trials that were measured for longer still did not become steady, with their courses and a remedy.

    `short` holds the ids of trials that did not reach the requested rate.
    """
    unsteady = [trial for trial in done if not figures[trial.id].shape.steady]
    if not unsteady:
        return []
    shapes = [figures[trial.id].shape for trial in unsteady]
    by_course = {course: [figures[t.id] for t in unsteady if figures[t.id].shape.course is course] for course in Course}
    if _is_timed_by_the_run(spec):
        remedy = Remedy.RUNS
    elif any(trial.id in short for trial in unsteady):  # the queue of transactions grows for as long as the load lasts
        remedy = Remedy.RATE
    elif any(shape.too_short for shape in shapes):
        remedy = Remedy.MEASURE
    elif all(shape.course in _NO_WARM_UP for shape in shapes):
        remedy = Remedy.NONE
    else:
        remedy = Remedy.WARMUP
    note = NotSteady(
        trials=tuple(trial.id for trial in unsteady),
        of=len(done),
        candidates=tuple(sorted({trial.candidate for trial in unsteady})),
        by_latency=spec.workload.rate > 0,
        shapes={course: _shape(of_course) for course, of_course in by_course.items() if of_course},
        remedy=remedy,
    )
    return [note]


def _shape(figures: Sequence[Figures]) -> CourseShape:
    shapes = [of_trial.shape for of_trial in figures]
    return CourseShape(
        trials=len(figures),
        change=max((shape.change for shape in shapes), key=abs),
        period=statistics.median(shape.period or 0.0 for shape in shapes),
        cv=max(of_trial.window.cv for of_trial in figures),
    )


def load_notes(
    limits: Sequence[LoadLimit], done: Sequence[Trial], watched: Mapping[int, Mapping[str, Watched]]
) -> list[BeyondLimit]:
    """Return a warning for each figure of the load that exceeds its limit: a share in any trial, a ratio of every candidate."""
    return [
        _beyond(figure.limit, tuple(figure.beyond), figure.judged)
        for figure in load_figures(limits, done, watched)
        if figure.limit.is_exceeded(figure.judged)
    ]


def _beyond(limit: LoadLimit, trials: tuple[int, ...], figure: float) -> BeyondLimit:
    if limit.text:
        # Not by format(): the text may have a name with braces.
        text = limit.text.replace("{trials}", counted(len(trials), "trial")).replace("{share}", percent(figure))
        return OwnLimit(trials=trials, gauge=limit.gauge, figure=figure, name=limit.code, text=text)
    kind = NotCold if limit.code == NotCold.code else NotTheCapture
    return kind(trials=trials, gauge=limit.gauge, figure=figure)


def noise_notes(spec: StudySpec, sd: float | None) -> Iterator[NoisierThanExpected]:
    """Yield a warning where the trial-to-trial SD is much higher than was expected before the study."""
    expected = spec.expected_noise
    if sd is not None and expected is not None and sd >= _NOISIER * expected:
        yield NoisierThanExpected(noise=sd, expected=expected)


def odd_trial_notes(goal: Goal, compared: Sequence[Trial], measured: Sequence[TimedTrial], fitted: TrialFit) -> list[OddTrials]:
    """Return a note for each candidate of which a trial differs from its others by more than noise.

    Args:
        goal: that of the study, whose measure the ratios are of.
        compared: the trials that a fit was made of.
        measured: their figures as candidates are compared by them, in the same order.
        fitted: the fit.
    """
    by_candidate: dict[str, dict[int, float]] = {}
    direction = 1 if MEASURES[goal].higher_is_better else -1
    for odd in odd_trials(measured, fitted):
        trial = compared[odd.place]
        by_candidate.setdefault(trial.candidate, {})[trial.id] = math.exp(direction * odd.difference)
    counts = Counter(trial.candidate for trial in compared)
    return [
        OddTrials(candidate=name, of=counts[name], ratios=tuple(found.values()), trials=tuple(found))
        for name, found in by_candidate.items()
    ]


def lost_notes(done: Sequence[Trial], figures: Mapping[int, Figures]) -> list[HostLostSeconds]:
    """Return a note on the seconds, or seconds of runs, that were left out because the host stalled or CPU was stolen."""
    affected = [trial for trial in done if figures[trial.id].lost]
    if not affected:
        return []
    lost = sum(figures[trial.id].lost for trial in affected)
    measured = lost + sum(figures[trial.id].seconds for trial in done)
    return [HostLostSeconds(seconds=lost, share=lost / measured, trials=tuple(trial.id for trial in affected))]


def _is_timed_by_the_run(spec: StudySpec) -> bool:
    runs = spec.workload.traits.runs
    return runs is not None and runs.of == "query"
