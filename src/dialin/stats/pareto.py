"""Which candidates are the best trade between several figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def front(points: Mapping[str, Sequence[float]]) -> frozenset[str]:
    """Return the candidates than which no other is better in one figure and no worse in any; higher is better in each."""
    return frozenset(
        name
        for name, figures in points.items()
        if not any(
            tuple(other) != tuple(figures) and all(one >= mine for one, mine in zip(other, figures, strict=True))
            for other in points.values()
        )
    )
