"""What each chart shows, in words and figures: for those who cannot see it, and for those who read first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.model.trial import TrialState
from dialin.model.verdict import Verdict
from dialin.report.series import Series
from dialin.report.style import Style
from dialin.report.words import change_with_interval
from dialin.text import counted, duration, exact_percent, number, visible


def forest(verdict: Verdict, style: Mapping[str, Style]) -> str:
    """Return the forest plot in words: the ends of the field, the band, and what has no interval."""
    rated = [(one.ratio, style[one.name].label) for one in verdict.candidates if one.ratio and one.name != verdict.baseline]
    band = f"The shaded band, {exact_percent(verdict.worthwhile)} to either side, is too small to matter."
    if not rated:
        return f"No candidate can be compared with the baseline. {band}"
    rated.sort(key=lambda pair: pair[0].mean)
    parts = [f"Highest is {rated[-1][1]} at {change_with_interval(rated[-1][0])}"]
    if len(rated) > 1:
        parts.append(f"lowest is {rated[0][1]} at {change_with_interval(rated[0][0])}")
    bare = sum(1 for ratio, _ in rated if ratio.low is None)
    hollow = f" A hollow mark has no interval yet ({bare} of {len(rated)})." if bare else ""
    return f"{'; '.join(parts)}. {band}{hollow}"


def over_time(own: Sequence[Series]) -> str:
    """Return one candidate's trials in words: how many, their medians and lowest second, and why some failed."""
    shown = [one.box for one in own if one.box]
    failed = [one.trial for one in own if one.trial.state is TrialState.FAILED]
    parts = [counted(len(own), "trial")]
    if shown:
        lowest = number(min(one.worst for one in shown))
        parts.append(f"median second {_span([one.median for one in shown])}, lowest {lowest} transactions/s")
    if failed:
        reasons = dict.fromkeys(visible(trial.failure.reason) for trial in failed if trial.failure)
        parts.append(f"{len(failed)} failed: {', '.join(reasons) or 'the reason is not known'}")
    return "; ".join(parts) + "."


def combined(series: Sequence[Series]) -> str:
    """Return the whole study's trials in words."""
    if not any(one.seconds for one in series):
        return "No second was measured yet."
    last = max(one.base + one.seconds[-1] for one in series if one.seconds)
    sessions = len({one.trial.session for one in series})
    resumed = f" It was resumed {counted(sessions - 1, 'time')}; the pauses are left out." if sessions > 1 else ""
    words = f"{counted(len(series), 'trial')} in {duration(last)}."
    worst = min(((one.box.worst, one.trial.id) for one in series if one.box), default=None)
    if worst is None:
        return words + resumed
    return f"{words} The lowest measured second, {number(worst[0])}, is in trial {worst[1]}.{resumed}"


def boxes(series: Sequence[Series], style: Mapping[str, Style]) -> str:
    """Return the box plots in words: how to read them, and the medians by candidate."""
    parts = []
    for name, look in style.items():
        middle = [one.box.median for one in series if one.trial.candidate == name and one.box]
        if middle:
            parts.append(f"{look.label}: {_span(middle)}")
    key = "A box holds the middle half of a trial's seconds, its whiskers nine in ten, the tick is the lowest second."
    return f"{key} Medians of trials: {'; '.join(parts) or 'none yet'}."


def _span(values: Sequence[float]) -> str:
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"
