"""The frames of a study: candidates, trials, variables, the verdict, looks and the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import polars as pl

from dialin.cause_sentences import with_advice
from dialin.frames import columns
from dialin.frames.columns import Columns
from dialin.model.record import LogLine, Look, TuneCourse
from dialin.model.setting import Value, as_number, describe
from dialin.model.study import StudySpec
from dialin.model.trial import Step, Trial, TrialState
from dialin.model.verdict import CandidateVerdict, Estimate, TuneFindings, Verdict
from dialin.sentences.log_sentences import log_text


def frame(of: Columns, rows: Iterable[Sequence[Any]]) -> pl.DataFrame:
    """Return a frame with exactly these columns and types."""
    return pl.DataFrame(list(rows), schema=columns.schema(of), orient="row", strict=False)


def at(epoch: float) -> datetime:
    """Return seconds since the epoch as a time in UTC."""
    return datetime.fromtimestamp(epoch, UTC)


def of_trial(trial: Trial) -> tuple[int, int, str, str]:
    """Return the cells that identify the trial of a row: trial, block, candidate and purpose."""
    return trial.id, trial.block, trial.candidate, str(trial.purpose)


def candidates(spec: StudySpec, trials: Sequence[Trial]) -> pl.DataFrame:
    """Return the candidates; each variable under test has a column of its own at the end.

    Such a column holds numbers if a server reads every value as a number (`8G` is 8589934592), else the values as they were
    requested; null where a candidate leaves the variable as it is.
    """
    ended = Counter((trial.candidate, trial.state) for trial in trials)
    rows = [
        (
            one.name,
            one.name == spec.baseline,
            one.server,
            describe(one.setting),
            ended[one.name, TrialState.DONE],
            ended[one.name, TrialState.FAILED],
        )
        for one in spec.candidates
    ]
    table = frame(columns.CANDIDATES, rows)
    names = [name for name in spec.variables_under_test if name not in columns.CANDIDATES]
    return table.with_columns(values_column(name, [one.setting.get(name) for one in spec.candidates]) for name in names)


def values_column(name: str, values: Sequence[Value | None]) -> pl.Series:
    """Return a column of numbers if a server reads every value as a number, else of text; null where a value is None."""
    numbers = [None if value is None else as_number(value) for value in values]
    if any(number is None and value is not None for number, value in zip(numbers, values, strict=True)):
        return pl.Series(name, [None if value is None else str(value) for value in values], dtype=pl.String)
    whole = all(number is None or (isinstance(number, int) and -(2**63) <= number < 2**63) for number in numbers)
    return pl.Series(name, numbers, dtype=pl.Int64 if whole else pl.Float64, strict=False)


def trials(rows: Sequence[Trial]) -> pl.DataFrame:
    return frame(columns.TRIALS, map(_trial, rows))


def _trial(trial: Trial) -> tuple[Any, ...]:
    costs, failure = trial.costs, trial.failure
    return (
        *(trial.id, trial.block, trial.position, trial.session, trial.candidate, str(trial.purpose), str(trial.state)),
        at(trial.started),
        *(trial.steps.get(step) for step in Step),
        str(trial.warm_up_end) if trial.warm_up_end else None,
        *((costs.seconds, costs.driver_cpu, costs.server_cpu, costs.machine_busy) if costs else (None,) * 4),
        *((costs.cpus, costs.driver_cpus) if costs else (None,) * 2),
        *((str(failure.step), failure.fault, with_advice(failure.cause), failure.log_tail) if failure else (None,) * 4),
    )


def variables(spec: StudySpec, trials: Sequence[Trial]) -> pl.DataFrame:
    """Return every variable of every trial as the server reported it, beside what was requested."""
    return frame(columns.VARIABLES, (row for trial in trials for row in _variables(spec, trial)))


def _variables(spec: StudySpec, trial: Trial) -> Iterable[tuple[Any, ...]]:
    setting: Mapping[str, Value] = spec.setting_of(trial.candidate)
    for name in {**trial.in_force, **trial.real}:
        requested = setting.get(name)
        yield (
            *of_trial(trial),
            name,
            None if requested is None else str(requested),
            trial.in_force.get(name),
            trial.real.get(name),
        )


def verdict(reached: Verdict | None) -> pl.DataFrame:
    """Return the table of the candidates with all intervals; without a verdict it has no rows."""
    return frame(columns.VERDICT, (_candidate(one, reached) for one in reached.candidates) if reached else ())


def _candidate(one: CandidateVerdict, reached: Verdict) -> tuple[Any, ...]:
    return (
        *(one.name, str(one.state), one.name == reached.recommended_candidate, one.name == reached.baseline),
        *interval_cells(one.tps),
        *interval_cells(one.ratio),
        *interval_cells(one.qps),
        *interval_cells(one.typical_ratio),
        one.stall_cost,
        *interval_cells(one.goal_ratio),
        one.probability,
        *interval_cells(one.cv),
        *interval_cells(one.stall_seconds_per_1000),
        *interval_cells(one.latency_ms),
        *interval_cells(one.latency_ratio),
        *(one.worst_second_tps, one.errors_per_s, one.trials, one.failed, one.unsteady, one.lost_seconds),
        *(one.effective_seconds, one.pareto, [loss.loss.value for loss in one.weaker_durability]),
    )


def interval_cells(estimate: Estimate | None) -> tuple[float | None, float | None, float | None]:
    """Return the three cells of a figure with its interval: the figure, and the lower and the upper end."""
    return (estimate.mean, estimate.low, estimate.high) if estimate else (None, None, None)


def looks(rows: Sequence[Look]) -> pl.DataFrame:
    return frame(columns.LOOKS, ((look.number, look.blocks, look.trials, look.decided) for look in rows))


def log(lines: Sequence[LogLine]) -> pl.DataFrame:
    return frame(columns.LOG, ((at(line.at), log_text(line)) for line in lines))


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
