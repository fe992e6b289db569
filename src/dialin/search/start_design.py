"""The first settings of a search: baseline, rules of thumb, baseline, and a Latin hypercube around both."""

from __future__ import annotations

import numpy as np

from dialin.model.dimension import CATEGORY
from dialin.search.constraints import Constraints
from dialin.search.space import SPECIAL_SHARE, Point, Space

FEWEST, MOST = 8, 24
"""The least and the greatest number of settings in the hypercube."""

NEIGHBOURS = 4
"""This many settings of the hypercube in a row share their static part: a restart of the server costs more than a SET."""

_MOVES = 0.5
"""The chance of each variable to leave the setting that a design point begins from."""


def design_size(variables: int) -> int:
    """Return how many settings the hypercube has: four more than there are variables, within 8 and 24."""
    return min(max(variables + 4, FEWEST), MOST)


def start_design(space: Space, constraints: Constraints, rng: np.random.Generator, size: int | None = None) -> list[Point]:
    """Return the points to try first, in order.

    Half of the hypercube starts from the baseline and half from the rules of thumb, where there are any; each variable moves
    with probability one half. Four in a row share the static part.
    """
    count = design_size(len(space)) if size is None else size
    default, rules = space.default_point, space.rules_point()
    has_rules = bool((rules != default).any())
    strata = np.array([_stratified(space, index, count, rng) for index in range(len(space))]).T
    moves = rng.random((count, len(space))) < _MOVES
    for stays in np.flatnonzero(~moves.any(axis=1)):  # of few variables: the baseline again would show nothing new
        moves[stays, rng.integers(len(space))] = True
    static = space.static
    points = []
    for number in range(count):
        origin = rules if has_rules and number % 2 == 0 else default
        point = np.where(moves[number], strata[number], origin)
        shared = number - number % NEIGHBOURS
        base = rules if has_rules and (number // NEIGHBOURS) % 2 == 0 else default
        point[static] = np.where(moves[shared], strata[shared], base)[static]
        points.append(point)
    repaired = [space.point(constraints.repaired(space, space.setting(point))) for point in points]
    first = (
        [default, space.point(constraints.repaired(space, space.setting(rules))), default] if has_rules else [default, default]
    )
    return first + repaired


def _stratified(space: Space, index: int, count: int, rng: np.random.Generator) -> Point:
    """Return one coordinate for each point: each of `count` equal parts of the axis once, in random order."""
    dimension = space.dimensions[index]
    shares = (rng.permutation(count) + rng.random(count)) / count
    if dimension.values:
        return np.asarray(CATEGORY + np.floor(shares * len(dimension.values)))
    if dimension.special:
        special = rng.random(count) < SPECIAL_SHARE
        codes = CATEGORY + rng.integers(len(dimension.special), size=count)
        return np.where(special, codes, shares)
    return np.asarray(shares)
