"""The course of a run of a log, in the few words that fit a cell of a table."""

from __future__ import annotations

from collections.abc import Callable

from dialin.model.analysis import RunAnalysis
from dialin.model.course import Course
from dialin.text import change, duration, number, percent


def start_cell(run: RunAnalysis) -> str:
    """Return the length of the start of a run that is left out; `faster` marks a start faster than the rest: no warm-up."""
    took = duration(run.warm_up_seconds)
    return f"{took}, faster" if run.slowed_down else took


def course_cell(run: RunAnalysis) -> str:
    """Return the course of a run after its start, e.g. `trend +3.1 %`."""
    if run.cv is None:
        return "summary only"
    text = _COURSES[run.course](run)
    if run.dip is not None:
        text += f", dips each {duration(run.dip.period)}"
    if run.settled:
        return text
    return "not settled" if text == _STEADY else f"not settled, {text}"


_STEADY = "steady"
_COURSES: dict[Course, Callable[[RunAnalysis], str]] = {
    Course.STEADY: lambda _: _STEADY,
    Course.TREND: lambda run: f"trend {change(1 + run.change)}",
    Course.SHIFT: lambda run: f"shift {change(1 + run.change)} at {number(run.shift_at)} s",
    Course.OSCILLATION: lambda run: f"±{percent(run.change)} each {duration(run.period or 0.0)}",
    Course.TWO_LEVELS: lambda run: f"two levels, {run.switches} switches",
    Course.COLLAPSE: lambda run: f"fell by {percent(-run.change)} at {number(run.shift_at)} s",
    Course.DEAD: lambda _: "no transactions",
    Course.ERRATIC: lambda _: "erratic",
}
