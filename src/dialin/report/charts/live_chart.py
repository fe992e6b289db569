"""The periods of a live server, and their charts: latency, and what clients sent, along the study's clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dialin.model.cause import Fault
from dialin.model.record import StudyRecord
from dialin.model.traffic import TrafficPeriod, fixed_mix, of_watched
from dialin.model.trial import Purpose, Trial, TrialState
from dialin.report.charts import plotly_data as go
from dialin.report.charts.chart import Chart, ChartToggle, axis, blank, latency_axis, plain
from dialin.report.charts.course_chart import short
from dialin.report.charts.style import Style


@dataclass(frozen=True, slots=True)
class LivePeriod:
    """A period of a study on live traffic: one trial.

    Attributes:
        traffic: what the server did in its measured seconds; None where it was not completed.
        latency: mean latency in the mix of statements of all completed periods, ms; None where it was not completed.
    """

    trial: Trial
    traffic: TrafficPeriod | None
    latency: float | None

    @property
    def is_tripped(self) -> bool:
        """Whether the guard restored the baseline during the period."""
        return self.trial.failure is not None and self.trial.failure.fault is Fault.GUARD


def live_periods(record: StudyRecord) -> list[LivePeriod]:
    """Return every period of the race that has ended, in order of time."""
    ended = [t for t in record.trials if t.purpose is Purpose.RACE and t.state is not TrialState.RUNNING]
    traffic_of = {t.id: of_watched(record.watched.get(t.id, {})) if t.state is TrialState.DONE else None for t in ended}
    mix = fixed_mix(traffic for traffic in traffic_of.values() if traffic is not None)
    return [
        LivePeriod(trial, traffic, traffic.totals.latency(mix) if traffic is not None else None)
        for trial in ended
        for traffic in (traffic_of[trial.id],)
    ]


_FIGURES = 64
_Value = Callable[[LivePeriod], float | None]


def live_charts(periods: Sequence[LivePeriod], style: Mapping[str, Style], percentile: int) -> list[Chart]:
    """Return the two charts, one below the other on the same clock; none where no period was completed."""
    latencies = [one.latency for one in periods if one.latency is not None]
    if not latencies:
        return []
    by_latency = latency_axis(percentile, latencies)
    return [
        _chart("live-latency", "Latency of each period", periods, style, lambda one: one.latency, by_latency, "ms"),
        _chart("live-load", "Offered load of each period", periods, style, _load, axis("statements/s"), "statements/s"),
    ]


def _load(one: LivePeriod) -> float | None:
    return one.traffic.totals.per_second if one.traffic is not None else None


def _chart(
    key: str,
    title: str,
    periods: Sequence[LivePeriod],
    style: Mapping[str, Style],
    value: _Value,
    vertical: Mapping[str, object],
    unit: str,
) -> Chart:
    first = periods[0].trial.started
    figure = blank(
        margin={"l": _FIGURES, "r": 8, "t": 8, "b": 44},
        xaxis=axis("minutes of the study"),
        yaxis={**vertical, "rangemode": "tozero"},
    )
    toggles = []
    for place, (name, look) in enumerate(style.items(), start=1):
        known = [(one, figure_of) for one in periods if one.trial.candidate == name and (figure_of := value(one)) is not None]
        tripped = [one for one in periods if one.trial.candidate == name and one.is_tripped]
        figure.add_trace(
            go.Scatter(
                x=[short((one.trial.middle - first) / 60) for one, _ in known],
                y=[short(figure_of) for _, figure_of in known],
                mode="markers",
                marker={"symbol": look.symbol, "size": 8, "color": look.colour},
                text=[f"period {one.trial.id}" for one, _ in known],
                hovertemplate=f"%{{y:,.3~r}} {unit}<br>%{{text}}<extra></extra>",
                meta={"key": str(place)},
            )
        )
        for one in tripped:
            figure.add_vline((one.trial.started - first) / 60, line={"color": "var(--bad)", "width": 1, "dash": "dot"})
        toggles.append(ChartToggle(str(place), look.label, look.label, look.colour, (), look.symbol))
    ended = " The guard ended those with a dotted line." if any(one.is_tripped for one in periods) else ""
    text = f"A mark is a period.{ended}"
    return Chart(key, title, text, 240, plain(figure), toggles=toggles)
