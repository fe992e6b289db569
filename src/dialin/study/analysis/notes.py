"""What keeps the verdict on logs from being taken at face value, each a code, a sentence and its figures. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from statistics import median

from dialin.model.analysis import CandidateAnalysis, RunAnalysis
from dialin.model.study import WORTHWHILE, Goal
from dialin.model.verdict import Estimate, Note
from dialin.stats.intervals import stall_share
from dialin.stats.runs import Comparison, all_below, spread
from dialin.study.analysis.figures import Figures
from dialin.study.analysis.logs import natural
from dialin.study.analysis.sort import Sorted
from dialin.text import counted, duration, listed, number, percent

_LENGTHS = 1.5
"""How many times as long as another a run is before that is pointed out."""
_AS_MUCH = 0.5
"""The share of what candidates differ by from which on a difference between runs of one of them is pointed out."""
_SHOWN = 12
_ERRORS = 0.01
"""The share of transactions above which errors are pointed out."""


def errors(runs: Sequence[RunAnalysis]) -> list[Note]:
    """Tell which runs had errors for a noticeable share of their transactions: what failed is no throughput."""
    many = [run for run in runs if run.errors_per_s > _ERRORS * max(run.tps, 1e-9)]
    if not many:
        return []
    shown = listed([f"{run.label} {number(run.errors_per_s)}" for run in many[:_SHOWN]])
    text = f"More than {percent(_ERRORS)} of the transactions failed; errors per second: {shown}"
    return [Note(code="errors", text=text, data={run.file: run.errors_per_s for run in many})]


def incomplete(text: str) -> Note:
    """Return the note of a log that lacks lines."""
    return Note(code="incomplete", text=text)


def varying(runs: Sequence[RunAnalysis], names: Sequence[str], comparison: Comparison) -> list[Note]:
    """Tell what else differs between candidates: only runs that are alike in it are compared."""
    notes = []
    for key, values in _values(runs, names).items():
        if _is_crossed(values):
            continue
        shown = "; ".join(f"{name}: {', '.join(own)}" for name, own in itertools.islice(values.items(), _SHOWN))
        shared = set.intersection(*map(set, values.values()))
        then = f"only runs of the same {key} are compared" if comparison.names else "so nothing can be compared"
        if not shared and not comparison.names:
            then = f"either may make the difference (if it changes nothing: --ignore {key})"
        notes.append(
            Note(code="differs_too", text=f"{key} differs too ({shown}): {then}", data={"name": key, "values": values})
        )
    return notes


def crossed(runs: Sequence[RunAnalysis], names: Sequence[str]) -> list[Note]:
    """Tell by what runs are divided into cells where every candidate ran at every value of it, which confounds nothing."""
    values = {key: own[names[0]] for key, own in _values(runs, names).items() if _is_crossed(own)}
    if not values:
        return []
    shown = "; ".join(f"{key}: {', '.join(own[:_SHOWN])}" for key, own in values.items())
    text = f"Candidates are compared within cells that are alike in {listed(list(values))} ({shown}); --ignore NAME joins cells"
    return [Note(code="cells", text=text, data={"factors": values})]


def _values(runs: Sequence[RunAnalysis], names: Sequence[str]) -> dict[str, dict[str, list[str]]]:
    """Return the values of each factor by candidate."""
    if len(names) < 2:
        return {}
    return {
        key: {name: sorted({run.others[key] for run in runs if run.candidate == name}, key=natural) for name in names}
        for key in runs[0].others
    }


def _is_crossed(values: Mapping[str, list[str]]) -> bool:
    return len({tuple(own) for own in values.values()}) == 1


def one_after_the_other(
    runs: Sequence[RunAnalysis], stamps: Mapping[str, tuple[str, ...]], comparison: Comparison
) -> frozenset[frozenset[str]]:
    """Return the pairs of repeated candidates of which all runs of one came before those of the other, wherever they met.

    Args:
        runs: those that count.
        stamps: the dates in their names, of one form; a pair with a run that has none is left out.
        comparison: of their candidates.
    """
    found = set()
    for a, b in itertools.combinations(comparison.repeated, 2):
        before = set()
        for together in _strata(runs).values():
            of = [[run for run in together if run.candidate == name] for name in (a, b)]
            if not all(of):
                continue
            if not all(run.file in stamps for own in of for run in own):
                before.add(0)
                continue
            first, second = ([stamps[run.file] for run in own] for own in of)
            before.add(1 if max(first) < min(second) else -1 if max(second) < min(first) else 0)
        if before in ({1}, {-1}):
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


def less_steady(counted_runs: Sequence[Figures], candidates: Sequence[CandidateAnalysis], alpha: float) -> list[Note]:
    """Tell which candidates stalled more, or varied more, than the steadiest one, in every run of the cells where both ran.

    Args:
        counted_runs: those that count.
        candidates: all of them.
        alpha: the error that the intervals of all candidates' stalls may make together.
    """
    by = {one.name: [run for run in counted_runs if run.run.candidate == one.name] for one in candidates}
    by = {name: own for name, own in by.items() if own}
    if len(by) < 2:
        return []
    calm = min(by, key=lambda name: median(one.run.cv or 0.0 for one in by[name]))
    longest = max((length for one in counted_runs for length in one.stalls), default=0.0)
    notes = []
    for name in by:
        shared = {_cell(one.run) for one in by[name]} & {_cell(one.run) for one in by[calm]}
        own, steady = ([one for one in by[which] if _cell(one.run) in shared] for which in (name, calm))
        if name == calm or not shared:
            continue
        varies = all(
            all_below(
                [one.run.cv or 0.0 for one in steady if _cell(one.run) == cell],
                [one.run.cv or 0.0 for one in own if _cell(one.run) == cell],
                WORTHWHILE[Goal.STABILITY],
            )
            for cell in shared
        )
        a, b = (_stall_share(each, longest, alpha / len(by)) for each in (steady, own))
        stalls = a.high is not None and b.low is not None and a.high < b.low
        if not (varies or stalls):
            continue
        said = []
        if stalls:
            said.append(f"more stalls ({number(1000 * b.mean)} against {number(1000 * a.mean)} seconds of 1000)")
        if varies:
            runs = ([one.run for one in each] for each in (own, steady))
            said.append("a higher coefficient of variation ({} against {})".format(*map(_range, runs)))
        where = f"in {counted(len(own), 'run')} of {name} and {len(steady)} of {calm}"
        where = "in one run each" if len(own) == len(steady) == 1 else where
        notes.append(
            Note(
                code="less_steady",
                text=f"{name} had {' and '.join(said)} than {calm}, {where}",
                data={
                    "candidate": name,
                    "steadier": calm,
                    "cv": [one.run.cv for one in own],
                    "steadier_cv": [one.run.cv for one in steady],
                    "stall_seconds_per_1000": 1000 * b.mean,
                    "steadier_stall_seconds_per_1000": 1000 * a.mean,
                },
            )
        )
    return notes


def _stall_share(runs: Sequence[Figures], longest: float, alpha: float) -> Estimate:
    seconds = sum(one.run.seconds - one.run.warm_up_seconds for one in runs)
    return stall_share([length for one in runs for length in one.stalls], seconds, longest, alpha)


def _cell(run: RunAnalysis) -> tuple[str, ...]:
    return tuple(run.others.values())


def single_runs(names: Sequence[str], runs: Sequence[RunAnalysis], comparison: Comparison) -> list[Note]:
    """Tell which candidates were never run twice with all else alike: that shows no more than what one run does."""
    alone = [name for name in names if comparison.met[name] and not comparison.again[name]]
    if not alone or len(names) < 2:
        return []
    who = f"{listed(alone)} {'has' if len(alone) == 1 else 'have'}" if len(alone) < len(names) else "Each candidate has"
    every = {name: sum(run.candidate == name for run in runs) for name in alone}
    of = f" (of {every[alone[0]]})" if len(alone) == 1 and every[alone[0]] > comparison.met[alone[0]] else ""
    several = any(comparison.met[name] > 1 for name in alone)
    what = f"one run in each cell{of}" if several else f"one run to compare{of}"
    text = (
        f"{who} {what}: how much its runs vary with all else alike is not known, and they may share one start of the server, "
        "so there is no interval of a difference; a run shows its own stalls, variation and warm-up"
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


def different_logs(runs: Sequence[RunAnalysis]) -> list[Note]:
    """Tell what the logs themselves do not have in common."""
    notes = []
    intervals = sorted({run.interval for run in runs if run.interval})
    if len(intervals) > 1:
        shown = listed([f"{value:g} s" for value in intervals])
        text = f"The logs report every {shown}: variation and stalls of different intervals cannot be compared, and are not"
        notes.append(Note(code="different_intervals", text=text, data={"intervals": intervals}))
    percentiles = sorted({run.percentile for run in runs if run.percentile is not None})
    if len(percentiles) > 1:
        shown = listed([str(one) for one in percentiles])
        text = f"The logs tell different percentiles of latency ({shown}), which are not compared"
        notes.append(Note(code="different_percentiles", text=text, data={"percentiles": percentiles}))
    lengths = [run.seconds for run in runs if run.seconds] or [1.0]
    if max(lengths) >= _LENGTHS * min(lengths):
        text = f"The runs are of different lengths, from {duration(min(lengths))} to {duration(max(lengths))}"
        notes.append(Note(code="different_lengths", text=text, data={"shortest": min(lengths), "longest": max(lengths)}))
    return notes


def hint(found: Sorted, *, by_file: bool) -> str:
    """Return what the logs could be sorted by, the factor with fewest values first; empty where somebody said."""
    keys = list(next(iter(found.settings.values()), {})) if by_file else []
    values = {key: sorted({own[key] for own in found.settings.values()}, key=natural) for key in keys}
    sortable = {
        key: own
        for key, own in values.items()
        if all(re.fullmatch(r"[\d.]+", value) for value in own) and all(re.search(_finds(key), file) for file in found.settings)
    }
    if not sortable:
        return ""
    best = sorted(sortable, key=lambda key: (len(sortable[key]), key))[:3]
    ways = " or ".join(f"--by '{_finds(key)}' ({', '.join(sortable[key][:_SHOWN])})" for key in best)
    return f"Each log counts as a candidate of its own. To compare by what their names say, give {ways}."


def _finds(key: str) -> str:
    """Return the expression that finds a factor's value in a name, whatever stands between the two."""
    return f"{key}[=_/-]?([\\d.]*\\d)" if key.replace("_", "").isalpha() else re.escape(key)


def _strata(runs: Sequence[RunAnalysis]) -> Mapping[tuple[str, ...], list[RunAnalysis]]:
    found: dict[tuple[str, ...], list[RunAnalysis]] = {}
    for run in runs:
        found.setdefault(tuple(run.others.values()), []).append(run)
    return found


def _range(runs: Sequence[RunAnalysis]) -> str:
    low, high = (percent(pick(run.cv or 0.0 for run in runs)) for pick in (min, max))
    return low if low == high else f"{low} to {high}"
