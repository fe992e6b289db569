"""Notes on a verdict's figures: unsteady trials, seconds that the host lost, and what a winner costs."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from dialin.evidence.load_figures import load_figures
from dialin.model.course import Course
from dialin.model.evidence import Watched
from dialin.model.study import WORTHWHILE, Goal, StudySpec
from dialin.model.trial import Trial
from dialin.model.verdict import Note
from dialin.model.workload import LoadLimit
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


def cost_notes(spec: StudySpec, choice: str, speed: Decision, figures: Mapping[str, Sequence[Figures]]) -> list[Note]:
    """Return notes on what the recommended candidate costs that did not decide the study: throughput, or more stalls."""
    base = spec.baseline
    if choice == base or choice not in figures or base not in figures:
        return []
    notes = []
    ratio = speed.ratios.get(choice)
    if spec.goal is not Goal.THROUGHPUT and ratio is not None and ratio.mean < 1 - WORTHWHILE[Goal.THROUGHPUT]:
        data = {"candidate": choice, "ratio": ratio.mean, "low": ratio.low, "high": ratio.high}
        notes.append(Note(code="costs_throughput", data=data))
    if _is_timed_by_the_run(spec):
        return notes  # a run that takes twice as long as others is not a stall
    stalls, stalls_of_baseline = (sum(one.window.stalls for one in figures[name]) for name in (choice, base))
    seconds = [sum(one.window.seconds for one in figures[name]) for name in (choice, base)]
    shares = (stalls / seconds[0], stalls_of_baseline / seconds[1])
    if stalls >= _LEAST_STALLS and shares[0] >= _MORE_STALLS * shares[1]:
        notes.append(Note(code="more_stalls", data={"candidate": choice, "share": shares[0], "baseline": shares[1]}))
    return notes


def stall_notes(spec: StudySpec, speed: Decision, figures: Mapping[str, Sequence[Figures]]) -> list[Note]:
    """Return a note for each candidate whose typical speed is higher than the baseline's, but which loses more to stalls.

    `speed` is the decision by throughput.
    """
    if not speed.stalls_differ or spec.baseline not in figures:
        return []
    notes = []
    baseline_cost = stall_cost(figures[spec.baseline])
    for name, typical in speed.typical_ratios.items():
        plain, cost = speed.ratios.get(name), stall_cost(figures.get(name, ()))
        if typical is None or plain is None or cost is None or baseline_cost is None or name == spec.baseline:
            continue
        if typical.mean <= 1 + spec.worthwhile or cost - baseline_cost <= spec.worthwhile:
            continue
        data = {"candidate": name, "typical": typical.mean, "cost": cost, "baseline": baseline_cost}
        notes.append(Note(code="faster_but_stalls_more", data=data))
    return notes


def stall_cost(figures: Sequence[Figures]) -> float | None:
    """Return the share of the typical speed that stalls cost over all trials of a candidate; None where that speed is 0."""
    typical = sum(one.typical for one in figures)
    return 1 - sum(one.window.mean for one in figures) / typical if typical else None


_NO_WARM_UP = (Course.COLLAPSE, Course.TWO_LEVELS, Course.DEAD, Course.ERRATIC)
"""Courses that a longer warm-up does not change."""


def steadiness_notes(
    spec: StudySpec, done: Sequence[Trial], figures: Mapping[int, Figures], short: Collection[int] = ()
) -> list[Note]:
    """Return a warning where trials that were measured for longer still did not become steady, with their courses and a remedy.

    `short` holds the ids of trials that did not reach the requested rate.
    """
    unsteady = [trial for trial in done if not figures[trial.id].shape.steady]
    if not unsteady:
        return []
    shapes = [figures[trial.id].shape for trial in unsteady]
    names = sorted({trial.candidate for trial in unsteady})
    by_course = {course: [figures[t.id] for t in unsteady if figures[t.id].shape.course is course] for course in Course}
    if _is_timed_by_the_run(spec):
        remedy = "runs"
    elif any(trial.id in short for trial in unsteady):  # the queue of transactions grows for as long as the load lasts
        remedy = "rate"
    elif any(shape.too_short for shape in shapes):
        remedy = "measure"
    elif all(shape.course in _NO_WARM_UP for shape in shapes):
        remedy = "none"
    else:
        remedy = "warmup"
    data = {
        "trials": [trial.id for trial in unsteady],
        "of": len(done),
        "candidates": names,
        "by_latency": spec.workload.rate > 0,
        "courses": sorted({shape.course.value for shape in shapes}),
        "shapes": {course.value: _shape(of_course) for course, of_course in by_course.items() if of_course},
        "remedy": remedy,
    }
    return [Note(code="not_steady", data=data)]


def _shape(figures: Sequence[Figures]) -> dict[str, float]:
    """Return the number of trials with one course, and their largest change, median period (seconds) and highest CV."""
    shapes = [of_trial.shape for of_trial in figures]
    return {
        "trials": len(figures),
        "change": max((shape.change for shape in shapes), key=abs),
        "period": statistics.median(shape.period or 0.0 for shape in shapes),
        "cv": max(of_trial.window.cv for of_trial in figures),
    }


def load_notes(limits: Sequence[LoadLimit], done: Sequence[Trial], watched: Mapping[int, Mapping[str, Watched]]) -> list[Note]:
    """Return a warning for each figure of the load that exceeds its limit: a share in any trial, a ratio of every candidate."""
    notes = []
    for figure in load_figures(limits, done, watched):
        if figure.limit.is_exceeded(figure.judged):
            limit, trials = figure.limit, list(figure.beyond)
            text = limit.text.format(trials=counted(len(trials), "trial"), share=percent(figure.judged))
            value = {"ratio": figure.judged} if limit.is_ratio else {"share": figure.judged}
            notes.append(Note(code=limit.code, text=text, data={"trials": trials, **value}))
    return notes


def noise_notes(spec: StudySpec, sd: float | None) -> list[Note]:
    """Return a warning where the trial-to-trial SD is much higher than was expected before the study."""
    expected = spec.expected_noise
    if sd is None or expected is None or sd < _NOISIER * expected:
        return []
    return [Note(code="noisier_than_expected", data={"noise": sd, "expected": expected})]


def odd_trial_notes(compared: Sequence[Trial], measured: Sequence[TimedTrial], fitted: TrialFit) -> list[Note]:
    """Return a note for each candidate of which a trial differs from its others by more than noise.

    Args:
        compared: the trials that a fit was made of.
        measured: their figures, in the same order.
        fitted: the fit.
    """
    by_candidate: dict[str, dict[int, float]] = {}
    for odd in odd_trials(measured, fitted):
        trial = compared[odd.place]
        by_candidate.setdefault(trial.candidate, {})[trial.id] = math.exp(odd.difference)
    counts = Counter(trial.candidate for trial in compared)
    return [
        Note(code="odd_trials", data={"candidate": name, "of": counts[name], "ratios": [*found.values()], "trials": [*found]})
        for name, found in by_candidate.items()
    ]


def lost_notes(done: Sequence[Trial], figures: Mapping[int, Figures]) -> list[Note]:
    """Return a note on the seconds, or seconds of runs, that were left out because the host stalled or CPU was stolen."""
    affected = [trial for trial in done if figures[trial.id].lost]
    if not affected:
        return []
    lost = sum(figures[trial.id].lost for trial in affected)
    measured = lost + sum(figures[trial.id].seconds for trial in done)
    data = {"seconds": lost, "share": lost / measured, "trials": [trial.id for trial in affected]}
    return [Note(code="host_lost_seconds", data=data)]


def _is_timed_by_the_run(spec: StudySpec) -> bool:
    runs = spec.workload.traits.runs
    return runs is not None and runs.of == "query"
