"""How throughput grows with threads: the figures of each candidate, and the curve in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.model.why import Scaling, ScalingPoint, Usl, Why
from dialin.text import listed, number

CURVE = (
    "The curve is the universal scalability law: contention σ is the share of the work that is serialised, coherency κ the "
    "cost of coordination between each two threads; with κ above 0 throughput has a peak, and more threads reduce it."
)
"""What the curve's figures mean."""

AT_A_RATE = (
    "No curve is fitted: transactions came at the requested rate, so throughput does not show what so many threads could do."
)
"""Why there is no curve where there could be one."""

_FURTHEST = 4
"""A peak at more than this many times the highest measured number of threads has no figure: nothing was measured there."""


_NEARLY_ALL = 0.95
"""The share of a candidate's highest mean from which on more threads are taken to add nothing."""


def saturation(one: Scaling) -> ScalingPoint | None:
    """Return the point with the fewest threads that has 95 % of the highest mean; None where only the most threads have it."""
    points = sorted(one.points, key=lambda point: point.threads)
    highest = max((point.tps.mean for point in points), default=0.0)
    reached = next((point for point in points if point.tps.mean >= _NEARLY_ALL * highest), None)
    return reached if reached is not None and reached is not points[-1] else None


def threads(why: Why) -> list[int]:
    return sorted({point.threads for scaling in why.scaling for point in scaling.points})


def has_curve(why: Why) -> bool:
    return any(one.usl for one in why.scaling)


def reading(why: Why, rate: int) -> str:
    """Return what the curve's figures mean, or why there is no curve; empty with too few points. A rate of 0 means none."""
    if has_curve(why):
        return CURVE
    return AT_A_RATE if rate else ""


def title(count: int) -> str:
    return "1 thread" if count == 1 else f"{count:,} threads"


def description(why: Why, labels: Mapping[str, str], rate: str) -> str:
    """Return the chart in words: the highest mean with the fewest and with the most threads, and where more add nothing."""
    counts = threads(why)
    parts = []
    for count in dict.fromkeys((counts[0], counts[-1])) if counts else ():
        means = [(point.tps, one.candidate) for one in why.scaling for point in one.points if point.threads == count]
        means.sort(key=lambda one: -one[0].mean)
        if means:
            best, name = means[0]
            others = [labels[other] for other in _inconclusive(why, count, name)]
            remark = f"; inconclusive against {listed(others)}" if others else ""
            parts.append(f"{title(count)}: {labels[name]} has the highest mean ({number(best.mean)} {rate}){remark}")
    saturated = [f"{labels[one.candidate]}: {point.threads:,}" for one in why.scaling if (point := saturation(one))]
    rings = f" Rings mark saturation, the fewest threads with 95 % of the highest mean: {'; '.join(saturated)}."
    return f"{'; '.join(parts)}.{rings if saturated else ''}"


def _inconclusive(why: Why, count: int, highest: str) -> list[str]:
    """Return the candidates that are not shown to have less throughput than `highest` with `count` threads."""
    points = [(one.candidate, point) for one in why.scaling for point in one.points if point.threads == count]
    ratios = [(name, point.to_highest) for name, point in points if name != highest]
    return [name for name, ratio in ratios if ratio is None or not ratio.excludes_one]


def peak(usl: Usl, counts: Sequence[int]) -> str:
    """Return the threads at which a curve is highest; `beyond N` where that is far outside of what was measured."""
    if usl.peak is None:
        return "none"
    most = _FURTHEST * max(counts, default=1)
    return f"beyond {most:,}" if usl.peak > most else f"{round(usl.peak):,}"
