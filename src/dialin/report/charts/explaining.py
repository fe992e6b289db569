"""The charts that explain: throughput by threads with its curve, and how long waits were."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dialin.model.why import Scaling, ScalingPoint, WaitSummary, Why
from dialin.report import scaling, wait_groups
from dialin.report.charts import chart
from dialin.report.charts import plotly_data as go
from dialin.report.charts.chart import Chart, LegendKey, axis, blank, error_bars, marked_line, pixels, plain, safe
from dialin.report.charts.style import Style
from dialin.report.wait_groups import WaitGroup, nanoseconds
from dialin.sentences.changes import with_interval
from dialin.stats import usl
from dialin.text import number

_STEPS = 60
_TENS = tuple(10**power for power in range(11))


def threads(why: Why, style: Mapping[str, Style], rate: str) -> Chart:
    """Return throughput by threads, on a logarithmic axis of threads: a mark with its interval for each, and the curve."""
    ends = [point.tps.high or point.tps.mean for one in why.scaling for point in one.points]
    top = max([*ends, *(value for one in why.scaling for value in _course(one)[1])], default=1.0)
    figure = blank(
        margin={"l": 64, "r": 16, "t": 12, "b": 44},
        xaxis=chart.threads_axis(scaling.threads(why)),
        yaxis={**axis(rate), "range": [0, 1.06 * top]},
        meta={"narrow": {"margin": {"l": 52}, "yaxis": {"title": {"text": ""}}}},
    )
    for one in why.scaling:
        figure.add_trace(_curve(one, style[one.candidate]))
    for one in why.scaling:
        figure.add_trace(_points(one.points, style[one.candidate], rate))
        if (point := scaling.saturation(one)) is not None:
            figure.add_trace(_saturation(point, style[one.candidate]))
    labels = {name: look.label for name, look in style.items()}
    legend = legend_of([one.candidate for one in why.scaling], style)
    text = scaling.description(why, labels, rate)
    return Chart("scaling", "Throughput by threads", text, 340, plain(figure), legend=legend)


def waits(group: WaitGroup, number_of: int, style: Mapping[str, Style]) -> Chart:
    """Return the waits of an instrument by length: waits per second in each doubling of time, both scales logarithmic."""
    longest = 2 ** max((len(one.histogram) for one in group.every), default=1)
    ticks = [tens for tens in _TENS if tens <= longest]
    figure = blank(
        margin={"l": 68, "r": 16, "t": 12, "b": 44},
        xaxis={
            **axis("length of a wait"),
            "type": "log",
            "tickvals": ticks,
            "ticktext": [_tick(tens) for tens in ticks],
            "tickangle": 0,
            "zeroline": False,
        },
        yaxis={**axis("waits/s"), "type": "log", "dtick": 1, "zeroline": False, "range": _decades(group.every)},
        meta={
            "narrow": {
                "margin": {"l": 60},
                "xaxis": {"tickvals": ticks[::3], "ticktext": [_tick(tens) for tens in ticks[::3]]},
                "yaxis": {"title": {"text": ""}},
            }
        },
    )
    for one in group.every:
        figure.add_trace(_distribution(one, style[one.candidate]))
    labels = {name: look.label for name, look in style.items()}
    text = wait_groups.description(group, labels)
    title, legend = f"How long waits were: {group.instrument}", legend_of([one.candidate for one in group.every], style)
    return Chart(f"waits-{number_of}", title, text, 300, plain(figure), legend=legend)


def legend_of(names: Sequence[str], style: Mapping[str, Style]) -> list[LegendKey]:
    """Return the legend of candidates: the line and the mark of each."""
    return [LegendKey(style[name].label, style[name].colour, style[name].dash, style[name].symbol) for name in names]


def _curve(one: Scaling, look: Style) -> Any:
    x, y = _course(one)
    line = {"color": look.colour, "width": 1.6, "dash": pixels(look.dash)}
    return go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip")


def _course(one: Scaling) -> tuple[list[float], list[float]]:
    """Return the fitted curve between the fewest and the most threads, or a line through the points where there is none."""
    counts = [float(point.threads) for point in one.points]
    if one.usl is None or not counts:
        return counts, [point.tps.mean for point in one.points]
    low, high = min(counts), max(counts)
    x = [low * (high / low) ** (step / _STEPS) for step in range(_STEPS + 1)]
    return x, [usl.throughput(one.usl, count) for count in x]


def _points(points: Sequence[ScalingPoint], look: Style, rate: str) -> Any:
    hovers = [f"{safe(look.label)}, {scaling.title(point.threads)}<br>{with_interval(point.tps)} {rate}" for point in points]
    symbols = [look.symbol if one.tps.low is not None else f"{look.symbol}-open" for one in points]
    bars = error_bars([point.tps for point in points], look.colour, 1.4, 4)
    counts, means = [point.threads for point in points], [point.tps.mean for point in points]
    return chart.marks(counts, means, {**look.marker(9), "symbol": symbols}, hovers, error_y=bars)


def _saturation(point: ScalingPoint, look: Style) -> Any:
    """Return the ring around the point at which more threads begin to add nothing."""
    return go.Scatter(
        x=[point.threads],
        y=[point.tps.mean],
        mode="markers",
        marker={"symbol": "circle-open", "size": 18, "color": look.colour, "line": {"width": 1.6}},
        hovertemplate=f"{safe(look.label)}: saturated from {scaling.title(point.threads)} on<extra></extra>",
    )


def _distribution(one: WaitSummary, look: Style) -> Any:
    seconds = _seconds(one)
    filled = [place for place, count in enumerate(one.histogram) if count]
    bins = range(filled[0], filled[-1] + 1) if filled else range(0)
    hovers = [
        f"{safe(look.label)}: {one.histogram[place]:,} waits ({number(one.histogram[place] / seconds)}/s)<br>"
        f"of {nanoseconds(2**place)} to {nanoseconds(2 ** (place + 1))}"
        for place in bins
    ]
    rates = [one.histogram[place] / seconds or None for place in bins]
    return marked_line([2 ** (place + 0.5) for place in bins], rates, look, hovers)


def _decades(every: Sequence[WaitSummary]) -> list[int]:
    """Return the exponents of ten between which the rates of all doublings that hold a wait lie."""
    rates = [count / _seconds(one) for one in every for count in one.histogram if count]
    return [math.floor(math.log10(min(rates))), math.ceil(math.log10(max(rates)) + 0.05)]


def _seconds(one: WaitSummary) -> float:
    return one.count / one.per_second if one.per_second else 1.0


def _tick(length: int) -> str:
    power = min(3, (len(str(length)) - 1) // 3)
    return f"{length // 1000**power} {('ns', 'µs', 'ms', 's')[power]}"
