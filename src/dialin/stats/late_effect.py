"""Whether the difference of two candidates lasts when they have been in force for minutes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialin.stats.trial_fit import FittedDifference, TimedTrial, TrialFit

AFTER_SHARE = 1 / 2
"""The share of a long window after which its seconds count as late."""

_SHOWN = 2.33
"""Standard errors by which the late difference must lie below the one of the trials: one study in a hundred is wrong."""

_SUSPECT = 1.0
"""The same from which on the windows are measured again; one study in six does so for nothing."""


@dataclass(frozen=True, slots=True)
class LateChange:
    """What a difference does when both have been in force for long.

    Attributes:
        change: the late difference less the one of the trials, on the log scale.
        late: the late difference.
    """

    change: FittedDifference
    late: float

    def is_lost(self, margin: float, deviate: float = _SHOWN) -> bool:
        """Return whether no gain above a margin (log scale) is left late, and more than the margin is lost for certain."""
        return self.late <= margin and self.change.mean < -margin and self.change.z() <= -deviate

    def is_suspect(self, margin: float) -> bool:
        """Return whether that may be, so that the windows are worth measuring again, in the other order."""
        return self.is_lost(margin, _SUSPECT)


def late_change(
    fitted: TrialFit, trials: Sequence[TimedTrial], late: Mapping[str, Sequence[TimedTrial]], choice: str, baseline: str
) -> LateChange:
    """Return what the difference of a choice from the baseline does late.

    The error of its change includes that of the trials, that of the late seconds, and how much the level of a trial varies
    beyond what its own seconds show.

    Args:
        fitted: the fit of the trials.
        trials: those that it was fitted to.
        late: the late seconds of each long window of the two, in the same unit.
        choice: the choice.
        baseline: the baseline.

    Raises:
        ValueError: a name is not one of the fit's.
        KeyError: one of the two has no late seconds.
    """
    difference = fitted.difference(choice, baseline)
    variance, levels = difference.error**2, {}
    for name in (choice, baseline):
        within = statistics.fmean(trial.error**2 for trial in trials if trial.candidate == name)
        between = max(float(fitted.variances[fitted.names.index(name)]) - within, 0.0)
        windows = late[name]
        variance += (between + statistics.fmean(window.error**2 for window in windows)) / len(windows)
        levels[name] = statistics.fmean(math.log(window.value) for window in windows)
    seen = levels[choice] - levels[baseline]
    return LateChange(FittedDifference(seen - difference.mean, math.sqrt(variance), difference.dof), seen)
