"""Which candidates the next block runs, and how two take turns: trials go to those that may still be the best."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Sequence

from dialin.model.study import Until
from dialin.stats.decide import Rules, representatives, with_representatives
from dialin.stats.posterior import chances
from dialin.stats.standings import leader_of
from dialin.stats.trial_fit import FEWEST_TO_CLAIM, TimedTrial, TrialFit, fit_trials

SIZE = 2
"""Candidates in each block once all have a trial. In simulation, blocks of three need a fifth more trials for a safe choice."""


def next_block(
    trials: Sequence[TimedTrial],
    names: Sequence[str],
    baseline: str,
    rules: Rules,
    until: Until = Until.SAFE,
    *,
    identical: Sequence[frozenset[str]] = (),
) -> tuple[str, ...]:
    """Return the candidates of the next block: those without a trial, those whose only one is doubted, and contenders.

    Once a candidate other than the baseline is very probably near the best, they are that one and the baseline, as long as the
    two do not differ by what the choice needs, and always with `Until.BETTER`; never with `Until.BEST`, which is about all.

    `identical` are groups of candidates with the same effective setting: once all have a trial, one of each group runs for all.
    """
    counts = Counter(trial.candidate for trial in trials)
    missing = tuple(name for name in names if not counts[name])
    if len(missing) >= SIZE:
        return missing
    stands_for = representatives(names, identical, baseline)
    trials, names = with_representatives(trials, stands_for), tuple(dict.fromkeys(stands_for.values()))
    fitted = fit_trials(trials, names)
    doubted = fitted.doubted if fitted is not None else ()
    if not doubted and until is not Until.BEST and fitted is not None and baseline in fitted.names:
        odds = chances(fitted, rules.worthwhile).near
        likeliest = max(odds, key=lambda name: odds[name])
        needed = rules.needed(fitted)
        if likeliest != baseline and odds[likeliest] >= needed.probable:
            difference = rules.read(fitted).difference(likeliest, baseline)
            if until is Until.BETTER or difference.z() < needed.leave:
                return likeliest, baseline
    if fitted is None:
        best = {name: max((trial.value for trial in trials if trial.candidate == name), default=0.0) for name in names}
        chosen = (*missing, *sorted(names, key=lambda name: -best[name]))
    else:
        chosen = (*missing, *doubted, *contenders(fitted, baseline, rules, until))
    return tuple(dict.fromkeys(chosen))[:SIZE]


def pair_order(
    pair: Sequence[str], before: Sequence[Sequence[str]], rng: random.Random, *, is_last: bool = False
) -> list[str] | None:
    """Return the order of a block of two candidates; None where an earlier block had others, or there is none.

    Each trial is drawn by a fair coin, and a block that has one of them twice is followed by one that has the other twice. So
    each follows itself as often as the other, and what a trial leaves behind for the next one favours none. Were each block one
    trial of each, a job of the machine that returns after a few trials would make neighbours unlike: differences would vary
    more than their trials show. And were the last one always the first again, the order would repeat itself after four trials,
    and could keep time with the job.

    Args:
        pair: the two, in an order that has been drawn.
        before: the orders of the blocks that ran on the same host, the last one last.
        rng: draws the order.
        is_last: whether the budget holds no block after this one, to make up for one candidate twice.
    """
    if not before or not all(set(one) <= set(pair) for one in before):
        return None
    twice = list(itertools.takewhile(lambda one: len(set(one)) == 1, reversed(before)))
    if len(twice) % 2:
        return [name for name in pair if name != twice[0][0]] * 2
    return list(pair) if is_last else rng.choices(pair, k=2)


def contenders(fitted: TrialFit, baseline: str, rules: Rules, until: Until = Until.SAFE) -> tuple[str, ...]:
    """Return the candidates of the next block, the most urgent first.

    They are the leader, then the challengers that are cheapest to refute. The cost of a challenger is the evidence that it is
    not better than the leader by more than what is worthwhile, plus the logarithm of its number of trials, so that none is
    forgotten (the information directed form of minimum empirical divergence: Honda and Takemura, COLT 2010). A block leaves out
    the leader when it has more than its share of the trials; that share identifies the best of several soonest (top-two
    sampling: Russo, COLT 2016; the balance is Glynn and Juneja's, Winter Simulation Conference 2004).

    A study that is to show something needs a few trials of every candidate for it, so that no evidence spares one of them more
    than a claim would need.
    """
    leader = leader_of(dict(zip(fitted.names, fitted.effects.tolist(), strict=True)), fitted.names, baseline)
    trials = dict(zip(fitted.names, fitted.trials.tolist(), strict=True))
    enough = rules.needed(fitted).best ** 2 / 2
    precision = {name: trials[name] ** 2 / variance for name, variance in zip(fitted.names, fitted.variances, strict=True)}

    def cost(name: str) -> float:
        difference = fitted.difference(leader, name)
        evidence = max(difference.mean + rules.margin, 0.0) ** 2 / (2 * difference.error**2)
        if until is not Until.SAFE and trials[name] < FEWEST_TO_CLAIM:
            evidence = min(evidence, enough)
        return evidence + math.log(trials[name])

    challengers = sorted((name for name in fitted.names if name != leader), key=cost)
    if precision[leader] < sum(precision[name] for name in challengers):
        return (leader, *challengers[: SIZE - 1])
    return tuple(challengers[:SIZE]) if len(challengers) >= SIZE else (leader, *challengers)
