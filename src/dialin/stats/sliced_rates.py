"""Changes of many rates between two trials, each cut into slices of time, with intervals that allow for their number.

A rate is counts per unit of work: samples of a function per transaction. It varies from slice to slice, and from trial to trial
by more than that. Two trials cannot show the second, so it comes from elsewhere: from how a figure that is measured in many
trials varies between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from dialin.model.verdict import Estimate
from dialin.stats.blocks import summed_dof

Counts = NDArray[np.float64]

SlicedTrial = tuple[Counts, Sequence[float]]
"""The counts of a trial, with a row for each rate and a column for each slice; and the units of work in each slice."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """How much a rate varies between trials.

    Attributes:
        relative: the standard deviation between trials, relative.
        dof: its degrees of freedom.
    """

    relative: float
    dof: int


@dataclass(frozen=True, slots=True)
class RateChange:
    """A rate in two trials, per unit of work.

    Attributes:
        difference: the second less the first; its interval allows for the selection, and is missing where it is not known.
        is_certain: whether it was selected as a change: its interval then excludes zero.
    """

    first: float
    second: float
    difference: Estimate
    is_certain: bool


def rate_changes(first: SlicedTrial, second: SlicedTrial, scatter: Scatter | None, alpha: float) -> list[RateChange]:
    """Return the change of each rate from the first trial to the second.

    A level is all counts over all work. Its variance over slices is that of a ratio (Cochran, Sampling Techniques, 1977,
    chapter 6), at least that of a Poisson count, because few slices may agree by chance; the variance between trials is added,
    with Satterthwaite's degrees of freedom. Benjamini and Hochberg's procedure selects the changes at `alpha`, and those
    selected have the intervals of Benjamini and Yekutieli (JASA 100, 2005). All others have intervals at the error with which
    they would have been selected next, so that an interval excludes zero exactly where the change was selected.

    Without `scatter`, how rates vary between trials, there are no intervals.
    """
    levels, variances, dofs = [], [], []
    for counts, work in (first, second):
        units = np.asarray(work)
        total, slices = float(units.sum()), units.size
        level = counts.sum(axis=1) / total
        levels.append(level)
        if slices > 1:
            apart = counts - level[:, None] * units[None, :]
            over_slices = slices / (slices - 1) * (apart**2).sum(axis=1) / total**2
            variances.append(np.maximum(over_slices, np.maximum(counts.sum(axis=1), 1.0) / total**2))
            dofs.append(slices - 1)
    differences = levels[1] - levels[0]
    if scatter is None or len(dofs) < len(levels) or scatter.dof < 1:
        return [
            RateChange(float(a), float(b), Estimate.alone(float(d)), is_certain=False)
            for a, b, d in zip(*levels, differences, strict=True)
        ]
    variances.append(scatter.relative**2 * (levels[0] ** 2 + levels[1] ** 2))
    parts = np.array(variances)
    dof = summed_dof(parts, np.array([*dofs, scatter.dof])[:, None])
    errors = np.sqrt(parts.sum(axis=0))
    chances = 2 * stdtr(dof, -np.abs(differences) / errors)
    certain, shares = _selected(chances, alpha)
    reach = stdtrit(dof, 1 - shares / 2) * errors
    return [
        RateChange(float(a), float(b), Estimate(mean=float(d), low=float(d - r), high=float(d + r)), is_certain=bool(c))
        for a, b, d, r, c in zip(*levels, differences, reach, certain, strict=True)
    ]


def _selected(chances: NDArray[np.float64], alpha: float) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return what Benjamini and Hochberg's procedure selects, and the error that the interval of each change is allowed."""
    count = chances.size
    ordered = np.sort(chances)
    below = np.flatnonzero(ordered <= alpha * np.arange(1, count + 1) / max(1, count))
    selected = int(below[-1]) + 1 if below.size else 0
    certain = chances <= (ordered[selected - 1] if selected else -1.0)
    return certain, alpha * np.where(certain, selected, min(selected + 1, count)) / max(1, count)
