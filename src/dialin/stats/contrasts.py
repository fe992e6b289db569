"""What fits show beside the race: odd trials, how one study differs from another, and whether a difference lasts.

Two studies are independent: their errors add as variances do, with Satterthwaite's degrees of freedom (Biometrics Bulletin 2,
1946). The ratio of two ratios is free of what differs between the days of the studies for all candidates alike, such as the
state of the machine; the ratio of two levels is not.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtri

from dialin.model.verdict import Estimate
from dialin.stats.blocks import summed_dof
from dialin.stats.trial_fit import FittedDifference, TimedTrial, TrialFit

_DEVIATES = 5.0
"""Robust standard deviations from which on a trial is odd. In simulations of three candidates with noise of 0.8 %, one trial
that is 10 % slower is found in half of the studies of 15 trials and in 34 of 40 of 24 trials; noise alone made one odd in 60
studies."""
_OF_SECONDS = 4.0
"""Standard errors by the trial's own seconds from which on these do not explain it."""
_LEAST_ODD = 0.03
"""The smallest difference that is worth a word, on the log scale."""
_FEWEST_OF_CANDIDATE = 3
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
        if len(places) >= _FEWEST_OF_CANDIDATE:
            deviations[places] = residuals[places] - np.median(residuals[places])
            usual += sorted(np.abs(deviations[places]))[1:]
    if len(usual) < _FEWEST_DEVIATIONS:
        return []
    sd = 1.4826 * float(np.median(usual))
    limits = [max(_DEVIATES * sd, _OF_SECONDS * trial.error, _LEAST_ODD) for trial in trials]
    return [OddTrial(place, float(deviations[place])) for place in np.flatnonzero(np.abs(deviations) > limits).tolist()]


def change_of_ratio(
    first: TrialFit, second: TrialFit, candidate: tuple[str, str], baseline: tuple[str, str], alpha: float
) -> Estimate:
    """Return a candidate's ratio to the baseline in the second study, divided by that in the first.

    `candidate` and `baseline` hold the name in the first study and that in the second.

    Raises:
        ValueError: a name is not one of its fit's.
    """
    if candidate == baseline:
        return Estimate(mean=1.0, low=1.0, high=1.0)
    before, after = first.difference(candidate[0], baseline[0]), second.difference(candidate[1], baseline[1])
    return _change(before, after).ratio(alpha)


def change_of_level(first: TrialFit, second: TrialFit, candidate: tuple[str, str], alpha: float) -> Estimate:
    """Return a candidate's level in the second study, divided by that in the first.

    Raises:
        ValueError: a name is not one of its fit's.
    """
    return _change(first.effect(candidate[0]), second.effect(candidate[1])).ratio(alpha)


def change_of_noise(first: TrialFit, second: TrialFit, alpha: float) -> Estimate:
    """Return the standard deviation of one trial in the second study, divided by that in the first.

    It is that of all candidates together, without the noise that is expected before any trial is repeated: that is the same for
    both studies, and would hide a difference. The interval is that of a ratio of two variances (Fisher's F).
    """
    ratio = second.residual_sd / first.residual_sd
    low, high = (float(fdtri(second.residual_dof, first.residual_dof, share)) for share in (alpha / 2, 1 - alpha / 2))
    return Estimate(mean=ratio, low=ratio / math.sqrt(high), high=ratio / math.sqrt(low))


def _change(before: FittedDifference, after: FittedDifference) -> FittedDifference:
    dof = summed_dof(np.array([before.error, after.error]) ** 2, np.array([before.dof, after.dof]))
    return FittedDifference(after.mean - before.mean, math.hypot(before.error, after.error), float(dof))


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
