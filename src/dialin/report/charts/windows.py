"""The charts of measured windows as a whole: a box for each trial, and the percentiles of latency by candidate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dialin.model.record import StudyRecord
from dialin.model.trial import Sample, TrialState
from dialin.model.workload import latency_name
from dialin.report.charts import captions
from dialin.report.charts import plotly_data as go
from dialin.report.charts.chart import (
    NARROW_LABEL,
    Chart,
    ChartToggle,
    axis,
    blank,
    label_margin,
    latency_axis,
    marked_line,
    marks,
    place_of_share,
    plain,
    safe,
)
from dialin.report.charts.style import Style
from dialin.report.charts.trial_series import Series, boxes, by_threads, measured
from dialin.sentences.load_units import units_of_record
from dialin.stats.summaries import BoxFigures, at_share, resolvable_shares
from dialin.text import number, shorten

MOST_BOXES = 90
"""Boxes that a chart holds at most; in a study of more trials, those of a candidate share a box."""

FEWEST_SECONDS = 20
"""The fewest seconds of which percentiles are shown: of a trial, or of the latency of a candidate."""

_TICKS = {0.0: "0 %", 0.5: "50 %", 0.9: "90 %", 0.99: "99 %", 0.999: "99.9 %", 0.9999: "99.99 %"}


@dataclass(frozen=True, slots=True)
class _Row:
    """A box with its label; shaded for a confirmation trial."""

    box: BoxFigures
    label: str
    shaded: bool = False


def windows(record: StudyRecord, series: Sequence[Series], style: Mapping[str, Style]) -> Chart | None:
    """Return boxes of measured seconds, grouped by candidate: one per trial, in the order they ran.

    None where trials are too short for the percentiles 5 and 95: the charts over time show each of their seconds.
    Where trials measure several numbers of threads, or where there are more than `MOST_BOXES` trials, all trials of a candidate
    share one box for each number of threads.
    """
    if max((box.seconds for one in series for box in one.boxes.values()), default=0) < FEWEST_SECONDS:
        return None
    unit = units_of_record(record)
    has_levels = bool(record.spec.workload.levels)
    pooled = has_levels or sum(bool(one.boxes) for one in series) > MOST_BOXES
    grouped = {name: _pooled(record, name) if pooled else _each(series, name) for name in style}
    labels = [style[name].label for name in grouped]
    rows: list[tuple[float, str, str]] = []
    figure = blank(
        margin={"l": label_margin(labels), "r": 16, "t": 8, "b": 32},
        xaxis={**axis(""), "rangemode": "tozero"},
        yaxis={**axis(""), "showgrid": False, "zeroline": False},
    )
    place = 0.0
    for name, group in grouped.items():
        placed = [(row, place + index) for index, (_, row) in enumerate(group)]
        for shaded in (False, True):
            same_fill = [(row, at) for row, at in placed if row.shaded is shaded]
            if same_fill:
                figure.add_trace(_boxes(same_fill, style[name], "var(--band)" if shaded else "var(--card)"))
                figure.add_trace(_lowest(same_fill, style[name]))
        label = style[name].label
        if has_levels and group:
            rows += [(at, f"{label} · {threads}", threads) for (threads, _), (_, at) in zip(group, placed, strict=True)]
        else:
            rows.append((place + max(0, len(group) - 1) / 2, label, ""))
        place += max(1, len(group)) + 0.8
    names = [label for _, label, _ in rows]
    short = [shorten(label, NARROW_LABEL) for label in names]
    figure.update_layout(
        yaxis={"tickvals": [at for at, *_ in rows], "ticktext": [safe(label) for label in names], "range": [place - 1, -0.9]},
        margin={"l": label_margin(names)},
        meta={"narrow": {"margin": {"l": label_margin(short)}, "yaxis": {"ticktext": [safe(label) for label in short]}}},
    )
    of = "candidate and number of threads" if has_levels else "candidate" if pooled else "trial"
    return Chart(
        "windows",
        f"The measured {unit.one}s of each {of}, {unit.rate}",
        captions.windows(series, of),
        int(76 + (20 if has_levels else 15) * place),
        plain(figure),
    )


def latency(record: StudyRecord, style: Mapping[str, Style]) -> Chart | None:
    """Return the cumulative distribution of latency over each candidate's seconds.

    None where no candidate has enough seconds, and for a timed query. The axis of shares is stretched towards the worst
    seconds, because these are what users complain about. Of trials with several numbers of threads, only the seconds with the
    most threads are used.
    """
    threads = record.spec.workload.threads if record.spec.workload.levels else None
    latencies = {name: _latencies(_seconds(record, name), threads) for name in style}
    latencies = {name: values for name, values in latencies.items() if len(values) >= FEWEST_SECONDS}
    if not latencies or units_of_record(record).by_run:
        return None
    shares = {name: resolvable_shares(len(values)) for name, values in latencies.items()}
    most = max(marked[-1] for marked in shares.values())
    ticks = [share for share in _TICKS if share <= most]
    percentile = record.spec.workload.percentile
    figure = blank(
        margin={"l": 64, "r": 16, "t": 12, "b": 44},
        xaxis={
            **axis("share of seconds with at most this latency"),
            "tickvals": [place_of_share(share) for share in ticks],
            "ticktext": [_TICKS[share] for share in ticks],
            "range": [-0.02, 1.03 * place_of_share(most)],
            "zeroline": False,
        },
        yaxis=latency_axis(percentile, [value for values in latencies.values() for value in values]),
        meta={"narrow": {"xaxis": {"title": {"text": "share of seconds"}}}},
    )
    toggles = []
    for name, values in latencies.items():
        place = list(style).index(name)
        look, marked = style[name], shares[name]
        hovers = [
            f"{safe(look.label)}: {100 * share:g} % of seconds up to {number(at_share(values, share))} ms" for share in marked
        ]
        ends = [at_share(values, share) for share in marked]
        key = {"key": str(place)}
        figure.add_trace(marked_line([place_of_share(share) for share in marked], ends, look, hovers, meta=key))
        toggles.append(ChartToggle(str(place), look.label, look.label, look.colour, (), look.symbol))
    text = captions.latency(percentile, threads)
    return Chart(
        "latency", f"Latency by candidate, {latency_name(percentile)} of each second", text, 320, plain(figure), toggles=toggles
    )


def _seconds(record: StudyRecord, name: str) -> list[Sample]:
    trials = [
        trial
        for trial in record.trials
        if trial.candidate == name and trial.state is TrialState.DONE and trial.purpose.is_charted
    ]
    return [sample for trial in trials for sample in measured(record.samples.get(trial.id, ()))]


def _each(series: Sequence[Series], name: str) -> list[tuple[str, _Row]]:
    return [
        ("", _Row(shown, f"trial {one.trial.id}, block {one.trial.block}", one.is_fresh))
        for one in series
        if one.trial.candidate == name
        for shown in one.boxes.values()
    ]


def _pooled(record: StudyRecord, name: str) -> list[tuple[str, _Row]]:
    seconds = _seconds(record, name)
    several = len(by_threads(seconds)) > 1
    return [
        (f"{threads:,}" if several else "", _Row(shown, f"{threads:,} threads, all trials" if several else "all trials"))
        for threads, shown in boxes(seconds).items()
    ]


def _boxes(placed: Sequence[tuple[_Row, float]], look: Style, fill: str) -> Any:
    return go.Box(
        y=[place for _, place in placed],
        lowerfence=[row.box.low for row, _ in placed],
        q1=[row.box.first for row, _ in placed],
        median=[row.box.median for row, _ in placed],
        q3=[row.box.third for row, _ in placed],
        upperfence=[row.box.high for row, _ in placed],
        orientation="h",
        width=0.62,
        line={"color": look.colour, "width": 1.5},
        fillcolor=fill,
        hoverinfo="x",
    )


def _lowest(placed: Sequence[tuple[_Row, float]], look: Style) -> Any:
    marker = {"symbol": "line-ns-open", "size": 7, "color": look.colour, "line": {"width": 1.5}}
    hovers = [f"{row.label}: lowest second {number(row.box.worst)}" for row, _ in placed]
    return marks([row.box.worst for row, _ in placed], [place for _, place in placed], marker, hovers)


def _latencies(seconds: Sequence[Sample], threads: int | None) -> list[float]:
    return sorted(
        sample.latency_ms for sample in seconds if sample.latency_ms > 0 and (threads is None or sample.threads == threads)
    )
