"""Fewer points for a chart, the same picture: peaks and stalls stay, nothing is averaged away."""

from __future__ import annotations

from collections.abc import Sequence


def thin(values: Sequence[float], most: int) -> list[int]:
    """Return the indices of the points to draw: all, or the lowest and the highest of each of `most` / 2 equal stretches.

    Args:
        values: the series.
        most: how many points there may be, at least 2.
    """
    if len(values) <= most:
        return list(range(len(values)))
    stretches = most // 2
    kept: list[int] = []
    for stretch in range(stretches):
        span = range(stretch * len(values) // stretches, (stretch + 1) * len(values) // stretches)
        ends = {min(span, key=values.__getitem__), max(span, key=values.__getitem__)}
        kept += sorted(ends)
    return kept
