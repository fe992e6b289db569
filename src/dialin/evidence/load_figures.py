"""Figures of a study's load that have a limit, compared with it."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialin.model.evidence import Gauge, Watched, load_gauge
from dialin.model.trial import Trial
from dialin.model.workload import LoadLimit


@dataclass(frozen=True, slots=True)
class LoadFigure:
    """A figure of the load in the trials of a study.

    Attributes:
        gauges: the figure's gauge in each trial that reports it, by trial id.
        judged: the value that is compared with the limit. For a share it is the largest of all trials. For a ratio it is the
            mean of the candidate whose mean is nearest to 1, because a candidate may change the ratio: with a smaller buffer
            pool the same load misses more pages. For an amount it is the share by which the smallest is below the largest.
        beyond: the ids of the trials whose figure exceeds the limit.
    """

    limit: LoadLimit
    gauges: Mapping[int, Gauge]
    judged: float
    beyond: Sequence[int]


def load_figures(
    limits: Sequence[LoadLimit], done: Sequence[Trial], watched: Mapping[int, Mapping[str, Watched]]
) -> list[LoadFigure]:
    """Return the figures that have a limit; a figure that no trial reports is left out."""
    figures = []
    for limit in limits:
        gauges = {trial.id: gauge for trial in done if (gauge := load_gauge(watched.get(trial.id, {}), limit.gauge))}
        if not gauges:
            continue
        by_candidate = defaultdict(list)
        for trial in done:
            if trial.id in gauges:
                by_candidate[trial.candidate].append(gauges[trial.id].mean)
        most = max(gauge.most for gauge in gauges.values())
        if limit.is_ratio:
            judged = min(map(statistics.fmean, by_candidate.values()), key=limit.distance)
        elif limit.is_equal:
            judged = 1 - min(gauge.least for gauge in gauges.values()) / most if most > 0 else 0.0
        else:
            judged = most
        if limit.is_equal:
            beyond = list(gauges) if limit.is_exceeded(judged) else []
        else:
            beyond = [trial for trial, gauge in gauges.items() if any(map(limit.is_exceeded, (gauge.least, gauge.most)))]
        figures.append(LoadFigure(limit, gauges, judged, beyond))
    return figures
