"""What fresh trials of the proof say, by the statistics of every study, and what the minutes of a tune are enough for."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from dialin.model.verdict import AgainstBest
from dialin.search.trial_records import Options, TrialOutcome
from dialin.stats.allocation import SIZE, next_block, pair_order
from dialin.stats.decide import Decision, Rules, decide
from dialin.stats.forecast import detectable, fewest_trials
from dialin.stats.posterior import chances
from dialin.stats.trial_fit import TimedTrial, fit_trials

CONFIDENCE = 0.95
_WORSE = (AgainstBest.BEHIND, AgainstBest.LOSES)


def decide_proof(
    trials: Sequence[TimedTrial], names: Sequence[str], baseline: str, worthwhile: float, *, proofs: int = 1
) -> Decision:
    """Return the decision by the trials of the proof, made as that of a study; `proofs` counts it and those before it."""
    return decide(trials, names, baseline, _rules(worthwhile, proofs))


def _rules(worthwhile: float, proofs: int = 1) -> Rules:
    return Rules(worthwhile=worthwhile, confidence=CONFIDENCE, proofs=proofs)


def next_candidates(trials: Sequence[TimedTrial], names: Sequence[str], baseline: str, worthwhile: float) -> list[str]:
    """Return the candidates of the next block: the contenders, by the allocation of a study, and the baseline always.

    The gain of what is recommended is quoted, so the baseline needs as many trials as the best set. Sets that are clearly worse
    get no further trials.
    """
    states = decide_proof(trials, names, baseline, worthwhile).states
    remaining = [name for name in names if name == baseline or states[name] not in _WORSE or not trials]
    contenders = next_block(trials, remaining, baseline, _rules(worthwhile))
    return [name for name in remaining if name == baseline or name in contenders]


def chances_of(trials: Sequence[TimedTrial], names: Sequence[str], worthwhile: float) -> Mapping[str, float]:
    """Return how probable each set is to be within what is worthwhile of the best of them, by the trials of the proof."""
    fitted = fit_trials(trials, names)
    return chances(fitted, worthwhile).near if fitted is not None else dict.fromkeys(names, 1.0)


def excludes_gain(decision: Decision, names: Sequence[str], worthwhile: float) -> bool:
    """Return whether the intervals of all named sets lie below a worthwhile gain."""
    ratios = [decision.ratios.get(name) for name in names]
    return all(ratio is not None and ratio.high is not None and ratio.high < 1 + worthwhile for ratio in ratios)


def proof_block_order(
    names: Sequence[str],
    statics: Sequence[tuple[object, ...]],
    running: tuple[object, ...] | None,
    before: Sequence[Sequence[str]],
    seed: int,
    *,
    is_last: bool,
) -> list[str]:
    """Return the order of a block: random, but candidates with one static part in a row, the running server's first.

    Two that were alone in the earlier blocks, too, take turns as in a study of two.

    Args:
        names: the candidates of the block.
        statics: of each, what only a start of its server can set.
        running: the same of the server that runs; None where none does.
        before: the orders of the earlier blocks.
        seed: that of the tune.
        is_last: whether the time holds no block after this one.
    """
    rng = random.Random(f"{seed}/proof/{len(before)}")  # noqa: S311 - an order, not a secret
    order = rng.sample(names, len(names))
    if len(order) == SIZE and (drawn := pair_order(order, before, rng, is_last=is_last)):
        return drawn
    of = dict(zip(names, statics, strict=True))
    groups = list(dict.fromkeys(of[name] for name in order))
    return sorted(order, key=lambda name: (of[name] != running, groups.index(of[name])))


_FEWEST_TO_LEAVE_OUT = 5
"""Trials of a candidate, of which one may be left out: with four of two candidates nothing would be left to decide by."""


def left_out(outcomes: Sequence[TrialOutcome], disturbed: Collection[int]) -> list[int]:
    """Return the places of the trials that do not count in the proof: the only disturbed one of each candidate with five.

    A candidate that is slow twice is slow by itself. `disturbed` are the places of all disturbed trials among the outcomes.
    """
    trials = Counter(one.ask.candidate for one in outcomes if one.ok)
    slow = Counter(outcomes[place].ask.candidate for place in disturbed)
    alone = {name for name, count in slow.items() if name and count == 1 and trials[name] >= _FEWEST_TO_LEAVE_OUT}
    return [place for place in disturbed if outcomes[place].ask.candidate in alone]


TRIALS_PER_VARIABLE = 3
"""Trials of a tune, its proof included, for each variable that is chosen without being named.

With fewer, the start design has too few settings to show each variable by itself (benchmarks/tune.py --choose).
"""
FEWEST_VARIABLES = 3
MOST_VARIABLES = 30
"""The most variables that are chosen: more than the trials of an hour can separate."""

FEWEST_BLOCKS = 2.5
"""Blocks that the proof needs at least to compare two changes, each of them by itself, both, and the baseline."""
MOST_PROOF = 0.5
"""The largest share of a short budget that the proof takes to have four blocks of one set and the baseline."""


def separable_variables(trials: int) -> int:
    """Return how many variables a number of trials can tell apart, those of the proof included."""
    return max(FEWEST_VARIABLES, min(MOST_VARIABLES, trials // TRIALS_PER_VARIABLE))


def minutes_to_separate(variables: int, trial_seconds: float) -> int:
    """Return the minutes that tell a number of variables apart, in steps of five; `trial_seconds` is what a trial takes."""
    return 5 * math.ceil(variables * TRIALS_PER_VARIABLE * trial_seconds / 300)


def proof_share(options: Options, *, restarts: bool) -> float:
    """Return the proof's share of the budget: a quarter of a short budget is too little to prove anything.

    `restarts` is whether any variable needs a start of the server.
    """
    restart = options.start_seconds - options.set_seconds if restarts else 0.0
    trial = options.proof_seconds + options.set_seconds
    least = max(fewest_trials(2) * (trial + restart / 2), FEWEST_BLOCKS * (4 * trial + 3 * restart))
    return max(options.proof_share, min(MOST_PROOF, least / (60 * options.minutes)))


def proof_seconds(options: Options, share: float, spent: float = 0.0) -> float:
    """Return the seconds of the proof that has a share of the budget, or half of what is left where a tune resumes.

    `spent` are the seconds before that; 0 for a new tune.
    """
    total = 60 * options.minutes
    return min(share * total, (total - spent) / 2) if spent else share * total


def provable_gain(options: Options, *, restarts: bool, noise: float | None = None, spent: float = 0.0) -> float | None:
    """Return the smallest gain that the proof shows four times out of five, relative; None where it has too few trials.

    Args:
        options: the budget, and what trials cost.
        restarts: whether any variable needs a start of the server.
        noise: standard deviation of a trial of the proof, on the log scale; None for the expected one.
        spent: minutes before the tune is resumed; 0 for a new one.
    """
    restart = options.start_seconds - options.set_seconds if restarts else 0.0
    seconds = proof_seconds(options, proof_share(options, restarts=restarts), 60 * spent)
    trials = int(seconds / (options.proof_seconds + options.set_seconds + restart / 2))
    if trials < fewest_trials(2):
        return None
    sd = math.sqrt(options.variance(options.proof_seconds)) if noise is None else noise
    return detectable(sd, 2, trials, confidence=CONFIDENCE)
