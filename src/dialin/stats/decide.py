"""From trials to a decision: which candidates win, tie or lose, which one is safe to choose, and what can be detected."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dialin.model.verdict import CandidateState, DecidedBy, Estimate, Outcome
from dialin.stats.blocks import Fit, Observation, components, fit, levels
from dialin.stats.forecast import detectable
from dialin.stats.posterior import Chances, chances
from dialin.stats.standings import leader_of, outcome_of, state_of

_GIVEN_UP = 0.5
"""A candidate leaves the race when its chance falls below this share of the accepted error: 2.5 % at a confidence of 95 %."""
_GOOD_ENOUGH = 0.85
"""The baseline's chance from which on it is chosen though another candidate is the safer choice: a change takes a reason."""

_FEWEST_TRIALS = 3
"""Completed trials that every candidate in the race has before a choice is safe: the spread of two is hardly known."""

_FORESEEN = (1.0, 1.2, 1.5, 2, 2.5, 3, 4, 6, 8, 12, 16, 24, 32, 48)
"""How many times as many trials a forecast looks at."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the trials say so far.

    Attributes:
        choice: the candidate that is safe to use, by the outcome; None while it is unresolved.
        leader: the candidate that is most probably within what is worthwhile of the best; None while nothing is known.
        winners: the leader, and those that tie with it; empty unless the outcome is a winner or a tie.
        chances: per candidate, how probable it is to be within what is worthwhile of the best; empty while nothing is known.
        ratios: value of each candidate as a ratio to the baseline's; None where the two cannot be compared.
        levels: of each candidate, in the unit of the observations; None where it has no trial.
        sd: standard deviation of one trial within its stratum, on the log scale, or None while it is unknown.
        blocks: how many trials the candidate with most of them has.
        detectable: the smallest relative difference that this many blocks settle at this noise four times out of five, or None
            while the noise is unknown.
        decided_by: the figure that the observations hold.
        typical_ratios: typical speed of each candidate as a ratio to the baseline's, where throughput is judged.
        stalls_differ: whether what stalls cost differs between candidates, where throughput is judged.
    """

    outcome: Outcome
    choice: str | None
    leader: str | None
    winners: tuple[str, ...]
    states: dict[str, CandidateState]
    chances: dict[str, float]
    ratios: dict[str, Estimate | None]
    levels: dict[str, Estimate | None]
    sd: float | None
    dof: int
    blocks: int
    detectable: float | None
    decided_by: DecidedBy = DecidedBy.THROUGHPUT
    typical_ratios: Mapping[str, Estimate | None] = field(default_factory=dict)
    stalls_differ: bool = False


@dataclass(frozen=True, slots=True)
class Rules:
    """What decides.

    Attributes:
        worthwhile: the smallest relative difference that matters.
        confidence: how sure a choice must be, and all intervals together over all looks.
        choose: whether a safe choice ends the race; without it only what is shown by intervals does (an A/A study).
    """

    worthwhile: float
    confidence: float
    choose: bool = True

    @property
    def given_up(self) -> float:
        """The chance below which a candidate leaves the race."""
        return _GIVEN_UP * (1 - self.confidence)


def decide(
    observations: Sequence[Observation],
    names: Sequence[str],
    baseline: str,
    rules: Rules,
    *,
    alpha: float,
    identical: Sequence[frozenset[str]] = (),
    racing: Collection[str] | None = None,
) -> Decision:
    """Judge all candidates at once.

    The leader is the candidate of the highest estimate. Another one is close to it when the interval of their ratio lies
    within 1 / (1 + worthwhile) to 1 + worthwhile, or when both are known to be the same; it loses when its interval lies
    wholly below 1; else it is open. Where that leaves candidates open, one that is probable enough to be within what is
    worthwhile of the best is a safe choice, once each candidate in the race has three trials. Nothing depends on the order or
    the names of candidates, or on the unit of values.

    Args:
        observations: the completed trials.
        names: every candidate of the study. One without an observation has failed and is not compared.
        baseline: the candidate that ratios are taken to.
        rules: what decides.
        alpha: the error that all intervals together may make at this look.
        identical: groups of candidates that are known, before any statistics, to be the same setting in force.
        racing: the candidates still in the race; None for all.
    """
    trials = _trials(observations, names)
    present = list(trials)
    fitted = widest_fit(observations, names, baseline)
    states = dict.fromkeys(names, CandidateState.FAILED) | dict.fromkeys(present, CandidateState.OPEN)
    group = _groups(names, identical)
    outcome, winners, choice = Outcome.UNRESOLVED, tuple[str, ...](), None
    odds = _chances(observations, fitted, group, rules)
    if _all_one(names, present, group):
        outcome, choice = Outcome.NO_WORTHWHILE_DIFFERENCE, baseline if baseline in present else present[0]
        states |= dict.fromkeys(present, CandidateState.TIES)
    elif fitted is not None and fitted.dof > 0:
        leader = leader_of(dict(zip(fitted.names, fitted.effects, strict=True)), fitted.names, baseline)
        states |= _standings(fitted, leader, group, alpha, rules.worthwhile)
        outcome, winners, states = outcome_of(states, leader)
        choice = _of_shown(outcome, winners, leader, baseline, measured=baseline in present)
        if outcome is Outcome.UNRESOLVED and rules.choose and odds is not None:
            enough = all(trials[name] >= _FEWEST_TRIALS for name in present if racing is None or name in racing)
            if enough and odds.near.keys() == set(present):  # one that could not be compared may be the best
                outcome, choice = _of_chances(odds, fitted, baseline, rules, alpha)
            behind = {name for name, chance in odds.near.items() if chance < rules.given_up}
            states |= {name: CandidateState.BEHIND for name in behind if states[name] is CandidateState.OPEN}
    level = levels(observations, present, alpha)
    sd = fitted.sd if fitted else None
    blocks = max(trials.values(), default=0)
    return Decision(
        outcome=outcome,
        choice=choice,
        leader=_most_probable(odds, fitted) if odds and fitted else None,
        winners=winners,
        states=states,
        chances=dict(odds.near) if odds else {},
        ratios=ratios(fitted, names, baseline, alpha),
        levels={name: level.get(name) for name in names},
        sd=sd,
        dof=fitted.dof if fitted else 0,
        blocks=blocks,
        detectable=None
        if sd is None
        else detectable(sd, len(present), blocks, confidence=rules.confidence, worthwhile=rules.worthwhile),
    )


def leaves(decision: Decision, racing: Sequence[str], baseline: str, rules: Rules) -> frozenset[str]:
    """Return the candidates that leave the race: very probably worse than the best by more than is worthwhile.

    The baseline never leaves: everything is measured against it. Nor does its last rival, the one of the best chance; of equal
    chances, which may both be 0, the one of the higher figure.
    """
    if not rules.choose:
        return frozenset()
    worse = (CandidateState.BEHIND, CandidateState.LOSES)
    gone = {name for name in racing if decision.states[name] in worse and decision.chances.get(name, 1.0) < rules.given_up}
    gone -= {baseline}
    if gone and not set(racing) - gone - {baseline}:
        ratios_of = {name: ratio.mean if (ratio := decision.ratios[name]) else 0.0 for name in gone}
        gone.remove(max(gone, key=lambda name: (decision.chances[name], ratios_of[name])))
    return frozenset(gone)


def blocks_to_choose(
    observations: Sequence[Observation],
    names: Sequence[str],
    baseline: str,
    rules: Rules,
    *,
    identical: Sequence[frozenset[str]] = (),
) -> int | None:
    """Return after how many blocks in all, about, a choice would be safe if further trials said the same as those so far.

    None where it is not known, or where it takes more than 48 times as many.
    """
    fitted = widest_fit(observations, names, baseline)
    group = _groups(names, identical)
    blocks = max(_trials(observations, names).values(), default=0)
    for more in _FORESEEN:
        odds = _chances(observations, fitted, group, rules, more)
        if odds is not None and max(odds.near.values()) >= rules.confidence:
            return math.ceil(blocks * more)
    return None


def _chances(
    observations: Sequence[Observation],
    fitted: Fit | None,
    group: Mapping[str, frozenset[str]],
    rules: Rules,
    more: float = 1.0,
) -> Chances | None:
    """Return the chances of all candidates of a fit; those that are known to be the same share theirs."""
    if fitted is None or fitted.dof == 0:
        return None
    # Of each group the one whose name comes first in the fit stands for all; which one that is decides nothing.
    stands = {name: next(other for other in fitted.names if other in group[name]) for name in fitted.names}
    leading = list(dict.fromkeys(stands.values()))
    if len(leading) == len(fitted.names):
        return chances(fitted, rules.worthwhile, more=more)
    merged = fit(
        [replace(trial, candidate=stands[trial.candidate]) for trial in observations if trial.candidate in stands], leading
    )
    if merged is None or merged.dof == 0:
        return None
    odds = chances(merged, rules.worthwhile, more=more)
    return Chances({name: odds.near[stands[name]] for name in fitted.names}, odds.all_near)


def _of_shown(outcome: Outcome, winners: Sequence[str], leader: str, baseline: str, *, measured: bool) -> str | None:
    """Return the choice where intervals have shown the outcome; a baseline that could not be measured is none."""
    if baseline in winners or (outcome is Outcome.NO_WORTHWHILE_DIFFERENCE and measured):
        return baseline
    if outcome is Outcome.NO_WORTHWHILE_DIFFERENCE:
        return leader
    return leader if outcome in (Outcome.WINNER, Outcome.TIE) else None


def _most_probable(odds: Chances, fitted: Fit) -> str:
    return max(fitted.names, key=lambda name: (odds.near[name], fitted.effects[fitted.names.index(name)]))


def _of_chances(odds: Chances, fitted: Fit, baseline: str, rules: Rules, alpha: float) -> tuple[Outcome, str | None]:
    """Return the outcome that chances allow, and the choice; the baseline goes before one that was not shown to be better."""
    needed = rules.confidence
    if odds.all_near >= needed and baseline in odds.near:
        return Outcome.NO_WORTHWHILE_DIFFERENCE, baseline
    of_baseline = odds.near.get(baseline, 0.0)
    best = _most_probable(odds, fitted)
    if of_baseline >= needed:
        return Outcome.SAFE_CHOICE, baseline
    if odds.near[best] >= needed:
        shown = baseline in fitted.names and (fitted.ratio(best, baseline, alpha).low or 0.0) > 1
        return Outcome.SAFE_CHOICE, baseline if of_baseline >= _GOOD_ENOUGH and not shown else best
    return Outcome.UNRESOLVED, None


def widest_fit(observations: Sequence[Observation], names: Sequence[str], baseline: str) -> Fit | None:
    """Fit all candidates that have trials or, where they fall apart, those connected to each other by most trials.

    Returns:
        The fit; None where no two candidates can be compared.
    """
    trials = _trials(observations, names)
    if not trials:
        return None
    groups = components(observations, list(trials))
    return fit(observations, max(groups, key=lambda group: (sum(trials[name] for name in group), baseline in group)))


def ratios(fitted: Fit | None, names: Sequence[str], baseline: str, alpha: float) -> dict[str, Estimate | None]:
    """Return each candidate's ratio to the baseline; None where the two cannot be compared."""
    compared = fitted.names if fitted is not None and baseline in fitted.names else ()
    return {name: fitted.ratio(name, baseline, alpha) if fitted and name in compared else None for name in names}


def _trials(observations: Sequence[Observation], names: Sequence[str]) -> dict[str, int]:
    counts = {name: sum(trial.candidate == name for trial in observations) for name in names}
    return {name: count for name, count in counts.items() if count}


def _groups(names: Sequence[str], identical: Sequence[frozenset[str]]) -> dict[str, frozenset[str]]:
    group = {name: frozenset({name}) for name in names}
    for same in identical:
        merged = frozenset().union(*(group[name] for name in names if name in same))
        group |= dict.fromkeys(merged, merged)
    return group


def _all_one(names: Sequence[str], present: Sequence[str], group: Mapping[str, frozenset[str]]) -> bool:
    """Return whether there is nothing to compare: all candidates are one setting, or all of several that have trials."""
    compared = present if len(present) > 1 else names
    return bool(present) and len({group[name] for name in compared}) == 1


def _standings(
    fitted: Fit, leader: str, group: Mapping[str, frozenset[str]], alpha: float, worthwhile: float
) -> dict[str, CandidateState]:
    """Return how each other candidate of the fit stands to the leader.

    The result of one candidate holds for every other one with identical effective settings.
    """
    states = {}
    for name in fitted.names:
        pairs = [(a, b) for a in group[name] for b in group[leader] if a in fitted.names and b in fitted.names]
        results = {state_of(fitted.ratio(a, b, alpha), worthwhile) for a, b in pairs}
        if group[name] == group[leader] or CandidateState.TIES in results:
            states[name] = CandidateState.TIES
        else:
            states[name] = CandidateState.LOSES if CandidateState.LOSES in results else CandidateState.OPEN
    return states
