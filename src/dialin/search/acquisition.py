"""Which setting to try next: the highest expected improvement per second that a trial takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dialin.search.space import CATEGORY, Point, Space
from dialin.search.surrogate import Surrogate

_Array = NDArray[np.float64]

PRICE = 0.001
"""What each changed variable costs, on the log scale: a change takes a reason."""
_GENERATIONS = 4
_CHILDREN = 100
_PARENTS = 12
_BOLD = 1.0
_STEP = 0.12
"""Standard deviation of a small step along a range."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A point to try, and by how much it is expected to improve on the best one so far, on the log scale."""

    point: Point
    improvement: float


@dataclass(frozen=True)
class Situation:
    """What a proposal starts from.

    Attributes:
        model: what is known.
        best: the best setting so far, by the model.
        bases: settings that are worth varying: the best ones, the baseline and the rules.
        costs: seconds that a trial of each point takes.
        allowed: whether each point may run: constraints and crashes.
        repair: returns points with constraints satisfied and values rounded.
    """

    model: Surrogate
    best: Point
    bases: Sequence[Point]
    costs: Callable[[_Array], _Array]
    allowed: Callable[[_Array], NDArray[np.bool_]]
    repair: Callable[[_Array], _Array]
    static_now: Point | None = None


def changed(points: _Array, default: Point) -> _Array:
    """Return how many variables of each point differ from the baseline."""
    return np.asarray((points != default).sum(axis=1), dtype=float)


def expected_improvement(mean: _Array, sd: _Array) -> _Array:
    """Return the mean of what a normal variable exceeds 0 by."""
    z = mean / sd
    return np.asarray(mean * ndtr(z) + sd * np.exp(-z * z / 2) / math.sqrt(2 * math.pi))


def propose(space: Space, situation: Situation, rng: np.random.Generator) -> Proposal:
    """Return the point of the highest expected improvement per second, found by mutation over a few generations."""
    default = space.default_point
    best_price = PRICE * float((situation.best != default).sum())
    parents = [np.asarray(base) for base in situation.bases]
    pool, scores, gains = np.empty((0, len(space))), np.empty(0), np.empty(0)
    for generation in range(_GENERATIONS):
        children = [_mutation(space, parents, default, rng, broad=generation == 0) for _ in range(_CHILDREN)]
        if situation.static_now is not None:
            for child in children[::2]:  # half of them keep the server that runs
                child[space.static] = situation.static_now[space.static]
        points = situation.repair(np.array(children))
        points = points[situation.allowed(points)]
        if len(points):
            mean, sd = situation.model.differences(points, situation.best)
            gain = expected_improvement(mean - PRICE * changed(points, default) + best_price, _BOLD * sd)
            pool = np.vstack([pool, points])
            gains = np.concatenate([gains, gain])
            scores = np.concatenate([scores, gain / situation.costs(points)])
            order = np.argsort(-scores)[: 4 * _PARENTS]
            pool, scores, gains = pool[order], scores[order], gains[order]
        if len(pool):
            parents = [*pool[:_PARENTS], *situation.bases[:2]]
    if not len(pool):
        return Proposal(situation.best, 0.0)
    return Proposal(pool[0], float(gains[0]))


def improve(
    space: Space,
    score: Callable[[_Array], _Array],
    bases: Sequence[Point],
    rng: np.random.Generator,
    repair: Callable[[_Array], _Array],
) -> Point:
    """Return the point of the highest score that mutation finds from some bases."""
    default = space.default_point
    pool = repair(np.array([np.asarray(base) for base in bases]))
    scores = score(pool)
    for _ in range(2 * _GENERATIONS):
        parents = list(pool[:_PARENTS])
        points = repair(np.array([_mutation(space, parents, default, rng, broad=False) for _ in range(_CHILDREN)]))
        pool, scores = np.vstack([pool, points]), np.concatenate([scores, score(points)])
        order = np.argsort(-scores, kind="stable")[:_PARENTS]
        pool, scores = pool[order], scores[order]
    return np.asarray(pool[0])


def _mutation(space: Space, parents: Sequence[Point], default: Point, rng: np.random.Generator, *, broad: bool) -> Point:
    """Return a parent with some variables changed: a quarter to the default, a quarter random, the rest by a small step."""
    parent = parents[int(rng.integers(len(parents)))].copy()
    if len(parents) > 1 and rng.random() < 0.4:  # some variables of another parent
        other = parents[int(rng.integers(len(parents)))]
        take = rng.random(len(parent)) < 0.5
        parent[take] = other[take]
    share = (rng.choice([1, 2, 4, 8]) if broad else rng.choice([1, 1, 2, 3])) / len(parent)
    moved = np.flatnonzero(rng.random(len(parent)) < share)
    if not moved.size:
        moved = np.array([rng.integers(len(parent))])
    for index in moved:
        draw = rng.random()
        if draw < 0.25:
            parent[index] = default[index]
        elif draw < 0.5 or parent[index] >= CATEGORY:
            parent[index] = space.random_coordinate(int(index), rng)
        else:
            parent[index] = min(max(parent[index] + _STEP * rng.standard_normal(), 0.0), 1.0)
    return parent
