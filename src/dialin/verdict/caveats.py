"""Notes on a verdict's figures: unsteady trials, seconds that the host lost, and what a winner costs."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence

from dialin.model.course import Course
from dialin.model.evidence import Watched, load_gauge
from dialin.model.study import WORTHWHILE, Goal, StudySpec
from dialin.model.trial import Trial
from dialin.model.verdict import Note
from dialin.model.workload import LoadLimit
from dialin.report.names import named
from dialin.report.note_sentences import NOISIER, noisier
from dialin.report.verdict_sentences import change_with_interval
from dialin.stats.decide import Decision
from dialin.stats.trial_figures import Figures
from dialin.text import change, counted, duration, listed, percent

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
        shown = ratio.high is not None and ratio.high < 1
        costs = "costs" if shown else "may cost"
        text = f"{named(spec, choice)} {costs} throughput: {change_with_interval(ratio)} against the baseline"
        notes.append(Note(code="costs_throughput", text=text, data={"candidate": choice, "ratio": ratio.mean}))
    if _is_timed_by_the_run(spec):
        return notes  # a run that takes twice as long as others is no stall
    stalls, others = (sum(one.window.stalls for one in figures[name]) for name in (choice, base))
    seconds = [sum(one.window.seconds for one in figures[name]) for name in (choice, base)]
    shares = (stalls / seconds[0], others / seconds[1])
    if stalls >= _LEAST_STALLS and shares[0] >= _MORE_STALLS * shares[1]:
        text = (
            f"{named(spec, choice)} stalls more than the baseline: {1000 * shares[0]:.1f} stalled seconds per 1000 s "
            f"against {1000 * shares[1]:.1f}. If steadiness matters, use --goal stability"
        )
        notes.append(Note(code="more_stalls", text=text, data={"candidate": choice, "share": shares[0], "baseline": shares[1]}))
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
        text = (
            f"{named(spec, name)} has a higher typical speed ({change(typical.mean)}) but stalls more: stalls cost it "
            f"{percent(cost)} of that speed, the baseline {percent(reference)}. Throughput decides, and it includes stalls"
        )
        notes.append(
            Note(code="faster_but_stalls_more", text=text, data={"candidate": name, "cost": cost, "baseline": reference})
        )
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
    courses = listed([_in_words(course, of_course) for course, of_course in windows.items() if of_course])
    if _is_timed_by_the_run(spec):
        cure = "start a new study with more runs (--workload-option runs=N)"
    elif any(trial.id in short for trial in unsteady):  # what waits grows for as long as the load lasts
        cure = "start a new study with a lower --rate"
    elif any(shape.too_short for shape in shapes):
        cure = "start a new study with a longer --measure"
    elif all(shape.course in _NO_WARM_UP for shape in shapes):
        cure = "a longer warm-up does not help; dialin explain shows what the server waited for"
    else:
        cure = "start a new study with a longer --warmup"
    by = " in latency" if spec.workload.rate else ""
    text = f"{len(unsteady)} of {counted(len(done), 'trial')} did not become steady{by} ({', '.join(names)}): {courses}; {cure}"
    data = {"trials": [trial.id for trial in unsteady], "candidates": names, "courses": sorted({s.course for s in shapes})}
    return [Note(code="not_steady", text=text, data=data)]


def _in_words(course: Course, windows: Sequence[Figures]) -> str:
    count, shapes = len(windows), [window.shape for window in windows]
    most = change(1 + max((shape.change for shape in shapes), key=abs))
    match course:
        case Course.OSCILLATION:
            period = duration(statistics.median(shape.period or 0.0 for shape in shapes))
            return f"{count} oscillated with a period of {period}, and cover less than two periods"
        case Course.SHIFT:
            return f"{count} shifted to another level ({most} at most)"
        case Course.TREND:
            return f"{count} still followed a trend ({most} at most)"
        case Course.COLLAPSE:
            return f"{count} collapsed and did not recover ({most} at most)"
        case Course.TWO_LEVELS:
            return f"{count} switched between two levels ({most} from the higher to the lower one at most)"
        case Course.DEAD:
            return f"{count} completed no transaction"
        case Course.ERRATIC:
            cv = percent(max(window.window.cv for window in windows))
            return f"{count} varied too much (CV up to {cv})"
        case Course.STEADY:
            return f"{count} needed most of the time to become steady"


def load_notes(limits: Sequence[LoadLimit], done: Sequence[Trial], watched: Mapping[int, Mapping[str, Watched]]) -> list[Note]:
    """Return a warning for each figure of the load that exceeded its limit in some trial."""
    notes = []
    for limit in limits:
        gauges = {trial.id: load_gauge(watched.get(trial.id, {}), limit.gauge) for trial in done}
        above = {trial: gauge.most for trial, gauge in gauges.items() if gauge and gauge.most > limit.most}
        if above:
            most = max(above.values())
            text = limit.text.format(trials=counted(len(above), "trial"), share=percent(most))
            notes.append(Note(code=limit.code, text=text, data={"trials": list(above), "share": most}))
    return notes


def noise_notes(spec: StudySpec, sd: float | None) -> list[Note]:
    """Return a warning where trials varied much more than was expected before the study."""
    expected = spec.expected_noise
    if sd is None or expected is None or sd < _NOISIER * expected:
        return []
    return [Note(code=NOISIER, text=noisier(sd, expected), data={"noise": sd, "expected": expected})]


def lost_notes(spec: StudySpec, done: Sequence[Trial], figures: Mapping[int, Figures]) -> list[Note]:
    """Return how many seconds, or seconds of runs, were left out because the host, not the server, stood still."""
    hit = [trial for trial in done if figures[trial.id].lost]
    if not hit:
        return []
    lost = sum(figures[trial.id].lost for trial in hit)
    measured = lost + sum(figures[trial.id].seconds for trial in done)
    where, share = counted(len(hit), "trial"), percent(lost / measured)
    what = (
        f"during runs of {where}, which took {counted(lost, 'second')} ({share}): these runs are excluded"
        if _is_timed_by_the_run(spec)
        else f"in {counted(lost, 'measured second')} ({share}), in {where}: they are excluded"
    )
    text = f"The host itself stalled {what}. Run dialin doctor to see what can be done about it"
    return [Note(code="host_lost_seconds", text=text, data={"seconds": lost, "trials": [trial.id for trial in hit]})]


def _is_timed_by_the_run(spec: StudySpec) -> bool:
    return spec.workload.traits.runs is not None
