"""The model of a machine's drift: a smooth curve for each unbroken run of trials, of unknown size and shape."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]

_MOST_WAVES = 12
"""The most half waves in the drift of a run, besides a straight line: the fastest has six periods in the run."""
_TRIALS_OF_A_WAVE = 3
"""The fewest trials of a half wave: a faster one could mistake two candidates that alternate for drift."""
_AMPLITUDES = (0.5, 1.5, 5.0, 15.0, 50.0)
"""Standard deviations that the drift of a run may have, in units of one trial's noise."""
_SHAPES = (2.0, 4.0)
"""Powers by which the variance of a half wave falls with its number: a wandering curve (Brownian motion), and a smooth one."""
_NO_DRIFT = 1e12
"""The precision of the line and of each half wave under the assumption of no drift."""
_SHIFT = 100.0
"""The standard deviation of a run's level about that of all runs, in units of one trial's noise: nothing is known of it."""


@dataclass(frozen=True, slots=True)
class Drift:
    """The drift of all runs. The coefficients of a run concern its trials alone, so a trial has the columns of its run only.

    Attributes:
        runs: the number of each trial's run.
        columns: trials by columns: a straight line, half waves, and where there are several runs the run's level; zero for half
            waves that a run does not have.
        precisions: assumptions by runs by columns: precisions of the coefficients, in units of one trial's; 1 for half waves
            that a run does not have.
        prior: the log prior of each assumption.
    """

    runs: NDArray[np.int64]
    columns: _Array
    precisions: _Array
    prior: _Array


def drift_of(runs_of_trials: Sequence[Hashable], at: _Array) -> Drift:
    """Return the model of the drift of all runs.

    Args:
        runs_of_trials: the unbroken run of trials on one machine that each trial belongs to.
        at: the time of each trial, seconds on any clock of that machine.
    """
    numbers: dict[Hashable, int] = {}
    runs = np.array([numbers.setdefault(run, len(numbers)) for run in runs_of_trials])
    count = len(numbers)
    begin, end = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(begin, runs, at)
    np.maximum.at(end, runs, at)
    place = (at - begin[runs]) / np.maximum(end - begin, 1e-9)[runs]
    most = np.clip(np.bincount(runs) // _TRIALS_OF_A_WAVE, 1, _MOST_WAVES)
    waves = np.arange(1.0, most.max() + 1)
    is_there = waves <= most[:, None]
    levels = np.ones((len(runs), 1 if count > 1 else 0))
    columns = np.hstack([place[:, None] - 0.5, np.cos(np.pi * np.outer(place, waves)) * is_there[runs], levels])
    lines, shifts = np.ones((count, 1)), np.full((count, levels.shape[1]), 1 / _SHIFT**2)
    precisions, log_priors = [], []
    for shape in _SHAPES:
        # The mean square of a straight line from -1/2 to 1/2 is a twelfth, that of a half wave one half.
        shares = np.where(is_there, waves**-shape, 0.0)
        of_waves = np.divide(shares.sum(axis=1, keepdims=True), 2 * shares, out=np.ones_like(shares), where=is_there)
        for amplitude in _AMPLITUDES:
            scaled = np.where(is_there, of_waves / amplitude**2, 1.0)
            precisions.append(np.hstack([lines / (12 * amplitude**2), scaled, shifts]))
            log_priors.append(math.log(0.5 / len(_SHAPES) / len(_AMPLITUDES)))
    precisions.append(np.hstack([lines * _NO_DRIFT, np.where(is_there, _NO_DRIFT, 1.0), shifts]))
    log_priors.append(math.log(0.5))
    return Drift(runs, columns, np.array(precisions), np.array(log_priors))
