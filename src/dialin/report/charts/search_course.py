"""The charts of a tune: its trials in order, what each variable can change, and what each recommended change carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dialin.cause_sentences import with_advice
from dialin.model.record import TuneCourse
from dialin.model.trial import Trial, TrialState
from dialin.model.tune import TuneAsk, TuneStage, ask_finder
from dialin.model.verdict import Estimate, TunedVariable
from dialin.report.charts import plotly_data as go
from dialin.report.charts.chart import (
    NARROW_LABEL,
    Chart,
    LegendKey,
    axis,
    blank,
    error_bars,
    label_margin,
    plain,
    safe,
)
from dialin.report.tune_words import STAGES, setting_text, value_text
from dialin.report.verdict_sentences import change_with_interval
from dialin.text import counted, number, percent, shorten

_COLOURS = {
    TuneStage.START: ("var(--c5)", "circle"),
    TuneStage.ANCHOR: ("var(--base)", "circle"),
    TuneStage.SEARCH: ("var(--c1)", "circle"),
    TuneStage.REFINE: ("var(--c2)", "square"),
    TuneStage.PROOF: ("var(--c3)", "triangle-up"),
}
_LABEL = 40
_HOVER = 160


@dataclass(frozen=True, slots=True)
class CoursePoint:
    """A trial of a tune: its place in the order, what it was for, and its throughput; None where it failed."""

    place: int
    ask: TuneAsk
    trial: Trial
    speed: float | None


def course_points(course: TuneCourse) -> list[CoursePoint]:
    """Return the trials that ended, in order; of one that was run again only the last counts."""
    find = ask_finder(course.asks)
    points: list[CoursePoint] = []
    for trial in course.trials:
        ask = find(trial)
        if ask is None or trial.state not in (TrialState.DONE, TrialState.FAILED):
            continue
        points.append(CoursePoint(len(points) + 1, ask, trial, course.speeds.get(trial.id)))
    return points


def search_course(course: TuneCourse, baseline: str, rate: str) -> Chart | None:
    """Return throughput of each trial in order, the mean of the baseline, and the highest so far; None without trials."""
    points = course_points(course)
    measured = [(point, point.speed) for point in points if point.speed is not None]
    if not measured:
        return None
    lowest = min(speed for _, speed in measured)
    highest = max(speed for _, speed in measured)
    room = 0.08 * (highest - lowest) or 0.05 * highest
    of_baseline = [speed for point, speed in measured if point.ask.candidate == baseline]
    figure = blank(
        margin={"l": 68, "r": 16, "t": 12, "b": 44},
        xaxis={**axis("trial"), "zeroline": False, "range": [0.2, len(points) + 0.8]},
        yaxis={**axis(rate), "zeroline": False, "range": [max(0.0, lowest - 2.2 * room), highest + room]},
        meta={"narrow": {"margin": {"l": 56}, "yaxis": {"title": {"text": ""}}}},
    )
    if of_baseline:
        mean = sum(of_baseline) / len(of_baseline)
        figure.add_hline(y=mean, line={"color": "var(--base)", "width": 1, "dash": "4px,4px"})
    figure.add_trace(_highest(points))
    for stage, (colour, symbol) in _COLOURS.items():
        shown = [(point, speed) for point, speed in measured if point.ask.stage is stage]
        if shown:
            figure.add_trace(_dots([p for p, _ in shown], [s for _, s in shown], colour, symbol, course, baseline, rate))
    if failed := [point for point in points if point.speed is None]:
        bottom = max(0.0, lowest - 1.2 * room)
        figure.add_trace(_dots(failed, [bottom] * len(failed), "var(--bad)", "x", course, baseline, rate))
    legend = [
        LegendKey(STAGES[stage], colour, "")
        for stage, (colour, _) in _COLOURS.items()
        if any(point.ask.stage is stage for point in points)
    ]
    legend += [LegendKey("failed", "var(--bad)", "")] if len(measured) < len(points) else []
    legend += [LegendKey("highest so far", "var(--muted)", ""), LegendKey("mean of the baseline", "var(--base)", "4 4")]
    best, best_speed = max(measured, key=lambda one: one[1])
    text = (
        f"Throughput of {counted(len(points), 'trial')} in order, {len(points) - len(measured)} of them failed. "
        f"The highest is trial {best.place} with {number(best_speed)} {rate}; a single trial that came out high is no proof. "
        "Diamonds: the baseline."
    )
    return Chart("search-course", "Course of the search", text, 360, plain(figure), legend=legend)


def _highest(points: Sequence[CoursePoint]) -> Any:
    places: list[int] = []
    heights: list[float] = []
    for point in points:
        if point.speed is not None:
            places.append(point.place)
            heights.append(max(point.speed, heights[-1] if heights else 0.0))
    line = {"color": "var(--muted)", "width": 1.5, "shape": "hv"}
    return go.Scatter(x=places, y=heights, mode="lines", line=line, hoverinfo="skip")


def _dots(
    points: Sequence[CoursePoint],
    heights: Sequence[float],
    colour: str,
    symbol: str,
    course: TuneCourse,
    baseline: str,
    rate: str,
) -> Any:
    hovers = []
    for point in points:
        setting = shorten(setting_text(course.settings.get(point.ask.candidate, {})), _HOVER)
        failure = point.trial.failure
        figure = (
            f"{number(point.speed)} {rate}"
            if point.speed is not None
            else (with_advice(failure.cause) if failure else "no figure")
        )
        hovers.append(f"trial {point.place}, {safe(STAGES[point.ask.stage])}<br>{safe(figure)}<br>{safe(setting)}")
    return go.Scatter(
        x=[point.place for point in points],
        y=list(heights),
        mode="markers",
        marker={
            "symbol": ["diamond" if point.ask.candidate == baseline else symbol for point in points],
            "size": 8,
            "color": colour,
        },
        text=hovers,
        hovertemplate="%{text}<extra></extra>",
    )


def effects(variables: Sequence[TunedVariable]) -> Chart | None:
    """Return by how much throughput changes along the range of each variable; None where no model knows."""
    known = sorted(((one, one.effect) for one in variables if one.effect is not None), key=lambda pair: pair[1])
    if not known:
        return None
    labels = [one.name for one, _ in known]
    figures = [percent(effect) for _, effect in known]
    figure = _rows(labels, figures, "change of throughput along the range, all else as in the best setting", len(known))
    figure.add_trace(
        go.Bar(
            x=[100 * effect for _, effect in known],
            y=list(range(len(known))),
            orientation="h",
            marker={"color": ["var(--c1)" if one.recommended is not None else "var(--muted)" for one, _ in known]},
            width=0.55,
            text=[f"{safe(label)}: {text}" for label, text in zip(labels, figures, strict=True)],
            textposition="none",
            hovertemplate="%{text}<extra></extra>",
        )
    )
    strongest = "; ".join(f"{one.name} {percent(effect)}" for one, effect in reversed(known[-3:]))
    text = f"By the model of all trials. Most: {strongest}. Blue: recommended to change."
    return Chart("tune-effects", "Importance of the variables", text, 84 + 30 * len(known), plain(figure))


def waterfall(variables: Sequence[TunedVariable], gain: Estimate | None) -> Chart | None:
    """Return the way from the baseline to what is recommended, change by change; None where nothing is recommended."""
    carried = [(one, one.carries) for one in variables if one.carries is not None and one.recommended is not None]
    if not carried:
        return None
    labels, figures, starts, lengths, colours = ["baseline"], ["0 %"], [0.0], [0.0], ["var(--base)"]
    level = 1.0
    ends: list[Estimate] = []
    for one, ratio in carried:
        before, level = level, level * ratio.mean
        labels.append(f"{one.name} = {value_text(one.name, one.recommended or 0)}")
        figures.append(change_with_interval(ratio))
        starts.append(100 * (before - 1))
        lengths.append(100 * (level - before))
        colours.append("var(--c3)" if ratio.mean >= 1 else "var(--c6)")
        low, high = (before * end if end is not None else None for end in (ratio.low, ratio.high))
        ends.append(_in_percent(Estimate(mean=level, low=low, high=high)))
    if gain is not None:
        labels.append("in fresh trials")
        figures.append(change_with_interval(gain))
        starts.append(0.0)
        lengths.append(100 * (gain.mean - 1))
        colours.append("var(--c1)")
        ends.append(_in_percent(gain))
    places = list(range(len(labels)))[::-1]
    figure = _rows(labels[::-1], figures[::-1], "throughput against the baseline", len(labels))
    figure.add_trace(
        go.Bar(
            x=lengths,
            base=starts,
            y=places,
            orientation="h",
            marker={"color": colours},
            width=0.55,
            text=[f"{safe(label)}: {text}" for label, text in zip(labels, figures, strict=True)],
            textposition="none",
            hovertemplate="%{text}<extra></extra>",
        )
    )
    figure.add_trace(
        go.Scatter(
            x=[one.mean for one in ends],
            y=places[1:],
            mode="markers",
            marker={"size": 1, "color": "var(--ink)"},
            error_x=error_bars(ends, "var(--ink)", 1.2, 5),
            hoverinfo="skip",
        )
    )
    text = (
        "Changes are made one after the other, the one that is missed least last. What each carries is by the model of all "
        "trials, with its 95 % interval; the last bar is measured in fresh trials."
    )
    steps = "; ".join(f"{label} {figure}" for label, figure in zip(labels[1:], figures[1:], strict=True))
    return Chart("tune-waterfall", "What each change carries", f"{text} {steps}.", 84 + 34 * len(labels), plain(figure))


def _in_percent(ratio: Estimate) -> Estimate:
    low, high = (None if end is None else 100 * (end - 1) for end in (ratio.low, ratio.high))
    return Estimate(mean=100 * (ratio.mean - 1), low=low, high=high)


def _rows(labels: Sequence[str], figures: Sequence[str], title: str, count: int) -> Any:
    """Return a figure with a row for each label, from below, and its figure on the right."""
    short = [shorten(label, _LABEL) for label in labels]
    rows: Mapping[str, Any] = {
        "tickvals": list(range(count)),
        "range": [-0.6, count - 0.4],
        "showgrid": False,
        "zeroline": False,
    }
    figure = blank(
        margin={"l": label_margin(short), "r": label_margin(figures), "t": 12, "b": 44},
        xaxis={**axis(title), "ticksuffix": " %", "zeroline": True, "zerolinecolor": "var(--base)"},
        yaxis={**axis(""), **rows, "ticktext": [safe(label) for label in short]},
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
                "margin": {"l": label_margin(short, NARROW_LABEL), "r": 16},
                "yaxis": {"ticktext": [safe(shorten(label, NARROW_LABEL)) for label in short]},
                "yaxis2": {"showticklabels": False},
            }
        },
    )
    figure.add_trace(go.Scatter(x=[0], y=[0], yaxis="y2", mode="markers", marker={"opacity": 0}, hoverinfo="skip"))
    return figure
