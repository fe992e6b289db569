"""The course of a figure over a trial's seconds, ready to draw: the warm-up, what was measured, and its rolling mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from dialin.model.trial import Sample, Step
from dialin.report.charts.plotly_data import thin
from dialin.stats.summaries import rolling

Figure = Callable[[Sample], float]


@dataclass(frozen=True, slots=True)
class CoursePoints:
    """A line: the driver's seconds, and a figure at each; a second of None breaks the line."""

    seconds: Sequence[int | None] = ()
    values: Sequence[float | None] = ()

    @property
    def known(self) -> list[tuple[int, float]]:
        """The points without the breaks."""
        pairs = zip(self.seconds, self.values, strict=True)
        return [(second, value) for second, value in pairs if second is not None and value is not None]

    def embedded(self) -> list[list[Any]]:
        """Return the points as the page's script draws them."""
        return [list(self.seconds), [None if value is None else short(value) for value in self.values]]


@dataclass(frozen=True, slots=True)
class CourseChart:
    """One figure of a trial over its seconds.

    Attributes:
        warm: the warm-up, up to the first measured second.
        mean: the rolling mean of what was measured and not lost; empty where a trial is too short for one.
    """

    warm: CoursePoints = CoursePoints()
    measured: CoursePoints = CoursePoints()
    mean: CoursePoints = CoursePoints()

    @property
    def points(self) -> list[tuple[int, float]]:
        """Every point of the warm-up and of the measured seconds, in order of time."""
        return sorted(self.warm.known + self.measured.known)

    def embedded(self) -> dict[str, Any]:
        """Return the lines as the page's script draws them, under short keys; empty lines are left out."""
        parts = {"w": self.warm, "m": self.measured, "a": self.mean}
        return {name: points.embedded() for name, points in parts.items() if points.seconds}


def course(samples: Sequence[Sample], figure: Figure, most: int, window: int | None) -> CourseChart:
    warm = [sample for sample in samples if sample.step is Step.WARM_UP]
    measured = [sample for sample in samples if sample.step is Step.MEASURE]
    warm_points = round(most * len(warm) / max(1, len(samples)))
    measured_parts = _parts(measured, figure, max(2, most - warm_points))
    warm_parts = _parts(warm, figure, max(2, warm_points))
    if len(warm_parts) == len(measured_parts) == 1:  # the line of the warm-up ends where that of the measured seconds begins
        warm_parts = [warm_parts[0] + measured_parts[0][:1]]
    return CourseChart(
        _joined(warm_parts),
        _joined(measured_parts),
        _joined(_means(measured, figure, window, most)) if window else CoursePoints(),
    )


def short(value: float) -> float | int:
    """Return a figure in as few characters as a chart needs."""
    rounded = round(value, 1 if value >= 10 else 3 if value >= 1 else 6)
    return int(rounded) if rounded == int(rounded) else rounded


_Part = list[tuple[int, float]]


def _parts(samples: Sequence[Sample], figure: Figure, most: int) -> list[_Part]:
    drawn = [samples[index] for index in thin([figure(sample) for sample in samples], most)]
    return [
        [(sample.second, figure(sample)) for sample in part] for _, part in groupby(drawn, key=lambda sample: sample.threads)
    ]


def _means(samples: Sequence[Sample], figure: Figure, window: int, most: int) -> list[_Part]:
    parts = []
    for _, group in groupby((sample for sample in samples if not sample.lost), key=lambda sample: sample.threads):
        part = list(group)
        means = rolling([figure(sample) for sample in part], window)
        parts.append([(part[index].second, means[index]) for index in thin(means, max(3, most // 5), is_smooth=True)])
    return parts


def _joined(parts: Sequence[_Part]) -> CoursePoints:
    seconds: list[int | None] = []
    values: list[float | None] = []
    for part in parts:
        if seconds:
            seconds.append(None)
            values.append(None)
        seconds += [second for second, _ in part]
        values += [value for _, value in part]
    return CoursePoints(seconds, values)
