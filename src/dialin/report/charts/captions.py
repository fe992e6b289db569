"""How to read each chart, in words; figures that a table of the report has are not repeated."""

from __future__ import annotations

from collections.abc import Sequence

from dialin.cause_sentences import with_advice
from dialin.measures.of_verdict import band, deciding
from dialin.model.trial import TrialState
from dialin.model.verdict import Verdict
from dialin.model.workload import latency_name
from dialin.report.charts.trial_series import Series
from dialin.sentences.load_units import SECONDS
from dialin.sentences.verdict_sentences import lost_seconds_text
from dialin.text import change, counted, number, visible


def forest(verdict: Verdict) -> str:
    """Return how to read the forest plot: the band, and what has no interval."""
    others = [(deciding(one, verdict), one.trials) for one in verdict.candidates if one.name != verdict.baseline]
    low, high = band(verdict)
    if not any(ratio for ratio, _ in others):
        return "No candidate can be compared with the baseline."
    is_hollow = any(ratio and (trials == 1 or ratio.low is None) for ratio, trials in others)
    hollow = " A hollow mark is a single trial, or has no interval yet." if is_hollow else ""
    return f"Bars are confidence intervals. Shaded: too small to matter ({change(low)} to {change(high)}).{hollow}"


def key(series: Sequence[Series]) -> str:
    """Return what the marks in the charts over time mean."""
    marks = [
        (f"A triangle marks a {_noun(series)} of a host stall, which is excluded.", any(one.lost for one in series)),
        ("A circle marks the end of a trial that did not become steady.", any(not one.steady for one in series)),
        ("A cross marks where a trial failed.", any(one.trial.state is TrialState.FAILED for one in series)),
        ("Dotted lines are confirmation trials.", any(one.is_fresh for one in series)),
    ]
    window = next((one.window for one in series if one.window), None)
    mean = f"Thick: the rolling mean of {window} s. " if window else ""
    return mean + " ".join(text for text, is_drawn in marks if is_drawn)


def _noun(series: Sequence[Series]) -> str:
    return series[0].units.one if series else SECONDS.one


def over_time(series: Sequence[Series]) -> str:
    """Return how many trials one candidate has, and remarks on some of them."""
    return "; ".join([counted(len(series), "trial"), *_remarks(series)]) + "."


def combined(series: Sequence[Series]) -> str:
    if not any(one.tps.points for one in series):
        return f"No {_noun(series)} was measured yet."
    sessions = len({one.trial.session for one in series})
    words = "A mark shows each trial's mean, of latency its median."
    if any(one.is_fresh for one in series):
        words += " Shaded: confirmation trials."
    worst = min(((box.worst, one.trial.id) for one in series for box in one.boxes.values()), default=None)
    if worst is not None:
        words += f" The lowest measured {_noun(series)}, {number(worst[0])} {series[0].units.rate}, is in trial {worst[1]}."
    if lost_seconds := sum(one.lost_seconds for one in series):
        words += f" {lost_seconds_text(lost_seconds)}, in {counted(sum(one.lost_seconds > 0 for one in series), 'trial')}."
    return words + (f" Pauses between {sessions} sessions are left out." if sessions > 1 else "")


def windows(series: Sequence[Series], of: str) -> str:
    """Return how to read the box plots."""
    noun = _noun(series)
    reading = f"A box holds the middle half of the {noun}s of a {of}, its whiskers 90 % (P5 to P95); the tick is the lowest."
    if of == "trial" and any(one.is_fresh for one in series):
        reading += " Shaded: confirmation trials."
    if any(one.lost_seconds for one in series):
        reading += " Seconds of host stalls are left out."
    return reading


def latency(percentile: int, threads: int | None) -> str:
    alone = f" Only seconds with {threads:,} threads." if threads else ""
    return f"The {latency_name(percentile)} of each second, sorted: the worst seconds are on the right.{alone}"


def _remarks(series: Sequence[Series]) -> list[str]:
    failed = [one.trial for one in series if one.trial.state is TrialState.FAILED]
    parts = []
    if lost_seconds := sum(one.lost_seconds for one in series):
        parts.append(lost_seconds_text(lost_seconds))
    if unsteady := sum(not one.steady for one in series):
        parts.append(f"{unsteady} did not become steady")
    if fresh := sum(one.is_fresh for one in series):
        parts.append(counted(fresh, "confirmation trial"))
    if failed:
        reasons = dict.fromkeys(visible(with_advice(trial.failure.cause)) for trial in failed if trial.failure)
        parts.append(f"{len(failed)} failed: {', '.join(reasons) or 'reason not available'}")
    return parts
