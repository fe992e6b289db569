"""The error that each look at the data is allowed, so that the errors of all looks do not add up."""

from __future__ import annotations

FIRST_LOOK = 3
"""The first block after which a study may be decided: the spread of two trials is hardly known."""

FIRST_CUT = 2
"""The first block after which a candidate may leave the race: that it is far behind shows sooner than which one is best."""

_WITHIN_THE_BUDGET = 0.8
"""The share of the remaining error that a budget's looks may make; the rest is reserved for an extension."""
_LEAST = 1e-9
"""No look is allowed less: quantiles lose their footing below."""


def allowance(spent: float, alpha: float, before: float, now: float) -> float:
    """Return the error that a look may make, out of what earlier looks have left.

    A budget's looks may make 0.8 of what was left when it began, each in proportion to the share of the budget that went by
    since the look before it (Lan and DeMets, Biometrika 70, 1983, with a linear spending function; and each look's error added
    to the others', as if no two of them ever erred together). Over any number of looks and of extended budgets this sums to no
    more than alpha.

    Args:
        spent: the sum of the allowances of all earlier looks of the study.
        alpha: the error that the whole study may make, e.g. 0.05.
        before: the share of the whole budget that was over at the look before this one; 0 at the first.
        now: the share that is over now; more than 1 counts as 1.

    Raises:
        ValueError: alpha does not lie between 0 and 1, spent not between 0 and alpha, or the shares are not in order.
    """
    if not 0 < alpha < 1:
        raise ValueError("alpha lies between 0 and 1")
    if not 0 <= spent <= alpha + 1e-6:
        raise ValueError("what is spent lies between 0 and alpha")
    if not 0 <= before <= now:
        raise ValueError("a look comes after the one before it")
    before, now = min(before, 1.0), min(now, 1.0)
    part = _WITHIN_THE_BUDGET * (now - before) / (1 - _WITHIN_THE_BUDGET * before)
    return max(_LEAST, (alpha - spent) * part)
