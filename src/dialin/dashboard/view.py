"""The live part of the page as data: all texts and figures are ready to show, and the page's script only places them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dialin.dashboard.follow import Snapshot
from dialin.dashboard.study_state import State, resume_command, text_of
from dialin.measures.table import measure_of_study
from dialin.model.study import Goal, StudySpec
from dialin.model.trial import Sample, Step
from dialin.model.workload import latency_name
from dialin.report.board import Board, newest_figures, study_title
from dialin.report.charts.style import styles
from dialin.sentences.load_units import Units, units
from dialin.sentences.names import naming
from dialin.text import about, change, clock_time, counted, duration, number, visible

_DRAWN = (State.RUNNING, State.DEAD)


def view(snapshot: Snapshot, directory: Path, now: float, *, stopping: bool = False, report: int = 0, trouble: str = "") -> str:
    """Return the live part of the page, as JSON. The number of the newest report is 0 where there is none yet."""
    board, state = snapshot.board, snapshot.state
    text = text_of(state, snapshot.progress, board.verdict)
    minutes = board.spec.minutes if board.spec else 0.0
    command = resume_command(state, board.verdict, shlex.join(["dialin", "resume", str(directory)]), minutes)
    page: dict[str, Any] = {
        "state": state,
        "name": "Stopping" if stopping else text.name,
        "sentence": visible(text.sentence),
        "command": visible(command),
        "resume": visible(shlex.join(["dialin", "resume", str(directory)])),
        "watch": visible(shlex.join(["dialin", "watch", str(directory)])),
        "trouble": visible(trouble),
        "may_stop": state in (State.READYING, State.RUNNING) and not stopping,
        "may_end_block": state is State.RUNNING and not stopping,
        "stops": snapshot.stops and state in (State.READYING, State.RUNNING),
        "report": report,
        "log": [[clock_time(at), visible(text)] for at, text in board.lines],
    }
    if board.spec is not None:
        unit = units(board.spec.workload)
        page |= _study_fields(board.spec) | {
            "rows": _rows(board, board.spec),
            "unit": unit.title if board.spec.goal is Goal.THROUGHPUT else measure_of_study(board.spec).title,
        }
        if state in _DRAWN:
            page |= _progress(board, now, running=state is State.RUNNING) | {"chart": _chart(board.seconds, board.spec, unit)}
    return json.dumps(page, separators=(",", ":"), allow_nan=False)


def _study_fields(spec: StudySpec) -> dict[str, Any]:
    return {
        "what": study_title(spec),
        "load": visible(spec.workload.describe()),
        "subject": naming(spec).subject or "candidate",
    }


def _progress(board: Board, now: float, *, running: bool) -> dict[str, Any]:
    which, name, does = board.trial_progress(now)
    if not running:
        return {"block": f"in {board.block_progress}" if board.trial else "", "trial": [which, name, ""]}
    return {
        "block": board.block_progress,
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


def _chart(samples: Sequence[Sample], spec: StudySpec, unit: Units) -> dict[str, Any]:
    if not samples:
        return {"x": [], "rate": [], "latency": [], "warm": 0, "lost": [], "words": "", "about": "", "titles": ["", ""]}
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
