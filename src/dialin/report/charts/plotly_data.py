"""Plotly figures as plain data: the few classes of `plotly.graph_objects` that the report's charts need, with their names.

The original classes check every property, which took most of the time of a report, and importing them takes half a second.
Here nothing is checked; a test has `plotly` check the charts of every example study.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np


class Trace(dict[str, Any]):
    """A trace: its properties, without those that are None."""

    kind = ""

    def __init__(self, **properties: Any) -> None:
        super().__init__(type=self.kind, **_without_none(properties))


class Scatter(Trace):
    kind = "scatter"


class Bar(Trace):
    kind = "bar"


class Box(Trace):
    kind = "box"


class Heatmap(Trace):
    kind = "heatmap"


class Figure:
    """Traces and their layout."""

    def __init__(self, **layout: Any) -> None:
        self.data: list[Trace] = []
        self.layout = _without_none(layout)

    def add_trace(self, trace: Trace) -> None:
        self.data.append(trace)

    def add_traces(self, traces: Iterable[Trace]) -> None:
        self.data += traces

    def add_vrect(self, x0: float, x1: float, annotation: Mapping[str, Any] | None = None, **properties: Any) -> None:
        """Mark a stretch of the x axis; an annotation stands at its upper left."""
        self._add_shape(type="rect", x0=x0, x1=x1, **properties)
        if annotation:
            place = {"x": min(x0, x1), "y": 1, "xref": "x", "yref": "y domain", "xanchor": "left", "showarrow": False}
            self.layout.setdefault("annotations", []).append({**place, **annotation})

    def add_vline(self, x: float, **properties: Any) -> None:
        self._add_shape(type="line", x0=x, x1=x, **properties)

    def add_hline(self, y: float, **properties: Any) -> None:
        line = {"type": "line", "xref": "x domain", "x0": 0, "x1": 1, "yref": "y", "y0": y, "y1": y}
        self.layout.setdefault("shapes", []).append({**line, **properties})

    def update_layout(self, **changes: Any) -> None:
        """Merge changes into the layout, nested properties included."""
        self.layout = _merged(self.layout, _without_none(changes))

    def _add_shape(self, **properties: Any) -> None:
        self.layout.setdefault("shapes", []).append({"xref": "x", "y0": 0, "y1": 1, "yref": "y domain", **properties})


def _without_none(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return properties without those that are None, except in `meta`, which is the page's own."""
    return {
        name: _without_none(value) if isinstance(value, Mapping) and name != "meta" else value
        for name, value in properties.items()
        if value is not None
    }


def _merged(whole: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(whole)
    for name, value in changes.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(name), Mapping)
        merged[name] = _merged(merged[name], value) if both else value
    return merged


def thin(values: Sequence[float], most: int, *, is_smooth: bool = False) -> list[int]:
    """Return the indices of the points to draw: all, or the lowest and the highest of each of `most` / 2 equal stretches.

    Of a series that is smooth already those are drawn that keep its shape.
    """
    if len(values) <= most:
        return list(range(len(values)))
    from tsdownsample import MinMaxDownsampler, MinMaxLTTBDownsampler  # slow to import, which a terminal need not wait for

    # Largest triangles alone (LTTB) would look as good, but might drop a stall beside a peak.
    way, count = (MinMaxLTTBDownsampler(), most) if is_smooth else (MinMaxDownsampler(), most // 2 * 2)
    return [int(index) for index in np.unique(way.downsample(np.asarray(values, dtype=np.float64), n_out=count))]
