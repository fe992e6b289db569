"""Notes on the course of each run: what was left out at its start, and how its throughput changed afterwards."""

from __future__ import annotations

from collections.abc import Sequence

from dialin.model.analysis import RunAnalysis
from dialin.model.course import Course
from dialin.model.verdict import Note
from dialin.text import change, duration, listed, number, percent, span

_LONG = 0.2
"""The share of a run above which its warm-up is called long."""
_SWING = 0.05
"""The swing about the mean, relative to the mean, from which an oscillation has a note."""
_CYCLES = 2
"""Cycles of an oscillation from which the mean represents the run."""
_MINUTE = 60.0
_SHOWN = 12


def unsettled(runs: Sequence[RunAnalysis]) -> list[Note]:
    unsteady = [run for run in runs if not run.settled]
    text = f"{_some(unsteady, runs)} did not become steady within their first half: the level is not that of a steady server"
    return [Note(code="not_settled", text=text, data={"runs": [run.file for run in unsteady]})] if unsteady else []


def long_warm_up(runs: Sequence[RunAnalysis]) -> list[Note]:
    """Return a note on the runs whose warm-up took a large share of their time."""
    slow = [run for run in runs if run.cv is not None and run.settled and run.start_change <= 0 and _is_long(run)]
    if not slow:
        return []
    took = span([run.warm_up_seconds for run in slow], duration)
    share = percent(max(run.warm_up_seconds / run.seconds for run in slow))
    text = f"{_some(slow, runs)} had a long warm-up: {took}, up to {share} of a run; it was left out"
    return [Note(code="long_warm_up", text=text, data={run.file: run.warm_up_seconds for run in slow})]


def faster_starts(runs: Sequence[RunAnalysis]) -> list[Note]:
    """Return a note for each run that was faster in the seconds left out at its start: it slowed down instead of warming up."""
    return [
        Note(
            code="faster_start",
            text=(
                f"{run.label} ran {percent(run.start_change)} faster in its first {duration(run.warm_up_seconds)}, which were "
                "left out: its speed fell to the level that is compared"
            ),
            data={"run": run.file, "seconds": run.warm_up_seconds, "change": run.start_change},
        )
        for run in runs
        if run.slowed_down
    ]


def courses(runs: Sequence[RunAnalysis]) -> list[Note]:
    return [
        Note(code=f"course_{run.course}", text=f"{run.label} {sentence}", data={"run": run.file, "change": run.change})
        for run in runs
        if (sentence := _sentence(run))
    ]


def dips(runs: Sequence[RunAnalysis]) -> list[Note]:
    """Return a note for each period, such as a minute, in which runs are slow in the same seconds each time."""
    periods = sorted({run.dip.period for run in runs if run.dip})
    return [_dips_of(period, [run for run in runs if run.dip and run.dip.period == period], runs) for period in periods]


def _is_long(run: RunAnalysis) -> bool:
    return not run.warm_up_given and run.warm_up_seconds >= _LONG * run.seconds


def _sentence(run: RunAnalysis) -> str | None:
    """Return the predicate of a sentence on the course of a run; None if the run was steady, or swung only a little."""
    first, last = (number(level) for level in run.levels or (0.0, 0.0))
    movement = f"{'rose' if run.change > 0 else 'fell'} from {first} to {last} {run.unit}"
    at = number(run.shift_at)
    match run.course:
        case Course.STEADY:
            return None
        case Course.TREND:
            return f"{movement} between its start and its end"
        case Course.SHIFT:
            return f"{movement} ({change(1 + run.change)}) at {at} s"
        case Course.COLLAPSE:
            return f"{movement} at {at} s and did not recover: its mean describes neither part"
        case Course.TWO_LEVELS:
            share = f"{percent(run.low_share)} of its time was at the lower level"
            return f"switched {run.switches} times between about {first} and {last} {run.unit}; {share}"
        case Course.DEAD:
            return "completed no transaction"
        case Course.ERRATIC:
            return f"varied too much to be called steady: its coefficient of variation is {percent(run.cv or 0.0)}"
        case Course.OSCILLATION:
            return _swing(run)


def _swing(run: RunAnalysis) -> str | None:
    if not run.period or not run.cycles or (run.change < _SWING and run.cycles >= _CYCLES):
        return None
    swing = f"swung by {percent(run.change)} about its mean with a period of {duration(run.period)}"
    return swing + (f", {run.cycles:.1f} cycles" if run.cycles >= _CYCLES else ": less than two cycles were measured")


def _dips_of(period: float, dipping: Sequence[RunAnalysis], runs: Sequence[RunAnalysis]) -> Note:
    length = "minute" if period == _MINUTE else duration(period)
    shown = "; ".join(
        f"{run.label} by {percent(run.dip.depth)} in {_places(run.dip.seconds, run.interval)}"
        for run in dipping[:_SHOWN]
        if run.dip
    )
    text = (
        f"Throughput falls in the same seconds of each {length} of the run ({shown}): look for something on the host that runs "
        f"every {length}"
    )
    if len(dipping) > _SHOWN:
        text += f". {len(dipping)} of {len(runs)} runs show it"
    data = {"period": period, "runs": {run.file: run.dip.model_dump() for run in dipping if run.dip}}
    return Note(code="periodic_dips", text=text, data=data)


def _places(seconds: Sequence[float], interval: float) -> str:
    parts: list[list[float]] = []
    for second in seconds:
        if parts and second - parts[-1][-1] <= interval:
            parts[-1].append(second)
        else:
            parts.append([second])
    shown = [f"{part[0]:g}" if len(part) == 1 else f"{part[0]:g}\N{EN DASH}{part[-1]:g}" for part in parts]
    return f"second{'' if len(seconds) == 1 else 's'} {listed(shown)}"


def _some(chosen: Sequence[RunAnalysis], runs: Sequence[RunAnalysis]) -> str:
    if len(chosen) == len(runs):
        return "Every run" if len(runs) > 1 else "The run"
    if len(chosen) <= 2:
        return listed([run.label for run in chosen])
    return f"{len(chosen)} of {len(runs)} runs"
