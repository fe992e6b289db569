"""Two studies of one question, compared: how levels, ratios and noise changed from the first to the second.

The studies are independent: their errors add as variances do, with Satterthwaite's degrees of freedom (Biometrics Bulletin 2,
1946). The ratio of two ratios is free of what differs between the days of the studies for all candidates alike, such as the
state of the machine; the ratio of two levels is not.
"""

from __future__ import annotations

import math

from scipy.special import fdtri

from dialin.model.verdict import Estimate
from dialin.stats.trial_fit import FittedDifference, TrialFit


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
    variances = before.error**2, after.error**2
    dof = sum(variances) ** 2 / (variances[0] ** 2 / before.dof + variances[1] ** 2 / after.dof)
    return FittedDifference(after.mean - before.mean, math.sqrt(sum(variances)), dof)
