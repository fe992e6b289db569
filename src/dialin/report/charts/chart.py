"""What all charts of the HTML report are made with: Plotly figures as plain data, in the colours of the page.

Traces name trials (`meta`) instead of holding their samples, so that each sample is embedded once however many charts show
it; the page's script fills them in. Colours are CSS variables, so that a chart follows the page from light to dark.
"""

from __future__ import annotations

import html
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dialin.model.verdict import Estimate
from dialin.model.workload import latency_name
from dialin.report.charts import plotly_data as go
from dialin.report.charts.forest import ForestPlot
from dialin.report.charts.style import Style
from dialin.text import distinct, shorten

NARROW_LABEL = 13
"""Characters of a label on a narrow screen."""
LABEL = 40
"""Characters of a label of a row; the figures beside it need room, too."""

_CLEAR = "rgba(0,0,0,0)"
_FAR_APART = 8
_MOST_TICKS = 9
_LINE_HEIGHT = 15
"""The height of a name beside a line, in CSS pixels."""
_HOVER = "%{text}<extra></extra>"


@dataclass(frozen=True, slots=True)
class ChartToggle:
    """A button that hides some trials of a chart, or shows them again.

    Attributes:
        key: identifies the button among those of its chart, also after the page is rendered again.
        spoken: the label in full, for screen readers: with all that the button's place shows to others.
        colour: the colour of the lines that it switches; empty where all lines of the chart have the same.
        symbol: the mark on these lines, as Plotly names it.
    """

    key: str
    label: str
    spoken: str
    colour: str
    trials: Sequence[int]
    symbol: str = "circle"


@dataclass(frozen=True, slots=True)
class ChartChoice:
    """A trial that the reader can choose in a chart that shows one trial at a time."""

    trial: int
    label: str
    is_shown_first: bool = False


@dataclass(frozen=True, slots=True)
class LegendKey:
    """A line or a mark of a chart.

    Attributes:
        dash: lengths of its strokes and gaps; empty for an unbroken line, None for a mark alone.
        symbol: the mark, as Plotly names it; empty for a line alone.
    """

    label: str
    colour: str
    dash: str | None
    symbol: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart of the page.

    Attributes:
        text: how to read it; its figures are in a table of the report.
        height: in CSS pixels; `width` is the most it takes, 0 where it takes all there is.
        figure: the Plotly figure, as JSON would hold it.
        toggles: what the reader can hide and show again.
        toggled: what the toggles switch, in a word: `Trials` or `Candidates`.
        legend: the lines and marks of the chart; empty where the toggles name them.
        choices: the trials of which the reader chooses one; empty where the chart shows all.
        forest: the forest plot for terminals, which draw only this chart, in characters.
    """

    key: str
    title: str
    text: str
    height: int
    figure: Mapping[str, Any]
    toggles: Sequence[ChartToggle] = ()
    toggled: str = "Candidates"
    legend: Sequence[LegendKey] = ()
    choices: Sequence[ChartChoice] = ()
    forest: ForestPlot | None = None
    width: int = 0


def blank(**layout: Any) -> go.Figure:
    """Return a figure without a trace, in the style of the page."""
    looks = {
        "paper_bgcolor": _CLEAR,
        "plot_bgcolor": _CLEAR,
        "font": {"family": "inherit", "size": 13, "color": "var(--ink-2)"},
        "hoverlabel": {"bgcolor": "var(--card)", "bordercolor": "var(--line)", "font": {"color": "var(--ink)", "size": 13}},
        "hovermode": "closest",
        "showlegend": False,
        "autosize": True,
    }
    return go.Figure(**{**looks, **layout})


def axis(title: str) -> dict[str, Any]:
    return {
        "title": {"text": title, "font": {"size": 12, "color": "var(--ink-2)"}, "standoff": 8},
        "gridcolor": "var(--grid)",
        "zerolinecolor": "var(--grid)",
        "automargin": False,
        "ticks": "",
        "ticklabelstandoff": 4,
        "separatethousands": True,
        "exponentformat": "none",
    }


def latency_axis(percentile: int, values: Sequence[float]) -> dict[str, Any]:
    """Return the axis of a percentile of latency that holds these milliseconds; logarithmic where they lie far apart."""
    low, high = min(values, default=1.0), max(values, default=1.0)
    titled = axis(f"{latency_name(percentile)} latency, ms")
    if low <= 0 or high / low < _FAR_APART:
        return {**titled, "type": "linear", "range": [0, 1.06 * high], "tickvals": None, "ticktext": None}
    return {**titled, **log_ticks(values)}


def log_ticks(values: Sequence[float]) -> dict[str, Any]:
    """Return the settings of a logarithmic axis that holds these values, all above zero."""
    low, high = min(values), max(values)
    ticks = [
        digit * 10.0**power
        for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for digit in (1, 2, 5)
    ]
    shown = [tick for tick in ticks if 0.8 * low <= tick <= 1.2 * high]
    if len(shown) > _MOST_TICKS:
        shown = [tick for tick in shown if math.log10(tick).is_integer()]
    return {
        "type": "log",
        "range": [math.log10(0.9 * low), math.log10(1.1 * high)],
        "tickvals": shown,
        "ticktext": [f"{tick:,g}" for tick in shown],
    }


def threads_axis(counts: Sequence[int]) -> dict[str, Any]:
    """Return the logarithmic axis of numbers of threads, with a tick at each."""
    ticks = [f"{count:,}" for count in counts]
    return {**axis("threads"), "type": "log", "tickvals": counts, "ticktext": ticks, "zeroline": False}


def place_of_share(share: float) -> float:
    """Return where a share below 1 stands on an axis that is stretched towards the worst: 0.9 at 1, 0.99 at 2."""
    return -math.log10(1 - share)


def error_bars(estimates: Sequence[Estimate], colour: str, thickness: float, width: int) -> dict[str, Any]:
    """Return the intervals of a trace's points; `thickness` and `width`, that of the caps, are in CSS pixels."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [0.0 if one.high is None else one.high - one.mean for one in estimates],
        "arrayminus": [0.0 if one.low is None else one.mean - one.low for one in estimates],
        "color": colour,
        "thickness": thickness,
        "width": width,
    }


Span = tuple[float, float]


def cut_off(
    estimates: Sequence[tuple[Estimate, float, str]], span: Span, *, upright: bool = False, **axes: str
) -> list[go.Scatter]:
    """Return an arrow at each end of an axis beyond which an interval goes on.

    `estimates` have their place on the other axis and their colour; with `upright` they lie along the vertical axis.
    `axes` name the axes of one of several panels.
    """
    low, high = ("triangle-down", "triangle-up") if upright else ("triangle-left", "triangle-right")
    arrows = [
        (end, place, colour, symbol)
        for one, place, colour in estimates
        for end, symbol, beyond in (
            (span[0], low, one.low is not None and one.low < span[0]),
            (span[1], high, one.high is not None and one.high > span[1]),
        )
        if beyond
    ]
    if not arrows:
        return []
    along, across = [end for end, *_ in arrows], [place for _, place, *_ in arrows]
    return [
        go.Scatter(
            x=across if upright else along,
            y=along if upright else across,
            mode="markers",
            marker={"symbol": [one[3] for one in arrows], "size": 9, "color": [one[2] for one in arrows]},
            hovertemplate="the interval extends beyond the axis<extra></extra>",
            cliponaxis=False,
            **axes,
        )
    ]


def marked_line(
    x: Sequence[float], y: Sequence[float | None], look: Style, hovers: Sequence[str], *, is_hollow: bool = False, **more: Any
) -> go.Scatter:
    """Return a line with a mark at each point; `hovers` has one text per point."""
    return go.Scatter(
        x=x,
        y=y,
        mode="lines+markers",
        line={"color": look.colour, "width": 1.8, "dash": pixels(look.dash)},
        marker=look.marker(6, is_hollow=is_hollow),
        text=hovers,
        hovertemplate=_HOVER,
        **more,
    )


def marks(x: Sequence[float], y: Sequence[float], marker: Mapping[str, Any], hovers: Sequence[str], **more: Any) -> go.Scatter:
    """Return marks without a line; `hovers` has one text per mark."""
    return go.Scatter(x=x, y=y, mode="markers", marker=marker, text=hovers, hovertemplate=_HOVER, **more)


@dataclass(frozen=True, slots=True)
class LineName:
    """The name of a line, its colour, and where it ends on the vertical axis; of a logarithmic one, the exponent of ten."""

    label: str
    colour: str
    end: float


def names_at_ends(names: Sequence[LineName], span: Sequence[float], room: float, width: int | None = None) -> list[Any]:
    """Return notes with the names of lines beside their ends, each in its colour and none over another.

    `span` are the ends of the axis, which is `room` CSS pixels high; names are cut to `width` characters.
    """
    look = {"xref": "paper", "x": 1, "xanchor": "left", "xshift": 4, "showarrow": False}
    notes, free = [], -math.inf
    for one in sorted(names, key=lambda one: one.end):
        place = room * (one.end - span[0]) / (span[1] - span[0])
        raised = max(0.0, free - place)
        free = place + raised + _LINE_HEIGHT
        text = safe(one.label if width is None else shorten(one.label, width))
        notes.append({**look, "y": one.end, "yshift": raised, "text": text, "font": {"size": 12, "color": one.colour}})
    return notes


def pixels(dash: str) -> str:
    """Return lengths of strokes and gaps in Plotly's notation, e.g. `8px,4px`; `solid` where there are none."""
    return ",".join(f"{length}px" for length in dash.split()) or "solid"


def plain(figure: go.Figure) -> dict[str, Any]:
    """Return a figure as JSON would hold it."""
    return {"data": figure.data, "layout": figure.layout}


def safe(text: str) -> str:
    """Return text for Plotly, which reads a little HTML in labels."""
    return html.escape(text, quote=False)


def label_margin(labels: Sequence[str], most: int = 60) -> int:
    """Return the pixels to leave for labels: a fixed margin, because one that Plotly fits itself can keep changing for ever."""
    return round(18 + 7.9 * min(most, max(map(len, labels), default=0)))


def rows_with_figures(
    labels: Sequence[str],
    figures: Sequence[str],
    xaxis: Mapping[str, Any],
    *,
    strong: Collection[int] = (),
    narrow: Mapping[str, Any] | None = None,
) -> go.Figure:
    """Return a figure with a row for each label, from bottom to top, and its figure on the right.

    Labels are shortened to `LABEL` characters; figures must have at most 60. `strong` has the places of labels in bold. The
    figures are left out where they would leave no room for the plot; `narrow` has the other differences in that layout.
    """
    labels, short = distinct(labels, LABEL), distinct(labels, NARROW_LABEL)
    rows: Mapping[str, Any] = {
        "tickvals": list(range(len(labels))),
        "range": [-0.6, len(labels) - 0.4],
        "showgrid": False,
        "zeroline": False,
    }

    def shown(texts: Sequence[str]) -> list[str]:
        return [f"<b>{safe(text)}</b>" if place in strong else safe(text) for place, text in enumerate(texts)]

    figure = blank(
        margin={"l": label_margin(labels), "r": label_margin(figures), "t": 12, "b": 44},
        xaxis=xaxis,
        yaxis={**axis(""), **rows, "ticktext": shown(labels)},
        yaxis2={
            **rows,
            "overlaying": "y",
            "side": "right",
            "ticktext": list(figures),
            "ticklabelstandoff": 6,
            "fixedrange": True,
        },
        meta={
            "narrow": {
                **(narrow or {}),
                "margin": {"l": label_margin(labels, NARROW_LABEL), "r": 16},
                "yaxis": {"ticktext": shown(short)},
                "yaxis2": {"showticklabels": False},
            }
        },
    )
    # An axis without a trace is not drawn.
    figure.add_trace(go.Scatter(x=[0], y=[0], yaxis="y2", mode="markers", marker={"opacity": 0}, hoverinfo="skip"))
    return figure
