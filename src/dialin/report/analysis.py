"""The analysis of logs in the terminal: the verdict, what these runs show, each candidate and each run, and what to mind."""

from __future__ import annotations

from rich.console import Console

from dialin.model.analysis import Analysis, CandidateAnalysis, RunAnalysis
from dialin.model.study import Goal
from dialin.model.verdict import CandidateState, Estimate, Outcome
from dialin.report.analysis_files import print_files
from dialin.report.page import Column, Page
from dialin.text import NOTHING, change, counted, duration, exact_percent, number, percent, visible

_STYLES = {Outcome.WINNER: "bold green", Outcome.UNRESOLVED: "bold yellow"}
_RUNS = 40
"""Runs that a table shows at most; JSON has them all."""
_MEASURE = {Goal.STABILITY: "CV to baseline", Goal.LATENCY: "latency to baseline"}


def print_analysis(analysis: Analysis, console: Console) -> None:
    """Print an analysis for people; text from files and their names is shown, never obeyed.

    Args:
        analysis: what logs say.
        console: where to; its width, colours and encoding are respected.
    """
    page = Page(console)
    page.text(visible(analysis.headline), _STYLES.get(analysis.verdict, "bold cyan"))
    for note in analysis.findings:
        page.labelled("These runs show:", f"{visible(note.text)}.")
    page.text(visible(analysis.reason))
    page.gap()
    counting = [run for run in analysis.runs if run.candidate is not None and run.copy_of is None]
    one_each = len(analysis.candidates) == len(counting)
    if not one_each and len(analysis.candidates) > 1:
        winners = [index for index, one in enumerate(analysis.candidates) if one.name in analysis.winners]
        page.table(_candidate_columns(analysis), bold=winners)
        page.gap()
    page.text("Each run, after its warm-up", "dim")
    page.table(_run_columns(analysis, counting[:_RUNS], one_each=one_each))
    if len(counting) > _RUNS:
        page.text(f"{len(counting) - _RUNS} more runs are not shown; --json tells all.", "dim")
    page.gap()
    for kind, notes in (("Confound:", analysis.confounds), ("Warning:", analysis.warnings)):
        for note in notes:
            page.labelled(kind, f"{visible(note.text)}.", "yellow")
    page.labelled("Read:", _read(analysis, counting))
    print_files(analysis.files, page)
    page.labelled("How sure:", _sureness(analysis))


def _candidate_columns(analysis: Analysis) -> list[Column]:
    rows = analysis.candidates
    columns = [
        Column("candidate", [visible(one.name) for one in rows], left=True),
        _estimates("tps", [one.tps for one in rows], rank=1),
        Column("to baseline", *_ratios(analysis, [one.ratio for one in rows])),
        _estimates("CV", [one.cv for one in rows], rank=3, share=True),
        _estimates("stalls/1000 s", [one.stall_seconds_per_1000 for one in rows], rank=4),
        Column("worst", [number(one.worst_tps) for one in rows], rank=7),
        _estimates(_latency_title(analysis.runs), [one.latency_ms for one in rows], rank=5),
        Column("runs", [_runs_of(one) for one in rows], rank=6),
        Column("state", [_state_of(one) for one in rows], rank=2, left=True),
    ]
    if analysis.goal in _MEASURE:
        columns.insert(1, Column(_MEASURE[analysis.goal], *_ratios(analysis, [one.goal_ratio for one in rows])))
        columns[3] = Column("tps to baseline", columns[3].cells, columns[3].brief, rank=2)
    return columns


def _run_columns(analysis: Analysis, runs: list[RunAnalysis], *, one_each: bool) -> list[Column]:
    """Return the table of runs; where each candidate has one, it tells how that stands to the baseline as well."""
    names = [run.candidate or "" for run in runs]
    candidate, ratio = [], []
    if names != [run.label for run in runs]:
        candidate = [Column("candidate", [visible(name) for name in names], rank=3, left=True)]
    if one_each and len(runs) > 1:
        cells, _ = _ratios(analysis, [one.ratio for one in analysis.candidates])
        of = {one.name: cell for one, cell in zip(analysis.candidates, cells, strict=True)}
        ratio = [Column("to baseline", [of[name] for name in names])]
    others = [
        Column(visible(key), [visible(run.others.get(key, "")) for run in runs], rank=8, left=True) for key in runs[0].others
    ]
    return [
        Column("run", [visible(run.label) for run in runs], left=True),
        *candidate,
        *others,
        Column("tps", [number(run.tps) for run in runs]),
        *ratio,
        Column("CV", [percent(run.cv) for run in runs], rank=1),
        Column("stalls", [f"{round(run.stall_seconds, 1):,g} s" if run.stall_seconds else "none" for run in runs], rank=2),
        Column("worst", [number(run.worst_tps) for run in runs], rank=7),
        Column(_latency_title(runs), [number(run.latency_ms) for run in runs], rank=6),
        Column("warm-up", [duration(run.warm_up_seconds) for run in runs], rank=4),
        Column("measured", [duration(run.seconds - run.warm_up_seconds) for run in runs], rank=9),
        Column("then", [_course(run) for run in runs], rank=5, left=True),
    ]


def _estimates(title: str, estimates: list[Estimate | None], *, rank: int, share: bool = False) -> Column:
    show = percent if share else number
    bare = [show(one.mean) if one else NOTHING for one in estimates]
    full = [
        f"{text} ({show(one.low)} to {show(one.high)})" if one and one.low is not None and one.high is not None else text
        for one, text in zip(estimates, bare, strict=True)
    ]
    return Column(title, full, bare, rank)


def _ratios(analysis: Analysis, ratios: list[Estimate | None]) -> tuple[list[str], list[str]]:
    """Return the cells of ratios to the baseline, in full and brief; that a difference has no interval is always said."""
    full, brief = [], []
    for candidate, ratio in zip(analysis.candidates, ratios, strict=True):
        if candidate.name == analysis.baseline:
            full.append("baseline")
            brief.append("baseline")
        elif ratio is None:
            full.append("not compared")
            brief.append(NOTHING)
        elif ratio.low is None or ratio.high is None:
            full.append(f"{change(ratio.mean)} (no interval)")
            brief.append(full[-1])
        else:
            full.append(f"{change(ratio.mean)} ({change(ratio.low)} to {change(ratio.high)})")
            brief.append(full[-1])
    return full, brief


def _runs_of(candidate: CandidateAnalysis) -> str:
    if 0 < candidate.compared < candidate.runs:
        return f"{candidate.compared} of {candidate.runs}"
    return str(candidate.runs)


def _state_of(candidate: CandidateAnalysis) -> str:
    return "not resolved" if candidate.state is CandidateState.OPEN else str(candidate.state)


def _latency_title(runs: list[RunAnalysis]) -> str:
    known = {run.percentile for run in runs if run.percentile is not None}
    return f"p{known.pop()} ms" if len(known) == 1 else "latency ms"


def _course(run: RunAnalysis) -> str:
    """Return what a run did once it was measured, in a few words."""
    if run.course == "oscillation" and run.period is not None:
        text = f"±{percent(run.change)} each {duration(run.period)}"
    elif run.course == "trend":
        text = f"trend {change(1 + run.change)}"
    elif run.course == "shift" and run.shift_at is not None:
        text = f"shift {change(1 + run.change)} at {number(run.shift_at)} s"
    else:
        text = "steady"
    return text if run.settled else f"not settled, {text}" if text != "steady" else "not settled"


def _read(analysis: Analysis, counting: list[RunAnalysis]) -> str:
    copies = sum(run.copy_of is not None for run in analysis.runs)
    of = f" of {counted(len(analysis.candidates), 'candidate')}"
    beside = f", and {copies} {'copy' if copies == 1 else 'copies'}" if copies else ""
    return f"{counted(len(counting), 'run')}{of}{beside}, {duration(sum(run.seconds for run in counting))} in all."


def _sureness(analysis: Analysis) -> str:
    text = f"The intervals of all candidates hold together at {exact_percent(analysis.confidence)} confidence, "
    text += "as far as what differs from run to run is chance"
    if analysis.run_noise is not None:
        text += f"; one run scatters by {percent(analysis.run_noise)}"
    return f"{text}. The smallest difference that matters is {exact_percent(analysis.worthwhile)}."
