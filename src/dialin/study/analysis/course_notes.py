"""What each run did over its time, as notes: what was left out at its start, and how its speed changed after that."""

from __future__ import annotations

from collections.abc import Sequence

from dialin.model.analysis import RunAnalysis
from dialin.model.verdict import Note
from dialin.stats.steady import Course
from dialin.text import change, duration, listed, number, percent

_LONG = 0.2
"""The share of a run above which its warm-up is called long."""
_SWING = 0.05
"""The swing about its mean, relative, above which an oscillation is pointed out."""


def unsettled(runs: Sequence[RunAnalysis]) -> list[Note]:
    """Tell which runs never became steady."""
    found = [run for run in runs if not run.settled]
    text = f"{_some(found, runs)} did not become steady before half of it was over: the level is not that of a steady server"
    return [Note(code="not_settled", text=text, data={"runs": [run.file for run in found]})] if found else []


def long_warm_up(runs: Sequence[RunAnalysis]) -> list[Note]:
    """Tell which runs spent much of their time warming up."""
    found = [run for run in runs if run.settled and not run.warm_up_given and run.warm_up_seconds >= _LONG * run.seconds]
    if not found:
        return []
    low, high = (duration(pick(run.warm_up_seconds for run in found)) for pick in (min, max))
    took = low if low == high else f"{low} to {high}"
    share = percent(max(run.warm_up_seconds / run.seconds for run in found))
    text = f"{_some(found, runs)} warmed up for long: {took}, up to {share} of a run; it was left out"
    return [Note(code="long_warm_up", text=text, data={run.file: run.warm_up_seconds for run in found})]


def courses(runs: Sequence[RunAnalysis]) -> list[Note]:
    """Tell which runs moved, jumped or swung after their warm-up."""
    notes = []
    for run in runs:
        if run.course == Course.TREND:
            said = f"moved by {change(1 + run.change)} from its start to its end"
        elif run.course == Course.SHIFT and run.shift_at is not None:
            said = f"jumped by {change(1 + run.change)} at {number(run.shift_at)} s"
        elif run.course == Course.OSCILLATION and run.period and run.cycles and (run.change >= _SWING or run.cycles < 2):
            said = f"swung by {percent(run.change)} about its mean with a period of {duration(run.period)}"
            said += f", {run.cycles:.1f} cycles" if run.cycles >= 2 else ": less than two cycles were measured"
        else:
            continue
        notes.append(
            Note(code=f"course_{run.course}", text=f"{run.label} {said}", data={"run": run.file, "change": run.change})
        )
    return notes


def _some(found: Sequence[RunAnalysis], runs: Sequence[RunAnalysis]) -> str:
    if len(found) == len(runs):
        return "Every run" if len(runs) > 1 else "The run"
    if len(found) <= 2:
        return listed([run.label for run in found])
    return f"{len(found)} of {len(runs)} runs"
