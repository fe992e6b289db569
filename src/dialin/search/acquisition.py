"""Which setting to try next: the highest expected improvement per second that a trial takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dialin.model.dimension import CATEGORY
from dialin.search.space import Point, Space
from dialin.search.surrogate import Surrogate

_Array = NDArray[np.float64]

PRICE = 0.0003
"""What each changed variable costs, on the log scale: a change needs a reason."""
_GENERATIONS = 4
_CHILDREN = 100
_PARENTS = 12
_CROSSED = 0.4
_STEP = 0.12
"""Standard deviation of a small step along a range."""
_CLIMBED = 4
"""The best points of the mutations from which single variables are changed."""
_SWEEPS = 6
"""This many variables are changed at most in that way."""
_GRID = 11
_NUDGE = 0.03
"""Values of a range that a sweep tries, and how far it moves the value that a point has."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A point to try, and by how much it is expected to improve on the best one so far, on the log scale."""

    point: Point
    improvement: float


@dataclass(frozen=True)
class SearchSituation:
    """What a proposal starts from.

    Attributes:
        best: the best setting so far, by the model.
        bases: settings that are worth varying: the best ones, the baseline and the rules.
        costs: seconds that a trial of each point takes.
        allowed: whether each point may run: constraints and crashes.
        repair: returns points that need less memory where they exceed it.
        static_now: the setting of the running server; None where none runs.
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
    """Return the mean of max(x, 0) for a normal x of this mean and standard deviation."""
    z = mean / sd
    return np.asarray(mean * ndtr(z) + sd * np.exp(-z * z / 2) / math.sqrt(2 * math.pi))


def propose(space: Space, situation: SearchSituation, rng: np.random.Generator) -> Proposal:
    """Return the point of the highest expected improvement per second: of mutations over a few generations, then of sweeps."""
    default = space.default_point
    best_price = PRICE * float((situation.best != default).sum())

    def gain(points: _Array) -> _Array:
        mean, sd = situation.model.differences(points, situation.best)
        return expected_improvement(mean - PRICE * changed(points, default) + best_price, sd)

    def score(points: _Array) -> _Array:
        return np.where(situation.allowed(points), gain(points) / situation.costs(points), -np.inf)

    parents = [np.asarray(base) for base in situation.bases]
    pool, scores = np.empty((0, len(space))), np.empty(0)
    for generation in range(_GENERATIONS):
        children = _mutations(space, parents, rng, broad=generation == 0)
        if situation.static_now is not None:  # half of them keep the server that runs
            children[::2, space.static] = situation.static_now[space.static]
        points = situation.repair(children)
        pool, scores = _best(4 * _PARENTS, pool, scores, points, score(points))
        parents = [*pool[:_PARENTS][np.isfinite(scores[:_PARENTS])], *situation.bases[:2]]
    if not np.isfinite(scores[0]):
        return Proposal(situation.best, 0.0)
    top = _climb(space, score, pool, scores, situation.repair)
    return Proposal(top, float(gain(top[None, :])[0]))


def improve(
    space: Space,
    score: Callable[[_Array], _Array],
    bases: Sequence[Point],
    rng: np.random.Generator,
    repair: Callable[[_Array], _Array],
) -> Point:
    """Return the point of the highest score that mutations of the bases over a few generations, and then sweeps, find."""
    pool = repair(np.array([np.asarray(base) for base in bases]))
    scores = score(pool)
    for _ in range(2 * _GENERATIONS):
        points = repair(_mutations(space, list(pool[:_PARENTS]), rng, broad=False))
        pool, scores = _best(_PARENTS, pool, scores, points, score(points))
    return _climb(space, score, pool, scores, repair)


def _best(count: int, pool: _Array, scores: _Array, points: _Array, their_scores: _Array) -> tuple[_Array, _Array]:
    points, scores = np.vstack([pool, points]), np.concatenate([scores, their_scores])
    order = np.argsort(-scores, kind="stable")[:count]
    return points[order], scores[order]


def _climb(
    space: Space, score: Callable[[_Array], _Array], pool: _Array, scores: _Array, repair: Callable[[_Array], _Array]
) -> Point:
    """Return the point of the highest score that changes of one variable at a time reach from the best points of a pool.

    The pool has the best point first.
    """
    pool, scores = pool[:_CLIMBED], scores[:_CLIMBED]
    for _ in range(_SWEEPS):
        points = repair(np.vstack([_sweep(space, point) for point in pool]))
        best = scores[0]
        pool, scores = _best(_CLIMBED, pool, scores, points, score(points))
        if scores[0] <= best:
            break
    return np.asarray(pool[0])


def _sweep(space: Space, point: Point) -> _Array:
    """Return the point with each variable in turn at its default, the values of a grid, its categories, and a little moved."""
    rows = []
    for index, one in enumerate(space.dimensions):
        values = [float(space.default_point[index]), *(CATEGORY + np.arange(len(one.values or one.special)))]
        if not one.values:
            values += np.linspace(0.0, 1.0, _GRID).tolist()
            if point[index] < CATEGORY:
                values += np.clip([point[index] - _NUDGE, point[index] + _NUDGE], 0.0, 1.0).tolist()
        rows.append(np.repeat(point[None, :], len(values), axis=0))
        rows[-1][:, index] = values
    return np.vstack(rows)


def _mutations(space: Space, parents: Sequence[Point], rng: np.random.Generator, *, broad: bool) -> _Array:
    """Return parents with some variables changed: a quarter to the default, a quarter random, the rest by a small step.

    Two of five take half of their variables from another parent first.
    """
    pool, shape = np.array(parents), (_CHILDREN, len(space))
    points = pool[rng.integers(len(pool), size=_CHILDREN)]
    others = pool[rng.integers(len(pool), size=_CHILDREN)]
    crossed = (rng.random(_CHILDREN) < _CROSSED)[:, None]
    points = np.where(crossed & (rng.random(shape) < 0.5), others, points)
    share = rng.choice([1, 2, 4, 8] if broad else [1, 1, 2, 3], size=_CHILDREN) / len(space)
    moved = rng.random(shape) < share[:, None]
    moved[np.arange(_CHILDREN), rng.integers(len(space), size=_CHILDREN)] |= ~moved.any(axis=1)
    draw = rng.random(shape)
    steps = np.clip(points + _STEP * rng.standard_normal(shape), 0.0, 1.0)
    anywhere = np.where((draw < 0.5) | (points >= CATEGORY), space.random_points(_CHILDREN, rng), steps)
    return np.asarray(np.where(moved, np.where(draw < 0.25, space.default_point, anywhere), points))
