"""The live part of the page as data: all texts and figures are ready to show, and the page's script only places them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dialin.dashboard.follow import Snapshot, SuiteProgress
from dialin.dashboard.study_state import State, StateText, resume_command, text_of
from dialin.measures.table import measure_of_study
from dialin.model.study import Goal, StudySpec
from dialin.model.trial import Sample, Step
from dialin.model.workload import latency_name
from dialin.report.board import Board, newest_figures, study_title
from dialin.report.charts.style import styles
from dialin.sentences.load_units import units
from dialin.sentences.names import naming
from dialin.text import about, change, clock_time, command_line, counted, duration, how_to_resume, number, visible

_DRAWN = (State.RUNNING, State.DEAD)


def view(snapshot: Snapshot, directory: Path, now: float, *, stopping: bool = False, report: int = 0, trouble: str = "") -> str:
    """Return the live part of the page, as JSON. The number of the newest report is 0 where there is none yet."""
    board, state, suite = snapshot.board, snapshot.state, snapshot.suite
    resume = how_to_resume(directory)
    text, command = _ending(snapshot, resume)
    page: dict[str, Any] = {
        "state": state,
        "name": "Stopping" if stopping else text.name,
        "sentence": visible(text.sentence),
        "command": visible(command),
        "resume": visible(resume),
        "watch": visible(command_line("dialin watch", directory)),
        "trouble": visible(trouble),
        "may_stop": state in (State.READYING, State.RUNNING) and not stopping,
        "may_end_block": state is State.RUNNING and not stopping,
        "stops": snapshot.stops and state in (State.READYING, State.RUNNING),
        "report": report,
        "log": [[clock_time(at), visible(text)] for at, text in board.lines],
    }
    if board.spec is not None:
        page |= _study_fields(board, board.spec) if suite is None else _suite_fields(board.spec, suite)
        if state in _DRAWN:
            running = state is State.RUNNING
            page |= (
                _progress(board, now, running=running) if suite is None else _suite_progress(board, suite, now, running=running)
            )
            page["chart"] = _chart(board.seconds, board.spec)
    return json.dumps(page, separators=(",", ":"), allow_nan=False)


def _ending(snapshot: Snapshot, command: str) -> tuple[StateText, str]:
    """Return the state in words, and the command that resumes the study or suite, where there is something to resume."""
    state, board, suite = snapshot.state, snapshot.board, snapshot.suite
    if suite is not None and suite.is_answered and state is State.FINISHED:
        return StateText("Finished", "The result is below."), ""
    verdict = board.verdict if suite is None else None
    minutes = suite.minutes if suite else board.spec.minutes if board.spec else 0.0
    return text_of(state, snapshot.progress, verdict), resume_command(state, verdict, command, minutes)


def _suite_fields(spec: StudySpec, suite: SuiteProgress) -> dict[str, Any]:
    rows = [
        {
            "label": visible(row.name),
            "colour": "var(--base)",
            "symbol": "circle",
            "base": False,
            "trials": str(row.trials),
            "failed": f"{row.failed} failed" if row.failed else "",
            "rate": row.figure,
            "change": visible(row.change),
            "out": row.is_over,
            "runs": row.runs,
        }
        for row in suite.rows
    ]
    return {
        "what": f"{study_title(spec)}, under {counted(len(rows), 'workload')}",
        "load": visible(f"{suite.workload}: {spec.workload.describe()}"),
        "subject": "workload",
        "rows_about": "Workloads so far: the figure of the baseline, and the change of the candidate that differs most.",
        "unit": "baseline",
        "rows": rows,
    }


def _suite_progress(board: Board, suite: SuiteProgress, now: float, *, running: bool) -> dict[str, Any]:
    which, name, does = board.trial_progress(now)
    block = f"{visible(suite.workload)}, {board.block_progress(planned=False)}"
    if not running:
        return {"block": f"in {block}" if board.trial else "", "trial": [which, name, ""]}
    seconds = suite.seconds + (max(0.0, now - board.trial.started) if board.trial else 0.0)
    budget = 60 * suite.minutes
    return {
        "block": block,
        "hosts": [],
        "left": f"at most about {about(max(0.0, budget - seconds))} left",
        "spent": f"{duration(seconds)} of trials so far",
        "share": round(min(1.0, seconds / budget), 3),
        "trial": [which, name, does],
    }


def _study_fields(board: Board, spec: StudySpec) -> dict[str, Any]:
    by_throughput = spec.goal is Goal.THROUGHPUT
    return {
        "what": study_title(spec),
        "load": visible(spec.workload.describe()),
        "subject": naming(spec).subject or "candidate",
        "rows_about": "Candidates so far, over the completed trials, with the drift of the machine taken out.",
        "rows": _rows(board, spec),
        "unit": units(spec.workload).title if by_throughput else measure_of_study(spec).title,
    }


def _progress(board: Board, now: float, *, running: bool) -> dict[str, Any]:
    which, name, does = board.trial_progress(now)
    if not running:
        return {"block": f"in {board.block_progress()}" if board.trial else "", "trial": [which, name, ""]}
    return {
        "block": board.block_progress(),
        "hosts": board.host_lines(now),
        "left": f"about {about(board.seconds_left(now))} left",
        "spent": f"{duration(now - board.began)} so far",
        "share": round(board.share_done(now), 3),
        "trial": [which, name, does],
    }


def _rows(board: Board, spec: StudySpec) -> list[dict[str, Any]]:
    look, measure, rows = styles(spec), measure_of_study(spec), []
    for candidate in spec.candidates:
        standing = board.standing(candidate.name)
        base = candidate.name == spec.baseline
        rows.append(
            {
                "label": look[candidate.name].label,
                "colour": look[candidate.name].colour,
                "symbol": look[candidate.name].symbol,
                "base": base,
                "trials": str(standing.trials),
                "failed": f"{standing.failed} failed" if standing.failed else "",
                "rate": measure.show(standing.tps if spec.goal is Goal.THROUGHPUT else standing.figure),
                "change": "baseline" if base else change(standing.ratio),
                "out": standing.out,
                "runs": board.trial is not None and board.trial.candidate == candidate.name,
            }
        )
    return rows


def _chart(samples: Sequence[Sample], spec: StudySpec) -> dict[str, Any]:
    if not samples:
        return {"x": [], "rate": [], "latency": [], "warm": 0, "lost": [], "words": "", "about": "", "titles": ["", ""]}
    unit = units(spec.workload)
    by_time = not unit.by_run
    latency = f"{latency_name(spec.workload.percentile)} latency, ms" if by_time else f"seconds per {unit.one}"
    rates = [sample.tps for sample in samples]
    warm = sum(sample.step is Step.WARM_UP for sample in samples)
    grey = " Grey: the warm-up, which is not measured." if warm else ""
    return {
        "x": [sample.second for sample in samples],
        "rate": [round(sample.tps, 3) for sample in samples],
        "latency": [round(sample.latency_ms if by_time else sample.seconds, 3) for sample in samples],
        "warm": warm,
        "lost": [index for index, sample in enumerate(samples) if sample.lost],
        "words": ", ".join(newest_figures(samples, spec.workload)),
        "about": f"The last {counted(len(samples), unit.one)}: {number(min(rates))} to {number(max(rates))} {unit.rate}.{grey}",
        "titles": [unit.rate, latency, f"{unit.one}s of the trial"],
    }
