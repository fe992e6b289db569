"""Trials of a setting without some of its changes, chosen so that they show which changes are needed."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from dialin.search.nested_sets import WITHOUT_RULE, prices, proof_prices
from dialin.search.separation import with_defaults
from dialin.search.space import Point, Space, one_change_less
from dialin.search.surrogate import Surrogate

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
