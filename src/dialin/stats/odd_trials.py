"""Trials that differ from the others of their candidate by more than noise, such as a start of a server that went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dialin.stats.trial_fit import TimedTrial, TrialFit

_DEVIATES = 5.0
"""Robust standard deviations from which on a trial is odd. In simulations of three candidates with noise of 0.8 %, one trial
that is 10 % slower is found in half of the studies of 15 trials and in 34 of 40 of 24 trials; noise alone made one odd in 60
studies."""
_OF_SECONDS = 4.0
"""Standard errors by the trial's own seconds from which on these do not explain it."""
_LEAST = 0.03
"""The smallest difference that is worth a word, on the log scale."""
_FEWEST = 3
"""Trials of a candidate, without which nothing says which of them is the odd one."""
_FEWEST_DEVIATIONS = 6
"""Deviations, without which the usual one is not known."""


@dataclass(frozen=True, slots=True)
class OddTrial:
    """A trial that differs from the median of its candidate's, on the log scale and without the machine's drift.

    Attributes:
        place: its place among the trials that were fitted.
    """

    place: int
    difference: float


def odd_trials(trials: Sequence[TimedTrial], fitted: TrialFit) -> list[OddTrial]:
    """Return the odd ones of the trials that a fit was made of.

    The usual deviation is the median absolute one of all candidates together, each candidate's smallest left out, which is its
    median's own.
    """
    if len(trials) != len(fitted.residuals):
        return []
    residuals = fitted.residuals
    deviations, usual = np.zeros(len(trials)), []
    for name in fitted.names:
        places = [place for place, trial in enumerate(trials) if trial.candidate == name]
        if len(places) >= _FEWEST:
            deviations[places] = residuals[places] - np.median(residuals[places])
            usual += sorted(np.abs(deviations[places]))[1:]
    if len(usual) < _FEWEST_DEVIATIONS:
        return []
    sd = 1.4826 * float(np.median(usual))
    limits = [max(_DEVIATES * sd, _OF_SECONDS * trial.error, _LEAST) for trial in trials]
    return [OddTrial(place, float(deviations[place])) for place in np.flatnonzero(np.abs(deviations) > limits).tolist()]
