"""Notes on a verdict's figures: unsteady trials, seconds that the host lost, and what a winner costs."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence

from dialin.evidence.load_figures import load_figures
from dialin.model.course import Course
from dialin.model.evidence import Watched
from dialin.model.study import WORTHWHILE, Goal, StudySpec
from dialin.model.trial import Trial
from dialin.model.verdict import Note
from dialin.model.workload import LoadLimit
from dialin.stats.decide import Decision
from dialin.stats.trial_figures import Figures
from dialin.text import counted, percent

_MORE_STALLS = 2.0
"""How many times the baseline's stalls a candidate must have for a note."""
_LEAST_STALLS = 3
"""Stalled seconds below which there is no note: a few come by chance."""
_NOISIER = 1.5
"""How many times the expected noise a study must have for a note."""


def price_notes(spec: StudySpec, choice: str, speed: Decision, figures: Mapping[str, Sequence[Figures]]) -> list[Note]:
    """Return what the recommended candidate costs in what did not decide the study: stalls, or throughput."""
    base = spec.baseline
    if choice == base or choice not in figures or base not in figures:
        return []
    notes = []
    ratio = speed.ratios.get(choice)
    if spec.goal is not Goal.THROUGHPUT and ratio is not None and ratio.mean < 1 - WORTHWHILE[Goal.THROUGHPUT]:
        data = {"candidate": choice, "ratio": ratio.mean, "low": ratio.low, "high": ratio.high}
        notes.append(Note(code="costs_throughput", data=data))
    if _is_timed_by_the_run(spec):
        return notes  # a run that takes twice as long as others is no stall
    stalls, others = (sum(one.window.stalls for one in figures[name]) for name in (choice, base))
    seconds = [sum(one.window.seconds for one in figures[name]) for name in (choice, base)]
    shares = (stalls / seconds[0], others / seconds[1])
    if stalls >= _LEAST_STALLS and shares[0] >= _MORE_STALLS * shares[1]:
        notes.append(Note(code="more_stalls", data={"candidate": choice, "share": shares[0], "baseline": shares[1]}))
    return notes


def stall_notes(spec: StudySpec, speed: Decision, figures: Mapping[str, Sequence[Figures]]) -> list[Note]:
    """Return a note for each candidate with a higher typical speed than the baseline that it loses to stalls.

    `speed` is the decision by throughput.
    """
    if not speed.stalls_differ or spec.baseline not in figures:
        return []
    notes = []
    reference = stall_cost(figures[spec.baseline])
    for name, typical in speed.typical_ratios.items():
        plain, cost = speed.ratios.get(name), stall_cost(figures.get(name, ()))
        if typical is None or plain is None or cost is None or reference is None or name == spec.baseline:
            continue
        if typical.mean <= 1 + spec.worthwhile or cost - reference <= spec.worthwhile:
            continue
        data = {"candidate": name, "typical": typical.mean, "cost": cost, "baseline": reference}
        notes.append(Note(code="faster_but_stalls_more", data=data))
    return notes


def stall_cost(figures: Sequence[Figures]) -> float | None:
    """Return the share of the typical speed that stalls cost in all trials of a candidate; None where nothing was done."""
    typical = sum(one.typical for one in figures)
    return 1 - sum(one.window.mean for one in figures) / typical if typical else None


_NO_WARM_UP = (Course.COLLAPSE, Course.TWO_LEVELS, Course.DEAD, Course.ERRATIC)
"""Courses that are the server's own, however long it runs before it is measured."""


def steadiness_notes(
    spec: StudySpec, done: Sequence[Trial], figures: Mapping[int, Figures], short: Collection[int] = ()
) -> list[Note]:
    """Return a warning where trials did not become steady though they were measured for longer, by what they looked like.

    `short` holds the ids of trials that did not reach the requested rate.
    """
    unsteady = [trial for trial in done if not figures[trial.id].shape.steady]
    if not unsteady:
        return []
    shapes = [figures[trial.id].shape for trial in unsteady]
    names = sorted({trial.candidate for trial in unsteady})
    windows = {course: [figures[t.id] for t in unsteady if figures[t.id].shape.course is course] for course in Course}
    if _is_timed_by_the_run(spec):
        remedy = "runs"
    elif any(trial.id in short for trial in unsteady):  # what waits grows for as long as the load lasts
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
        "shapes": {course.value: _shape(of_course) for course, of_course in windows.items() if of_course},
        "remedy": remedy,
    }
    return [Note(code="not_steady", data=data)]


def _shape(windows: Sequence[Figures]) -> dict[str, float]:
    """Return how many trials had one course, and its largest change, typical period (seconds) and highest CV."""
    shapes = [window.shape for window in windows]
    return {
        "trials": len(windows),
        "change": max((shape.change for shape in shapes), key=abs),
        "period": statistics.median(shape.period or 0.0 for shape in shapes),
        "cv": max(window.window.cv for window in windows),
    }


def load_notes(limits: Sequence[LoadLimit], done: Sequence[Trial], watched: Mapping[int, Mapping[str, Watched]]) -> list[Note]:
    """Return a warning for each figure of the load beyond its limit: a share in some trial, a ratio with every candidate."""
    notes = []
    for figure in load_figures(limits, done, watched):
        if figure.limit.is_exceeded(figure.judged):
            limit, trials = figure.limit, list(figure.beyond)
            text = limit.text.format(trials=counted(len(trials), "trial"), share=percent(figure.judged))
            worth = {"ratio": figure.judged} if limit.is_ratio else {"share": figure.judged}
            notes.append(Note(code=limit.code, text=text, data={"trials": trials, **worth}))
    return notes


def noise_notes(spec: StudySpec, sd: float | None) -> list[Note]:
    """Return a warning where trials varied much more than was expected before the study."""
    expected = spec.expected_noise
    if sd is None or expected is None or sd < _NOISIER * expected:
        return []
    return [Note(code="noisier_than_expected", data={"noise": sd, "expected": expected})]


def lost_notes(done: Sequence[Trial], figures: Mapping[int, Figures]) -> list[Note]:
    """Return how many seconds, or seconds of runs, were left out because the host, not the server, stood still."""
    hit = [trial for trial in done if figures[trial.id].lost]
    if not hit:
        return []
    lost = sum(figures[trial.id].lost for trial in hit)
    measured = lost + sum(figures[trial.id].seconds for trial in done)
    data = {"seconds": lost, "share": lost / measured, "trials": [trial.id for trial in hit]}
    return [Note(code="host_lost_seconds", data=data)]


def _is_timed_by_the_run(spec: StudySpec) -> bool:
    runs = spec.workload.traits.runs
    return runs is not None and runs.of == "query"
