"""The first settings of a search: baseline, rules of thumb, baseline, and a Latin hypercube around both."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dialin.model.dimension import CATEGORY
from dialin.search.constraints import Constraints
from dialin.search.space import SPECIAL_SHARE, Point, Space

_Array = NDArray[np.float64]

FEWEST, MOST = 8, 24
"""The least and the greatest number of settings in the hypercube."""

NEIGHBOURS = 4
"""This many settings of the hypercube in a row share their static part: a restart of the server costs more than a SET."""


def design_size(variables: int) -> int:
    """Return how many settings the hypercube has: four more than there are variables, within 8 and 24."""
    return min(max(variables + 4, FEWEST), MOST)


def start_design(space: Space, constraints: Constraints, rng: np.random.Generator, size: int | None = None) -> list[Point]:
    """Return the points to try first, in order.

    In the hypercube, settings that start from the rules of thumb, where there are any, alternate with those that start from the
    baseline. Each variable moves in half of both, to values all along its axis. Four in a row share the static part.
    """
    count = design_size(len(space)) if size is None else size
    default, rules = space.default_point, space.rules_point()

    def repaired(point: Point) -> Point:
        return space.point(constraints.repaired(space, space.setting(point)))

    first = [default, repaired(rules), default] if (rules != default).any() else [default, default]
    return first + [repaired(point) for point in _hypercube(space, count, rng)]


def _hypercube(space: Space, count: int, rng: np.random.Generator) -> _Array:
    """Return `count` points, a row each.

    A variable has a draw for each point, or for each four if it is static. Draws with even numbers start from the rules.
    """
    default, rules = space.default_point, space.rules_point()
    shared = space.static & ~space.static.all()  # where all are static, each setting needs a restart anyway
    number = np.arange(count)[:, None]
    draws = np.where(shared, number // NEIGHBOURS, number)
    moves = np.array([_half(column[-1] + 1, rng)[column] for column in draws.T]).T
    for stays in np.flatnonzero(~moves.any(axis=1)):  # of few variables: the baseline again would show nothing new
        moves[stays, rng.choice(np.flatnonzero(~shared))] = True
    points = np.where(draws % 2 == 0, rules, default)
    for index, moved in enumerate(moves.T):
        _, first, which = np.unique(draws[moved, index], return_index=True, return_inverse=True)
        points[moved, index] = _stratified(space, index, points[moved, index][first], rng)[which]
    return np.asarray(points)


def _half(count: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return which half of some draws moves: the same share of those with even numbers and of the others, in random places."""
    half = (count + rng.integers(2)) // 2
    even = int((count + 1) // 2 * half / count + rng.random())
    moves = np.zeros(count, dtype=np.bool_)
    moves[2 * rng.permutation((count + 1) // 2)[:even]] = True
    moves[2 * rng.permutation(count // 2)[: half - even] + 1] = True
    return moves


def _stratified(space: Space, index: int, origins: Point, rng: np.random.Generator) -> Point:
    """Return a coordinate for each draw: each of as many equal parts of the axis once, in random order.

    `origins` has the coordinate that each draw starts from. A category moves to another one.
    """
    dimension, count = space.dimensions[index], len(origins)
    shares = (rng.permutation(count) + rng.random(count)) / count
    if dimension.values:
        words = len(dimension.values)
        further = 1 + np.floor(shares * (words - 1))
        return np.asarray(CATEGORY + (origins - CATEGORY + further) % words)
    if dimension.special:
        special = rng.random(count) < SPECIAL_SHARE
        codes = CATEGORY + rng.integers(len(dimension.special), size=count)
        return np.where(special, codes, shares)
    return np.asarray(shares)
