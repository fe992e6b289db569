"""How many standard errors each claim needs, for all candidates and all looks of a study together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr, ndtri

from dialin.stats.trial_fit import TrialFit

CALIBRATED_FOR = 0.95
"""The confidence at which `benchmarks/calibrate.py` set the thresholds."""
_CLAIMS: Mapping[int, tuple[float, float, float]] = {
    2: (2.5, 2.9, 3.0),
    4: (2.7, 3.1, 3.4),
    7: (2.8, 3.3, 3.7),
    30: (2.9, 3.4, 3.8),
}
"""Deviates of `best`, `better` and `worse` by the number of candidates; in between they rise with its logarithm."""
_CALIBRATED_TRIALS = 320
"""The trials of a study up to which the deviates hold: four hours of SET."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What is needed to claim or to choose; deviates are those of `stats.trial_fit.FittedDifference.z`.

    Attributes:
        best: deviate from which on it is shown that nothing is better than the leader by more than what is worthwhile.
        better: deviate from which on a candidate is shown to be better than the baseline.
        worse: deviate from which on a candidate is shown to be worse than the leader.
        probable: the probability of being within what is worthwhile of the best from which on a candidate is a safe choice.
        all_near: the probability that all candidates are so near, from which on a study ends without a worthwhile difference.
        leave: deviate from which on a safe choice may be another candidate than the baseline: nine chances of ten that it is
            better. 1.64 would halve needless changes, but take a sixth more minutes to find a gain of 3 %.
        on_each: deviate from which on one kind of host by itself shows what all hosts together show; set by
            `benchmarks/hosts.py`.
    """

    best: float
    better: float
    worse: float
    probable: float
    all_near: float
    leave: float
    on_each: float


_PROBABLE, _ALL_NEAR, _LEAVE, _ON_EACH = 0.935, 0.93, 1.28, 2.3


def at_confidence(deviate: float, confidence: float) -> float:
    """Convert a normal deviate that was set for 95 % to another confidence, with its error in proportion."""
    scale = (1 - confidence) / (1 - CALIBRATED_FOR)
    return -float(ndtri(min(scale * float(ndtr(-deviate)), 0.5)))


@lru_cache(maxsize=1024)
def thresholds(confidence: float, candidates: int, *, claims: int = 1, trials: int = 0, proofs: int = 0) -> Thresholds:
    """Return the thresholds of a study at a confidence, each error in proportion to that of 95 %.

    A choice is no claim: its thresholds depend on the confidence alone.

    Args:
        confidence: that of all claims together.
        candidates: the number of candidates that are compared.
        claims: the number of studies whose claims are to hold together; each may err by its share (Bonferroni).
        trials: those of the study so far. Beyond the calibrated ones deviates rise, as more looks are more chances to err.
        proofs: the proofs of a tune so far, this one included; 0 for a study. A proof is read once, at its end, so its gain
            needs less: the error of the first is shared by its sets (Bonferroni), and each later one has half of that before.
    """
    scale = (1 - confidence) / (1 - CALIBRATED_FOR)
    best, better, worse = (
        _extended(at_confidence(deviate, 1 - (1 - confidence) / claims), trials) for deviate in _deviates(candidates)
    )
    if proofs and candidates > 1:
        better = -float(ndtri((1 - confidence) / claims / 2**proofs / (candidates - 1)))
    return Thresholds(
        best=best,
        better=better,
        worse=worse,
        probable=1 - scale * (1 - _PROBABLE),
        all_near=1 - scale * (1 - _ALL_NEAR),
        leave=at_confidence(_LEAVE, confidence),
        on_each=at_confidence(_ON_EACH, confidence),
    )


def thresholds_of(fitted: TrialFit, confidence: float, claims: int = 1, proofs: int = 0) -> Thresholds:
    """Return the thresholds for the candidates and trials of a fit; the other arguments are those of `thresholds`."""
    return thresholds(confidence, len(fitted.names), claims=claims, trials=int(fitted.trials.sum()), proofs=proofs)


def _deviates(candidates: int) -> list[float]:
    """Return the deviates of a number of candidates at 95 %; above the last of the table they rise as up to it."""
    counts = np.log(list(_CLAIMS))
    at = max(math.log(candidates), float(counts[0]))
    beyond = max(at - float(counts[-1]), 0.0) / float(counts[-1] - counts[-2])
    columns = np.array(list(_CLAIMS.values())).T
    return [float(np.interp(at, counts, column) + beyond * (column[-1] - column[-2])) for column in columns]


def _extended(deviate: float, trials: int) -> float:
    """Return the deviate after a number of trials.

    Each doubling of the trials brings as many chances to err, so their error must fall faster than the logarithm of the trials
    rises. Of two equal candidates with ideal noise 2.6 % of studies claim falsely within 320 trials, 2.9 % within 3,200 and
    3.9 % within 32,000; at a constant deviate 7.5 %.
    """
    return math.sqrt(deviate**2 + 3 * math.log1p(math.log(max(trials / _CALIBRATED_TRIALS, 1.0))))
