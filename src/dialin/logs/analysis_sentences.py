"""The verdict on logs in words: the headline and what to do next. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from dialin.logs.cells import Cells, claims
from dialin.measures.table import MEASURES
from dialin.model.analysis import CandidateAnalysis, RateRamp, ScalingCurve, SuiteRow
from dialin.model.study import Goal
from dialin.model.verdict import AgainstBest, CandidateState, Note, Outcome
from dialin.sentences.changes import change_or_no_interval
from dialin.stats.runs import Standings
from dialin.text import change, counted, exact_percent, listed, number, span

NOTHING_COMPARED = "To compare servers or values, put the runs of each into a directory of its own, or name them with --by."
SUITE_REASON = "The intervals of all loads hold together. Weigh the loads as yours does."
_AGAIN = "Run each candidate three times or more in each cell, in random order, as dialin sweep does."
_SHOWN = 3
_BARRED = {
    "one_after_the_other": "candidates ran one after the other, so drift may be the difference",
    "at_other_hours": "candidates ran at other hours of the day",
    "of_other_lengths": "all runs of one candidate are longer than those of the other",
    "on_other_hosts": "candidates ran on different hosts",
}
Bars = Mapping[str, Collection[frozenset[str]]]
"""The pairs of candidates about which nothing is claimed, by the code of the reason."""


def headline(
    goal: Goal,
    standings: Standings,
    candidates: Sequence[CandidateAnalysis],
    baseline: str,
    cells: Cells,
    bars: Bars,
    failing: Sequence[Note],
    sharing: Collection[str] = (),
    unit: str = "tps",
) -> str:
    """Return the verdict in one sentence.

    Nothing is claimed about the pairs of candidates in `bars`. `failing` are the notes on candidates whose transactions
    failed more often; the repeats of the candidates in `sharing` share starts of their server. `unit` is that of throughput.
    """
    measure, names, by = MEASURES[goal].name, list(standings.states), {one.name: one for one in candidates}
    if standings.outcome is Outcome.WINNER:
        (winner,) = standings.winners
        if winner == baseline:
            return f"{winner}, the baseline, is the best by {measure}; every other candidate is worse."
        gain = _gain(goal, by[winner], baseline, unit) + _varying(cells, winner, baseline)
        return f"{winner} wins by {measure}{gain}{_failed(winner, failing)}."
    if standings.outcome is Outcome.TIE:
        return f"A tie for the best by {measure}: {listed(standings.winners)}; no worthwhile difference between them."
    if standings.outcome is Outcome.NO_WORTHWHILE_DIFFERENCE:
        return f"No worthwhile difference in {measure} between {listed(names)}."
    if len(names) == 1:
        return f"All runs belong to one candidate, {names[0]}: there is nothing to compare."
    return f"Inconclusive: no winner by {measure} is claimed, {_why(standings, cells, baseline, bars, sharing)}."


def reason(standings: Standings, worthwhile: float, proposals: Sequence[tuple[str, tuple[str, ...]]], *, by_cell: bool) -> str:
    """Return what limits the verdict, or what to do next; where nobody named candidates, how to group the runs.

    `proposals` are expressions for `--by`, each with the candidates that it finds, the best expression first.
    """
    if standings.outcome is Outcome.INCONCLUSIVE:
        worse = [name for name, state in standings.states.items() if state is AgainstBest.LOSES]
        shown = f"Worse than another: {listed(worse)}. " if worse else ""
        if proposals:
            ways = [f"--by '{expression}' ({', '.join(values)})" for expression, values in proposals[:_SHOWN]]
            also = f"; or {' or '.join(ways[1:])}" if len(ways) > 1 else ""
            return f"Each log counts as its own candidate. Group the runs: {ways[0]}{also}."
        if by_cell:
            return f"{shown}Choose by the cells that resemble your load."
        return shown + (_AGAIN if len(standings.states) > 1 else "Add logs of other candidates.")
    limits = "This assumes that differences between runs are random; their order was not randomized."
    if standings.outcome is Outcome.WINNER:
        return f"It differs from every other candidate by more than runs of one candidate in one cell do. {limits}"
    return f"Any remaining difference is less than {exact_percent(worthwhile)}. {limits}"


def is_by_cell(standings: Standings, cells: Cells) -> bool:
    """Return whether the verdict is inconclusive because the best candidate depends on the cell."""
    if standings.outcome is not Outcome.INCONCLUSIVE or set(cells.comparison.repeated) != set(standings.states):
        return False
    best, rivals = _leader_and_rivals(standings, cells)
    return any(cells.comparison.depends_on_cell(name, best) for name in rivals)


def _leader_and_rivals(standings: Standings, cells: Cells) -> tuple[str, list[str]]:
    """Return the leader and the candidates that were not shown to be worse; all candidates must have been repeated."""
    not_worse = [name for name, state in standings.states.items() if state is not AgainstBest.LOSES]
    best = max(not_worse, key=cells.comparison.ranks.__getitem__)
    return best, [name for name in not_worse if name != best]


def _gain(goal: Goal, winner: CandidateAnalysis, baseline: str, unit: str) -> str:
    if winner.goal_ratio is None:
        return ""
    levels, figure = "", f" {MEASURES[goal].name}"
    if goal is Goal.THROUGHPUT:
        figure = ""
        if winner.tps and winner.baseline_tps is not None:
            levels = f"{number(winner.baseline_tps)} → {number(winner.tps.mean)} {unit}, "
    return f": {levels}{change_or_no_interval(winner.goal_ratio)}{figure} against {baseline}"


def _varying(cells: Cells, name: str, baseline: str) -> str:
    if not cells.comparison.depends_on_cell(name, baseline):
        return ""
    return f"; it depends on the cell, {_range(cells, name, baseline)}"


def _failed(name: str, failing: Sequence[Note]) -> str:
    return ", but more of its transactions failed" if any(note.data["candidate"] == name for note in failing) else ""


def _range(cells: Cells, name: str, baseline: str) -> str:
    ratios = [cells.ratio(cell, name, baseline) for cell in cells.comparison.shared(name, baseline)]
    return span([ratio.mean for ratio in ratios if ratio], change)


def _why(standings: Standings, cells: Cells, baseline: str, bars: Bars, sharing: Collection[str]) -> str:
    comparison, names = cells.comparison, list(standings.states)
    if not comparison.names:
        return "because no two candidates ran under the same conditions"
    single = [name for name in names if name not in comparison.repeated]
    if single and set(single) <= set(sharing):
        have = "has" if len(single) == 1 else "have"
        return f"because {listed(single)} {have} repeats of one start of the server only"
    if single:
        who = "no candidate has" if len(single) == len(names) else f"{listed(single)} {'has' if len(single) == 1 else 'have'}"
        which = "a second run" if len(single) == len(names) else "no second run"
        text = f"because {who} {which} in a cell"
        other = next((name for name in names if name != baseline), baseline)
        if len(names) == 2 and len(cells_shared := comparison.shared(other, baseline)) > 1:
            text += f"; {other} against {baseline} is {_range(cells, other, baseline)} in {len(cells_shared)} cells"
        return text
    best, rivals = _leader_and_rivals(standings, cells)
    if varying := [name for name in rivals if comparison.depends_on_cell(name, best)]:
        ranges = "; ".join(_by_cell(cells, name, best, baseline) for name in varying[:_SHOWN])
        return f"because the better one depends on the cell: {ranges}"
    barred = frozenset[frozenset[str]]().union(*bars.values())
    reasons = listed(
        [_BARRED[code] for code, pairs in bars.items() if any(frozenset({name, best}) in pairs for name in rivals)]
    )
    if all(frozenset({name, best}) in barred for name in rivals):
        return f"because {reasons}"
    after = f", or {reasons}" if any(frozenset({name, best}) in barred for name in rivals) else ""
    both = listed([name for name in names if name in (best, *rivals)])
    starts = ", or than starts of one server may" if comparison.allows_for_starts else ""
    return f"because {both} differ by less than runs of one candidate in one cell do{starts}{after}"


def _by_cell(cells: Cells, name: str, best: str, baseline: str) -> str:
    """Return the ratios of two candidates by cell, against the baseline if one of them is the baseline."""
    one, other = (name, best) if best == baseline else (best, name)
    text = f"{one} against {other} is {_range(cells, one, other)}"
    if clear := claims(cells, one, other):
        shown = [f"{change_or_no_interval(ratio)} at {cells.label(cell)}" for cell, ratio in list(clear.items())[:_SHOWN]]
        text += f"; in single cells {listed(shown)}"
    return text


def suite_headline(goal: Goal, rows: Sequence[SuiteRow], baseline: str, verdict: Outcome) -> str:
    """Return what a suite shows in one sentence: the range of ratios over loads, and how many of them are shown to differ."""
    compared = [row for row in rows if row.verdict]
    by_name: dict[str, list[CandidateAnalysis]] = {}
    for row in compared:
        for one in row.candidates:
            if one.name != baseline and one.goal_ratio is not None:
                by_name.setdefault(one.name, []).append(one)
    shown = "; ".join(_over_loads(of, baseline) for of in list(by_name.values())[:_SHOWN])
    loads = counted(len(compared), "load")
    if verdict is Outcome.WINNER:
        return f"One candidate wins by {MEASURES[goal].name} under each of {loads}: {shown}."
    if verdict is Outcome.NO_WORTHWHILE_DIFFERENCE:
        return f"No worthwhile difference in {MEASURES[goal].name} under any of {loads}: {shown}."
    return f"By load, with no winner under all of {loads}: {shown}." if shown else "No load was run by two candidates."


def _over_loads(of: Sequence[CandidateAnalysis], baseline: str) -> str:
    """Return the range of a candidate's ratios over loads, and in how many of them it is proven to differ."""
    ratios = [one.goal_ratio for one in of if one.goal_ratio is not None]
    text = f"{of[0].name} against {baseline} {span([ratio.mean for ratio in ratios], change)}"
    if all(ratio.low is None for ratio in ratios):
        return f"{text} (no interval)"
    better, worse = (sum(one.state is state for one in of) for state in (CandidateState.BETTER, CandidateState.WORSE))
    return f"{text}, proven better in {better} and worse in {worse}"


def scaling_headline(curves: Sequence[ScalingCurve], unit: str) -> str:
    """Return where throughput is highest, for each curve."""
    if not curves:
        return "The runs differ only in threads, but no load ran with two numbers of threads."
    threads = [point.threads for curve in curves for point in curve.points]
    peaks: dict[int, list[ScalingCurve]] = {}
    for curve in curves:
        peaks.setdefault(curve.peak_threads, []).append(curve)
    parts = []
    for peak in sorted(peaks, reverse=True):
        names = [", ".join(curve.conditions.values()) for curve in peaks[peak]]
        level = next(point.tps for point in peaks[peak][0].points if point.threads == peak)
        figure = f" ({number(level)} {unit})" if len(peaks[peak]) == 1 else ""
        parts.append(f"with {counted(peak, 'thread')}{figure}" + (f" for {listed(names)}" if all(names) else ""))
    what = counted(len(curves), "load") if len(curves) > 1 else "one server"
    return f"{what[:1].upper()}{what[1:]}, {min(threads)} to {max(threads)} threads: throughput is highest {listed(parts)}."


def ramp_headline(ramps: Sequence[RateRamp]) -> str:
    """Return the highest rate that was sustained, and what the server completed at the next one."""
    parts = []
    for ramp in ramps:
        where = f"{', '.join(ramp.conditions.values())}: " if len(ramps) > 1 else ""
        above = [point for point in ramp.points if ramp.highest_sustained is None or point.rate > ramp.highest_sustained]
        failing = ", the highest requested"
        if above:
            failing = f"; at {number(above[0].rate)} requested it completed {number(above[0].tps)}"
        level = "no requested rate was sustained" if ramp.highest_sustained is None else f"{number(ramp.highest_sustained)} tps"
        parts.append(f"{where}{level}{failing}")
    return f"Highest rate sustained: {'; '.join(parts)}." if parts else "Only one requested rate was run."
