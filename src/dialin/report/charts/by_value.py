"""The charts of candidates by what they set: dose and response of one variable, and a heatmap of two."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dialin.measures.of_verdict import capital, deciding, measure_of
from dialin.model.setting import Value, as_number
from dialin.model.study import Goal, StudySpec
from dialin.model.verdict import CandidateVerdict, Estimate, Verdict
from dialin.report.charts import plotly_data as go
from dialin.report.charts.chart import Chart, axis, blank, error_bars, label_margin, marks, plain, safe
from dialin.report.charts.style import Style
from dialin.sentences.changes import is_too_noisy_level, with_interval
from dialin.sentences.load_units import in_percent, units_of_verdict
from dialin.text import NOTHING, change, distinct, number, visible

_FEWEST = 3
"""The number of values below which a curve shows no more than the forest plot."""
_FAR_APART = 8
"""How many times the smallest value the largest one must be for a logarithmic axis."""
_WORSE, _SAME, _BETTER = "var(--worse)", "var(--same)", "var(--better)"
"""Colours of cells, on which the page's ink has contrast in both themes."""
_CELL = 150
"""The width of a cell of a heatmap, in CSS pixels, where there is room."""
_VALUE = 18
"""Characters of a value beside or below its cells."""
_TITLE = 26
"""The width of the title beside the values of rows, in CSS pixels."""

_BY_SPEED = (Goal.THROUGHPUT, Goal.STABILITY)
"""Goals of which throughput and CV are shown."""

_Of = Callable[[CandidateVerdict], Estimate | None]


def dose_response(spec: StudySpec, verdict: Verdict, style: Mapping[str, Style]) -> Chart | None:
    """Return throughput against the value of the one variable under test, and below it CV or latency, each with its interval.

    None where candidates differ in more than one variable or in their build, or fewer than three have a number as their value.
    The axis is logarithmic where the values are positive and far apart, as sizes are.
    """
    variables = spec.variables_under_test
    if len(variables) != 1 or spec.compares_builds:
        return None
    placed = _placed(variables[0], verdict)
    if len({value for value, _ in placed}) < _FEWEST:
        return None
    values = [value for value, _ in placed]
    is_log = min(values) > 0 and max(values) >= _FAR_APART * min(values)
    unit = units_of_verdict(verdict)
    name, measured_in, below, show = _second(verdict)
    figure = blank(
        margin={"l": 64, "r": 16, "t": 12, "b": 44},
        xaxis={
            **axis(visible(variables[0])),
            "type": "log" if is_log else "linear",
            "tickvals": values,
            "ticktext": [safe(style[one.name].label) for _, one in placed],
            "zeroline": False,
            "anchor": "y2",
        },
        yaxis={**axis(unit.rate), "domain": [0.42, 1.0], "zeroline": False},
        yaxis2={**axis(f"{name}, {measured_in}".rstrip(", ")), "domain": [0.0, 0.32], "zeroline": False},
        meta={"narrow": {"margin": {"l": 52}, "yaxis": {"title": {"text": ""}}, "yaxis2": {"title": {"text": ""}}}},
    )
    for which, of, written in (("y", lambda one: one.tps, number), ("y2", below, show)):
        for trace in _curve(placed, of, written, which, style):
            figure.add_trace(trace)
    title = f"{unit.title} and {name} by {visible(variables[0])}"
    single = " A hollow mark is a single trial, which no line joins." if any(one.trials == 1 for _, one in placed) else ""
    text = f"The diamond is the baseline; bars are confidence intervals.{single}"
    return Chart("dose-response", title, text, 380, plain(figure))


def heatmap(spec: StudySpec, verdict: Verdict) -> Chart | None:
    """Return the change against the baseline for each combination of two variables; None where candidates form no grid."""
    variables = spec.variables_under_test
    if len(variables) != 2 or spec.compares_builds:
        return None
    across, up = variables
    cells = {
        (str(one.setting[across]), str(one.setting[up])): one
        for one in verdict.candidates
        if across in one.setting and up in one.setting
    }
    columns, rows = _ordered([key[0] for key in cells]), _ordered([key[1] for key in cells])
    if len(columns) < 2 or len(rows) < 2 or len(cells) < len(columns) * len(rows) / 2:
        return None
    aim = measure_of(verdict)
    ratios = [[_ratio(cells.get((x, y)), verdict) for x in columns] for y in rows]
    text = [[_cell(cells.get((x, y)), verdict) for x in columns] for y in rows]
    x_names, y_names = (distinct([visible(one) for one in values], _VALUE) for values in (columns, rows))
    left = _TITLE + label_margin(y_names)
    figure = blank(
        margin={"l": left, "r": 16, "t": 0, "b": 48},
        xaxis={**axis(visible(across)), "type": "category", "showgrid": False},
        yaxis={**axis(visible(up)), "type": "category", "showgrid": False},
    )
    sign = 100 if aim.higher_is_better else -100
    shades = [[None if one is None else sign * (one.mean - 1) for one in row] for row in ratios]
    figure.add_trace(heat([safe(one) for one in x_names], [safe(one) for one in y_names], shades, text))
    title = f"{capital(aim.noun)} against the baseline, by {visible(across)} and {visible(up)}"
    reading = f"{capital(aim.direction)}. The intervals are in the table of all figures."
    return Chart("heatmap", title, reading, 90 + 56 * len(rows), plain(figure), width=_CELL * len(columns) + left + 16)


def heat(
    columns: Sequence[str],
    rows: Sequence[str],
    shades: Sequence[Sequence[float | None]],
    text: Sequence[Sequence[str]],
    *,
    most: float = math.inf,
    size: int = 14,
) -> go.Heatmap:
    """Return the trace of a heatmap of changes against the baseline, with their texts; the first of the rows is the lowest.

    Args:
        columns: their names, safe for Plotly.
        rows: their names, safe for Plotly.
        shades: how much better each cell is, in percent; below 0 it is worse, None has no colour.
        text: what stands in each cell.
        most: the change from which on a cell has the full colour; the largest one where none is larger.
        size: of the text, in CSS pixels.
    """
    largest = max((abs(value) for row in shades for value in row if value is not None), default=1.0) or 1.0
    reach = min(largest, most)
    return go.Heatmap(
        x=columns,
        y=rows,
        z=shades,
        text=text,
        texttemplate="%{text}",
        textfont={"color": "var(--ink)", "size": size},
        colorscale=[[0.0, _WORSE], [0.5, _SAME], [1.0, _BETTER]],
        zmin=-reach,
        zmax=reach,
        xgap=2,
        ygap=2,
        showscale=False,
        hovertemplate="%{x}, %{y}: %{text}<extra></extra>",
    )


def _placed(variable: str, verdict: Verdict) -> list[tuple[float, CandidateVerdict]]:
    """Return the measured candidates with their value as a number, the smallest first."""
    known = []
    for one in verdict.candidates:
        value = _number(one, variable)
        if value is not None and one.tps is not None:
            known.append((value, one))
    return sorted(known, key=lambda pair: pair[0])


def _number(candidate: CandidateVerdict, variable: str) -> float | None:
    value: Value | None = candidate.setting.get(variable, candidate.in_force.get(variable))
    return None if value is None else as_number(value)


def _has_useful_interval(level: Estimate) -> bool:
    """Return whether to draw the interval of a level: one that is too noisy would stretch the axis and hide all others."""
    return level.low is not None and not is_too_noisy_level(level)


def _second(verdict: Verdict) -> tuple[str, str, _Of, Callable[[float], str]]:
    if verdict.goal in _BY_SPEED:
        return "CV", "%", lambda one: one.cv and in_percent(one.cv), number
    aim = measure_of(verdict)
    return aim.noun, aim.unit or "", aim.level, aim.show


def _curve(
    placed: Sequence[tuple[float, CandidateVerdict]],
    of: _Of,
    show: Callable[[float], str],
    which: str,
    style: Mapping[str, Style],
) -> list[Any]:
    known = [(value, one, estimate) for value, one in placed if (estimate := of(one)) is not None]
    line = go.Scatter(
        x=[value for value, *_ in known],
        y=[None if one.trials == 1 else estimate.mean for _, one, estimate in known],
        yaxis=which,
        mode="lines",
        line={"color": "var(--ink-2)", "width": 1.4, "dash": "dot"},
        hoverinfo="skip",
    )
    points = []
    for value, one, estimate in known:
        look = style[one.name]
        marker, hover = look.marker(10, is_hollow=one.trials == 1), f"{safe(look.label)}: {with_interval(estimate, show)}"
        bars = error_bars([estimate], look.colour, 1.6, 5) if _has_useful_interval(estimate) else None
        points.append(marks([value], [estimate.mean], marker, [hover], yaxis=which, error_y=bars))
    return [line, *points]


def _ordered(values: Sequence[str]) -> list[str]:
    """Return distinct values, numbers by size."""
    distinct = list(dict.fromkeys(values))
    numbers = [as_number(value) for value in distinct]
    if any(one is None for one in numbers):
        return distinct
    return [value for _, value in sorted(zip(numbers, distinct, strict=True), key=lambda pair: pair[0] or 0.0)]


def _cell(candidate: CandidateVerdict | None, verdict: Verdict) -> str:
    if candidate is not None and candidate.name == verdict.baseline:
        return "baseline"
    ratio = _ratio(candidate, verdict)
    return change(ratio.mean) if ratio else NOTHING


def _ratio(candidate: CandidateVerdict | None, verdict: Verdict) -> Estimate | None:
    return deciding(candidate, verdict) if candidate is not None else None
