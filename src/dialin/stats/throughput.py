"""A decision by throughput: which figure of a trial's seconds decides, so that no verdict contradicts the plain mean.

The throughput of a trial is its transactions divided by its seconds. Stalls that come by chance make that figure noisy, so a
comparison is sharper by the typical speed, which forgives them; but a candidate may be ahead in typical speed and stall more.
Each trial's logarithm splits into two parts, log(mean) = log(typical speed) + log(mean / typical speed), of which the second is
what stalls cost. The typical speed decides as long as that cost does not differ between candidates and the plain means agree in
sign with each claim; else the plain means decide.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from statistics import variance
from typing import Any

import numpy as np
from scipy.special import fdtrc

from dialin.model.verdict import AgainstBest, DecidedBy, Outcome
from dialin.stats.decide import Decision, Rules, decide
from dialin.stats.trial_fit import TimedTrial, TrialFit, fit_trials

_STALLS_DIFFER = 0.2
"""The p value of an F test below which stalls count as different between candidates. It is generous on purpose: a difference
that is overlooked lets a figure decide that forgives it, while one that is only chance costs a few more trials."""

_IS_STALLED = 0.005
"""The cost of stalls, on the log scale, above which a trial counts as stalled."""

_SPARED = 0.1
"""Stalled trials that each candidate may have been spared by chance, where plain means decide.

Where the candidate that is best in typical speed stalls ten times as often, one interval of the choice in eleven misses without
this and the variance of what stalls cost, and one in fifteen with both (benchmarks/decide.py).
"""

_ONE_SIDED = 0.7
"""Standard errors by which a choice may stall more than the others before its typical speed no longer decides: a p value of
about a quarter, for the same reason as `_STALLS_DIFFER`."""


@dataclass(frozen=True, slots=True)
class TrialSpeed:
    """What one trial shows of throughput.

    Attributes:
        run: the unbroken run of trials that it belongs to, and `at` its time there; see `stats.trial_fit.TimedTrial`.
        mean: transactions per second.
        typical: the typical speed in the same unit; see `stats.window.Window`. At least `mean`.
        error: relative standard error of the typical speed by the trial's own seconds.
    """

    run: Hashable
    candidate: str
    at: float
    mean: float
    typical: float
    error: float = 0.0


def by_mean(trials: Sequence[TrialSpeed]) -> list[TimedTrial]:
    """Return the throughput of trials, with errors that include how much the cost of stalls varies within a candidate.

    Few trials may all have been spared stalls and show too little noise, so each candidate is given a tenth of a stalled trial.
    """
    costs: dict[str, list[float]] = {}
    for trial in trials:
        costs.setdefault(trial.candidate, []).append(math.log(trial.typical / trial.mean) if trial.mean > 0 else 0.0)
    squares = [cost**2 for logs in costs.values() for cost in logs if cost > _IS_STALLED]
    spared = _SPARED * math.fsum(squares) / len(squares) if squares else 0.0
    extra = {name: (variance(logs) if len(logs) > 1 else logs[0] ** 2) + spared / len(logs) for name, logs in costs.items()}
    return [TimedTrial(t.run, t.candidate, t.at, t.mean, math.hypot(t.error, math.sqrt(extra[t.candidate]))) for t in trials]


def by_typical_speed(trials: Sequence[TrialSpeed]) -> list[TimedTrial]:
    return [TimedTrial(trial.run, trial.candidate, trial.at, trial.typical, trial.error) for trial in trials]


def decide_throughput(
    trials: Sequence[TrialSpeed],
    names: Sequence[str],
    baseline: str,
    rules: Rules,
    *,
    identical: Sequence[frozenset[str]] = (),
) -> Decision:
    """Judge candidates by throughput; `decided_by` of the decision says which figure of the seconds decided.

    `ratios` and `levels` of the decision are those of the plain means, whichever figure decided. `trials` are those that
    completed; the other arguments are those of `decide`.
    """
    means, typical = by_mean(trials), by_typical_speed(trials)
    costs = _stall_costs(trials, names)
    differ = _differ(costs, rules.margin)
    if not differ:
        decision = decide(typical, names, baseline, rules, identical=identical)
        plain = rules.fitted(fit_trials, means, names)
        if _may_stall_more(costs, decision.choice, rules.margin):
            differ = True
        elif plain is None or not _is_contradicted(decision, plain, baseline, rules):
            figures = rules.figures(plain, means, names, baseline, decision)
            return _agreeing(
                decision,
                baseline,
                states=decision.states if plain is None else _states(decision, plain),
                ratios=figures.ratios,
                levels=figures.levels,
                fit=plain,
                decided_by=DecidedBy.TYPICAL_SPEED,
                typical_ratios=decision.ratios,
            )
    decision = decide(means, names, baseline, rules, identical=identical)
    of_typical = rules.figures(rules.fitted(fit_trials, typical, names), typical, names, baseline)
    return replace(decision, typical_ratios=of_typical.ratios, stalls_differ=differ)


def _agreeing(decision: Decision, baseline: str, **of_plain: Any) -> Decision:
    """Return a decision by typical speed with figures of the plain means, without gains that their intervals do not show."""
    decision = replace(decision, **of_plain)
    ratios = [(name, decision.ratios.get(name)) for name in decision.better]
    better = tuple(name for name, ratio in ratios if ratio is not None and ratio.low is not None and ratio.low > 1)
    compares_with_baseline = decision.ratios.get(decision.choice or "") is not None and decision.choice != baseline
    if decision.outcome is Outcome.WINNER and compares_with_baseline and decision.choice not in better:
        decision = replace(decision, outcome=Outcome.SAFE_CHOICE, winners=())
    return replace(decision, better=better)


def _stall_costs(trials: Sequence[TrialSpeed], names: Sequence[str]) -> TrialFit | None:
    """Return the fit of log(mean / typical): a candidate's effect is the higher, the less its stalls cost."""
    moving = [trial for trial in trials if trial.mean > 0]
    return fit_trials([TimedTrial(t.run, t.candidate, t.at, t.mean / t.typical) for t in moving], names)


def _differ(costs: TrialFit | None, margin: float) -> bool:
    """Return whether what stalls cost differs between candidates by more than what is worthwhile, and by more than chance.

    By more than chance means an F test of all candidates, with a p value below 0.2.
    """
    if costs is None or np.ptp(costs.effects) <= margin:
        return False
    count = len(costs.names)
    about_mean = np.eye(count) - 1 / count
    effects = about_mean @ costs.effects
    between = float(effects @ np.linalg.pinv(about_mean @ costs.covariance @ about_mean) @ effects) / (count - 1)
    return float(fdtrc(count - 1, costs.total_dof, between)) < _STALLS_DIFFER


def _may_stall_more(costs: TrialFit | None, choice: str | None, margin: float) -> bool:
    """Return whether a choice seems to stall more than the mean of the others, which a test of all candidates may overlook."""
    if costs is None or choice not in costs.names:
        return False
    count, index = len(costs.names), costs.names.index(choice)
    against = np.full(count, 1 / (count - 1))
    against[index] = -1.0
    more = float(against @ costs.effects)
    return more > margin / 2 and more > _ONE_SIDED * math.sqrt(float(against @ costs.covariance @ against))


def _is_contradicted(decision: Decision, plain: TrialFit, baseline: str, rules: Rules) -> bool:
    """Return whether the plain means speak against what a decision by typical speed claims."""
    choice = decision.choice
    if choice is None or choice not in plain.names:
        return False
    if choice != baseline and baseline in plain.names and plain.difference(choice, baseline).mean <= 0:
        return True
    for name in plain.names:
        if name == choice:
            continue
        ratio = plain.ratio(name, choice, rules.alpha)
        if decision.states[name] is AgainstBest.LOSES and ratio.mean >= 1:
            return True
        if ratio.low is not None and ratio.low > 1 + rules.worthwhile:
            return True
        equal = decision.outcome is Outcome.NO_WORTHWHILE_DIFFERENCE
        if equal and ratio.high is not None and ratio.high < 1 / (1 + rules.worthwhile):
            return True
    return False


def _states(decision: Decision, plain: TrialFit) -> dict[str, AgainstBest]:
    """Return the states of a decision by typical speed, where a candidate is worse only if its plain mean is worse, too.

    Only undecided studies need this: a decision that names a choice is not made where the plain means speak against it.
    """
    effects = dict(zip(plain.names, plain.effects.tolist(), strict=True))
    leader = effects.get(decision.leader or "", math.inf)
    worse = (AgainstBest.BEHIND, AgainstBest.LOSES)
    return {
        name: AgainstBest.INCONCLUSIVE
        if decision.choice is None and state in worse and effects.get(name, 0.0) >= leader
        else state
        for name, state in decision.states.items()
    }
