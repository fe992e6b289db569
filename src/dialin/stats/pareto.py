"""Which candidates are the best trade between several figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

FEWEST_COMPARED = 2
"""The trials of a candidate from which on its steadiness is compared: a single one may have been lucky."""


def pareto_front(points: Mapping[str, Sequence[float]]) -> frozenset[str]:
    """Return the candidates that no other one dominates, by being better in one figure and worse in none; higher is better."""
    return frozenset(
        name
        for name, figures in points.items()
        if not any(
            tuple(other) != tuple(figures) and all(theirs >= mine for theirs, mine in zip(other, figures, strict=True))
            for other in points.values()
        )
    )
