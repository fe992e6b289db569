"""Which changes of a setting the trials separate, and trials that show which are needed.

What each of two changes carries is not known where they always came together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dialin.search.nested_sets import WITHOUT_RULE, prices, proof_prices
from dialin.search.space import Point, Space, one_change_less
from dialin.search.surrogate import Surrogate, correlations

SUSPECT = 0.03
"""What a variable must seem to carry for its companions to be named, on the log scale."""
TESTED = 0.10
"""What a variable must seem to carry to be left out by itself in one trial, which may need a restart of the server."""
_LIKE = 0.5
"""The correlation from which on two values count as the same, by the kernel of the model."""


def companions(tried: Point, setting: Point, default: Point) -> Mapping[int, list[int]]:
    """Return for each variable that a setting changes the other ones that no trial changed without it, by index.

    A trial changed one without the other where the first had about the value of the setting, and the second about its default.
    `tried` has the points of the trials that completed, a row each.
    """
    changed = [int(index) for index in np.flatnonzero(setting != default)]
    made = {index: _is_like(tried[:, index], setting[index], default[index]) for index in changed}
    left = {index: _is_like(tried[:, index], default[index], setting[index]) for index in changed}
    return {one: [other for other in changed if other != one and not (made[other] & left[one]).any()] for one in changed}


def unseparated(model: Surrogate, setting: Point, default: Point, least: float = SUSPECT) -> Mapping[int, list[int]]:
    """Return the companions of each variable that has any, where it or one of them seems to carry at least `least`.

    The one that carries most comes first. All that several changes carry together may be attributed to any one of them.
    """
    together = {one: others for one, others in companions(model.points, setting, default).items() if others}
    if not together:
        return {}
    means = model.means(np.array([setting, *(with_defaults(setting, default, one) for one in together)]))
    carried = dict(zip(together, means[0] - means[1:], strict=True))
    most = {one: max(carried[other] for other in (one, *others) if other in carried) for one, others in together.items()}
    return {one: together[one] for one in sorted(together, key=lambda one: -carried[one]) if most[one] >= least}


def separating_sets(model: Surrogate, setting: Point, default: Point) -> list[Point]:
    """Return a setting of two changes and each change by itself, the more promising one first; empty for other settings."""
    changed = [int(index) for index in np.flatnonzero(setting != default)]
    if len(changed) != 2:
        return []
    alone = np.array([with_defaults(setting, default, index) for index in changed])
    return [setting, *alone[np.argsort(-model.means(alone))]]


def with_defaults(setting: Point, default: Point, *variables: int) -> Point:
    """Return a setting with some variables at their defaults."""
    point = setting.copy()
    point[list(variables)] = default[list(variables)]
    return point


def _is_like(values: Point, target: float, other: float) -> NDArray[np.bool_]:
    """Return which values equal the target, or are much like it and nearer to it than to another value."""
    to_target, to_other = (correlations(values, np.array([value]))[:, 0] for value in (target, other))
    return np.asarray((values == target) | ((to_target >= _LIKE) & (to_target > to_other) & (values != other)))


_Array = NDArray[np.float64]

_DRAWS = 24
"""Draws from the model, each of which leaves some changes out."""
_TRIED = 0.010, 0.015
"""What a change with a rule of thumb, and one without, must carry in a draw to stay."""
_CERTAIN = 1e-9
"""The least standard deviation by which a trial may move what is known of a change."""


def reductions(space: Space, model: Surrogate, setting: Point, running: Point | None, rng: np.random.Generator) -> _Array:
    """Return the setting without changes that a draw from the model finds not worth their price, a row for each draw.

    Changes that are surely needed stay, those that are surely not needed leave, and doubtful ones come and go in ever new
    combinations. Each is there with the static part of the running server, too, if that has no values but the setting's and
    defaults. At least one change must be there; `running` is the setting of the running server.
    """
    default, static = space.default_point, space.static
    indices, points = one_change_less(setting, default)
    carried = -rng.multivariate_normal(*model.joint(points, setting), _DRAWS, method="eigh", check_valid="ignore")
    least = prices(space, *_TRIED)[indices]
    reduced = np.array([with_defaults(setting, default, *indices[one < least]) for one in carried])
    if running is not None and ((running == setting) | (running == default))[static].all():
        same_server = reduced.copy()
        same_server[:, static] = running[static]
        reduced = np.vstack([reduced, same_server])
    return np.asarray(np.unique(reduced, axis=0))


def worth_of_trials(space: Space, model: Surrogate, setting: Point, trials: _Array, variance: float) -> _Array:
    """Return by how much each trial is expected to improve the choice of the changes that stay, on the log scale.

    It is the knowledge gradient of these choices (Frazier, Powell and Dayanik 2009, "The knowledge-gradient policy for
    correlated normal beliefs"): a change stays if it carries more than its price, and a trial is worth the mistakes that it is
    expected to prevent. `variance` is that of a trial's noise.
    """
    default = space.default_point
    indices, points = one_change_less(setting, default)
    mean, covariance = model.joint(np.vstack([points, trials]), setting)
    count = len(points)
    price = proof_prices(space, model.change_error(setting, default), float(np.median(WITHOUT_RULE)))[indices]
    doubt = np.abs(-mean[:count] - price)[:, None]
    moves = np.abs(covariance[:count, count:]) / np.sqrt(np.diag(covariance)[count:] + variance)
    z = doubt / np.maximum(moves, _CERTAIN)
    prevented = moves * np.exp(-z * z / 2) / math.sqrt(2 * math.pi) - doubt * ndtr(-z)
    return np.asarray(prevented.sum(axis=0))
