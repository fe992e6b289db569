"""What probes count under each candidate: its level, and its ratio to the baseline's, both from trials in blocks."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from dialin.evidence import measured
from dialin.evidence.measured import MeasuredTrial, by_candidate
from dialin.model.record import StudyRecord
from dialin.model.verdict import ComparedFigure, Estimate
from dialin.stats import blocks

LARGEST_RATIO_WITH_INTERVAL = 50.0
"""The ratio from which no interval is shown, because the logarithm of a value near 0 is not useful."""


def block_figures(
    values: Mapping[int, float], trials: Sequence[MeasuredTrial], record: StudyRecord
) -> dict[str, ComparedFigure]:
    """Return a figure of each candidate that has trials with it, in the order of the study.

    Costs, memory and the metrics of reasons all come from here. Candidates are compared within blocks, and a level is that of
    the mean block. The intervals of all candidates hold together at the study's confidence. Where some trial has next to
    nothing of the figure, logarithms mean nothing: then a level is the mean of its trials, and ratios have no interval. A
    candidate that no chain of blocks connects to the baseline has the mean of its trials and no ratio, one of 0 has no ratio.

    Args:
        values: by trial id; a trial that is missing does not count.
        trials: those that are compared.
        record: their study.
    """
    baseline, names = record.spec.baseline, measured.names(trials, record)
    means = {name: statistics.fmean(of_name) for name, of_name in by_candidate(values, trials, names).items()}
    observations = [
        one.observation(values[one.trial.id]) for one in trials if one.trial.id in values and means[one.trial.candidate] > 0
    ]
    fit = blocks.fit_connected(observations, [name for name in means if means[name] > 0], {baseline})
    if fit is None:
        return {name: ComparedFigure(level=Estimate.alone(mean), ratio=None) for name, mean in means.items()}
    is_exact = not blocks.has_standstill(observations)
    levels = {name: fit.level(name) if is_exact else means[name] for name in fit.names}
    figures = {}
    for name, mean in means.items():
        ratio = Estimate.alone(levels[name] / levels[baseline]) if name in levels and name != baseline else None
        if ratio is not None and is_exact and 1 / LARGEST_RATIO_WITH_INTERVAL < ratio.mean < LARGEST_RATIO_WITH_INTERVAL:
            ratio = fit.ratio(name, baseline, record.spec.alpha)
        figures[name] = ComparedFigure(level=Estimate.alone(levels.get(name, mean)), ratio=ratio)
    return figures
