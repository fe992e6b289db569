"""The chart of one trial after another: its throughput, and below it what the server and its machine did at the same time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dialin.evidence.server_metrics import MetricPanel, ServerMetrics, TrialMetrics, Values
from dialin.model.trial import Trial
from dialin.report.charts import plotly_data as go
from dialin.report.charts.chart import Chart, ChartChoice, LegendKey, axis, blank, pixels, plain
from dialin.report.charts.course_chart import short
from dialin.sentences.load_units import Units
from dialin.text import span

KEY = "server-metrics"

_LINES = (("var(--c1)", ""), ("var(--c6)", "8 4"))
"""Colour and dash of the lines of a panel, in their order."""
_THROUGHPUT, _PANEL, _GAP, _MARGINS = 150, 88, 34, {"t": 26, "b": 44}
"""Heights in CSS pixels."""


_BESIDE = (("var(--muted)", "2 3"), ("var(--muted)", "8 3 2 3"))
"""Colour and dash of the same lines of the baseline's trial."""


def chart(metrics: ServerMetrics, labels: Mapping[str, str], unit: Units, baseline: str, choice: str) -> Chart | None:
    """Return the chart, of which a page shows one trial at a time, beside the baseline's trial nearest in time.

    It first shows a trial of `choice`. None where no trial has readings over time.
    """
    if not metrics.trials:
        return None
    heights = [_THROUGHPUT, *(_PANEL for _ in metrics.panels)]
    room = sum(heights) + _GAP * (len(heights) - 1)
    titles = [f"Throughput, {unit.rate}", *(_title(panel) for panel in metrics.panels)]
    tops = [sum(heights[:place]) + _GAP * place for place in range(len(heights))]
    domains = [(1 - (top + height) / room, 1 - top / room) for top, height in zip(tops, heights, strict=True)]
    ranges = [_top(metrics, ["tps"]), *(_top(metrics, [line.key for line in panel.lines]) for panel in metrics.panels)]
    figure = blank(
        margin={"l": 64, "r": 8, **_MARGINS},
        hovermode="x unified",
        hoversubplots="axis",
        xaxis={
            **axis("seconds from the start of measuring"),
            "anchor": _axis(len(heights) - 1),
            "showspikes": True,
            "spikemode": "across",
            "spikesnap": "cursor",
            "spikethickness": 1,
            "spikedash": "solid",
            "spikecolor": "var(--ink-2)",
            "hoverformat": ",.0f",
            "ticksuffix": "",
            "unifiedhovertitle": {"text": "%{x} s"},
        },
        annotations=[
            {
                "text": title,
                "x": 0,
                "y": domain[1],
                "xref": "paper",
                "yref": "paper",
                "xanchor": "left",
                "yanchor": "bottom",
                "showarrow": False,
                "font": {"size": 12, "color": "var(--ink-2)"},
            }
            for title, domain in zip(titles, domains, strict=True)
        ],
        **{
            f"yaxis{place + 1 if place else ''}": {
                **axis(""),
                "domain": [round(max(0.0, end), 4) for end in domain],
                "range": [0, top],
                "nticks": 5 if place == 0 else 4,
            }
            for place, (domain, top) in enumerate(zip(domains, ranges, strict=True))
        },
        meta={"narrow": {"margin": {"l": 54}}},
    )
    if any(one.least for one in metrics.trials):
        figure.add_trace(_line("least", 0, "var(--muted)", "", "lowest second", 1.2))
    figure.add_trace(_line("tps", 0, "var(--base)", "", unit.rate, 1.8))
    for place, panel in enumerate(metrics.panels, start=1):
        for line, (colour, dash) in zip(panel.lines, _LINES, strict=False):
            figure.add_trace(_line(line.key, place, colour, dash, f"{panel.unit} ({line.label})", 1.6))
    beside = _baseline_beside(metrics, baseline)
    if beside:
        figure.add_trace(_line("tps", 0, *_BESIDE[0], f"{unit.rate} (baseline)", 1.2, is_beside=True))
        for place, panel in enumerate(metrics.panels, start=1):
            for line, look in zip(panel.lines, _BESIDE, strict=False):
                figure.add_trace(_line(line.key, place, *look, f"{panel.unit} ({line.label}, baseline)", 1.2, is_beside=True))
    first = next((one.trial.id for one in metrics.trials if one.trial.candidate == choice), None)
    return Chart(
        KEY,
        "Throughput and server metrics of one trial",
        _text(metrics),
        room + sum(_MARGINS.values()),
        plain(figure),
        legend=[*_legend(metrics), *([LegendKey("the baseline's trial nearest in time", *_BESIDE[0])] if beside else [])],
        choices=[
            ChartChoice(
                one.trial.id,
                f"trial {one.trial.id}, block {one.trial.block}: {labels[one.trial.candidate]}",
                is_shown_first=one.trial.id == first,
            )
            for one in metrics.trials
        ],
    )


def embedded(metrics: ServerMetrics, baseline: str) -> dict[int, Any]:
    """Return the data that the page's script draws, by trial: the seconds of a step, and the values of each line.

    `b` is the baseline's trial nearest in time, for the trials of others.
    """
    beside = _baseline_beside(metrics, baseline)
    return {
        one.trial.id: {
            "s": one.steps.length,
            "l": _lines(one),
            **({"b": beside[one.trial.id]} if one.trial.id in beside else {}),
        }
        for one in metrics.trials
    }


def _baseline_beside(metrics: ServerMetrics, baseline: str) -> dict[int, int]:
    of_baseline = [one.trial for one in metrics.trials if one.trial.candidate == baseline]
    others = [one.trial for one in metrics.trials if one.trial.candidate != baseline] if of_baseline else []

    def nearest(other: Trial) -> int:
        return min(of_baseline, key=lambda one: (one.host != other.host, abs(one.started - other.started))).id

    return {other.id: nearest(other) for other in others}


def _lines(one: TrialMetrics) -> dict[str, Any]:
    every = {"tps": one.throughput, **({"least": one.least} if one.least else {}), **one.lines}
    return {key: [None if value is None else short(value) for value in values] for key, values in every.items()}


def _title(panel: MetricPanel) -> str:
    lines = f" ({' and '.join(line.label for line in panel.lines)})" if len(panel.lines) > 1 else ""
    return f"{panel.title}{lines}, {panel.unit}"


def _legend(metrics: ServerMetrics) -> list[LegendKey]:
    """Return the lines of panels that have several; the others are named by their titles."""
    pairs = [panel for panel in metrics.panels if len(panel.lines) > 1]
    return [
        LegendKey("; ".join(f"{panel.title}: {panel.lines[place].label}" for panel in pairs), *_LINES[place])
        for place in range(2)
        if pairs
    ]


def _text(metrics: ServerMetrics) -> str:
    steps = span([one.steps.length for one in metrics.trials], lambda length: f"{length:g}")
    lowest = " The thin line is the lowest second of each step." if any(one.least for one in metrics.trials) else ""
    return (
        f"One trial at a time, in steps of {steps} s, all trials on one scale. A vertical line shows the values of all panels "
        f"at the same time.{lowest} Probes read every 1 to 5 s; a value holds until the next reading."
    )


def _line(key: str, place: int, colour: str, dash: str, label: str, width: float, *, is_beside: bool = False) -> Any:
    """Return a line that the page's script fills with the values of the chosen trial."""
    return go.Scatter(
        x=[],
        y=[],
        yaxis=_axis(place),
        mode="lines",
        line={"color": colour, "width": width, "dash": pixels(dash)},
        name=label,
        meta={"metric": key, **({"beside": True} if is_beside else {})},
        hovertemplate="%{y:,.3~r} %{fullData.name}<extra></extra>",
    )


def _axis(place: int) -> str:
    return f"y{place + 1}" if place else "y"


def _top(metrics: ServerMetrics, keys: Iterable[str]) -> float:
    values = [value for one in metrics.trials for key in keys for value in _of(one, key) if value is not None]
    return 1.08 * max(values, default=1.0) or 1.0


def _of(one: TrialMetrics, key: str) -> Values:
    return one.throughput if key == "tps" else one.lines.get(key, [])
