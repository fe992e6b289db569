"""A decision by throughput: which figure of a trial's seconds decides, so that no verdict contradicts the plain mean.

The throughput of a trial is its transactions divided by its seconds. Stalls that come by chance make that figure noisy, so a
comparison is sharper by the typical speed, which forgives them; but a candidate may be ahead in typical speed and stall more.
Each trial's logarithm splits into two parts, log(mean) = log(typical speed) + log(mean / typical speed), of which the second is
what stalls cost. The typical speed decides as long as that cost does not differ between candidates and the plain means agree in
sign with each claim; else the plain means decide.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import fdtrc

from dialin.model.verdict import CandidateState, DecidedBy, Outcome
from dialin.stats.blocks import Fit, Observation, fit, levels
from dialin.stats.decide import Decision, Rules, decide, ratios, widest_fit

_STALLS_DIFFER = 0.2
"""The p value of an F test below which stalls count as different between candidates. It is generous on purpose: a difference
that is overlooked lets a figure decide that forgives it, while one that is only chance costs a few more trials."""

_ONE_SIDED = 0.7
"""Standard errors by which a choice may stall more than the others before its typical speed decides no more: a p value of about
a quarter, for the same reason."""


@dataclass(frozen=True, slots=True)
class TrialSpeed:
    """What one trial shows of throughput.

    Attributes:
        stratum: what ran close together in time and is compared with itself only, e.g. (block, session, host).
        typical: the typical speed in the same unit; see `stats.window.Window`. At least `mean`.
    """

    stratum: Hashable
    candidate: str
    mean: float
    typical: float


def by_mean(trials: Sequence[TrialSpeed]) -> list[Observation]:
    """Return each trial's throughput."""
    return [Observation(trial.stratum, trial.candidate, trial.mean) for trial in trials]


def by_typical_speed(trials: Sequence[TrialSpeed]) -> list[Observation]:
    """Return each trial's typical speed."""
    return [Observation(trial.stratum, trial.candidate, trial.typical) for trial in trials]


def decide_throughput(
    trials: Sequence[TrialSpeed],
    names: Sequence[str],
    baseline: str,
    rules: Rules,
    *,
    alpha: float,
    identical: Sequence[frozenset[str]] = (),
    racing: Collection[str] | None = None,
) -> Decision:
    """Judge candidates by throughput; `decided_by` of the decision says which figure of the seconds decided.

    `ratios` and `levels` of the decision are those of the plain means, whichever figure decided. Beside the trials, which are
    those that completed, the arguments are those of `decide`.
    """
    means, typical = by_mean(trials), by_typical_speed(trials)
    costs = _stall_costs(trials, names)
    differ = _differ(costs, rules.worthwhile)
    if not differ:
        decision = decide(typical, names, baseline, rules, alpha=alpha, identical=identical, racing=racing)
        plain = widest_fit(means, names, baseline)
        if _may_stall_more(costs, decision.choice, rules.worthwhile):
            differ = True
        elif plain is None or not _is_contradicted(decision, plain, baseline, rules.worthwhile, alpha):
            level = levels(means, names, alpha)
            return replace(
                decision,
                states=decision.states if plain is None else _states(decision, plain),
                ratios=ratios(plain, names, baseline, alpha),
                levels={name: level.get(name) for name in names},
                decided_by=DecidedBy.TYPICAL_SPEED,
                typical_ratios=decision.ratios,
            )
    decision = decide(means, names, baseline, rules, alpha=alpha, identical=identical, racing=racing)
    typical_ratios = ratios(widest_fit(typical, names, baseline), names, baseline, alpha)
    return replace(decision, typical_ratios=typical_ratios, stalls_differ=differ)


def _stall_costs(trials: Sequence[TrialSpeed], names: Sequence[str]) -> Fit | None:
    """Return the fit of log(mean / typical): a candidate's effect is the higher, the less its stalls cost."""
    moving = [trial for trial in trials if trial.mean > 0]
    present = [name for name in names if any(trial.candidate == name for trial in moving)]
    return fit([Observation(trial.stratum, trial.candidate, trial.mean / trial.typical) for trial in moving], present)


def _differ(costs: Fit | None, worthwhile: float) -> bool:
    """Return whether what stalls cost differs between candidates by more than what is worthwhile, and by more than chance.

    By more than chance means an F test of all candidates within blocks, with a p value below 0.2.
    """
    if costs is None or costs.sd is None or max(costs.effects) - min(costs.effects) <= math.log1p(worthwhile):
        return False
    if costs.sd == 0:
        return True
    effects, count = np.array(costs.effects), len(costs.names)
    between = float(effects @ np.linalg.pinv(np.array(costs.covariance)) @ effects) / (count - 1)
    return float(fdtrc(count - 1, costs.dof, between / costs.sd**2)) < _STALLS_DIFFER


def _may_stall_more(costs: Fit | None, choice: str | None, worthwhile: float) -> bool:
    """Return whether a choice seems to stall more than the mean of the others, which a test of all candidates may overlook."""
    if costs is None or costs.sd is None or choice not in costs.names:
        return False
    index, share = costs.names.index(choice), len(costs.names) / (len(costs.names) - 1)
    more = -share * costs.effects[index]
    error = share * costs.sd * math.sqrt(costs.covariance[index][index])
    return more > math.log1p(worthwhile) / 2 and more > _ONE_SIDED * error


def _is_contradicted(decision: Decision, plain: Fit, baseline: str, worthwhile: float, alpha: float) -> bool:
    """Return whether the plain means speak against what a decision by typical speed claims."""
    choice = decision.choice
    if choice is None or choice not in plain.names:
        return False
    if choice != baseline and baseline in plain.names and plain.ratio(choice, baseline, alpha).mean <= 1:
        return True
    for name in plain.names:
        ratio = plain.ratio(name, choice, alpha)
        if decision.states[name] is CandidateState.LOSES and ratio.mean >= 1:
            return True
        if ratio.low is not None and ratio.low > 1 + worthwhile:
            return True
        equal = decision.outcome is Outcome.NO_WORTHWHILE_DIFFERENCE
        if equal and ratio.high is not None and ratio.high < 1 / (1 + worthwhile):
            return True
    return False


def _states(decision: Decision, plain: Fit) -> dict[str, CandidateState]:
    """Return the states of a decision by typical speed, in which no candidate is worse whose plain mean is not.

    Only undecided studies need this: a decision that names a choice is not made where the plain means speak against it.
    """
    effects = dict(zip(plain.names, plain.effects, strict=True))
    leader = effects.get(decision.leader or "", math.inf)
    worse = (CandidateState.BEHIND, CandidateState.LOSES)
    return {
        name: CandidateState.OPEN if decision.choice is None and state in worse and effects.get(name, 0.0) >= leader else state
        for name, state in decision.states.items()
    }
