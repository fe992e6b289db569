"""From trials to a decision: which candidates win, tie or lose, which one is safe to choose, and what has been shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from dialin.model.study import StudySpec, Until
from dialin.model.verdict import AgainstBest, DecidedBy, Estimate, Outcome
from dialin.stats.forecast import detectable, fewest_trials, is_enough
from dialin.stats.posterior import Chances, chances
from dialin.stats.standings import ROUNDING, leader_of, outcome_of, state_of_best
from dialin.stats.thresholds import Thresholds, thresholds_of
from dialin.stats.trial_fit import READ_ONCE, CandidateFigures, TimedTrial, TrialFit, figures_of_fit, fit_trials

_GIVEN_UP = 0.5
"""A candidate counts as behind when its chance falls below this share of the accepted error: 2.5 % at a confidence of 95 %."""
_GOOD_ENOUGH = 0.9
"""The chance from which on the baseline is chosen over a more probable candidate that is not shown to be better than it: a
change needs a reason."""

_PAIR = 2
"""Candidates that a study ends with as soon as its one difference passes a threshold."""

_FORESEEN = (1.0, 1.2, 1.5, 2, 2.5, 3, 4, 6, 8, 12, 16, 24, 32, 48)
"""Multiples of the present number of trials that a forecast tries."""


Fitter = Callable[[Sequence[TimedTrial], Sequence[str]], TrialFit | None]
"""Estimates the levels of the named candidates from trials; None where that is not possible yet."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the trials say so far.

    Attributes:
        choice: the candidate that is safe to use, by the outcome; None while it is inconclusive.
        leader: the candidate that is most probably within what is worthwhile of the best; None while nothing is known.
        winners: the candidate of the highest estimate, and those that tie with it; empty unless the outcome is a winner or tie.
        chances: per candidate, how probable it is to be within what is worthwhile of the best; empty while nothing is known.
        shortfalls: per candidate, how far it is behind the best on average, as a share of it; empty while nothing is known.
        ratios: value of each candidate as a ratio to the baseline's; None where the two cannot be compared.
        levels: level of each candidate, in the unit of the trials; None where it has no trial.
        fit: what ratios and levels come from; None while no fit is possible.
        sd: standard deviation of one trial about the machine's drift, on the log scale, or None while it is unknown.
        trials: number of completed trials of all candidates.
        detectable: the smallest relative difference that this many trials detect at this noise four times out of five, or None
            while the noise is unknown.
        shown_best: whether it is shown that nothing is better than the choice by more than what is worthwhile.
        better: the candidates that are shown to be better than the baseline.
        decided_by: the figure by which the candidates were compared.
        typical_ratios: typical speed of each candidate as a ratio to the baseline's, where throughput is judged.
        stalls_differ: whether what stalls cost differs between candidates, where throughput is judged.
        all_near: how probable it is that all candidates are within what is worthwhile of the best; None while that is unknown.
        doubted: candidates whose only trial is to be repeated before a study ends by itself.
    """

    outcome: Outcome
    choice: str | None
    leader: str | None
    winners: tuple[str, ...]
    states: dict[str, AgainstBest]
    chances: dict[str, float]
    ratios: dict[str, Estimate | None]
    levels: dict[str, Estimate | None]
    fit: TrialFit | None
    sd: float | None
    trials: int
    detectable: float | None
    shown_best: bool = False
    better: tuple[str, ...] = ()
    decided_by: DecidedBy = DecidedBy.GOAL
    typical_ratios: Mapping[str, Estimate | None] = field(default_factory=dict)
    stalls_differ: bool = False
    all_near: float | None = None
    shortfalls: Mapping[str, float] = field(default_factory=dict)
    doubted: tuple[str, ...] = ()

    @property
    def shown_better(self) -> bool:
        return self.choice in self.better

    def is_reached(self, until: Until, baseline: str) -> bool:
        """Return whether a study that stops at `until` may end: it has a safe choice, or has shown what it is to show.

        Where the choice is the baseline, it cannot be shown to be better than itself: `BETTER` then needs what `BEST` needs.
        """
        if self.doubted:
            return False
        match until:
            case Until.SAFE:
                return self.choice is not None
            case Until.BETTER:
                return self.shown_better or (self.shown_best and self.choice == baseline)
            case Until.BEST:
                return self.shown_best


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a decision.

    Attributes:
        worthwhile: the smallest relative difference that matters.
        confidence: the confidence of a choice, of all claims together over all looks, and of each quoted interval by itself.
        choose: whether a safe choice is looked for; without it only what is shown is claimed (an A/A study).
        claims: the number of studies, this one included, whose claims and intervals hold together at the confidence.
        shares_start: whether all trials share a start of the server.
        proofs: the proofs of a tune so far, the one of these trials included; 0 for a study. A proof is read once, at its end:
            its claim needs less, and its number of trials bounds the degrees of freedom. Who looks after every few trials meets
            the moment when they agree by chance.
    """

    worthwhile: float
    confidence: float
    choose: bool = True
    claims: int = 1
    shares_start: bool = False
    proofs: int = 0

    @classmethod
    def of(cls, spec: StudySpec) -> Self:
        """Return the rules of a study."""
        return cls(
            spec.worthwhile,
            spec.confidence,
            choose=not spec.is_aa,
            claims=spec.claims,
            shares_start=spec.shares_start,
            proofs=spec.proofs,
        )

    @property
    def margin(self) -> float:
        """What is worthwhile, on the log scale."""
        return math.log1p(self.worthwhile)

    @property
    def alpha(self) -> float:
        """The error that each quoted interval may make."""
        return (1 - self.confidence) / self.claims

    def needed(self, fitted: TrialFit) -> Thresholds:
        return thresholds_of(fitted, self.confidence, self.claims, self.proofs)

    def read(self, fitted: TrialFit) -> TrialFit:
        """Return a fit whose differences have the degrees of freedom of a claim, and the width of intervals, by these rules."""
        return replace(fitted, own_dof=fitted.own_dof[:0], width=READ_ONCE) if self.proofs else fitted

    def fitted(self, fit: Fitter, trials: Sequence[TimedTrial], names: Sequence[str]) -> TrialFit | None:
        """Return a fit of trials as these rules read it; None where none is possible yet."""
        found = fit(trials, names)
        return None if found is None else self.read(found)

    def figures(
        self,
        fitted: TrialFit | None,
        trials: Sequence[TimedTrial],
        names: Sequence[str],
        baseline: str,
        decision: Decision | None = None,
    ) -> CandidateFigures:
        """Return the figures of a fit; those of the choice are wider in a study, which may have stopped when it was lucky.

        Of two candidates, their ratio is as wide whichever of them is the choice, and its end towards 1 is
        `FittedDifference.nearest`, at least: by the deviate of *worse* where the best is shown, and by that of *best* where the
        choice is only safe.
        """
        choice = None if self.proofs or decision is None else decision.choice
        found = figures_of_fit(fitted, trials, names, baseline, self.alpha, choice)
        if fitted is None or decision is None or choice is None or fitted.own_dof.size != _PAIR:
            return found
        needed = self.needed(fitted)
        # The truth may be anywhere within the margin; half of it is enough to leave out where all of it had to be excluded.
        end = (needed.worse, self.margin / 2) if decision.shown_best else (needed.best, self.margin)
        ratios = dict(found.ratios)
        for name in set(fitted.names) - {baseline}:
            if ratios[name] is not None:
                ratio = fitted.ratio(name, baseline, self.alpha, is_choice=True)
                nearest = fitted.difference(name, baseline).nearest(*end, needed.worse, self.alpha)
                ratios[name] = ratio.reaching(nearest)
        return replace(found, ratios=ratios)


def decide(
    trials: Sequence[TimedTrial],
    names: Sequence[str],
    baseline: str,
    rules: Rules,
    *,
    identical: Sequence[frozenset[str]] = (),
    fit: Fitter = fit_trials,
) -> Decision:
    """Judge all candidates at once.

    Each other candidate is compared with the leader, the one of the highest estimate (multiple comparisons with the best: Hsu,
    Annals of Statistics 9, 1981), and the leader with the baseline. What is claimed passes a threshold that holds for all
    candidates and looks (`stats.thresholds`). Where that leaves candidates inconclusive, one that is probable enough to be
    within what is worthwhile of the best is a safe choice. The decision does not depend on the order or names of candidates, or
    on the unit of values.

    `names` are all candidates of the study: one without a trial has failed and is not compared. `identical` are groups of
    candidates that are known, before any statistics, to have the same effective setting.
    """
    counts = {name: sum(trial.candidate == name for trial in trials) for name in names}
    present = [name for name in names if counts[name]]
    stands_for = representatives(present, identical, baseline)
    states = dict.fromkeys(names, AgainstBest.FAILED) | dict.fromkeys(present, AgainstBest.INCONCLUSIVE)
    fitted = rules.fitted(fit, trials, names)
    decision = _undecided(fitted, rules.figures(fitted, trials, names, baseline), states, len(trials))
    if len(set(stands_for.values())) == 1 and (len(present) > 1 or len(set(representatives(names, identical).values())) == 1):
        return replace(
            decision,
            outcome=Outcome.NO_WORTHWHILE_DIFFERENCE,
            choice=baseline if baseline in present else present[0],
            states=states | dict.fromkeys(present, AgainstBest.TIES),
            shown_best=True,
        )
    each_alone = all(name == representative for name, representative in stands_for.items())
    compared = fitted if each_alone else fit(with_representatives(trials, stands_for), list(dict.fromkeys(stands_for.values())))
    if fitted is None or compared is None or not is_enough(compared, shares_start=rules.shares_start):
        return decision
    decision = replace(decision, detectable=detectable(fitted.sd, len(present), len(trials), confidence=rules.confidence))
    decision = _compare(decision, compared, stands_for, baseline, rules)
    figures = rules.figures(fitted, trials, names, baseline, decision)
    return replace(decision, ratios=figures.ratios, levels=figures.levels)


def decide_fit(fitted: TrialFit, baseline: str, rules: Rules) -> Decision:
    """Judge the candidates of a fit that is not of one study's trials (`stats.weighted_mean`), by the rules of `decide`."""
    names, trials = fitted.names, int(fitted.trials.sum())
    states = dict.fromkeys(names, AgainstBest.INCONCLUSIVE)
    undecided = _undecided(fitted, figures_of_fit(fitted, (), names, baseline, rules.alpha), states, trials)
    decision = _compare(undecided, fitted, {name: name for name in names}, baseline, rules)
    figures = rules.figures(fitted, (), names, baseline, decision)
    return replace(decision, ratios=figures.ratios, levels=figures.levels)


def _undecided(fitted: TrialFit | None, figures: CandidateFigures, states: dict[str, AgainstBest], trials: int) -> Decision:
    return Decision(
        outcome=Outcome.INCONCLUSIVE,
        choice=None,
        leader=None,
        winners=(),
        states=states,
        chances={},
        ratios=figures.ratios,
        levels=figures.levels,
        fit=fitted,
        sd=fitted.sd if fitted else None,
        trials=trials,
        detectable=None,
    )


def _compare(decision: Decision, fitted: TrialFit, stands_for: Mapping[str, str], baseline: str, rules: Rules) -> Decision:
    """Complete a decision by comparing the candidates of a fit; each represents those identical to it."""
    fitted = rules.read(fitted)
    needed = rules.needed(fitted)
    reference = stands_for.get(baseline)
    leader = _leader(fitted, reference)
    standing = {name: _standing(fitted, leader, name, needed, rules.margin) for name in fitted.names if name != leader}
    odds = chances(fitted, rules.worthwhile)
    outcome = outcome_of(standing.values())
    if outcome is Outcome.WINNER and list(stands_for.values()).count(leader) > 1:  # several names of the best setting
        outcome = Outcome.TIE
    tied = {leader, *(name for name, state in standing.items() if state is AgainstBest.TIES)}
    shown_best = all(fitted.difference(leader, name).shows(needed.best, rules.margin) for name in standing)
    choice: str | None = reference if reference in tied else leader
    if outcome is Outcome.INCONCLUSIVE:
        outcome, choice = _of_chances(odds, fitted, leader, reference, needed) if rules.choose else (outcome, None)
    better = {name for name in fitted.names if is_better(fitted, name, reference, needed)}
    if rules.choose:
        behind = {name for name, chance in odds.near.items() if chance < _GIVEN_UP * (1 - rules.confidence)}
        standing |= {name: AgainstBest.BEHIND for name in behind if standing.get(name) is AgainstBest.INCONCLUSIVE}
    standing[leader] = state_of_best(outcome, standing.values())
    probable = max(fitted.names, key=lambda name: (odds.near[name], name == leader))
    winners = tied if outcome in (Outcome.WINNER, Outcome.TIE) else set()
    return replace(
        decision,
        outcome=outcome,
        choice=choice,
        leader=probable,
        winners=tuple(name for name, representative in stands_for.items() if representative in winners),
        states=decision.states | {name: standing[representative] for name, representative in stands_for.items()},
        chances={name: odds.near[representative] for name, representative in stands_for.items()},
        all_near=odds.all_near,
        shortfalls={name: odds.shortfall[representative] for name, representative in stands_for.items()},
        shown_best=shown_best and choice in tied,
        doubted=fitted.doubted if rules.choose else (),
        better=tuple(name for name, representative in stands_for.items() if representative in better),
    )


def is_better(fitted: TrialFit, name: str, baseline: str | None, needed: Thresholds) -> bool:
    """Return whether a candidate is shown to be better than the baseline; `baseline` is None where the baseline failed."""
    return baseline is not None and name != baseline and fitted.difference(name, baseline).shows(needed.better)


def _standing(fitted: TrialFit, leader: str, name: str, needed: Thresholds, margin: float) -> AgainstBest:
    difference = fitted.difference(leader, name)
    if difference.shows(needed.worse):
        return AgainstBest.LOSES
    opposite = replace(difference, mean=-difference.mean)
    if difference.shows(needed.best, margin) and opposite.shows(needed.best, margin * (1 + ROUNDING)):
        return AgainstBest.TIES
    return AgainstBest.INCONCLUSIVE


def _of_chances(
    odds: Chances, fitted: TrialFit, leader: str, baseline: str | None, needed: Thresholds
) -> tuple[Outcome, str | None]:
    """Return the outcome that chances allow, and the choice.

    The baseline, if near enough, is chosen over a candidate that is not shown to be better. If it is not, its equals are not
    chosen either: to be ahead of it by luck is no reason to change a server.
    """
    if odds.all_near >= needed.all_near and baseline is not None:
        return Outcome.NO_WORTHWHILE_DIFFERENCE, baseline
    baseline_chance = odds.near.get(baseline or "", 0.0)
    if baseline_chance >= needed.probable:
        return Outcome.SAFE_CHOICE, baseline
    best = max(fitted.names, key=lambda name: (odds.near[name], name == leader))
    if odds.near[best] < needed.probable:
        return Outcome.INCONCLUSIVE, None
    if baseline_chance >= _GOOD_ENOUGH and not is_better(fitted, best, baseline, needed):
        return Outcome.SAFE_CHOICE, baseline
    if baseline is not None and fitted.difference(best, baseline).z() < needed.leave:
        return Outcome.INCONCLUSIVE, None
    return Outcome.SAFE_CHOICE, best


def trials_to_choose(
    trials: Sequence[TimedTrial],
    names: Sequence[str],
    baseline: str,
    rules: Rules,
    *,
    identical: Sequence[frozenset[str]] = (),
    fit: Fitter = fit_trials,
) -> int | None:
    """Return about how many trials in all make a choice safe, if further trials agree with those so far.

    None where that is not known, or where it takes more than 48 times the present number.
    """
    stands_for = representatives([name for name in names if any(t.candidate == name for t in trials)], identical, baseline)
    fitted = fit(with_representatives(trials, stands_for), list(dict.fromkeys(stands_for.values())))
    if fitted is None:
        return None
    needed, reference = rules.needed(fitted), stands_for.get(baseline)
    leader = _leader(fitted, reference)
    for more in _FORESEEN:
        foreseen = fitted.times(more)
        _, choice = _of_chances(chances(foreseen, rules.worthwhile), foreseen, leader, reference, needed)
        if choice is not None:
            fewest = fewest_trials(len(fitted.names), shares_start=rules.shares_start)
            return max(math.ceil(len(trials) * more), fewest)
    return None


def _leader(fitted: TrialFit, baseline: str | None) -> str:
    return leader_of(dict(zip(fitted.names, fitted.effects.tolist(), strict=True)), fitted.names, baseline or "")


def representatives(names: Sequence[str], identical: Sequence[frozenset[str]], baseline: str | None = None) -> dict[str, str]:
    """Return for each candidate the one that stands for all that are identical to it: the baseline, else the first of them."""
    stands_for = {name: name for name in names}
    for group in identical:
        members = {stands_for[name] for name in names if name in group}
        first = baseline if baseline in members else next((name for name in names if name in members), None)
        if first is not None:
            stands_for = {name: first if other in members else other for name, other in stands_for.items()}
    return stands_for


def with_representatives(trials: Sequence[TimedTrial], stands_for: Mapping[str, str]) -> list[TimedTrial]:
    """Return the trials with each candidate replaced by the one that stands for it; those of other candidates are left out."""
    return [replace(trial, candidate=stands_for[trial.candidate]) for trial in trials if trial.candidate in stands_for]
