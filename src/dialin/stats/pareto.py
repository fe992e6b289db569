"""Which candidates are the best trade between speed and steadiness."""

from __future__ import annotations

from collections.abc import Mapping


def front(points: Mapping[str, tuple[float, float]]) -> frozenset[str]:
    """Return the candidates than which no other is both faster (first figure) and steadier (second, lower is better)."""
    return frozenset(
        name
        for name, (speed, variation) in points.items()
        if not any(
            (other_speed >= speed and other_variation <= variation) and (other_speed, other_variation) != (speed, variation)
            for other_speed, other_variation in points.values()
        )
    )
