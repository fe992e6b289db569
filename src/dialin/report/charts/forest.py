"""The forest plot in characters: each candidate's deciding ratio with its interval, and the worthwhile band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dialin.measures.of_verdict import band, deciding
from dialin.model.verdict import Estimate, Verdict
from dialin.sentences.changes import is_too_noisy
from dialin.sentences.state_sentences import deciding_of
from dialin.text import change

SMALLEST = 16
"""The fewest columns in which the plot is drawn."""

_REACH = 3
"""How far beyond the outermost figures an interval is shown, in units of the distance between these."""


@dataclass(frozen=True, slots=True)
class Marks:
    """The characters that the plot is made of; an interval goes on beyond the axis where it ends in an arrow."""

    point: str
    baseline: str
    left: str
    line: str
    right: str
    beyond_left: str
    beyond_right: str
    band: str
    zero: str


@dataclass(frozen=True, slots=True)
class ForestRow:
    """A candidate in the plot: its ratio to the baseline, and that ratio as text."""

    candidate: str
    ratio: Estimate | None
    figure: str
    is_baseline: bool
    is_recommended: bool

    @property
    def brief(self) -> str:
        """The ratio without its interval."""
        if self.ratio is None or self.is_baseline or is_too_noisy(self.ratio):
            return self.figure
        return change(self.ratio.mean)


@dataclass(frozen=True, slots=True)
class ForestPlot:
    """The plot's rows, and the ratios between which a difference is too small to matter."""

    rows: Sequence[ForestRow]
    band: tuple[float, float]


def plot(verdict: Verdict) -> ForestPlot:
    rows = [
        ForestRow(
            candidate.name,
            deciding(candidate, verdict),
            deciding_of(candidate, verdict),
            candidate.name == verdict.baseline,
            candidate.name == verdict.recommended_candidate,
        )
        for candidate in verdict.candidates
    ]
    return ForestPlot(rows, band(verdict))


UNICODE = Marks(point="●", baseline="◆", left="├", line="─", right="┤", beyond_left="◂", beyond_right="▸", band="░", zero="│")
ASCII = Marks(point="o", baseline="*", left="[", line="-", right="]", beyond_left="<", beyond_right=">", band=".", zero="|")


@dataclass(frozen=True, slots=True)
class AxisScale:
    """Maps a ratio to a column, from 0 to `width` - 1."""

    low: float
    high: float
    width: int

    def column(self, ratio: float) -> int:
        """Return the column of a ratio; what lies outside is drawn at the edge."""
        share = (ratio - self.low) / (self.high - self.low)
        return min(self.width - 1, max(0, round(share * (self.width - 1))))


def scale(forest: ForestPlot, width: int) -> AxisScale:
    """Return the scale that shows the baseline, the worthwhile band and all ratios, and most of their intervals.

    An interval that is much wider is cut off with an arrow, because it would leave no room for the rest.
    """
    ratios = [row.ratio for row in forest.rows if row.ratio]
    core = [*forest.band, *(ratio.mean for ratio in ratios)]
    low, high = min(core), max(core)
    low, high = widened(low, high, ratios, _REACH * (high - low))
    margin = 0.04 * (high - low)
    return AxisScale(max(0.0, low - margin), high + margin, width)


def widened(low: float, high: float, estimates: Sequence[Estimate], reach: float) -> tuple[float, float]:
    """Return the range, widened to hold the intervals of estimates, but by no more than `reach` at each end."""
    ends = [end for one in estimates for end in (one.low, one.high) if end is not None]
    return min([low, *(max(end, low - reach) for end in ends)]), max([high, *(min(end, high + reach) for end in ends)])


def lines(forest: ForestPlot, width: int, marks: Marks) -> list[str]:
    """Return one line of `width` characters per candidate, and the axis below them."""
    axis = scale(forest, width)
    low, high = forest.band
    shaded = range(axis.column(low), axis.column(high) + 1)
    drawn = []
    for row in forest.rows:
        cells = [marks.band if column in shaded else " " for column in range(width)]
        cells[axis.column(1.0)] = marks.zero
        if row.is_baseline:
            cells[axis.column(1.0)] = marks.baseline
        elif row.ratio:
            _draw(cells, row.ratio, axis, marks)
        drawn.append("".join(cells))
    return [*drawn, _axis(axis)]


def _draw(cells: list[str], ratio: Estimate, axis: AxisScale, marks: Marks) -> None:
    if ratio.low is not None and ratio.high is not None:
        first, last = axis.column(ratio.low), axis.column(ratio.high)
        for column in range(first, last + 1):
            cells[column] = marks.line
        cells[first] = marks.left if ratio.low >= axis.low else marks.beyond_left
        cells[last] = marks.right if ratio.high <= axis.high else marks.beyond_right
    cells[axis.column(ratio.mean)] = marks.point


def _axis(axis: AxisScale) -> str:
    low, high, zero = change(axis.low), change(axis.high), "0 %"
    cells = list(low.ljust(axis.width - len(high)) + high)[: axis.width]
    start = max(0, min(axis.width - len(zero), axis.column(1.0) - 1))
    room = cells[max(0, start - 2) : start + len(zero) + 2]
    if all(cell == " " for cell in room):
        cells[start : start + len(zero)] = zero
    return "".join(cells)
