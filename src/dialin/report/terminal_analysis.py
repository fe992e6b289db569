"""The analysis of logs in the terminal: first the verdict, the candidates and what matters most; below it everything else."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from dialin.model.analysis import Analysis, CandidateAnalysis, CellAnalysis, RunAnalysis
from dialin.model.study import Goal
from dialin.model.verdict import Estimate, Note, Outcome
from dialin.report.analysis_files import print_files
from dialin.report.render.terminal_page import Page
from dialin.report.render.terminal_table import TerminalColumn
from dialin.report.run_course import course_cell, start_cell
from dialin.report.verdict_sentences import change_or_no_interval, change_with_interval, state_text, with_interval
from dialin.text import NOTHING, change, counted, duration, exact_percent, number, percent, span, visible

_STYLES = {Outcome.WINNER: "bold green", Outcome.INCONCLUSIVE: "bold yellow"}
_RUNS = 40
"""Runs that a table shows at most; JSON has them all."""
_CELLS = 40
"""Cells that a table shows at most; JSON has them all."""
_FIRST = 3
"""Findings and caveats on the first screen."""
_IMPORTANT = (
    "copy_in_two_candidates",
    "one_after_the_other",
    "depends_on_cell",
    "options_differ",
    "differ_together",
    "candidates_differ_in",
    "more_errors",
    "course_collapse",
    "course_dead",
    "less_steady",
    "differs_too",
    "moved_between_runs",
    "ratios_by_cell",
    "periodic_dips",
    "single_runs",
    "copies",
)
"""Codes of notes that come first, the most important one first."""
_MINOR = ("different_lengths", "long_warm_up", "course_oscillation", "not_randomised")
"""Codes of notes that come last."""
_ALIKE = 5e-4
"""Levels of the baseline whose relative difference is no larger than this are shown as one."""
_NOT_COMPARED = "not compared"
_MEASURE = {Goal.STABILITY: "CV to baseline", Goal.LATENCY: "latency to baseline"}


def print_analysis(analysis: Analysis, console: Console) -> None:
    """Print an analysis for people; control characters in file names and in text from files are escaped."""
    page = Page(console)
    page.text(visible(analysis.headline), _STYLES.get(analysis.verdict, "bold cyan"))
    page.text(visible(analysis.reason))
    page.gap()
    used_runs = [run for run in analysis.runs if run.candidate is not None and run.copy_of is None]
    one_each = len(analysis.candidates) == len(used_runs)
    if not one_each and len(analysis.candidates) > 1:
        styles = ["bold" if one.name in analysis.winners else "" for one in analysis.candidates]
        page.table(_candidate_columns(analysis), styles=styles)
        page.gap()
    notes = _by_importance(analysis)
    for note in notes[:_FIRST]:
        _print_note(page, analysis, note)
    if notes:
        page.gap()
    if len(analysis.cells) > 1:
        _print_cells(page, analysis)
    page.text("Each run, without what was left out at its start", "dim")
    page.table(_run_columns(analysis, used_runs[:_RUNS], one_each=one_each))
    if len(used_runs) > _RUNS:
        page.text(f"{len(used_runs) - _RUNS} more runs are not shown; --json has all.", "dim")
    page.gap()
    for note in notes[_FIRST:]:
        _print_note(page, analysis, note)
    page.labelled("Read:", _read(analysis, used_runs))
    print_files(analysis.files, page)
    page.labelled("How sure:", _sureness(analysis))


def _by_importance(analysis: Analysis) -> list[Note]:

    def place(note: Note) -> int:
        if note.code in _IMPORTANT:
            return _IMPORTANT.index(note.code)
        return len(_IMPORTANT) + (1 + _MINOR.index(note.code) if note.code in _MINOR else 0)

    return sorted([*analysis.findings, *analysis.confounds, *analysis.warnings], key=place)


def _print_note(page: Page, analysis: Analysis, note: Note) -> None:
    label, style = ("Finding:", "cyan") if note in analysis.findings else ("Caveat:", "yellow")
    page.labelled(label, f"{visible(note.text)}.", style)


def _print_cells(page: Page, analysis: Analysis) -> None:
    others = [one.name for one in analysis.candidates if one.name != analysis.baseline and one.compared]
    shown = analysis.cells[:_CELLS]
    keys = [key for key in shown[0].where if len({cell.where[key] for cell in analysis.cells}) > 1]
    measure = "" if analysis.goal is Goal.THROUGHPUT else f", by {_MEASURE[analysis.goal].partition(' ')[0]}"
    page.text(f"Each cell: {visible(analysis.baseline)}, and the others against it{measure}", "dim")
    page.table(
        [
            *(TerminalColumn(visible(key), [visible(cell.where[key]) for cell in shown], left=True) for key in keys),
            TerminalColumn(f"{visible(analysis.baseline)} tps", [_cell_tps(cell, analysis.baseline) for cell in shown], rank=2),
            *(
                TerminalColumn(
                    visible(name),
                    [_cell_ratio(cell, name, full=True) for cell in shown],
                    [_cell_ratio(cell, name, full=False) for cell in shown],
                    rank=3 + index,
                )
                for index, name in enumerate(others)
            ),
            TerminalColumn("runs", [_cell_runs(cell) for cell in shown], rank=1),
        ]
    )
    if len(analysis.cells) > _CELLS:
        page.text(f"{len(analysis.cells) - _CELLS} more cells are not shown; --json has all.", "dim")
    page.gap()


def _cell_tps(cell: CellAnalysis, name: str) -> str:
    return next((number(one.tps) for one in cell.candidates if one.name == name), NOTHING)


def _cell_ratio(cell: CellAnalysis, name: str, *, full: bool) -> str:
    candidate = next((one for one in cell.candidates if one.name == name), None)
    if candidate is None or candidate.goal_ratio is None:
        return NOTHING
    return change_with_interval(candidate.goal_ratio) if full else change(candidate.goal_ratio.mean)


def _cell_runs(cell: CellAnalysis) -> str:
    return span([one.runs for one in cell.candidates], str)


def _candidate_columns(analysis: Analysis) -> list[TerminalColumn]:
    rows = analysis.candidates
    columns = [
        TerminalColumn("candidate", [visible(one.name) for one in rows], left=True),
        _estimates("tps", [one.tps for one in rows], rank=1),
        *_baseline_column(rows),
        TerminalColumn("to baseline", *_ratios(analysis, [one.ratio for one in rows])),
        _estimates("CV", [one.cv for one in rows], rank=3, share=True),
        _estimates("stalls/1000 s", [one.stall_seconds_per_1000 for one in rows], rank=4),
        TerminalColumn("worst", [number(one.worst_tps) for one in rows], rank=7),
        _estimates(_latency_title(analysis.runs), [one.latency_ms for one in rows], rank=5),
        *_errors_column(rows),
        *([TerminalColumn("cells", [str(one.cells) for one in rows], rank=6)] if len(analysis.cells) > 1 else []),
        TerminalColumn("runs", [_runs_of(one) for one in rows], rank=6),
        TerminalColumn("state", [state_text(one.state, analysis.worthwhile) for one in rows], rank=2, left=True),
    ]
    if analysis.goal in _MEASURE:
        columns.insert(1, TerminalColumn(_MEASURE[analysis.goal], *_ratios(analysis, [one.goal_ratio for one in rows])))
        columns = [
            TerminalColumn("tps to baseline", one.cells, one.brief, rank=2) if one.title == "to baseline" else one
            for one in columns
        ]
    return columns


def _baseline_column(rows: Sequence[CandidateAnalysis]) -> list[TerminalColumn]:
    levels = [one.baseline_tps for one in rows if one.baseline_tps is not None]
    if not levels or max(levels) <= min(levels) * (1 + _ALIKE):
        return []
    return [TerminalColumn("baseline there", [number(one.baseline_tps) for one in rows], rank=2)]


def _errors_column(rows: Sequence[CandidateAnalysis]) -> list[TerminalColumn]:
    if not any(one.errors_per_s for one in rows):
        return []
    return [TerminalColumn("errors/s", [number(one.errors_per_s) for one in rows], rank=8)]


def _run_columns(analysis: Analysis, runs: list[RunAnalysis], *, one_each: bool) -> list[TerminalColumn]:
    names = [run.candidate or "" for run in runs]
    candidate, ratio = [], []
    if names != [run.label for run in runs]:
        candidate = [TerminalColumn("candidate", [visible(name) for name in names], rank=3, left=True)]
    if one_each and len(runs) > 1:
        cells, _ = _ratios(analysis, [one.ratio for one in analysis.candidates])
        cell_of = {one.name: cell for one, cell in zip(analysis.candidates, cells, strict=True)}
        ratio = [TerminalColumn("to baseline", [cell_of[name] for name in names])]
    others = [
        TerminalColumn(visible(key), [visible(run.others.get(key, "")) for run in runs], rank=8, left=True)
        for key in runs[0].others
    ]
    return [
        TerminalColumn("run", [visible(run.label) for run in runs], left=True),
        *candidate,
        *others,
        TerminalColumn("tps", [number(run.tps) for run in runs]),
        *ratio,
        TerminalColumn("CV", [NOTHING if run.cv is None else percent(run.cv) for run in runs], rank=1),
        TerminalColumn(
            "stalls", [f"{round(run.stall_seconds, 1):,g} s" if run.stall_seconds else "none" for run in runs], rank=2
        ),
        TerminalColumn("worst", [number(run.worst_tps) for run in runs], rank=7),
        TerminalColumn(_latency_title(runs), [number(run.latency_ms) for run in runs], rank=6),
        TerminalColumn("left out", [start_cell(run) for run in runs], rank=4),
        TerminalColumn("measured", [duration(run.seconds - run.warm_up_seconds) for run in runs], rank=9),
        TerminalColumn("then", [course_cell(run) for run in runs], rank=5, left=True),
    ]


def _estimates(title: str, estimates: list[Estimate | None], *, rank: int, share: bool = False) -> TerminalColumn:
    show = percent if share else number
    brief = [show(one.mean) if one else NOTHING for one in estimates]
    return TerminalColumn(title, [with_interval(one, show) for one in estimates], brief, rank=rank)


def _ratios(analysis: Analysis, ratios: list[Estimate | None]) -> tuple[list[str], list[str]]:
    """Return the cells of ratios to the baseline, in full and brief; a ratio without an interval is always marked so."""
    full = []
    for candidate, ratio in zip(analysis.candidates, ratios, strict=True):
        if candidate.name == analysis.baseline:
            full.append("baseline")
        elif ratio is None:
            full.append(_NOT_COMPARED)
        else:
            full.append(change_or_no_interval(ratio))
    return full, [NOTHING if cell == _NOT_COMPARED else cell for cell in full]


def _runs_of(candidate: CandidateAnalysis) -> str:
    if 0 < candidate.compared < candidate.runs:
        return f"{candidate.compared} of {candidate.runs}"
    return str(candidate.runs)


def _latency_title(runs: list[RunAnalysis]) -> str:
    known = {run.percentile for run in runs if run.percentile is not None}
    return f"p{known.pop()} ms" if len(known) == 1 else "latency ms"


def _read(analysis: Analysis, used_runs: list[RunAnalysis]) -> str:
    copies = sum(run.copy_of is not None for run in analysis.runs)
    of = f" of {counted(len(analysis.candidates), 'candidate')}"
    beside = f", and {copies} {'copy' if copies == 1 else 'copies'}" if copies else ""
    return f"{counted(len(used_runs), 'run')}{of}{beside}, {duration(sum(run.seconds for run in used_runs))} in all."


def _sureness(analysis: Analysis) -> str:
    text = f"The intervals of all candidates hold together at {exact_percent(analysis.confidence)} confidence, "
    text += "if differences between runs are chance and repeats are separate starts of the server"
    if analysis.run_noise is not None:
        text += f"; the standard deviation of one run is {percent(analysis.run_noise)}"
    return f"{text}. The smallest difference that matters is {exact_percent(analysis.worthwhile)}."
