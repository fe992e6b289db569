"""Whether the difference of two candidates lasts when they have been in force for minutes."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from dialin.stats.trial_fit import FittedDifference, TimedTrial, TrialFit

AFTER_SHARE = 1 / 2
"""The share of a long window after which its seconds count as late."""

_SHOWN = 2.33
"""Standard errors by which the late difference must lie below the one of the trials: one study in a hundred is wrong."""

_SUSPECT = 1.0
"""The same from which on the windows are measured again; one study in six does so for nothing."""


def late_change(
    fitted: TrialFit, trials: Sequence[TimedTrial], late: Mapping[str, Sequence[TimedTrial]], choice: str, baseline: str
) -> FittedDifference:
    """Return by how much the late difference of a choice from the baseline is above that of the trials, on the log scale.

    Its error includes that of the trials, that of the late seconds, and how much the level of a trial varies beyond what its
    own seconds show.

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
    return FittedDifference(levels[choice] - levels[baseline] - difference.mean, math.sqrt(variance), difference.dof)


def is_lost(change: FittedDifference, margin: float) -> bool:
    """Return whether the choice loses more than a margin (log scale) when it is in force for long."""
    return change.mean < -margin and change.z() <= -_SHOWN


def is_suspect(change: FittedDifference, margin: float) -> bool:
    """Return whether the windows leave open that the choice does, so that they are worth measuring again."""
    return change.mean < -margin and change.z() <= -_SUSPECT
