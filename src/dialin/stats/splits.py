"""Which levels of a factor set the ratios of two candidates apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_Array = NDArray[np.float64]

_ORDERS = 1999
"""Random orders of the ratios that the observed one is compared with: a probability of 0.05 is known to 0.005."""
_MOST_LEVELS = 40
"""A factor of more levels than this merely numbers the cells, so it is not searched."""


@dataclass(frozen=True, slots=True)
class Split:
    """Cells in two groups by the levels of one factor.

    Attributes:
        levels: the factor's levels in the smaller group.
        inside: the lowest and the highest ratio in that group.
        outside: the lowest and the highest ratio of the other cells.
        probability: that a split by any factor separates the ratios at least so well, if ratios do not depend on cells.
    """

    factor: str
    levels: tuple[str, ...]
    inside: tuple[float, float]
    outside: tuple[float, float]
    probability: float

    @property
    def gap(self) -> float:
        """By how much the nearest ratios of the two groups differ, as a factor of at least 1; 1 where the groups overlap."""
        return max(self.inside[0] / self.outside[1], self.outside[0] / self.inside[1], 1.0)


def find_split(ratios: Sequence[float], factors: Mapping[str, Sequence[str]]) -> Split | None:
    """Return the split of cells by one factor that separates two candidates' ratios best; None where there is none to search.

    Each level of a factor is tried against all others, and each cut between the levels in their order. How likely a split as
    good as the best one is by chance comes from permutations of the ratios among the cells (Pitman, Supplement to the Journal
    of the Royal Statistical Society 4, 1937), each searched in the same way, so the search costs no validity. It needs no
    repeats and no distribution. It assumes that cells are exchangeable: a drift while cells were measured one after the other
    breaks that.

    A two-way layout without repeats has a classical test, Tukey's one degree of freedom for non-additivity (Biometrics 5,
    1949). For two candidates it asks only whether the ratio follows the level of throughput, so it cannot find one factor among
    several, nor say which levels differ.
    """
    logs = np.log(np.asarray(ratios, dtype=float))
    if logs.size < 4:
        return None
    groups = _groups(factors, logs.size)
    if not groups:
        return None
    masks = np.array([mask for _, _, mask in groups], dtype=float)
    observed = _separation(logs[None, :], masks)[0]
    best = int(observed.argmax())
    random = np.random.default_rng(1)
    orders = random.permuted(np.tile(logs, (_ORDERS, 1)), axis=1)
    as_good = int((_separation(orders, masks).max(axis=1) >= observed[best] * (1 - 1e-9)).sum())
    factor, levels, mask = groups[best]
    inside, outside = np.exp(logs[mask]), np.exp(logs[~mask])
    return Split(
        factor=factor,
        levels=levels,
        inside=(float(inside.min()), float(inside.max())),
        outside=(float(outside.min()), float(outside.max())),
        probability=(1 + as_good) / (1 + _ORDERS),
    )


def _groups(factors: Mapping[str, Sequence[str]], cells: int) -> list[tuple[str, tuple[str, ...], NDArray[np.bool_]]]:
    groups, known = [], set()
    for factor, values in factors.items():
        levels = list(dict.fromkeys(values))
        if not 2 <= len(levels) <= _MOST_LEVELS:
            continue
        cuts = [{level} for level in levels] + [set(levels[:index]) for index in range(2, len(levels) - 1)]
        for cut in cuts:
            is_smaller = 2 * sum(value in cut for value in values) <= cells
            chosen = cut if is_smaller else set(levels) - cut
            mask = np.array([value in chosen for value in values])
            if mask.tobytes() not in known and (~mask).tobytes() not in known:
                known.add(mask.tobytes())
                groups.append((factor, tuple(level for level in levels if level in chosen), mask))
    return groups


def _separation(logs: _Array, masks: _Array) -> _Array:
    """Return the sum of squares between the two groups of each split, for each order of the ratios.

    All splits of one set of ratios share their total, so the largest sum between is the largest F.
    """
    size = masks.sum(axis=1)
    inside = logs @ masks.T
    total = logs.sum(axis=1, keepdims=True)
    between: _Array = inside**2 / size + (total - inside) ** 2 / (logs.shape[1] - size) - total**2 / logs.shape[1]
    return between
