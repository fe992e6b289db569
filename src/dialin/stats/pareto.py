"""Which candidates are the best trade between several figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


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
