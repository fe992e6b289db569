"""The chart of how long transactions took, from histograms: percentiles by candidate, with intervals between trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dialin.model.load_driver import ALL_KINDS
from dialin.model.verdict import Estimate
from dialin.model.why import TransactionLatency, Why
from dialin.report.charts.chart import Chart, axis, blank, error_bars, log_ticks, marked_line, place_of_share, plain, safe
from dialin.report.charts.explaining import legend_of
from dialin.report.charts.style import Style
from dialin.sentences.changes import with_interval
from dialin.text import number

PERCENTILES = ("p50", "p95", "p99", "p99.9")
"""The names of the percentiles."""

_PLACES = (0.5, 0.95, 0.99, 0.999)
_LONGEST_AT = 3.7
"""Where the longest transaction stands on the axis, on which p99.9 is at 3."""
_MOST_APART, _WIDEST = 0.035, 0.24
"""How far candidates lie apart at a percentile, and all of them together, in the axis's units."""
_BEYOND = 3
"""The axis takes in an interval's end if it is within this factor of the shortest or the longest figure."""


def percentiles(one: TransactionLatency) -> list[Estimate | None]:
    """Return the estimates of `PERCENTILES`, milliseconds."""
    figures = (one.p50_ms, one.p95_ms, one.p99_ms, one.p999_ms)
    return [None if figure is None else figure.level for figure in figures]


def chart(why: Why, style: Mapping[str, Style]) -> Chart | None:
    """Return the percentiles of all transactions of each candidate; None where no load driver reported histograms."""
    every = [one for one in why.latencies if one.transaction == ALL_KINDS]
    if not every:
        return None
    ticks = [place_of_share(share) for share in _PLACES]
    means = [estimate.mean for one in every for estimate in percentiles(one) if estimate]
    means += [max(one.longest_ms) for one in every]
    reach = [min(means) / _BEYOND, max(means) * _BEYOND]
    ends = [end for one in every for estimate in percentiles(one) for end in _ends(estimate) if reach[0] <= end <= reach[1]]
    figure = blank(
        margin={"l": 64, "r": 16, "t": 12, "b": 44},
        xaxis={
            **axis("percentile of the transactions of a trial"),
            "tickvals": [*ticks, _LONGEST_AT],
            "ticktext": [*PERCENTILES, "longest"],
            "range": [0.1, _LONGEST_AT + 0.2],
            "zeroline": False,
        },
        yaxis={**axis("latency, ms"), **log_ticks([value for value in (*means, *ends) if value > 0])},
        meta={"narrow": {"margin": {"l": 52}, "xaxis": {"title": {"text": "percentile"}}, "yaxis": {"title": {"text": ""}}}},
    )
    apart = min(_MOST_APART, _WIDEST / len(every))
    for place, one in enumerate(every):
        figure.add_trace(_line(one, style[one.candidate], apart * (place - (len(every) - 1) / 2)))
    text = "Bars are confidence intervals; the longest transaction is that of all trials."
    legend = legend_of([one.candidate for one in every], style)
    return Chart("transaction-latency", "Percentiles of latency", text, 320, plain(figure), legend=legend)


def _line(one: TransactionLatency, look: Style, aside: float) -> Any:
    """Return a candidate's line, `aside` of its places on the axis, so that intervals do not cover each other."""
    known = [
        (place_of_share(share) + aside, estimate, name)
        for share, estimate, name in zip(_PLACES, percentiles(one), PERCENTILES, strict=True)
        if estimate is not None
    ]
    longest = max(one.longest_ms)
    estimates = [estimate for _, estimate, _ in known] + [Estimate.alone(longest)]
    hovers = [f"{safe(look.label)}, {name}: {with_interval(estimate)} ms" for _, estimate, name in known]
    return marked_line(
        [*(place for place, *_ in known), _LONGEST_AT + aside],
        [estimate.mean for estimate in estimates],
        look,
        [*hovers, f"{safe(look.label)}, longest: {number(longest)} ms"],
        error_y=error_bars(estimates, look.colour, 1.2, 3),
        is_hollow=len(one.longest_ms) == 1,
    )


def _ends(estimate: Estimate | None) -> Sequence[float]:
    if estimate is None:
        return ()
    return [end for end in (estimate.low, estimate.mean, estimate.high) if end is not None]
