"""The drift of a machine, a smooth curve for each unbroken run of trials, and the levels of candidates fitted beside it."""

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


@dataclass(frozen=True, slots=True)
class Sums:
    """Trials, and the sums over them that the normal equations need.

    Attributes:
        candidates: the index of each trial's candidate.
        logs: the logarithm of each trial's value, centred.
        within: for each candidate, the variance of a trial that the trials' own seconds show.
        counts: the number of each candidate's trials.
        squares: candidates by runs by columns by columns: sums of the products of the columns of drift with each other.
        columns: candidates by runs by columns: sums of the columns of drift.
        products: candidates by runs by columns: sums of the columns multiplied by the logarithms.
        totals: the sum of each candidate's logarithms.
        total_squares: the sum of their squares.
        state: runs by columns: the mean of each column over all trials, which is the machine's mean state.
    """

    candidates: NDArray[np.int64]
    logs: _Array
    within: _Array
    counts: NDArray[np.int64]
    squares: _Array
    columns: _Array
    products: _Array
    totals: _Array
    total_squares: _Array
    state: _Array

    @property
    def usual(self) -> float:
        """The median of `within` over the candidates, above zero."""
        return max(float(np.median(self.within)), 1e-12)


def sums_of(candidates: NDArray[np.int64], drift: Drift, logs: _Array, within: _Array) -> Sums:
    """Add up trials; the arguments are as in `Sums`."""
    columns, runs, width = drift.columns, drift.runs, drift.columns.shape[1]
    shape = (len(within), drift.precisions.shape[1], width)
    places = candidates, runs
    squares, sums, products = np.zeros((*shape, width)), np.zeros(shape), np.zeros(shape)
    np.add.at(squares, places, columns[:, :, None] * columns[:, None, :])
    np.add.at(sums, places, columns)
    np.add.at(products, places, columns * logs[:, None])
    return Sums(
        candidates=candidates,
        logs=logs,
        within=within,
        counts=np.bincount(candidates),
        squares=squares,
        columns=sums,
        products=products,
        totals=np.bincount(candidates, weights=logs).astype(float),
        total_squares=np.bincount(candidates, weights=logs**2).astype(float),
        state=sums.sum(axis=0) / len(logs),
    )


@dataclass(frozen=True, slots=True)
class Solution:
    """Candidates' levels and coefficients of drift for each assumption about drift, at given relative variances.

    Attributes:
        levels: assumptions by candidates: levels where the columns of drift are zero.
        coefficients: assumptions by runs by columns: coefficients of the drift.
        effects: assumptions by candidates: levels at the machine's mean state.
        covariances: assumptions by candidates by candidates: of the effects, in units of one trial's variance.
        leverages: assumptions by candidates: the leverage of all trials of a candidate together.
        left_over: the weighted sum of squares that each assumption does not explain.
        log_determinant: the logarithm of the determinant of the information under each assumption.
    """

    levels: _Array
    coefficients: _Array
    effects: _Array
    covariances: _Array
    leverages: _Array
    left_over: _Array
    log_determinant: _Array


def solve(sums: Sums, precisions: _Array, relative: _Array) -> Solution:
    """Solve the normal equations of all assumptions.

    Coefficients of different runs meet only through the candidates. Eliminated run by run (Schur complement), they leave
    equations of as many unknowns as there are candidates: time grows with the number of runs, and not with its cube.
    """
    weight = 1 / relative
    run_information = np.tensordot(weight, sums.squares, 1)[None] + precisions[..., None] * np.eye(precisions.shape[2])
    run_inverse = np.linalg.inv(run_information)
    shared = weight[:, None, None] * sums.columns
    slopes = np.einsum("mrkl,crl->mrkc", run_inverse, shared)  # by how much a coefficient falls as a level rises
    information = np.diag(weight * sums.counts) - np.einsum("crk,mrkd->mcd", shared, slopes)
    inverse = np.linalg.inv(information)
    products, totals = np.tensordot(weight, sums.products, 1), weight * sums.totals
    alone = np.einsum("mrkl,rl->mrk", run_inverse, products)
    levels = np.einsum("mcd,md->mc", inverse, totals - np.einsum("crk,mrk->mc", shared, alone))
    coefficients = alone - np.einsum("mrkc,mc->mrk", slopes, levels)
    spread = slopes @ inverse[:, None]
    leverages = (
        sums.counts * np.diagonal(inverse, axis1=1, axis2=2)
        - 2 * np.einsum("crk,mrkc->mc", sums.columns, spread)
        + np.einsum("crkl,mrkl->mc", sums.squares, run_inverse + spread @ slopes.swapaxes(2, 3))
    )
    to_state = np.eye(len(relative)) - np.einsum("rk,mrkc->mc", sums.state, slopes)[:, None, :]
    of_state = np.einsum("rk,mrkl,rl->m", sums.state, run_inverse, sums.state)
    return Solution(
        levels=levels,
        coefficients=coefficients,
        effects=levels + np.einsum("rk,mrk->m", sums.state, coefficients)[:, None],
        covariances=to_state @ inverse @ to_state.swapaxes(1, 2) + of_state[:, None, None],
        leverages=weight * leverages,
        left_over=weight @ sums.total_squares - levels @ totals - np.einsum("mrk,rk->m", coefficients, products),
        log_determinant=np.linalg.slogdet(information)[1] + np.linalg.slogdet(run_information)[1].sum(axis=1),
    )
