"""Whether what the load driver itself added to latency could explain the differences between candidates."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dialin.model.evidence import Watched, load_gauge
from dialin.model.study import Goal, StudySpec
from dialin.model.trial import Trial
from dialin.sentences.load_notes import DriverDelay
from dialin.stats.decide import Decision
from dialin.stats.trial_figures import Figures
from dialin.verdict import comparison

LIMIT = 0.1
"""The share of p99 above which what the driver added is reported."""

_NEGLIGIBLE = 0.01
"""A difference between the candidates' mean shares that explains nothing. A share that all have alike cancels out."""


def confounds(
    spec: StudySpec,
    decision: Decision,
    trials: Sequence[Trial],
    figures: Mapping[int, Figures],
    watched: Mapping[int, Mapping[str, Watched]],
) -> list[DriverDelay]:
    """Return a confound where candidates are compared by latency and compare differently without the driver's delays.

    `figures` are those of the completed trials, by id. A trial's latency without the driver's delays is its latency less the
    driver's share of it.
    """
    gauges = {trial: load_gauge(of_trial, "driver_share_goal") for trial, of_trial in watched.items()}
    shares = {trial: gauge.mean for trial, gauge in gauges.items() if gauge is not None and trial in figures}
    if spec.goal is not Goal.LATENCY or not shares or _spread(trials, shares) < _NEGLIGIBLE:
        return []
    undelayed = {trial: _undelayed(of_trial, shares.get(trial, 0.0)) for trial, of_trial in figures.items()}
    without = comparison.decide_by(spec, spec.goal, trials, undelayed)
    if _claims(without) == _claims(decision):
        return []
    return [DriverDelay(share=max(shares.values()))]


def _spread(trials: Sequence[Trial], shares: Mapping[int, float]) -> float:
    """Return by how much the mean shares of the candidates differ."""
    by_candidate = defaultdict(list)
    for trial in trials:
        if trial.id in shares:
            by_candidate[trial.candidate].append(shares[trial.id])
    means = [statistics.fmean(of_candidate) for of_candidate in by_candidate.values()]
    return max(means) - min(means)


def _undelayed(figures: Figures, share: float) -> Figures:
    return figures if figures.latency is None else replace(figures, latency=figures.latency * (1 - share))


def _claims(decision: Decision) -> tuple[object, ...]:
    return decision.outcome, decision.choice, tuple(decision.winners), dict(decision.states)
