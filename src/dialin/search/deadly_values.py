"""Values that crash the server, whatever else a setting changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dialin.model.dimension import CATEGORY
from dialin.search.space import Point

_CRASHES = 2
"""At least this many settings with a value must have crashed, and none with it have run."""


def crashing_values(points: Sequence[Point], survived: Sequence[bool], default: Point) -> list[tuple[int, float]]:
    """Return the categories that no setting ran with and several crashed with, as variable and coordinate.

    Values of `default`, the baseline, are never among them.
    """
    if all(survived):
        return []
    tried, ran = np.array(points), np.array(survived)
    deadly = []
    for index in range(tried.shape[1]):
        column = tried[:, index]
        for code in np.unique(column[~ran & (column >= CATEGORY) & (column != default[index])]):
            has = column == code
            if not (has & ran).any() and int((has & ~ran).sum()) >= _CRASHES:
                deadly.append((index, float(code)))
    return deadly
