"""Where to write names beside points, so that they neither cover each other nor a point."""

from __future__ import annotations

import math
from collections.abc import Sequence

_AWAY = {"top right": (1, 1), "bottom right": (1, -1), "top left": (-1, 1), "bottom left": (-1, -1)}
_OFFSET = 0.03
"""How far a name lies from its point, as a share of the chart."""


def positions(points: Sequence[tuple[float, float]], widths: Sequence[float]) -> list[str]:
    """Return the side of each point on which its name is farthest from the nearest other point or name.

    Args:
        points: their coordinates, as shares of the chart from 0 to 1.
        widths: those of the names, as shares of the chart's width.

    Returns:
        For each point `top right`, `bottom right`, `top left` or `bottom left`.
    """
    names: list[tuple[float, float]] = []
    chosen = []
    for index, ((x, y), width) in enumerate(zip(points, widths, strict=True)):
        others = [*points[:index], *points[index + 1 :], *names]
        rooms = {side: _room((x, y), away, width, others) for side, away in _AWAY.items()}
        side = max(rooms, key=rooms.__getitem__)
        chosen.append(side)
        names.append(_place((x, y), _AWAY[side]))
    return chosen


def _room(point: tuple[float, float], away: tuple[int, int], width: float, others: Sequence[tuple[float, float]]) -> float:
    """Return how far the nearest point or name is from a name on that side; -1 where the name would leave the chart."""
    place = _place(point, away)
    if not (0 <= place[0] + away[0] * width <= 1 and 0 <= place[1] <= 1):
        return -1.0
    # Beyond this distance it does not matter which side has a little more room.
    return min([3 * _OFFSET, *(math.dist(place, other) for other in others)])


def _place(point: tuple[float, float], away: tuple[int, int]) -> tuple[float, float]:
    return point[0] + _OFFSET * away[0], point[1] + _OFFSET * away[1]
