"""The two parts of the noise of trials: from one trial to the next, and from the limited number of seconds in each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


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
