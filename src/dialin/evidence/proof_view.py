"""A tune as its reports show it: its proof as a study, together with the course of the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dialin.evidence import measured
from dialin.measures.table import MEASURES
from dialin.model.record import CourseFigures, StudyRecord, TuneCourse
from dialin.model.setting import Setting, same_setting
from dialin.model.study import Candidate, StudySpec
from dialin.model.trial import Purpose
from dialin.model.tune import TuneAsk, TunePlan, TuneStage


def proof_view(record: StudyRecord) -> StudyRecord:
    """Return the record of a tune's proof, with the course of the search; that of any other study is returned as it is.

    Before the proof begins, the record has the baseline and the best setting so far, with their trials in the search.
    """
    if not record.spec.tuned:
        return record
    spec, course = record.spec, record.course or TuneCourse()
    of_goal = MEASURES[spec.goal].of_trial
    course = replace(
        course,
        trials=record.trials,
        settings={candidate.name: candidate.setting for candidate in spec.candidates},
        figures={
            number: CourseFigures(of_trial.window.mean, of_trial.latency, of_trial.window.cv, of_goal(of_trial))
            for number, of_trial in measured.figures(record).items()
        },
    )
    asks = current_proof_asks(spec, course.asks)
    blocks = {ask.block for ask in asks}
    names = list(dict.fromkeys([spec.baseline, *(ask.candidate for ask in asks)]))
    if asks:
        left_out = course.findings.left_out if course.findings else []
        trials = [
            trial
            for trial in record.trials
            if trial.purpose is Purpose.RACE and trial.block in blocks and trial.id not in left_out
        ]
    else:
        best = candidate_of(
            spec, {**spec.candidate(spec.baseline).setting, **(course.findings.best if course.findings else {})}
        )
        names = list(dict.fromkeys([spec.baseline, *([best.name] if best else [])]))
        trials = [trial for trial in record.trials if trial.candidate in names]
    shown = {trial.id for trial in trials}
    return replace(
        record,
        spec=spec.model_copy(update={"candidates": tuple(each for each in spec.candidates if each.name in names)}),
        trials=trials,
        samples={number: samples for number, samples in record.samples.items() if number in shown},
        watched={number: watched for number, watched in record.watched.items() if number in shown},
        course=course,
    )


def current_proof_asks(spec: StudySpec, asks: Sequence[TuneAsk]) -> list[TuneAsk]:
    """Return the trials of the current proof; those of a proof for a smaller, earlier budget do not count."""
    searched = spec.question.searched if isinstance(spec.question, TunePlan) else 0
    return [ask for ask in asks if ask.stage is TuneStage.PROOF and ask.number > searched]


def candidate_of(spec: StudySpec, setting: Setting) -> Candidate | None:
    """Return the candidate with a setting; None if no trial had it."""
    return next((each for each in spec.candidates if same_setting(each.setting, setting)), None)
