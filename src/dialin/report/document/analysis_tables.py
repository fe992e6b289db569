"""The tables of an analysis of logs: candidates, cells, loads, threads, requested rates and runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from dialin.measures.of_verdict import capital
from dialin.measures.table import MEASURES
from dialin.model.analysis import Analysis, CandidateAnalysis, RatePoint, RateRamp, RunAnalysis, ScalingCurve
from dialin.model.course import Course
from dialin.model.study import Goal
from dialin.model.verdict import Estimate
from dialin.report import scaling
from dialin.report.document.figure_columns import interval_cell
from dialin.report.document.parts import Cell, Column, Paragraph, Part, Role, Row, RowRole, Table
from dialin.sentences.changes import interval
from dialin.sentences.state_sentences import state_text
from dialin.text import NOTHING, change, duration, number, percent, span, visible

_RUNS = 40
"""Runs that a table shows at most; JSON has them all."""
_CELLS = 40
"""Cells that a table shows at most; JSON has them all."""
_NARROW = 7
"""Columns of a table up to which it has room beside the text."""
_ALIKE = 5e-4
"""Levels of the baseline whose relative difference is no larger than this are shown as one."""
_NOT_COMPARED = "not compared"
_SECOND = 1000.0
"""Milliseconds from which a latency is shown in seconds."""

Values = Sequence[Cell]


def used_runs(analysis: Analysis) -> list[RunAnalysis]:
    return [run for run in analysis.runs if run.candidate is not None and run.copy_of is None]


def candidates_table(analysis: Analysis) -> Table:
    rows = analysis.candidates
    ratio = (_column("to baseline", is_figure=True), _ratios(analysis, [one.ratio for one in rows]))
    columns: list[tuple[Column, Values]] = [
        (_column("candidate"), [Cell(visible(one.name), candidate=one.name) for one in rows]),
        _estimates(analysis.unit, [one.tps for one in rows], rank=1),
        *_baseline_column(rows),
    ]
    if analysis.goal is not Goal.THROUGHPUT:
        decisive = _column(f"{MEASURES[analysis.goal].name} to baseline", is_figure=True)
        columns.insert(1, (decisive, _ratios(analysis, [one.goal_ratio for one in rows])))
        ratio = (_column(f"{analysis.unit} to baseline", 2, is_figure=True), ratio[1])
    columns += [
        ratio,
        _estimates("CV", [one.cv for one in rows], rank=3, show=percent),
        _estimates("stalls/1000 s", [one.stall_seconds_per_1000 for one in rows], rank=4),
        _texts("worst", [number(one.worst_tps) for one in rows], 7),
        _estimates(_latency_title(analysis.runs), [one.latency_ms for one in rows], rank=5),
        *([_texts("errors/s", [number(one.errors_per_s) for one in rows], 8)] if any(one.errors_per_s for one in rows) else []),
        *([_texts("cells", [str(one.cells) for one in rows], 6)] if len(analysis.cells) > 1 else []),
        _texts("runs", [_runs_of(one) for one in rows], 6),
        (_column("state", 2), [Cell(state_text(one.state, analysis.worthwhile)) for one in rows]),
    ]
    roles = [RowRole.RECOMMENDED if one.name in analysis.winners else RowRole.PLAIN for one in rows]
    return _table("candidates-table", "", columns, roles)


def suite_table(analysis: Analysis) -> Table:
    """Return the relative table of a suite: a row per load, the baseline's level, and the ratio of each other candidate."""
    names = list(dict.fromkeys(one.name for row in analysis.suite for one in row.candidates if one.name != analysis.baseline))
    by_load = [{one.name: one for one in row.candidates} for row in analysis.suite]

    def ratio(of: CandidateAnalysis | None) -> Cell:
        if of is None or of.goal_ratio is None:
            return Cell(f"{number(of.tps.mean)} {analysis.unit}" if of and of.tps else NOTHING)
        return _relative(of.goal_ratio)

    columns: list[tuple[Column, Values]] = [
        (_column("load"), [Cell(visible(row.load or "the load of all")) for row in analysis.suite]),
        _texts(
            f"{visible(analysis.baseline)} {analysis.unit}",
            [number(one.tps.mean if (one := of.get(analysis.baseline)) and one.tps else None) for of in by_load],
            1,
        ),
        *((_column(visible(name), is_figure=True, candidate=name), [ratio(of.get(name)) for of in by_load]) for name in names),
        *(
            (
                _column(f"{visible(name)} is", 2),
                [Cell(state_text(of[name].state, analysis.worthwhile) if name in of else NOTHING) for of in by_load],
            )
            for name in names
        ),
    ]
    measure = capital(MEASURES[analysis.goal].name)
    caption = f"{measure} relative to {visible(analysis.baseline)}, by load; the intervals of all loads hold together."
    return _table("suite-table", caption, columns)


def scaling_table(analysis: Analysis) -> Table:
    """Return throughput, latency and efficiency by threads, a row for each number of threads of each curve."""
    rows = [(curve, point) for curve in analysis.scaling for point in curve.points]
    titles = list(dict.fromkeys(key for curve in analysis.scaling for key in curve.conditions))
    percentiles = {point.percentile for _, point in rows}
    latency = f"p{percentiles.pop()} ms" if len(percentiles) == 1 and None not in percentiles else "latency ms"
    columns: list[tuple[Column, Values]] = [
        (_column("threads", is_figure=True), [Cell(f"{point.threads:,}") for _, point in rows]),
        _texts(analysis.unit, [number(point.tps) for _, point in rows], 0),
        _texts("efficiency", [percent(point.efficiency) for _, point in rows], 0),
        _texts(latency, [number(point.latency_ms) for _, point in rows], 2),
        (_column("", 1), [Cell(_peak(curve) if point is curve.points[-1] else "") for curve, point in rows]),
    ]
    named = [(_column(key), [Cell(visible(curve.conditions.get(key, ""))) for curve, _ in rows]) for key in titles]
    if any(curve.candidate for curve in analysis.scaling):
        cells = [Cell(visible(curve.candidate), candidate=curve.candidate) for curve, _ in rows]
        named.insert(0, (_column("candidate"), cells))
    roles = [RowRole.RECOMMENDED if point.threads == curve.peak_threads else RowRole.PLAIN for curve, point in rows]
    caption = "By threads: efficiency is throughput per thread relative to that with the fewest threads; the peak is bold."
    return _table("scaling-table", caption, [*named, *columns], roles)


def _peak(curve: ScalingCurve) -> str:
    if curve.usl is None:
        return f"peak at {curve.peak_threads:,}"
    peak = scaling.peak(curve.usl, [point.threads for point in curve.points])
    return f"peak at {curve.peak_threads:,}, by the scalability law {peak}"


def ramp_table(ramp: RateRamp) -> Table:
    points = ramp.points
    percentiles = {point.percentile for point in points} - {None}
    latency = f"p{percentiles.pop()}" if len(percentiles) == 1 else "latency"
    columns: list[tuple[Column, Values]] = [
        (_column("requested/s", is_figure=True), [Cell(number(point.rate)) for point in points]),
        _texts("reached tps", [number(point.tps) for point in points], 0),
        _texts(
            latency,
            [
                _milliseconds(point.latency_ms)
                if point.sustained or point.latency_end_ms is None
                else f"{_milliseconds(point.latency_begin_ms)} → {_milliseconds(point.latency_end_ms)}"
                for point in points
            ],
            0,
        ),
        _texts("waiting at end", [number(0.0 if point.sustained else point.waiting) for point in points], 0),
        (_column("", 1), [Cell(_kept_up(point)) for point in points]),
    ]
    roles = [RowRole.RECOMMENDED if point.rate == ramp.highest_sustained else RowRole.PLAIN for point in points]
    where = ", ".join(filter(None, (ramp.candidate, *ramp.conditions.values())))
    caption = "Requested rates: what was completed, and how many transactions waited at the end of the run."
    return _table("ramp-table", f"{visible(where)}. {caption}" if where else caption, columns, roles)


def _kept_up(point: RatePoint) -> str:
    if point.sustained:
        return "sustained"
    return f"overload: queue full after {duration(point.seconds)}" if point.overloaded else "behind"


def _milliseconds(value: float | None) -> str:
    if value is None:
        return NOTHING
    return f"{number(value / _SECOND)} s" if value >= _SECOND else f"{number(value)} ms"


def cells_table(analysis: Analysis) -> list[Part]:
    others = [one.name for one in analysis.candidates if one.name != analysis.baseline and one.compared]
    shown = analysis.cells[:_CELLS]
    keys = [key for key in shown[0].where if len({cell.where[key] for cell in analysis.cells}) > 1]
    measure = "" if analysis.goal is Goal.THROUGHPUT else f", by {MEASURES[analysis.goal].name}"
    baseline, by_name = visible(analysis.baseline), [{one.name: one for one in cell.candidates} for cell in shown]
    columns: list[tuple[Column, Values]] = [
        *((_column(visible(key)), [Cell(visible(cell.where[key])) for cell in shown]) for key in keys),
        _texts(
            f"{baseline} {analysis.unit}",
            [number(of[analysis.baseline].tps if analysis.baseline in of else None) for of in by_name],
            2,
        ),
        *(
            (
                _column(visible(name), 3 + index, is_figure=True, candidate=name),
                [interval_cell(of[name].goal_ratio if name in of else None, change) for of in by_name],
            )
            for index, name in enumerate(others)
        ),
        _texts("runs", [span([one.runs for one in cell.candidates], str) for cell in shown], 1),
    ]
    parts: list[Part] = [_table("cells-table", f"Each cell: {baseline}, and the others against it{measure}", columns)]
    if len(analysis.cells) > _CELLS:
        parts.append(Paragraph(f"{len(analysis.cells) - _CELLS} more cells are not shown; --json has all.", Role.SMALL))
    return parts


def runs_table(analysis: Analysis) -> list[Part]:
    every = used_runs(analysis)
    runs = every[:_RUNS]
    if not runs:
        return []
    names = [run.candidate or "" for run in runs]
    columns: list[tuple[Column, Values]] = [(_column("run"), [Cell(visible(run.label)) for run in runs])]
    if names != [run.label for run in runs] and analysis.baseline:
        columns.append((_column("candidate", 3), [Cell(visible(name), candidate=name) for name in names]))
    columns += [
        (_column(visible(key), 8), [Cell(visible(run.conditions.get(key, ""))) for run in runs]) for key in runs[0].conditions
    ]
    columns.append(_texts(analysis.unit, [number(run.tps) for run in runs], 0))
    if len(analysis.candidates) == len(every) > 1:
        cells = _ratios(analysis, [one.ratio for one in analysis.candidates])
        cell_of = {one.name: cell for one, cell in zip(analysis.candidates, cells, strict=True)}
        columns.append((_column("to baseline", is_figure=True), [cell_of[name] for name in names]))
    columns += [
        _texts("CV", [NOTHING if run.cv is None else percent(run.cv) for run in runs], 1),
        _texts("stalls", [f"{round(run.stall_seconds, 1):,g} s" if run.stall_seconds else "none" for run in runs], 2),
        _texts("worst", [number(run.worst_tps) for run in runs], 7),
        *_latencies(runs),
        _texts("left out", [start_cell(run) for run in runs], 4),
        _texts("measured", [duration(run.measured_seconds) for run in runs], 9),
        (_column("then", 5), [Cell(course_cell(run)) for run in runs]),
    ]
    parts: list[Part] = [_table("runs-table", "Each run, without what was left out at its start", columns)]
    if len(every) > _RUNS:
        parts.append(Paragraph(f"{len(every) - _RUNS} more runs are not shown; --json has all.", Role.SMALL))
    return parts


def _latencies(runs: Sequence[RunAnalysis]) -> list[tuple[Column, Values]]:
    """Return a column for each percentile that a run has, the compared one before the others where space is short."""
    decisive = {f"p{run.percentile}" for run in runs}
    names = sorted({name for run in runs for name in run.latencies_ms}, key=lambda name: int(name[1:]))
    columns = [
        _texts(f"{name} ms", [number(run.latencies_ms.get(name)) for run in runs], 6 if name in decisive else 8)
        for name in names
    ]
    return columns or [_texts(_latency_title(runs), [number(run.latency_ms) for run in runs], 6)]


def _baseline_column(rows: Sequence[CandidateAnalysis]) -> list[tuple[Column, Values]]:
    levels = [one.baseline_tps for one in rows if one.baseline_tps is not None]
    if not levels or max(levels) <= min(levels) * (1 + _ALIKE):
        return []
    return [_texts("baseline there", [number(one.baseline_tps) for one in rows], 2)]


def _ratios(analysis: Analysis, ratios: Sequence[Estimate | None]) -> list[Cell]:
    """Return the cells of ratios to the baseline; a ratio without an interval is always marked so."""
    cells = []
    for candidate, ratio in zip(analysis.candidates, ratios, strict=True):
        if candidate.name == analysis.baseline:
            cells.append(Cell("baseline"))
        else:
            cells.append(Cell(_NOT_COMPARED) if ratio is None else _marked(ratio))
    return cells


def _marked(ratio: Estimate) -> Cell:
    if ratio.low is None:
        return Cell(change(ratio.mean), ["no interval"], "no interval")
    return interval_cell(ratio, change)


def _relative(ratio: Estimate) -> Cell:
    ends, brief = (interval(ratio, lambda value: f"{value:.3f}", between=between) for between in (" to ", "–"))
    return Cell(f"{ratio.mean:.3f}", [ends or "no interval"], brief or "no interval")


def _estimates(
    title: str, estimates: Sequence[Estimate | None], *, rank: int, show: Callable[[float], str] = number
) -> tuple[Column, Values]:
    return _column(title, rank, is_figure=True), [replace(interval_cell(one, show), brief="") for one in estimates]


def _texts(title: str, texts: Sequence[str], rank: int) -> tuple[Column, Values]:
    return _column(title, rank, is_figure=True), [Cell(text) for text in texts]


def _column(title: str, rank: int = 0, *, is_figure: bool = False, candidate: str = "") -> Column:
    return Column(title, title, rank, is_figure=is_figure, candidate=candidate)


def _table(key: str, caption: str, columns: Sequence[tuple[Column, Values]], roles: Sequence[RowRole] = ()) -> Table:
    rows = [
        Row(list(cells), roles[place] if roles else RowRole.PLAIN)
        for place, cells in enumerate(zip(*(values for _, values in columns), strict=True))
    ]
    return Table(key, caption, [column for column, _ in columns], rows, is_wide=len(columns) > _NARROW)


def _runs_of(candidate: CandidateAnalysis) -> str:
    if 0 < candidate.compared < candidate.runs:
        return f"{candidate.compared} of {candidate.runs}"
    return str(candidate.runs)


def _latency_title(runs: Sequence[RunAnalysis]) -> str:
    known = {run.percentile for run in runs if run.percentile is not None}
    return f"p{known.pop()} ms" if len(known) == 1 else "latency ms"


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
