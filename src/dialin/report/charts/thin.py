"""Fewer points for a chart with the same picture: peaks and stalls stay, nothing is averaged away."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tsdownsample import MinMaxDownsampler, MinMaxLTTBDownsampler


def thin(values: Sequence[float], most: int) -> list[int]:
    """Return the indices of the points to draw: all, or the lowest and the highest of each of `most` / 2 equal stretches."""
    if len(values) <= most:
        return list(range(len(values)))
    # Largest triangles alone (LTTB) would look as good, but might drop a stall beside a peak.
    indices = MinMaxDownsampler().downsample(np.asarray(values, dtype=np.float64), n_out=most // 2 * 2)
    return [int(index) for index in np.unique(indices)]


def thin_smooth(values: Sequence[float], most: int) -> list[int]:
    """Return the indices of the points to draw of a series that is smooth already: those that keep its shape."""
    if len(values) <= most:
        return list(range(len(values)))
    indices = MinMaxLTTBDownsampler().downsample(np.asarray(values, dtype=np.float64), n_out=most)
    return [int(index) for index in np.unique(indices)]
