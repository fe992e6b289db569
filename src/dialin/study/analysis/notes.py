"""What keeps the verdict on logs from being taken at face value, each a code, a sentence and its figures. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from statistics import median

from dialin.model.analysis import CandidateAnalysis, RunAnalysis
from dialin.model.study import WORTHWHILE, Goal
from dialin.model.verdict import Note
from dialin.stats.runs import Comparison, all_below, spread
from dialin.stats.steady import Course
from dialin.study.analysis.logs import natural
from dialin.study.analysis.sort import Sorted
from dialin.text import change, counted, duration, listed, number, percent

_LONG = 0.2
"""The share of a run above which its warm-up is called long."""
_SWING = 0.05
"""The swing about its mean, relative, above which an oscillation is pointed out."""
_LENGTHS = 1.5
"""How many times as long as another a run is before that is pointed out."""
_AS_MUCH = 0.5
"""The share of what candidates differ by from which on a difference between runs of one of them is pointed out."""
_SHOWN = 12


def incomplete(text: str) -> Note:
    """Return the note of a log that lacks lines."""
    return Note(code="incomplete", text=text)


def varying(runs: Sequence[RunAnalysis], names: Sequence[str], comparison: Comparison) -> list[Note]:
    """Tell what else is not alike in the runs: only those with the same of it are compared."""
    notes = []
    for key in runs[0].others if len(names) > 1 else ():
        values = {name: sorted({run.others[key] for run in runs if run.candidate == name}, key=natural) for name in names}
        shown = "; ".join(f"{name}: {', '.join(own)}" for name, own in itertools.islice(values.items(), _SHOWN))
        shared = set.intersection(*map(set, values.values()))
        then = f"only runs of the same {key} are compared" if comparison.names else "so nothing can be compared"
        if not shared and not comparison.names:
            then = f"what differs may be the doing of either (if it changes nothing: --ignore {key})"
        notes.append(
            Note(code="differs_too", text=f"{key} differs too ({shown}): {then}", data={"name": key, "values": values})
        )
    return notes


def one_after_the_other(
    runs: Sequence[RunAnalysis], ordered: Sequence[str] | None, comparison: Comparison
) -> frozenset[frozenset[str]]:
    """Return the pairs of repeated candidates of which all runs of one came before those of the other, wherever they met."""
    if ordered is None:
        return frozenset()
    place = {name: index for index, name in enumerate(ordered)}
    found = set()
    for a, b in itertools.combinations(comparison.repeated, 2):
        before = set()
        for together in _strata(runs).values():
            first, second = ([place[run.file] for run in together if run.candidate == name] for name in (a, b))
            if first and second:
                before.add(max(first) < min(second) or (-1 if max(second) < min(first) else 0))
        if before in ({True}, {-1}):
            found.add(frozenset({a, b}))
    return frozenset(found)


def in_order(barred: Collection[frozenset[str]]) -> list[Note]:
    """Tell which candidates ran one after the other."""
    pairs = sorted(sorted(pair, key=natural) for pair in barred)
    if not pairs:
        return []
    shown = "; ".join(f"{a} and {b}" for a, b in pairs[:_SHOWN])
    text = f"By the dates in the names, all runs of one came before those of the other ({shown}): drift may be what differs"
    return [Note(code="one_after_the_other", text=text, data={"pairs": pairs})]


def less_steady(runs: Sequence[RunAnalysis], candidates: Sequence[CandidateAnalysis]) -> list[Note]:
    """Tell which candidates stalled more, or varied more, than the steadiest one, in every run compared."""
    by = {one.name: [run for run in runs if run.candidate == one.name] for one in candidates}
    by = {name: own for name, own in by.items() if own}
    if len(by) < 2:
        return []
    calm = min(by, key=lambda name: median(run.cv for run in by[name]))
    known = {one.name: one for one in candidates}
    notes = []
    for name, own in by.items():
        varies = all_below([run.cv for run in by[calm]], [run.cv for run in own], WORTHWHILE[Goal.STABILITY])
        a, b = known[calm].stall_seconds_per_1000, known[name].stall_seconds_per_1000
        stalls = a is not None and b is not None and a.high is not None and b.low is not None and a.high < b.low
        if name == calm or not (varies or stalls):
            continue
        said = []
        if stalls and a is not None and b is not None:
            said.append(f"more stalls ({number(b.mean)} against {number(a.mean)} seconds of 1000)")
        if varies:
            said.append(f"a higher coefficient of variation ({_range(own)} against {_range(by[calm])})")
        where = f"in {counted(len(own), 'run')} of {name} and {len(by[calm])} of {calm}"
        where = "in one run each" if len(own) == len(by[calm]) == 1 else where
        notes.append(
            Note(
                code="less_steady",
                text=f"{name} had {' and '.join(said)} than {calm}, {where}",
                data={
                    "candidate": name,
                    "steadier": calm,
                    "cv": [run.cv for run in own],
                    "steadier_cv": [run.cv for run in by[calm]],
                    "stall_seconds_per_1000": b.mean if b else None,
                    "steadier_stall_seconds_per_1000": a.mean if a else None,
                },
            )
        )
    return notes


def single_runs(names: Sequence[str], runs: Sequence[RunAnalysis], comparison: Comparison) -> list[Note]:
    """Tell which candidates have one run to compare: it carries its own warm-up, stalls and variation, and no more."""
    alone = [name for name in names if comparison.met[name] == 1]
    if not alone or len(names) < 2:
        return []
    who = f"{listed(alone)} {'has' if len(alone) == 1 else 'have'}" if len(alone) < len(names) else "Each candidate has"
    every = {name: sum(run.candidate == name for run in runs) for name in alone}
    of = f" (of {every[alone[0]]})" if len(alone) == 1 and every[alone[0]] > 1 else ""
    text = (
        f"{who} one run to compare{of}: how far its runs would scatter is not known, so no interval of a difference can be "
        "had; a run tells its own stalls, variation and warm-up"
    )
    return [Note(code="single_runs", text=text, data={"candidates": alone})]


def moved_between_runs(runs: Sequence[RunAnalysis], found: Sorted, comparison: Comparison, *, by_file: bool) -> list[Note]:
    """Tell of runs of one setting that lie as far apart as candidates do, about: the level moved between them."""
    cells: dict[tuple[str, ...], list[RunAnalysis]] = {}
    for run in runs:
        told = found.settings[run.file] if by_file else found.others[run.file]
        cell = tuple(f"{key} {value}" for key, value in told.items())
        cells.setdefault(cell if by_file else (run.candidate or "", *cell), []).append(run)
    if by_file:
        between = spread([median(run.tps for run in own) for own in cells.values()])
    else:
        ratios = (comparison.ratio(name, comparison.names[0], 0.5) for name in comparison.names)
        between = spread([ratio.mean for ratio in ratios if ratio])
    notes = []
    for cell, own in cells.items():
        within = spread([run.tps for run in own])
        if within < WORTHWHILE[Goal.THROUGHPUT] or within < _AS_MUCH * between:
            continue
        levels = listed([f"{number(run.tps)} ({run.label})" for run in own[:_SHOWN]])
        than = f", while {'settings' if by_file else 'candidates'} differ by {percent(between)}" if between else ""
        named = ", ".join(cell) or "all alike"
        text = f"The level moved from run to run of one setting ({named}): transactions/s were {levels}, "
        text += f"{percent(within)} apart{than}"
        data = {"setting": list(cell), "runs": [run.file for run in own], "apart": within, "between_candidates": between}
        notes.append(Note(code="moved_between_runs", text=text, data=data))
    return notes


def not_random(runs: Sequence[RunAnalysis], ordered: Sequence[str] | None, names: Sequence[str]) -> list[Note]:
    """Tell that nobody randomised these runs, and in what order they came, where the names tell."""
    if len(names) < 2:
        return []
    text = "dialin did not randomise the order of these runs: what else changed from one to the next counts as a difference"
    of = {run.file: run.candidate or "" for run in runs}
    if ordered is not None and len(ordered) <= _SHOWN and len(names) < len(ordered):
        text += f". By the dates in the names they came in this one: {', '.join(of[name] for name in ordered)}"
    return [Note(code="not_randomised", text=text, data={"order": [of[name] for name in ordered or ()]})]


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


def different_logs(runs: Sequence[RunAnalysis]) -> list[Note]:
    """Tell what the logs themselves do not have in common."""
    notes = []
    intervals = sorted({run.interval for run in runs})
    if len(intervals) > 1:
        shown = listed([f"{value:g} s" for value in intervals])
        text = f"The logs report every {shown}: variation and stalls of different intervals cannot be compared, and are not"
        notes.append(Note(code="different_intervals", text=text, data={"intervals": intervals}))
    percentiles = sorted({run.percentile for run in runs if run.percentile is not None})
    if len(percentiles) > 1:
        shown = listed([str(one) for one in percentiles])
        text = f"The logs tell different percentiles of latency ({shown}), which are not compared"
        notes.append(Note(code="different_percentiles", text=text, data={"percentiles": percentiles}))
    lengths = [run.seconds for run in runs]
    if max(lengths) >= _LENGTHS * min(lengths):
        text = f"The runs are of different lengths, from {duration(min(lengths))} to {duration(max(lengths))}"
        notes.append(Note(code="different_lengths", text=text, data={"shortest": min(lengths), "longest": max(lengths)}))
    return notes


def hint(found: Sorted, *, by_file: bool) -> list[Note]:
    """Tell what the names could be sorted by, where nobody said."""
    keys = list(next(iter(found.settings.values()), {})) if by_file else []
    values = {key: sorted({own[key] for own in found.settings.values()}, key=natural) for key in keys}
    sortable = {
        key: own
        for key, own in values.items()
        if all(value.isdigit() for value in own) and all(key + told[key] in file for file, told in found.settings.items())
    }
    if not sortable:
        return []
    ways = " or ".join(f"--by '{key}(\\d+)' ({', '.join(own)})" for key, own in itertools.islice(sortable.items(), 3))
    text = f"Each log was taken for a candidate of its own. Their names could be sorted by {ways}"
    return [Note(code="names_tell", text=text, data={"names": sortable})]


def _strata(runs: Sequence[RunAnalysis]) -> Mapping[tuple[str, ...], list[RunAnalysis]]:
    found: dict[tuple[str, ...], list[RunAnalysis]] = {}
    for run in runs:
        found.setdefault(tuple(run.others.values()), []).append(run)
    return found


def _range(runs: Sequence[RunAnalysis]) -> str:
    low, high = (percent(pick(run.cv for run in runs)) for pick in (min, max))
    return low if low == high else f"{low} to {high}"


def _some(found: Sequence[RunAnalysis], runs: Sequence[RunAnalysis]) -> str:
    if len(found) == len(runs):
        return "Every run" if len(runs) > 1 else "The run"
    if len(found) <= 2:
        return listed([run.label for run in found])
    return f"{len(found)} of {len(runs)} runs"
