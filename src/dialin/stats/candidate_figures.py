"""The level of each candidate and its ratio to the baseline, from one fit: a level divided by the baseline's is the ratio.

Throughput, latency, variation, and the cost per statement of live traffic are estimated here and nowhere else, so that a reader
who divides two levels gets the ratio that is printed beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dialin.model.verdict import Estimate
from dialin.stats.means import geometric_mean
from dialin.stats.trial_fit import TimedTrial, TrialFit, fit_trials


@dataclass(frozen=True, slots=True)
class CandidateFigures:
    """One quantity under each candidate.

    Attributes:
        levels: in the unit of the trials, at the machine's mean state over all trials; None where a candidate has no trial.
        ratios: to the baseline's level; None where a candidate cannot be compared with it.
    """

    levels: dict[str, Estimate | None]
    ratios: dict[str, Estimate | None]


def candidate_figures(
    trials: Sequence[TimedTrial], names: Sequence[str], baseline: str, alpha: float, choice: str | None = None
) -> CandidateFigures:
    """Return the figures of the named candidates by a fit of their trials; the arguments are those of `figures_of_fit`."""
    return figures_of_fit(fit_trials(trials, names), trials, names, baseline, alpha, choice)


def figures_of_fit(
    fitted: TrialFit | None,
    trials: Sequence[TimedTrial],
    names: Sequence[str],
    baseline: str,
    alpha: float,
    choice: str | None = None,
) -> CandidateFigures:
    """Return the figures of the named candidates, each with the interval of this one figure at 1 - alpha.

    Where no fit is possible yet, a level is the geometric mean of the candidate's trials, and nothing has an interval. `choice`
    is the candidate that the study chose by this quantity, perhaps because it was lucky: its intervals are wider.
    """
    if fitted is None:
        return _without_intervals(trials, names, baseline)
    levels: dict[str, Estimate | None] = dict.fromkeys(names)
    ratios: dict[str, Estimate | None] = dict.fromkeys(names)
    for name in fitted.names:
        levels[name] = fitted.level(name, alpha, is_choice=name == choice)
        if baseline in fitted.names:
            ratios[name] = fitted.ratio(name, baseline, alpha, is_choice=name == choice)
    return CandidateFigures(levels, ratios)


def _without_intervals(trials: Sequence[TimedTrial], names: Sequence[str], baseline: str) -> CandidateFigures:
    values = {name: [trial.value for trial in trials if trial.candidate == name] for name in names}
    means = {name: geometric_mean(of_candidate) for name, of_candidate in values.items() if of_candidate}
    base = means.get(baseline)
    quotients = {name: mean / base for name, mean in means.items()} if base else {}
    return CandidateFigures({name: _point(means.get(name)) for name in names}, {n: _point(quotients.get(n)) for n in names})


def _point(value: float | None) -> Estimate | None:
    return None if value is None else Estimate.alone(value)
