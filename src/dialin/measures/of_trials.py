"""The figure of each trial that candidates are compared by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dialin.measures.table import MEASURES
from dialin.model.study import Goal
from dialin.model.trial import Trial
from dialin.model.verdict import DecidedBy, Estimate
from dialin.stats.blocks import Observation
from dialin.stats.throughput import by_mean, by_typical_speed
from dialin.stats.trial_figures import Figures, completed, trial_speeds
from dialin.stats.trial_fit import TimedTrial


def value(figures: Figures, goal: Goal) -> float | None:
    """Return the figure of a trial that candidates are compared by, the higher the better.

    0 where nothing was done; None where something was, but the trial does not show the measure.
    """
    figure = MEASURES[goal].of_trial(figures)
    if figure is None:
        return None if figures.window.mean > 0 else 0.0
    return MEASURES[goal].compared(figure)


def goal_ratio(estimate: Estimate | None, goal: Goal) -> Estimate | None:
    """Return the level or the ratio of the goal's own measure, of one that was compared as `value` has it."""
    return MEASURES[goal].of_compared(estimate)


def timed_trials(trials: Iterable[Trial], by_trial: Mapping[int, Figures], goal: Goal) -> list[TimedTrial]:
    """Return the figure of each completed trial that shows it, with its time and its own error."""
    error = MEASURES[goal].error
    known = ((trial, one, value(one, goal)) for trial, one in completed(trials, by_trial))
    return [
        TimedTrial(trial.run, trial.candidate, trial.middle, figure, error(one))
        for trial, one, figure in known
        if figure is not None
    ]


def level_trials(trials: Iterable[Trial], by_trial: Mapping[int, Figures], goal: Goal) -> list[TimedTrial]:
    """Return the same as levels are estimated from it: the error of throughput includes how the cost of stalls varies."""
    return by_mean(trial_speeds(trials, by_trial)) if goal is Goal.THROUGHPUT else timed_trials(trials, by_trial, goal)


def deciding_trials(
    trials: Iterable[Trial], by_trial: Mapping[int, Figures], goal: Goal, decided_by: DecidedBy
) -> list[TimedTrial]:
    """Return the same with the typical speed in place of throughput where that decided."""
    if decided_by is DecidedBy.TYPICAL_SPEED:
        return by_typical_speed(trial_speeds(trials, by_trial))
    return timed_trials(trials, by_trial, goal)


def observations(trials: Iterable[Trial], by_trial: Mapping[int, Figures], goal: Goal) -> list[Observation]:
    """Return the figure of each completed trial that shows it; trials that ran close together in time share a stratum."""
    known = ((trial, value(one, goal)) for trial, one in completed(trials, by_trial))
    return [Observation(trial.stratum, trial.candidate, figure) for trial, figure in known if figure is not None]
