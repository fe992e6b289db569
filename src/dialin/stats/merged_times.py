"""Percentiles of the transactions of several trials together, with intervals for what further trials would show."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import fmean

from dialin.model.verdict import Estimate
from dialin.stats.blocks import WIDEST
from dialin.stats.counted_times import WIDTH, known_percentile, percentile
from dialin.stats.quantiles import t_quantile


def percentile_between_trials(trials: Sequence[Mapping[float, int]], share: float, alpha: float) -> Estimate | None:
    """Return a percentile of the transactions of all trials together.

    Transactions of one trial resemble each other, so the trial is the unit of evidence: the interval is the jackknife's, which
    leaves out one trial at a time, on the logarithms, with Student's quantile. What counting times within 1 % together can hide
    is added to it. A single trial has no interval.

    Args:
        trials: of each trial, how many transactions took each time.
        share: 0 to 1.
        alpha: the error that the interval may make.

    Returns:
        The estimate, or None where there are fewer than 1 / (1 - share) transactions.
    """
    known = [Counter(counts) for counts in trials if counts]
    every = sum(known, Counter[float]())
    mean, count = known_percentile(every, share), len(known)
    if mean is None:
        return None
    without = [percentile(every - counts, share) or 0.0 for counts in known] if count > 1 else []
    if not without or min(mean, *without) <= 0:
        return Estimate(mean=mean, low=None, high=None)
    logs = [math.log(time) for time in without]
    middle = fmean(logs)
    variance = (count - 1) / count * sum((log - middle) ** 2 for log in logs) + WIDTH**2 / 12
    reach = math.exp(min(t_quantile(count - 1, alpha) * math.sqrt(variance), WIDEST))
    return Estimate(mean=mean, low=mean / reach, high=mean * reach)
