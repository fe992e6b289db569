"""What a number of trials can settle, how many trials a difference needs, and the parts of their noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import ndtr, ndtri, stdtrit

from dialin.stats.thresholds import at_confidence, thresholds
from dialin.stats.trial_fit import FEWEST_TO_CLAIM, TrialFit

_POWER = 0.8
_MOST_TRIALS = 100_000
_FEWEST_REPEATS = 4
"""Trials that a decision needs beyond the first of each candidate. On a machine whose starts differ by far more than its
seconds, two repeats that happen to agree hide the noise in one study of twenty-five, four in one of three hundred."""
_OF_A_PAIR = 8
"""Trials that a decision on two candidates needs, each of which starts a server. Where starts fall into two modes, three of one
candidate all meet the one and three of the other the other in one study of thirty, four of each in one of 130."""
_SAFE = 1.9
"""The standard errors by which the best is ahead, the margin included, when its chance makes it a safe choice: in simulation
between 1.8 and 2.1 (`benchmarks/decide.py`)."""


def detectable(sd: float, candidates: int, trials: int, *, confidence: float) -> float:
    """Return the smallest relative difference that a number of trials detects four times out of five.

    Detected means that if one candidate is better than all others by this much, the intervals of its differences exclude zero:
    it is larger than half of such an interval. What is worthwhile has no part in it: a choice may be safe before a difference
    is detected, because it may be worse by that much.

    Args:
        sd: standard deviation of one trial about the machine's drift, on the log scale.
        candidates: number of candidates, two at least.
        trials: number of trials of all candidates together.
        confidence: that of the intervals.
    """
    deviate = float(ndtri((1 + confidence) / 2))
    reach = _reach(candidates, trials, deviate, _POWER) * sd * _spread(candidates) / math.sqrt(trials)
    return math.expm1(min(reach, 50.0))


def fewest_trials(candidates: int, *, shares_start: bool = False) -> int:
    """Return the trials of all candidates that a decision needs; with `shares_start` they share a start of the server."""
    return candidates + _FEWEST_REPEATS if shares_start or candidates > 2 else _OF_A_PAIR


def is_enough(fit: TrialFit, *, shares_start: bool = False) -> bool:
    """Return whether a fit has the trials that a decision on its candidates needs."""
    return int(fit.trials.sum()) >= fewest_trials(len(fit.names), shares_start=shares_start)


def trials_for(
    difference: float,
    sd: float,
    candidates: int,
    *,
    confidence: float,
    worthwhile: float,
    proof: bool = False,
    shares_start: bool = False,
    power: float = _POWER,
) -> int:
    """Return how many trials of all candidates settle a relative difference, at most 100,000.

    A difference smaller than `worthwhile` need not be settled. With `proof` the trials show that nothing is better than the
    choice by more than what is worthwhile; with `shares_start` they share a start of the server. `power` is the share of
    studies that need no more trials; 0.5 gives the median.
    """
    deviate = thresholds(confidence, candidates).best if proof else at_confidence(_SAFE, confidence)
    room = math.log1p(max(difference, worthwhile)) + math.log1p(worthwhile)

    def suffices(trials: int) -> bool:
        return _reach(candidates, trials, deviate, power) * sd * _spread(candidates) / math.sqrt(trials) <= room

    fewest = max(fewest_trials(candidates, shares_start=shares_start), FEWEST_TO_CLAIM * candidates if proof else 0)
    low, high = fewest - 1, fewest
    while high < _MOST_TRIALS and not suffices(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return min(high, _MOST_TRIALS)


def _spread(candidates: int) -> float:
    """Return a difference's standard error times the root of the number of trials, over one trial's standard deviation.

    Trials are allocated best: the best of k candidates has as many as another one times the root of k - 1.
    """
    return 1 + math.sqrt(candidates - 1)


def _reach(candidates: int, trials: int, deviate: float, power: float) -> float:
    """Return how many standard errors the best must be ahead of each other candidate to pass a deviate with some power.

    To be ahead of all others takes more than to be ahead of one. The others share the leader's error, and trials go to those
    that are close, so they count as the root of their number (in simulation within a fifth of the median for 2 to 16
    candidates).
    """
    dof = max(1.0, trials - candidates)
    each = power ** (1 / math.sqrt(candidates - 1))
    return float(stdtrit(dof, float(ndtr(deviate)))) + float(ndtri(each))


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of trials, on the log scale.

    Attributes:
        between: standard deviation from one trial to the next that measuring longer would not reduce: starts, drift.
        second: standard deviation of one second, were seconds independent; that of a mean over n seconds is this over the
            root of n.
    """

    between: float
    second: float

    def of_trial(self, seconds: float) -> float:
        """Return the standard deviation of a trial that measures this many seconds."""
        return math.hypot(self.between, self.second / math.sqrt(seconds))


def separate(sd: float, errors: Sequence[float], seconds: float) -> Noise:
    """Separate the variation between trials from that within them.

    Args:
        sd: standard deviation of one trial within its block.
        errors: the relative standard error of each trial's own mean: its coefficient of variation over the root of its
            effective seconds (`correlation.effective_seconds`).
        seconds: how many seconds a trial measures.
    """
    within = math.fsum(error**2 for error in errors) / len(errors)
    return Noise(between=math.sqrt(max(0.0, sd**2 - within)), second=math.sqrt(within * seconds))
