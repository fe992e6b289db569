"""The forest plot in characters: each candidate's ratio to the baseline with its interval, and the worthwhile band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dialin.model.verdict import CandidateVerdict, Estimate, Verdict
from dialin.text import change

SMALLEST = 16
"""Columns below which the plot says nothing."""


@dataclass(frozen=True, slots=True)
class Marks:
    """The characters that the plot is made of."""

    point: str
    baseline: str
    left: str
    line: str
    right: str
    band: str
    zero: str


UNICODE = Marks(point="●", baseline="◆", left="├", line="─", right="┤", band="░", zero="│")
ASCII = Marks(point="o", baseline="*", left="[", line="-", right="]", band=".", zero="|")


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps a ratio to a column, from 0 to `width` - 1."""

    low: float
    high: float
    width: int

    def column(self, ratio: float) -> int:
        """Return the column of a ratio; what lies outside is drawn at the edge."""
        share = (ratio - self.low) / (self.high - self.low)
        return min(self.width - 1, max(0, round(share * (self.width - 1))))


def scale(candidates: Sequence[CandidateVerdict], worthwhile: float, width: int) -> Scale:
    """Return the scale on which all intervals, the baseline and the worthwhile band are seen."""
    ends = [1 - worthwhile, 1 + worthwhile]
    for candidate in candidates:
        if candidate.ratio is not None:
            ends += [end for end in (candidate.ratio.mean, candidate.ratio.low, candidate.ratio.high) if end is not None]
    margin = 0.04 * (max(ends) - min(ends))
    return Scale(max(0.0, min(ends) - margin), max(ends) + margin, width)


def rows(verdict: Verdict, width: int, marks: Marks) -> list[str]:
    """Return one line of `width` characters per candidate, in the verdict's order, and the axis below them."""
    axis = scale(verdict.candidates, verdict.worthwhile, width)
    band = range(axis.column(1 - verdict.worthwhile), axis.column(1 + verdict.worthwhile) + 1)
    lines = []
    for candidate in verdict.candidates:
        cells = [marks.band if column in band else " " for column in range(width)]
        cells[axis.column(1.0)] = marks.zero
        if candidate.name == verdict.baseline:
            cells[axis.column(1.0)] = marks.baseline
        elif candidate.ratio is not None:
            _draw(cells, candidate.ratio, axis, marks)
        lines.append("".join(cells))
    return [*lines, _axis(axis)]


def _draw(cells: list[str], ratio: Estimate, axis: Scale, marks: Marks) -> None:
    if ratio.low is not None and ratio.high is not None:
        first, last = axis.column(ratio.low), axis.column(ratio.high)
        for column in range(first, last + 1):
            cells[column] = marks.line
        cells[first], cells[last] = marks.left, marks.right
    cells[axis.column(ratio.mean)] = marks.point


def _axis(axis: Scale) -> str:
    """Return the labels of the axis: its ends, and 0 % at the baseline where there is room."""
    low, high, zero = change(axis.low), change(axis.high), "0 %"
    cells = list(low.ljust(axis.width - len(high)) + high)[: axis.width]
    start = max(0, min(axis.width - len(zero), axis.column(1.0) - 1))
    room = cells[max(0, start - 2) : start + len(zero) + 2]
    if all(cell == " " for cell in room):
        cells[start : start + len(zero)] = zero
    return "".join(cells)
