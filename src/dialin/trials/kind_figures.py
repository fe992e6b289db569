"""What each kind of transaction did in the measured seconds of a trial, where the driver reports that without histograms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from dialin.model.load_driver import KindFigures, kind_gauge
from dialin.workloads.base import Second


def kind_figures(seconds: Sequence[Second]) -> dict[str, KindFigures]:
    """Return the figures of each kind by name; nothing where the driver reports none. A kind that is missing did nothing."""
    covered = sum(second.seconds for second in seconds if second.kinds)
    by_kind: defaultdict[str, list[tuple[float, KindFigures]]] = defaultdict(list)
    for second in seconds:
        for name, figures in second.kinds.items():
            by_kind[name].append((second.seconds, figures))
    return {
        name: KindFigures(
            per_second=sum(length * one.per_second for length, one in samples) / covered,
            errors=sum(length * one.errors for length, one in samples) / covered,
            mean_ms=_weighted([(length * one.per_second, one.mean_ms) for length, one in samples]),
            percentile_ms=_weighted([(length * one.per_second, one.percentile_ms) for length, one in samples]),
        )
        for name, samples in sorted(by_kind.items())
    }


def kind_gauges(seconds: Sequence[Second]) -> Mapping[str, float]:
    """Return the same figures by the name under which a trial stores them."""
    return {
        kind_gauge(figure, name): value
        for name, figures in kind_figures(seconds).items()
        for figure, value in asdict(figures).items()
        if value is not None
    }


def _weighted(samples: Sequence[tuple[float, float | None]]) -> float | None:
    known = [(weight, value) for weight, value in samples if value is not None]
    total = sum(weight for weight, _ in known)
    return sum(weight * value for weight, value in known) / total if total > 0 else None
