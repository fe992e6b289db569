"""The charts of a tune: its trials in order, and the gain from each recommended change."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dialin.cause_sentences import with_advice
from dialin.measures.of_verdict import capital
from dialin.measures.table import MEASURES, Measure, measure_of_study
from dialin.model.record import CoursePoint, TuneCourse
from dialin.model.setting import Value
from dialin.model.study import StudySpec
from dialin.model.tune import TuneStage
from dialin.model.verdict import Estimate, FigureSource, TunedVariable, TuneFindings
from dialin.report.charts import plotly_data as go
from dialin.report.charts.chart import Chart, LegendKey, axis, blank, error_bars, marks, plain, rows_with_figures, safe
from dialin.sentences.changes import change_with_interval
from dialin.sentences.load_units import change_in_percent, units
from dialin.sentences.tune_words import STAGES, setting_text, value_text
from dialin.text import change, counted, shorten

_COLOURS = {
    TuneStage.START: ("var(--c5)", "circle"),
    TuneStage.ANCHOR: ("var(--base)", "circle"),
    TuneStage.SEARCH: ("var(--c1)", "circle"),
    TuneStage.REFINE: ("var(--c2)", "square"),
    TuneStage.PROOF: ("var(--c3)", "triangle-up"),
}
HOVER = 160


def figure_text(figure: float, spec: StudySpec) -> str:
    """Return the figure of a trial by the goal, with its unit."""
    return MEASURES[spec.goal].figure(figure, units(spec.workload).rate)


def search_course(course: TuneCourse, spec: StudySpec) -> Chart | None:
    """Return each trial in order by the goal, the mean of the baseline, and the best so far; None without trials."""
    aim = measure_of_study(spec)
    points = course.points()
    measured = [(point, point.figure) for point in points if point.figure is not None]
    if not measured:
        return None
    lowest = min(figure for _, figure in measured)
    highest = max(figure for _, figure in measured)
    room = 0.08 * (highest - lowest) or 0.05 * highest
    of_baseline = [figure for point, figure in measured if point.ask.candidate == spec.baseline]
    drawn = blank(
        margin={"l": 68, "r": 16, "t": 12, "b": 44},
        xaxis={**axis("trial"), "zeroline": False, "range": [0.2, len(points) + 0.8]},
        yaxis={
            **axis(aim.axis(units(spec.workload).rate)),
            "zeroline": False,
            "range": [max(0.0, lowest - 2.2 * room), highest + room],
        },
        meta={"narrow": {"margin": {"l": 56}, "yaxis": {"title": {"text": ""}}}},
    )
    if of_baseline:
        mean = sum(of_baseline) / len(of_baseline)
        drawn.add_hline(y=mean, line={"color": "var(--base)", "width": 1, "dash": "4px,4px"})
    drawn.add_trace(_best_so_far(measured, higher_is_better=aim.higher_is_better))
    for stage, (colour, symbol) in _COLOURS.items():
        shown = [(point, figure) for point, figure in measured if point.ask.stage is stage]
        if shown:
            drawn.add_trace(_dots([p for p, _ in shown], [f for _, f in shown], colour, symbol, course, spec))
    if failed := [point for point in points if point.figure is None]:
        bottom = max(0.0, lowest - 1.2 * room)
        drawn.add_trace(_dots(failed, [bottom] * len(failed), "var(--bad)", "x", course, spec))
    legend = [
        LegendKey(STAGES[stage], colour, None, symbol)
        for stage, (colour, symbol) in _COLOURS.items()
        if any(point.ask.stage is stage for point in points)
    ]
    legend += [LegendKey("failed", "var(--bad)", None, "x")] if len(measured) < len(points) else []
    legend += [LegendKey("best so far", "var(--muted)", ""), LegendKey("mean of the baseline", "var(--base)", "4 4")]
    best, best_figure = (max if aim.higher_is_better else min)(measured, key=lambda one: one[1])
    failures = len(points) - len(measured) or "none"
    text = (
        f"{capital(aim.noun)} of {counted(len(points), 'trial')} in order, {failures} of them failed. "
        f"The best is trial {best.place} with {figure_text(best_figure, spec)}; a single trial that came out well is no proof. "
        "Diamonds: the baseline."
    )
    return Chart("search-course", "Course of the search", text, 360, plain(drawn), legend=legend)


def _best_so_far(measured: Sequence[tuple[CoursePoint, float]], *, higher_is_better: bool) -> Any:
    better = max if higher_is_better else min
    heights = list(itertools.accumulate((figure for _, figure in measured), better))
    line = {"color": "var(--muted)", "width": 1.5, "shape": "hv"}
    places = [point.place for point, _ in measured]
    return go.Scatter(x=places, y=heights, mode="lines", line=line, hoverinfo="skip")


def _dots(
    points: Sequence[CoursePoint], heights: Sequence[float], colour: str, symbol: str, course: TuneCourse, spec: StudySpec
) -> Any:
    hovers = []
    for point in points:
        setting = shorten(setting_text(course.settings.get(point.ask.candidate, {})), HOVER)
        failure = point.trial.failure
        result = (
            figure_text(point.figure, spec)
            if point.figure is not None
            else (with_advice(failure.cause) if failure else "no figure")
        )
        hovers.append(f"trial {point.place}, {safe(STAGES[point.ask.stage])}<br>{safe(result)}<br>{safe(setting)}")
    symbols = ["diamond" if point.ask.candidate == spec.baseline else symbol for point in points]
    places = [point.place for point in points]
    return marks(places, list(heights), {"symbol": symbols, "size": 8, "color": colour}, hovers)


def waterfall(findings: TuneFindings, aim: Measure) -> Chart | None:
    """Return the steps from the baseline to the recommended setting: what each change carries; None where that is not known."""
    carried = [(one, one.carries, one.recommended) for one in findings.variables if one.carries and one.recommended is not None]
    if not carried:
        return None
    level = 1.0
    steps = [_Step("baseline", "0 %", 1.0, 1.0, "var(--base)")]
    for one, ratio, value in carried:
        steps.append(_carried_step(one, ratio, value, level, aim))
        level *= ratio.mean
    gain = findings.gain
    if gain is not None:
        together = Estimate(mean=gain.mean / level, low=None, high=None)
        label = "only together" if (together.mean > 1) == aim.higher_is_better else "overlap"
        if len(carried) > 1:
            steps.append(_Step(label, change(together.mean), level, gain.mean, "var(--muted)"))
        steps.append(_Step("all, in confirmation trials", change_with_interval(gain), 1.0, gain.mean, "var(--c1)", gain))
    places = list(range(len(steps)))[::-1]
    labels, figures = [step.label for step in steps], [step.figure for step in steps]
    xaxis = {**axis(f"{aim.noun} against the baseline"), "ticksuffix": " %", "zeroline": True, "zerolinecolor": "var(--base)"}
    drawn = rows_with_figures(labels[::-1], figures[::-1], xaxis)
    drawn.add_trace(
        go.Bar(
            x=[100 * (step.end - step.begin) for step in steps],
            base=[100 * (step.begin - 1) for step in steps],
            y=places,
            orientation="h",
            marker={"color": [step.colour for step in steps]},
            width=0.55,
            text=[f"{safe(step.label)}: {step.figure}" for step in steps],
            textposition="none",
            hovertemplate="%{text}<extra></extra>",
        )
    )
    with_ends = [(place, step.interval) for place, step in zip(places, steps, strict=True) if step.interval]
    ends = [change_in_percent(interval) for _, interval in with_ends]
    drawn.add_trace(
        go.Scatter(
            x=[one.mean for one in ends],
            y=[place for place, _ in with_ends],
            mode="markers",
            marker={"size": 1, "color": "var(--ink)"},
            error_x=error_bars(ends, "var(--ink)", 1.2, 5),
            hoverinfo="skip",
        )
    )
    text = (
        "The gain from a change is what is lost when it alone goes back to the baseline's value: measured where the proof has "
        "both settings, else by the model of all trials. Bars are 95 % intervals."
    )
    if len(carried) > 1:
        text += " The rest needs several changes together, or one can replace another."
    if any(one.companions for one, *_ in carried):
        text += " Not separated: no trial has one change without another; the table below names them."
    return Chart("tune-waterfall", "Gain from each change", text, 84 + 34 * len(steps), plain(drawn))


@dataclass(frozen=True, slots=True)
class _Step:
    """A bar of the waterfall: from one level to another, both as ratios to the baseline."""

    label: str
    figure: str
    begin: float
    end: float
    colour: str
    interval: Estimate | None = None


def _carried_step(one: TunedVariable, ratio: Estimate, value: Value, level: float, aim: Measure) -> _Step:
    is_good = (ratio.mean >= 1) == aim.higher_is_better
    low, high = (level * end if end is not None else None for end in (ratio.low, ratio.high))
    return _Step(
        f"{one.name} = {value_text(one.name, value)}",
        f"{change_with_interval(ratio)}{', measured' if one.carries_by is FigureSource.PROOF else ''}"
        f"{', not separated' if one.companions else ''}",
        level,
        level * ratio.mean,
        "var(--c3)" if is_good else "var(--c6)",
        Estimate(mean=level * ratio.mean, low=low, high=high),
    )
