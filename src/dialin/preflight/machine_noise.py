"""The noise of this machine: stored after each study, reported before the next one."""

from __future__ import annotations

import json
import math
import statistics
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter

from dialin.evidence.measured import figures_of
from dialin.file_lock import locked
from dialin.model.record import StudyRecord
from dialin.model.study import Goal, StudySpec
from dialin.paths import parse_json, replace_text
from dialin.question.plan import Plan
from dialin.sentences.load_notes import OtherLoad
from dialin.stats.forecast import Noise, detectable, fewest_trials, separate, trials_for
from dialin.text import counted, exact_percent, percent
from dialin.verdict import comparison

_MOST_STUDIES = 50
"""How many studies are remembered."""
_LEAST_FREEDOM = 3
"""Degrees of freedom from which on a study's noise is worth remembering."""
ASSUMED = Noise(between=0.015, second=0.1)
"""The noise assumed where none is known: that of an ordinary virtual machine, 2.3 % for a trial of 30 s (benchmarks/)."""


@dataclass(frozen=True, slots=True)
class StudyNoise:
    """The noise of one study; `load` describes its workload, `at` is in seconds since the epoch."""

    noise: Noise
    build: str
    load: str
    switch: str
    at: float


def study_noise(record: StudyRecord) -> StudyNoise | None:
    """Return the noise of a study; None where it has too few trials, or did not compare throughput on this machine."""
    verdict = record.verdict
    raced = comparison.racing(record.trials)
    trials = list(figures_of(record, raced).values())
    comparable = record.spec.goal is Goal.THROUGHPUT and record.spec.is_sandboxed
    if verdict is None or verdict.trial_noise is None or not trials or not comparable:
        return None
    spec = record.spec
    dof = len(trials) - len(spec.candidates) - len({trial.run for trial in raced})
    if dof < _LEAST_FREEDOM:
        return None
    errors = [one.window.cv / math.sqrt(one.effective) for one in trials]
    noise = separate(verdict.trial_noise, errors, statistics.fmean(one.seconds for one in trials))
    return StudyNoise(noise, spec.candidates[0].server, _load(spec), spec.switch, record.created)


def remember(path: Path, record: StudyRecord) -> None:
    """Add the noise of a study to the noise stored for this machine, unless other programs disturbed the study.

    Errors of writing are ignored: only a forecast depends on it.
    """
    noise = study_noise(record)
    disturbed = record.verdict is not None and any(note.code == OtherLoad.code for note in record.verdict.warnings)
    if noise is not None and not disturbed:
        _keep(path, noise)


def _keep(path: Path, known: StudyNoise) -> None:
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with locked(path.with_name(f".{path.name}.lock")):  # another study may end at the same time
            others = [one for one in _read(path) if one.at != known.at]  # a resumed study replaces its earlier entry
            replace_text(path, json.dumps([asdict(one) for one in [*others, known][-_MOST_STUDIES:]], indent=1))


def recall(path: Path, spec: StudySpec) -> StudyNoise | None:
    """Return the noise that a study may expect: that of the newest study with the same load and switch mode.

    A study on the same build is preferred. None where there is no such study, the server is attached, or the goal is not
    throughput.
    """
    if spec.goal is not Goal.THROUGHPUT or not spec.is_sandboxed:
        return None
    alike = [one for one in _read(path) if one.load == _load(spec) and one.switch == spec.switch]
    return max(alike, key=lambda one: (one.build == spec.candidates[0].server, one.at), default=None)


def newest(path: Path, seconds: float) -> float | None:
    """Return the noise of a trial of so many measured seconds in the newest study here; None where there was none."""
    known = max(_read(path), key=lambda one: one.at, default=None)
    return known.noise.of_trial(seconds) if known else None


def _read(path: Path) -> list[StudyNoise]:
    try:
        return TypeAdapter(list[StudyNoise]).validate_python(parse_json(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, KeyError):
        return []  # no file yet, or one of another version: only a forecast depends on it


def _load(spec: StudySpec) -> str:
    return spec.workload.describe()


def with_expected_noise(spec: StudySpec, plan: Plan, known: StudyNoise | None) -> StudySpec:
    return spec.model_copy(update={"expected_noise": known.noise.of_trial(plan.measure) if known else None})


_DIFFERENCES = (0.03, 0.10)
"""The differences that a forecast is given for: one that is worth a change, and one that is visible in a chart."""


def forecast_sentence(spec: StudySpec, plan: Plan, known: StudyNoise | None) -> str:
    """Return in one sentence what the budget can detect, and how long a safe choice and its proof are expected to take."""
    if spec.goal is not Goal.THROUGHPUT or spec.is_aa:
        return ""
    noise = known.noise if known else ASSUMED
    sd, count = noise.of_trial(plan.measure), len(spec.candidates)
    least = detectable(sd, count, plan.blocks * count, confidence=spec.confidence)
    if known:
        text = f"Noise here was {percent(sd)} per trial: {spec.minutes:g} minutes can detect a difference of {percent(least)}."
    else:
        text = (
            "Noise on this machine is not measured yet (dialin doctor --noise). "
            f"Assuming {percent(sd)} per trial, {spec.minutes:g} minutes can detect a difference of {percent(least)}."
        )
    expected = [_expected(spec, plan, sd, difference) for difference in _DIFFERENCES if difference > spec.worthwhile]
    return " ".join([text, *expected])


def _expected(spec: StudySpec, plan: Plan, sd: float, difference: float) -> str:
    """Return the expected minutes to a safe choice and to its proof, where one candidate is better than all by a difference."""

    def minutes(*, proof: bool) -> str:
        trials = trials_for(
            difference,
            sd,
            len(spec.candidates),
            confidence=spec.confidence,
            worthwhile=spec.worthwhile,
            proof=proof,
            shares_start=spec.shares_start,
            power=0.5,
        )
        return _rounded(trials * plan.trial_seconds / 60)

    safe, proof = minutes(proof=False), minutes(proof=True)
    return f"If one is better by {exact_percent(difference)}: a safe choice in about {safe}, proof in {proof}."


def _rounded(minutes: float) -> str:
    return counted(round(minutes), "minute") if minutes < 180 else f"{minutes / 60:.0f} hours"


def budgets(noise: Noise, trial_overhead: float, seconds: float, confidence: float) -> list[list[str]]:
    """Return what budgets of several lengths can detect between 2, 4 and 8 candidates: a row each, percentages as text."""
    sd = noise.of_trial(seconds)
    rows = []
    for minutes in (10, 30, 60, 120, 240):
        row = [f"{minutes} minutes"]
        for count in (2, 4, 8):
            trials = int(minutes * 60 // (trial_overhead + seconds))
            is_enough = trials >= max(3 * count, fewest_trials(count))
            row.append(percent(detectable(sd, count, trials, confidence=confidence)) if is_enough else "too few trials")
        rows.append(row)
    return rows
