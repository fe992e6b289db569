"""What each recommended variable carries, and which pairs work together: by the proof, else by the model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from dialin.model.setting import Setting
from dialin.model.verdict import FigureSource, TunedPair
from dialin.search.proof import CONFIDENCE
from dialin.search.separation import unseparated, with_defaults
from dialin.search.space import Space
from dialin.search.surrogate import Surrogate
from dialin.search.trial_records import Carried
from dialin.stats.blocks import estimate_of_logs
from dialin.stats.trial_fit import TrialFit

MOST = 10
"""Variables whose shares are given, the largest first."""
MODEL_DEVIATES = 1.96
"""Half of an interval of the model, in standard deviations: 95 %."""
_INTERACTION = 0.01
"""The least interaction that is named, on the log scale."""


def contributions(
    space: Space,
    setting: Setting,
    model: Surrogate,
    fitted: TrialFit | None,
    proven: Mapping[str, Setting],
    name: str,
) -> tuple[Carried, ...]:
    """Return what each variable of a setting carries, the largest first: the setting as a ratio to that without the variable.

    Where no trial separates a variable from another one, the lower end of the model's interval for it is at most 1.
    `fitted` and `proven` are the trials and the candidates of the proof; `name` is that of the recommended candidate.
    """
    whole, default = space.point(setting), space.default_point
    together = unseparated(model, whole, default)
    shares = []
    for index in _changed(space, setting):
        rest = with_defaults(whole, default, index)
        variable = space.dimensions[index].name
        measured = next((one for one, known in proven.items() if dict(known) == dict(space.setting(rest))), None)
        if fitted is not None and measured is not None and {measured, name} <= set(fitted.names):
            shares.append(Carried(variable, fitted.ratio(name, measured, 1 - CONFIDENCE), FigureSource.PROOF))
        else:
            mean, sd = model.contrast(np.array([whole, rest]), np.array([1.0, -1.0]))
            ratio = estimate_of_logs(mean, MODEL_DEVIATES * sd)
            companions = tuple(space.dimensions[other].name for other in together.get(index, ()))
            if companions and ratio.low is not None:
                ratio = ratio.model_copy(update={"low": min(ratio.low, 1.0)})
            shares.append(Carried(variable, ratio, FigureSource.MODEL, companions))
    return tuple(sorted(shares, key=lambda one: -one.ratio.mean)[:MOST])


def interactions(space: Space, setting: Setting, model: Surrogate, variables: Sequence[str]) -> tuple[TunedPair, ...]:
    """Return the pairs that do together more or less than each by itself, the strongest first.

    Only pairs of at least 1 %, with an interval by the model that excludes 1.
    """
    whole, default = space.point(setting), space.default_point
    indices = [index for index in _changed(space, setting) if space.dimensions[index].name in variables]
    pairs = []
    for first, second in itertools.combinations(indices, 2):
        points = np.array([with_defaults(whole, default, *gone) for gone in ((), (first,), (second,), (first, second))])
        mean, sd = model.contrast(points, np.array([1.0, -1.0, -1.0, 1.0]))
        if abs(mean) >= max(_INTERACTION, MODEL_DEVIATES * sd):
            names = space.dimensions[first].name, space.dimensions[second].name
            pairs.append(TunedPair(variables=names, ratio=estimate_of_logs(mean, MODEL_DEVIATES * sd)))
    return tuple(sorted(pairs, key=lambda one: -abs(math.log(one.ratio.mean))))


def _changed(space: Space, setting: Setting) -> list[int]:
    return [index for index, dimension in enumerate(space.dimensions) if dimension.name in setting]
