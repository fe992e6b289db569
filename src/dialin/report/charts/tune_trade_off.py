"""The settings that a tune measured as a trade of throughput, latency and memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from dialin.model.record import TuneCourse
from dialin.model.setting import Value, changed
from dialin.model.study import StudySpec
from dialin.model.tune import TunePlan
from dialin.model.verdict import Verdict
from dialin.report.charts.chart import Chart, LegendKey, axis, blank, marks, plain, safe
from dialin.report.charts.search_course import HOVER
from dialin.sentences.load_units import units
from dialin.sentences.tune_words import setting_text
from dialin.stats.standings import pareto_front
from dialin.text import counted, number, shorten, size

_ALIKE = (0.03, 0.05, 0.05)
"""Relative differences of throughput, latency and memory that are ignored, because short trials vary by as much."""


@dataclass(frozen=True, slots=True)
class MeasuredSetting:
    """A setting of a tune: its changes to the baseline, and its figures.

    Attributes:
        trials: those that the figures are of.
        latency: milliseconds.
        memory: bytes, by the estimate that limits settings; None where no variable costs memory.
    """

    name: str
    changes: Mapping[str, Value]
    trials: int
    throughput: float
    latency: float
    memory: float | None


def measured_settings(course: TuneCourse, spec: StudySpec, verdict: Verdict | None) -> list[MeasuredSetting]:
    """Return all settings that were measured, the one with the highest throughput first.

    Those of the proof have the figures of the verdict, the others the means of their trials in the search.
    """
    judged = {one.name: one for one in (verdict.candidates if verdict else ())}
    by_candidate: dict[str, list[tuple[float, float]]] = {}
    for point in course.points():
        figures = course.figures.get(point.trial.id)
        if figures is not None and figures.latency is not None and figures.throughput > 0:
            by_candidate.setdefault(point.ask.candidate, []).append((figures.throughput, figures.latency))
    base = spec.candidate(spec.baseline).setting
    settings = []
    for name, figures_of in by_candidate.items():
        changes = changed(course.settings.get(name, {}), base)
        trials, (speed, latency) = len(figures_of), map(fmean, zip(*figures_of, strict=True))
        if (proven := judged.get(name)) is not None and proven.tps and proven.latency_ms:
            trials, speed, latency = proven.trials, proven.tps.mean, proven.latency_ms.mean
        settings.append(MeasuredSetting(name, changes, trials, speed, latency, _memory(spec, changes)))
    return sorted(settings, key=lambda one: -one.throughput)


def best_trades(settings: Sequence[MeasuredSetting]) -> list[MeasuredSetting]:
    """Return the settings that no other one beats: none is better in one figure and no worse in any.

    Of settings with about the same figures, only the one with the fewest changes is taken.
    """
    smallest: dict[tuple[int, ...], MeasuredSetting] = {}
    for one in sorted(settings, key=lambda one: (len(one.changes), -one.trials)):
        smallest.setdefault(_steps(one), one)
    best = pareto_front({one.name: steps for steps, one in smallest.items()})
    return [one for one in settings if one.name in best]


def _steps(one: MeasuredSetting) -> tuple[int, ...]:
    """Return the figures as numbers of steps of the size that matters, the higher the better."""
    figures = (one.throughput, 1 / one.latency, 1 / one.memory if one.memory else 1.0)
    return tuple(round(math.log(figure) / math.log1p(alike)) for figure, alike in zip(figures, _ALIKE, strict=True))


def _memory(spec: StudySpec, changes: Mapping[str, Value]) -> float | None:
    if not isinstance(spec.question, TunePlan) or (memory := spec.question.memory) is None:
        return None
    return memory.needed({variable.name: variable.default for variable in spec.question.variables} | dict(changes))


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
    marker = {"symbol": symbol, "size": 9, "color": colour}
    return marks([one.throughput for one in settings], [one.latency for one in settings], marker, hovers)
