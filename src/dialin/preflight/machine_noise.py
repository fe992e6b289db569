"""The noise of this machine: stored after each study, reported before the next one."""

from __future__ import annotations

import json
import math
import statistics
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from dialin.file_lock import locked
from dialin.model.record import StudyRecord
from dialin.model.study import Goal, StudySpec
from dialin.paths import replace_text
from dialin.question.plan import Plan
from dialin.stats.forecast import blocks_for, detectable
from dialin.stats.noise_parts import Noise, separate
from dialin.text import counted, exact_percent, percent
from dialin.verdict import elimination
from dialin.verdict.reach_verdict import figures_of

_KEPT = 50
"""How many studies are remembered."""
_ENOUGH = 3
"""Degrees of freedom from which on a study's noise is worth remembering."""
ASSUMED = Noise(between=0.015, second=0.1)
"""Where nothing is known: what an ordinary virtual machine showed (BENCHMARKS.md); 2.3 % for a trial of half a minute."""


@dataclass(frozen=True, slots=True)
class Known:
    """The noise that one study had; `load` describes its workload, `at` is in seconds since the epoch."""

    noise: Noise
    build: str
    load: str
    switch: str
    at: float
    dof: int


def of_study(record: StudyRecord) -> Known | None:
    """Return the noise of a study; None where it has too few trials, or did not compare throughput on this machine."""
    verdict = record.verdict
    raced = elimination.racing(record.trials)
    trials = list(figures_of(record, raced).values())
    comparable = record.spec.goal is Goal.THROUGHPUT and record.spec.attachment is None
    if verdict is None or verdict.trial_noise is None or not trials or not comparable:
        return None
    spec = record.spec
    dof = len(trials) - len({(trial.block, trial.session) for trial in raced}) - len(spec.candidates) + 1
    if dof < _ENOUGH:
        return None
    errors = [one.window.cv / math.sqrt(one.effective) for one in trials]
    noise = separate(verdict.trial_noise, errors, statistics.fmean(one.seconds for one in trials))
    return Known(noise, spec.candidates[0].server, _load(spec), spec.switch, record.created, dof)


def remember(path: Path, record: StudyRecord) -> None:
    """Add the noise of a study to those of this machine, unless other programs disturbed it.

    Errors of writing are ignored: only a forecast depends on it.
    """
    known = of_study(record)
    disturbed = record.verdict is not None and any(note.code == "other_load" for note in record.verdict.warnings)
    if known is None or disturbed:
        return
    _keep(path, known)


def _keep(path: Path, known: Known) -> None:
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.with_name(f".{path.name}.lock")):  # a study that ends at the same time adds its own
            others = [one for one in _read(path) if one.at != known.at]  # a study that was resumed is the same one
            replace_text(path, json.dumps([asdict(one) for one in [*others, known][-_KEPT:]], indent=1))


def recall(path: Path, spec: StudySpec) -> Known | None:
    """Return the noise that a study may expect: that of the newest one with the same load and switch mode.

    One on the same build goes first. None where there was none, or where another figure than throughput decides.
    """
    if spec.goal is not Goal.THROUGHPUT or spec.attachment is not None:
        return None
    alike = [one for one in _read(path) if one.load == _load(spec) and one.switch == spec.switch]
    return max(alike, key=lambda one: (one.build == spec.candidates[0].server, one.at), default=None)


def _read(path: Path) -> list[Known]:
    try:
        return [Known(**{**one, "noise": Noise(**one["noise"])}) for one in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError, KeyError):
        return []  # none yet, or of another dialin: a forecast is all that depends on it


def _load(spec: StudySpec) -> str:
    return spec.workload.describe()


def expecting(spec: StudySpec, plan: Plan, known: Known | None) -> StudySpec:
    """Return the study with the noise that is expected."""
    return spec.model_copy(update={"expected_noise": known.noise.of_trial(plan.measure) if known else None})


def promise(spec: StudySpec, plan: Plan, known: Known | None) -> str:
    """Return a sentence on what the budget can detect, and what it takes for the smallest difference that matters."""
    if spec.goal is not Goal.THROUGHPUT or spec.aa:
        return ""
    noise = known.noise if known else ASSUMED
    sd, count = noise.of_trial(plan.measure), len(spec.candidates)
    least = detectable(sd, count, plan.blocks, confidence=spec.confidence, worthwhile=spec.worthwhile)
    if known:
        text = f"With the noise that trials had here before ({percent(sd)} of a trial)"
    else:
        text = f"How noisy trials are here is not known yet (dialin doctor --noise measures it); with {percent(sd)} of a trial"
    text += f" {spec.minutes:g} minutes tell {percent(least)} apart"
    if least <= spec.worthwhile * 1.05:
        return text
    needed = blocks_for(spec.worthwhile, sd, count, confidence=spec.confidence, worthwhile=spec.worthwhile)
    minutes = needed * count * plan.trial_seconds / 60
    return f"{text}; {exact_percent(spec.worthwhile)} may take up to {_rounded(minutes)}"


def _rounded(minutes: float) -> str:
    return counted(round(minutes), "minute") if minutes < 180 else f"{minutes / 60:.0f} hours"


def budgets(noise: Noise, trial_overhead: float, seconds: float, confidence: float, worthwhile: float) -> list[list[str]]:
    """Return what budgets of several lengths can detect between 2, 4 and 8 candidates: a row each, percentages as text."""
    sd = noise.of_trial(seconds)
    rows = []
    for minutes in (10, 30, 60, 120, 240):
        row = [f"{minutes} minutes"]
        for count in (2, 4, 8):
            blocks = int(minutes * 60 // ((trial_overhead + seconds) * count))
            least = detectable(sd, count, blocks, confidence=confidence, worthwhile=worthwhile) if blocks >= 3 else None
            row.append("too few trials" if least is None else percent(least))
        rows.append(row)
    return rows
