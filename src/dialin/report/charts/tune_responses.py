"""The chart of what each variable of a tune does along its range, by the model, with its uncertainty."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dialin.measures.of_verdict import capital
from dialin.measures.table import Measure
from dialin.model.dimension import CATEGORY, Dimension
from dialin.model.setting import Value, same_value
from dialin.model.study import StudySpec
from dialin.model.verdict import ResponsePoint, TunedVariable, TuneFindings
from dialin.report.charts import plotly_data as go
from dialin.report.charts.chart import Chart, LegendKey, axis, blank, cut_off, error_bars, plain, safe
from dialin.sentences.changes import change_with_interval
from dialin.sentences.load_units import change_in_percent
from dialin.sentences.tune_words import value_text
from dialin.text import shorten

_COLUMNS = 2
_GAP = 0.09
"""The gap between two columns, as a share of the width."""
_ROW, _TITLE = 184, 56
"""The height of a row of panels, and the part of it that its names and ticks take, in pixels."""
_SHORT = 25
"""Characters of a name above a panel on a narrow screen."""
_SPECIAL = 0.14
"""The distance from one special value to the next, as a share of the range."""
_CLOSE = 0.2
"""Ticks nearer than this, as a share of the range, would run into each other."""


def responses(findings: TuneFindings, spec: StudySpec, aim: Measure, key: str = "tune-responses") -> Chart | None:
    """Return a panel for each variable, in their order; None where the model has no response."""
    known = [one for one in findings.variables if one.response]
    if not known:
        return None
    dimensions = spec.tuned
    rows = math.ceil(len(known) / _COLUMNS)
    drawn = blank(
        margin={"l": 56, "r": 16, "t": 8, "b": 28},
        annotations=[_name(one, place, rows, 40, 12) for place, one in enumerate(known)],
        meta={
            "narrow": {
                "margin": {"l": 50, "r": 22},
                "annotations": [_name(one, place, rows, _SHORT, 10) for place, one in enumerate(known)],
                **{f"yaxis{_number(place)}": {"showticklabels": place % _COLUMNS == 0} for place in range(len(known))},
            }
        },
    )
    heights = _heights(known)
    for place, one in enumerate(known):
        dimension, which = dimensions[one.name], _number(place)
        column, row = place % _COLUMNS, place // _COLUMNS
        left = column * (1 + _GAP) / _COLUMNS
        drawn.update_layout(
            **{
                f"xaxis{which}": {
                    **axis(""),
                    **_ticks(dimension),
                    "domain": [left, left + (1 - _GAP) / _COLUMNS],
                    "anchor": f"y{which}",
                    "zeroline": False,
                },
                f"yaxis{which}": {
                    **axis(""),
                    "domain": _panel(row, rows),
                    "anchor": f"x{which}",
                    "range": heights,
                    "ticksuffix": " %",
                    "nticks": 5,
                    "zeroline": True,
                    "zerolinecolor": "var(--base)",
                },
            }
        )
        drawn.add_traces(_traces(one, dimension, findings, which, heights))
    legend = [
        LegendKey("by the model", "var(--c1)", ""),
        LegendKey("baseline", "var(--base)", None, "diamond"),
        LegendKey("recommended" if findings.recommended else "best setting", "var(--c3)", None, "circle"),
        *([LegendKey("failed", "var(--bad)", None, "x")] if findings.failures else []),
    ]
    is_cut = any(low < heights[0] or high > heights[1] for one in known for low, high in map(_ends, one.response))
    cut = ", cut off at the edges of the panels" if is_cut else ""
    text = (
        f"{capital(aim.noun)} along the range of each variable, all else as in the best setting, against the same with the "
        f"baseline's value; {aim.direction}. Shaded: intervals of 95 %{cut}. The curve leads through what "
        "confirmation trials measured."
    )
    return Chart(key, "What each variable does", text, 36 + _ROW * rows, plain(drawn), legend=legend)


def _panel(row: int, rows: int) -> list[float]:
    """Return the share of the height that a panel of a row takes, below its name."""
    top = 1 - row / rows
    return [top - (1 - _TITLE / _ROW) / rows - 0.45 * _TITLE / _ROW / rows, top - 0.45 * _TITLE / _ROW / rows]


def _number(place: int) -> str:
    return "" if place == 0 else str(place + 1)


def _name(one: TunedVariable, place: int, rows: int, width: int, size: int) -> dict[str, Any]:
    """Return the name above a panel, of at most `width` characters and in font size `size`."""
    name = safe(shorten(one.name, width))
    return {
        "text": f"<b>{name}</b>" if one.recommended is not None else name,
        "x": place % _COLUMNS * (1 + _GAP) / _COLUMNS,
        "y": 1 - place // _COLUMNS / rows,
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "top",
        "showarrow": False,
        "font": {"size": size, "color": "var(--ink)"},
    }


def _heights(known: Sequence[TunedVariable]) -> list[float]:
    """Return the vertical range of all panels, in percent; an interval that is much wider is cut off."""
    changes = [100 * (point.ratio.mean - 1) for one in known for point in one.response]
    low, high = min(changes), max(changes)
    room = max(0.3 * (high - low), 2.0)
    return [low - room, high + room]


def _across(dimension: Dimension, value: Value) -> float:
    """Return the horizontal place of a value: 0 to 1 in a range, special values right of it, words side by side."""
    position = dimension.position(value)
    if dimension.values:
        return (position - CATEGORY) / max(len(dimension.values) - 1, 1)
    return position if position < CATEGORY else 1 + _SPECIAL * (1 + position - CATEGORY)


def _ticks(dimension: Dimension) -> dict[str, Any]:
    values = list(dimension.values)
    if not values:
        values = [dimension.value(0.0), dimension.value(1.0), *dimension.special]
        if all(abs(_across(dimension, dimension.default) - _across(dimension, value)) > _CLOSE for value in values):
            values.append(dimension.default)
    places = [_across(dimension, value) for value in values]
    return {
        "tickvals": places,
        "ticktext": [safe(shorten(value_text(dimension.name, value), 12)) for value in values],
        "range": [-0.05, max(1.0, *places) + 0.05],
    }


def _traces(
    one: TunedVariable, dimension: Dimension, findings: TuneFindings, which: str, heights: Sequence[float]
) -> list[go.Trace]:
    axes = {"xaxis": f"x{which}", "yaxis": f"y{which}"}
    in_range = [point for point in one.response if not dimension.values and dimension.position(point.value) < CATEGORY]
    apart = [point for point in one.response if point not in in_range]
    traces: list[go.Trace] = []
    if in_range:
        x = [_across(dimension, point.value) for point in in_range]
        ends = [_ends(point) for point in in_range]
        band = {"mode": "lines", "line": {"width": 0}, "fill": "toself", "fillcolor": "var(--c1)", "opacity": 0.2}
        traces.append(
            go.Scatter(
                x=[*x, *reversed(x)],
                y=[*(low for low, _ in ends), *(high for _, high in reversed(ends))],
                hoverinfo="skip",
                **band,
                **axes,
            )
        )
        traces.append(_points(in_range, dimension, {"mode": "lines", "line": {"color": "var(--c1)", "width": 1.8}}, axes))
    if apart:
        bars = error_bars([change_in_percent(point.ratio) for point in apart], "var(--c1)", 1.4, 4)
        marks = {"mode": "markers", "marker": {"symbol": "circle", "size": 6, "color": "var(--c1)"}, "error_y": bars}
        traces.append(_points(apart, dimension, marks, axes))
        estimates = [(change_in_percent(point.ratio), _across(dimension, point.value), "var(--c1)") for point in apart]
        traces += cut_off(estimates, (heights[0], heights[1]), upright=True, **axes)
    best = (findings.recommended or findings.best).get(one.name)
    for value, colour, symbol in ((one.before, "var(--base)", "diamond"), (best, "var(--c3)", "circle")):
        marked = [point for point in one.response if value is not None and same_value(point.value, value)]
        mark = {"mode": "markers", "marker": {"symbol": symbol, "size": 9, "color": colour}}
        traces += [_points(marked[:1], dimension, mark, axes)] if marked else []
    failed = [failure.setting[one.name] for failure in findings.failures if one.name in failure.setting]
    if places := [_across(dimension, value) for value in failed if dimension.takes(value)]:
        mark = {"mode": "markers", "marker": {"symbol": "x", "size": 7, "color": "var(--bad)"}}
        bottom = heights[0] + 0.06 * (heights[1] - heights[0])
        traces.append(go.Scatter(x=places, y=[bottom] * len(places), hoverinfo="skip", **mark, **axes))
    return traces


def _points(
    points: Sequence[ResponsePoint], dimension: Dimension, looks: Mapping[str, Any], axes: Mapping[str, Any]
) -> go.Trace:
    return go.Scatter(
        x=[_across(dimension, point.value) for point in points],
        y=[100 * (point.ratio.mean - 1) for point in points],
        text=[
            f"{safe(dimension.name)} = {safe(value_text(dimension.name, point.value))}<br>{change_with_interval(point.ratio)}"
            for point in points
        ],
        hovertemplate="%{text}<extra></extra>",
        **looks,
        **axes,
    )


def _ends(point: ResponsePoint) -> tuple[float, float]:
    change = change_in_percent(point.ratio)
    return change.mean if change.low is None else change.low, change.mean if change.high is None else change.high
