"""The frames of a tune: its trials with their settings and figures, its variables, and the modelled effect of each value."""

from __future__ import annotations

import polars as pl

from dialin.cause_sentences import with_advice
from dialin.frames import columns
from dialin.frames.tables import frame, interval_cells, values_column
from dialin.model.record import TuneCourse
from dialin.model.setting import as_number
from dialin.model.study import StudySpec
from dialin.model.trial import Step
from dialin.model.verdict import TuneFindings


def tune_trials(spec: StudySpec, course: TuneCourse | None) -> pl.DataFrame:
    """Return each trial of a tune that ended, in order; each variable that is tuned has a column of its own at the end.

    Such a column has the value of every trial, the baseline's where a trial does not set it; numbers as in the frame of
    candidates.
    """
    points = course.points() if course else []
    rows = []
    for point in points:
        trial, failure = point.trial, point.trial.failure
        figures = course.figures.get(trial.id) if course else None
        measured = (figures.throughput, figures.latency, figures.cv) if figures else (None, None, None)
        rows.append(
            (
                *(point.place, trial.id, str(point.ask.stage), trial.candidate, str(trial.state)),
                *(trial.steps.get(Step.MEASURE), *measured, point.ask.improvement),
                with_advice(failure.cause) if failure else None,
            )
        )
    table = frame(columns.TUNE_TRIALS, rows)
    if course is None:
        return table
    settings = [course.settings.get(point.trial.candidate, {}) for point in points]
    variables = [one for one in spec.tuned.values() if one.name not in columns.TUNE_TRIALS]
    return table.with_columns(
        values_column(one.name, [setting.get(one.name, one.default) for setting in settings]) for one in variables
    )


def tune_variables(findings: TuneFindings | None) -> pl.DataFrame:
    """Return a row for each tuned variable: its recommended value, its effect, and how much its change contributes."""
    return frame(
        columns.TUNE_VARIABLES,
        (
            (
                *(one.name, str(one.before), str(findings.best.get(one.name, one.before))),
                None if one.recommended is None else str(one.recommended),
                one.effect,
                *interval_cells(one.carries),
                str(one.carries_by) if one.carries_by else None,
            )
            for one in findings.variables
        )
        if findings
        else (),
    )


def tune_responses(findings: TuneFindings | None) -> pl.DataFrame:
    """Return a row for each value for which the model gives the effect of a variable."""
    return frame(
        columns.TUNE_RESPONSES,
        (
            (one.name, str(point.value), as_number(point.value), *interval_cells(point.ratio))
            for one in (findings.variables if findings else ())
            for point in one.response
        ),
    )
