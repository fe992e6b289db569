"""Whether candidates compare alike on all hosts: the difference to the baseline on each, and a test that all are equal.

Each host is fitted by itself, with its own level, drift and noise: hosts that differ threefold in noise share no variance. The
test is Welch's of several means with unequal variances (Biometrika 38, 1951), on the hosts' differences.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from scipy.special import fdtrc

from dialin.stats.trial_fit import FittedDifference, TimedTrial, TrialFit, fit_trials

_LOOKS = 5.0
"""By how much the accepted error is divided because the test is made at every look. Simulated (benchmarks/hosts.py): where
hosts agree, at most 5 % of studies claim a disagreement."""

_ENOUGH = 6.0
"""Degrees of freedom of its noise that a group must have to be compared with others before a study may end."""

_FEWEST = 3.0
"""Degrees of freedom of a host's difference from which on it takes part: with fewer its error is hardly known."""

Groups = dict[Hashable, TrialFit | None]
"""The fit of each group of hosts by itself; None where its trials are too few for one."""


@dataclass(frozen=True, slots=True)
class Interaction:
    """How one candidate compares with the baseline on each host, or on each kind of host.

    Attributes:
        differences: the difference on the log scale by group, for groups in which both have trials.
        p: the probability of differences at least so far apart if all are equal; 1 where fewer than two groups can be compared.
        alpha: the probability below which the groups are taken to differ.
    """

    candidate: str
    differences: dict[Hashable, FittedDifference]
    p: float
    alpha: float

    @property
    def differs(self) -> bool:
        return self.p < self.alpha

    def is_shown_on(self, groups: Iterable[Hashable], deviate: float) -> bool:
        """Return whether each of some groups by itself shows a gain, or each of them a loss.

        A claim on all groups together is wrong where it is wrong for one of them. If each group must show it, it is claimed no
        more often than that one group alone would claim it (intersection-union test: Berger, Technometrics 24, 1982).

        Args:
            groups: the groups; the result is False where one of them lacks trials of one of the two candidates.
            deviate: the normal deviate that each group must reach; see `FittedDifference.z`.
        """
        deviates = [self.differences[group].z() if group in self.differences else 0.0 for group in groups]
        return bool(deviates) and (min(deviates) >= deviate or max(deviates) <= -deviate)

    def contradicts(self, margin: float, deviate: float) -> bool:
        """Return whether the groups differ so much that no common statement (gain, loss or nothing worthwhile) holds.

        An estimate alone shows no common gain: beside a group that gains, one without any effect has in every third study an
        estimate above what is worthwhile.

        Args:
            margin: what is worthwhile, on the log scale.
            deviate: the normal deviate that a group must reach to show a gain or a loss.
        """
        tested = [group for group, difference in self.differences.items() if difference.dof >= _FEWEST]
        is_small = all(abs(self.differences[group].mean) <= margin for group in tested)
        return self.differs and not is_small and not self.is_shown_on(tested, deviate)


def fit_groups(trials: Sequence[TimedTrial], names: Sequence[str], group_of: Callable[[Hashable], Hashable]) -> Groups:
    """Return the fit of each group by itself; `group_of` returns the host, or the kind of host, of a run of trials."""
    ordered = sorted(trials, key=lambda trial: str(group_of(trial.run)))
    return {group: fit_trials(list(members), names) for group, members in groupby(ordered, lambda one: group_of(one.run))}


def host_interactions(groups: Groups, names: Sequence[str], baseline: str, confidence: float) -> list[Interaction]:
    """Return how each candidate other than the baseline compares with it by group; none where there is one group.

    `confidence` is that of all claims together.
    """
    if len(groups) < 2:
        return []
    others = [name for name in names if name != baseline]
    alpha = (1 - confidence) / _LOOKS / max(1, len(others))
    interactions = []
    for name in others:
        differences = {
            group: _by_own_noise(fitted, name, baseline)
            for group, fitted in groups.items()
            if fitted is not None and {name, baseline} <= set(fitted.names)
        }
        tested = [one for one in differences.values() if one.dof >= _FEWEST]
        interactions.append(Interaction(name, differences, _welch(tested), alpha))
    return interactions


def can_be_compared(groups: Groups) -> bool:
    """Return whether each group has the trials that the test of an interaction of 10 % takes."""
    return all(fitted is not None and fitted.residual_dof >= _ENOUGH for fitted in groups.values())


def _by_own_noise(fitted: TrialFit, name: str, baseline: str) -> FittedDifference:
    """Return a difference whose error rests on the trials of the group alone.

    The noise that is expected before any trial would make the error of a noisy host too small: in simulation, one study of
    eight then claims at 5 % a disagreement where there is none.
    """
    difference = fitted.difference(name, baseline)
    return FittedDifference(difference.mean, difference.error * fitted.residual_sd / fitted.sd, fitted.residual_dof)


def _welch(differences: Sequence[FittedDifference]) -> float:
    """Return the p value of Welch's test that the differences are equal; 1 for fewer than two."""
    count = len(differences)
    if count < 2:
        return 1.0
    means = np.array([one.mean for one in differences])
    weights = np.array([one.error**-2 for one in differences])
    dof = np.array([one.dof for one in differences])
    mean = float(weights @ means / weights.sum())
    correction = float(((1 - weights / weights.sum()) ** 2 / dof).sum())
    statistic = float(weights @ (means - mean) ** 2) / (count - 1) / (1 + 2 * (count - 2) / (count**2 - 1) * correction)
    return float(fdtrc(count - 1, (count**2 - 1) / (3 * correction), statistic))
