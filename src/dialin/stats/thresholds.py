"""How many standard errors each claim needs, for all candidates and all looks of a study together."""

from __future__ import annotations

from dataclasses import dataclass

from scipy.special import ndtr, ndtri

CALIBRATED_FOR = 0.95
"""The confidence at which `benchmarks/calibrate.py` set the thresholds."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What is needed to claim or to choose; deviates are those of `stats.trial_fit.FittedDifference.z`, the same at every look.

    Attributes:
        probable: the probability of being within what is worthwhile of the best from which on a candidate is a safe choice.
        all_near: the probability that all candidates are so near, from which on a study ends without a worthwhile difference.
        best: deviate from which on it is shown that nothing is better than the leader by more than what is worthwhile.
        better: deviate from which on a candidate is shown to be better than the baseline.
        worse: deviate from which on a candidate is shown to be worse than the leader.
        leave: deviate from which on a safe choice may be another candidate than the baseline: nine chances of ten that it is
            better. 1.64 would halve needless changes, but take a sixth more minutes to find a gain of 3 %.
        on_each: deviate from which on one kind of host by itself shows what all hosts together show; set by
            `benchmarks/hosts.py`.
    """

    probable: float
    all_near: float
    best: float
    better: float
    worse: float
    leave: float
    on_each: float


_AT_95 = Thresholds(probable=0.935, all_near=0.93, best=2.8, better=3.3, worse=3.7, leave=1.28, on_each=2.3)


def at_confidence(deviate: float, confidence: float) -> float:
    """Convert a normal deviate that was set for 95 % to another confidence, with its error in proportion."""
    scale = (1 - confidence) / (1 - CALIBRATED_FOR)
    return -float(ndtri(min(scale * float(ndtr(-deviate)), 0.5)))


def thresholds(confidence: float, claims: int = 1) -> Thresholds:
    """Return the thresholds of a study at a confidence, each error in proportion to that of 95 %.

    Where the claims of several studies are to hold together, `claims` is their number, and each study may err by its share
    (Bonferroni). A choice is no claim: its thresholds stay.
    """
    scale = (1 - confidence) / (1 - CALIBRATED_FOR)
    of_each = 1 - (1 - confidence) / claims
    return Thresholds(
        probable=1 - scale * (1 - _AT_95.probable),
        all_near=1 - scale * (1 - _AT_95.all_near),
        best=at_confidence(_AT_95.best, of_each),
        better=at_confidence(_AT_95.better, of_each),
        worse=at_confidence(_AT_95.worse, of_each),
        leave=at_confidence(_AT_95.leave, confidence),
        on_each=at_confidence(_AT_95.on_each, confidence),
    )
