"""The dot chart beside a reason: one row for each candidate, a dot for each trial, and the candidate's figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialin.model.why import ReasonChart
from dialin.text import number, percent, size, visible

MOST_ROWS = 12
"""Candidates that a chart shows; of more, the baseline and those whose figures lie furthest out."""

SMALLEST = 12
"""The fewest columns of a terminal in which dots are drawn."""

_FORMS = {"bytes": size, "share": percent}
"""How values of a unit are written; others as plain figures."""

_FROM_ZERO = 0.4
"""Where the lowest value is below this share of the highest, the scale begins at 0."""


@dataclass(frozen=True, slots=True)
class DotRow:
    """One candidate's dots.

    Attributes:
        places: the place of each trial on the scale, from 0 to 1.
        level: the place of the candidate's figure.
        figure: the candidate's figure as text.
        spoken: the values of all trials, for those who cannot see the dots.
    """

    candidate: str
    label: str
    places: Sequence[float]
    level: float
    figure: str
    spoken: str


@dataclass(frozen=True, slots=True)
class Dots:
    """A dot chart, ready to draw.

    Attributes:
        title: the metric, with its unit.
        low: the lower end of the scale, as text.
        high: the upper end of the scale, as text.
        left_out: how many candidates are not shown.
    """

    title: str
    rows: Sequence[DotRow]
    low: str
    high: str
    left_out: int


def dots(chart: ReasonChart, labels: Mapping[str, str], baseline: str) -> Dots:
    """Return a chart's dots; the baseline's are shown however many candidates there are."""
    measured = [name for name in labels if chart.values.get(name)]
    shown = _rows_shown(chart, measured, baseline)
    values = [value for name in shown for value in (*chart.values[name], chart.levels[name])]
    low, high = min(values, default=0.0), max(values, default=0.0)
    if 0 <= low < _FROM_ZERO * high:
        low = 0.0
    written = _FORMS.get(chart.unit, number)
    unit = "" if chart.unit in _FORMS else visible(chart.unit)
    rows = [
        DotRow(
            candidate=name,
            label=labels[name],
            places=[_place(value, low, high) for value in chart.values[name]],
            level=_place(chart.levels[name], low, high),
            figure=written(chart.levels[name]),
            spoken=", ".join(map(written, chart.values[name])),
        )
        for name in shown
    ]
    title = visible(chart.title) + (f", {unit}" if unit else "")
    return Dots(title, rows, written(low), written(high), len(measured) - len(shown))


def lines(dots: Dots, baseline: str, width: int, *, plain: bool) -> list[str]:
    """Return the chart in characters: a line for each row of at most `width` columns, and the ends of the scale below."""
    left = max((len(row.label) for row in dots.rows), default=0)
    right = max((len(row.figure) for row in dots.rows), default=0)
    room = min(40, width - left - right - 4)
    if room < SMALLEST:
        return [f"{row.label:<{left}}  {row.figure:>{right}}" for row in dots.rows]
    drawn = []
    for row in dots.rows:
        cells = [" "] * room
        mark = ("*" if plain else "◆") if row.candidate == baseline else ("o" if plain else "●")
        for place in row.places:
            cells[round(place * (room - 1))] = mark
        drawn.append(f"{row.label:<{left}}  {''.join(cells)}  {row.figure:>{right}}")
    axis = dots.low + dots.high.rjust(room - len(dots.low))
    return [*drawn, " " * (left + 2) + axis]


def _rows_shown(chart: ReasonChart, measured: Sequence[str], baseline: str) -> list[str]:
    if len(measured) <= MOST_ROWS:
        return list(measured)
    others = sorted((name for name in measured if name != baseline), key=lambda name: chart.levels[name])
    room = MOST_ROWS - 1
    shown = {baseline, *others[: room // 2], *others[len(others) - (room - room // 2) :]}
    return [name for name in measured if name in shown]


def _place(value: float, low: float, high: float) -> float:
    return (value - low) / (high - low) if high > low else 0.5
