"""The chart of a tune's settings as a trade of throughput and latency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dialin.model.study import StudySpec
from dialin.report.charts import plotly_data as go
from dialin.report.charts.chart import Chart, LegendKey, axis, blank, plain, safe
from dialin.report.charts.search_course import HOVER
from dialin.report.charts.tune_trade_off import MeasuredSetting
from dialin.sentences.load_units import units
from dialin.sentences.tune_words import setting_text
from dialin.text import counted, number, shorten, size


def trade_chart(settings: Sequence[MeasuredSetting], best: Sequence[MeasuredSetting], spec: StudySpec) -> Chart | None:
    """Return throughput against latency of all settings, the best trades filled; None where there are fewer than two."""
    if len(settings) < 2:
        return None
    rate, percentile = units(spec.workload).rate, f"p{spec.workload.percentile}"
    figure = blank(
        margin={"l": 68, "r": 16, "t": 12, "b": 44},
        xaxis=axis(f"{rate} (higher is better)"),
        yaxis=axis(f"{percentile} latency, ms (lower is better)"),
        meta={"narrow": {"margin": {"l": 56}, "yaxis": {"title": {"text": ""}}}},
    )
    names = {one.name for one in best} | {spec.baseline}
    others = [one for one in settings if one.name not in names]
    baseline = [one for one in settings if one.name == spec.baseline]
    figure.add_trace(_dots(others, "var(--muted)", "circle-open", percentile, rate))
    figure.add_trace(_dots([one for one in best if one.name != spec.baseline], "var(--c3)", "circle", percentile, rate))
    figure.add_trace(_dots(baseline, "var(--base)", "diamond", percentile, rate))
    legend = [LegendKey("best trades", "var(--c3)", None, "circle"), LegendKey("baseline", "var(--base)", None, "diamond")]
    legend += [LegendKey("other settings", "var(--muted)", None, "circle-open")] if others else []
    text = f"{counted(len(settings), 'setting')}, most of them of one short trial, so single points are no proof."
    return Chart("tune-trades", "Throughput against latency", text, 340, plain(figure), legend=legend)


def _dots(settings: Sequence[MeasuredSetting], colour: str, symbol: str, percentile: str, rate: str) -> Any:
    hovers = []
    for one in settings:
        memory = f"<br>memory {size(one.memory)}" if one.memory is not None else ""
        figures = f"{number(one.throughput)} {safe(rate)}, {percentile} {number(one.latency)} ms"
        hovers.append(f"{figures}{memory}<br>{safe(shorten(setting_text(one.changes), HOVER))}")
    return go.Scatter(
        x=[one.throughput for one in settings],
        y=[one.latency for one in settings],
        mode="markers",
        marker={"symbol": symbol, "size": 9, "color": colour},
        text=hovers,
        hovertemplate="%{text}<extra></extra>",
    )
