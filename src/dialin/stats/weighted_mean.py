"""The weighted mean of several studies of the same candidates, on the log scale: one fit that is judged as any other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dialin.stats.blocks import summed_dof
from dialin.stats.forecast import is_enough
from dialin.stats.trial_fit import FittedDifference, IntervalWidth, TrialFit

_MOST_TIMES = 48
"""The largest multiple of the present number of trials that is foreseen, as in `stats.decide`."""


def weighted_mean(fits: Sequence[TrialFit | None], weights: Sequence[float]) -> TrialFit | None:
    """Return the fit of the weighted geometric mean of what several studies measured.

    Studies are independent, so that variances add up with the squares of the weights' shares; the degrees of freedom are those
    of Satterthwaite (Biometrics Bulletin 2, 1946). Effects are means of logarithms of several units: only their differences
    mean anything. A candidate that one of the studies lacks is left out.

    Returns:
        The fit; None while a study has too few trials, or where fewer than two candidates are left.

    Raises:
        ValueError: there is no study, or a weight is not above zero.
    """
    if not fits or len(fits) != len(weights) or min(weights) <= 0:
        raise ValueError("a mean needs studies, each with a weight above zero")
    known = [fit for fit in fits if fit is not None]
    if len(known) < len(fits) or not all(is_enough(fit) for fit in known):
        return None
    names = tuple(name for name in known[0].names if all(name in fit.names for fit in known))
    if len(names) < 2:
        return None
    shares = np.array(weights, dtype=float) / math.fsum(weights)
    places = [[fit.names.index(name) for name in names] for fit in known]
    effects = np.array([fit.effects[place] for fit, place in zip(known, places, strict=True)])
    covariances = np.array([fit.covariance[np.ix_(place, place)] for fit, place in zip(known, places, strict=True)])
    trials = np.array([fit.trials[place] for fit, place in zip(known, places, strict=True)])
    # The part of each study in the variance of a candidate's mean.
    parts = np.array([fit.variances[place] for fit, place in zip(known, places, strict=True)]) / trials * shares[:, None] ** 2
    dof, own_dof = (
        summed_dof(parts, np.array([of_fit[place] for of_fit, place in zip(each, places, strict=True)]))
        for each in ([fit.dof for fit in known], [fit.own_dof for fit in known])
    )
    total_dof = float(summed_dof(parts.sum(axis=1), np.array([fit.total_dof for fit in known])))
    summed = trials.sum(axis=0)
    return replace(
        known[0],
        names=names,
        effects=shares @ effects,
        covariance=np.tensordot(shares**2, covariances, 1),
        variances=parts.sum(axis=0) * summed,
        dof=dof,
        total_dof=total_dof,
        trials=summed,
        residual_sd=math.sqrt(float(shares**2 @ np.array([fit.residual_sd**2 for fit in known]))),
        residual_dof=min(fit.residual_dof for fit in known),
        width=IntervalWidth(max(fit.width.least for fit in known), min(fit.width.more_dof for fit in known)),
        residuals=np.zeros(0),
        own_dof=own_dof,
    )


def times_more(difference: FittedDifference, margin: float, not_worse: float, worse: float) -> float | None:
    """Return how many times as many trials show that a candidate is, or is not, worse than the baseline by a margin.

    1 where that is shown already; None where it takes more than 48 times as many, or the difference is too near the margin.

    Args:
        difference: the candidate's from the baseline.
        margin: on the log scale, above zero.
        not_worse: the deviate from which on it is shown not to be worse by more than the margin.
        worse: the deviate from which on it is shown to be.
    """
    z = difference.z(margin)
    needed = not_worse if z > 0 else worse
    times = max(1.0, (needed / z) ** 2) if z else math.inf
    return times if times <= _MOST_TIMES else None
