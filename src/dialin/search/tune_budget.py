"""What the minutes of a tune are enough for: how many variables, which share is the proof, and which gain that can show."""

from __future__ import annotations

import math

from dialin.search.proof import CONFIDENCE
from dialin.search.trial_records import Options
from dialin.stats.forecast import detectable, fewest_trials

TRIALS_PER_VARIABLE = 3
"""Trials of a tune, its proof included, for each variable that is chosen without being named.

With fewer, the start design has too few settings to show each variable by itself (benchmarks/tune.py --choose).
"""
FEWEST_VARIABLES = 3
MOST_VARIABLES = 30
"""The most variables that are chosen: more than the trials of an hour can separate."""

FEWEST_BLOCKS = 2.5
"""Blocks that the proof needs at least to compare two changes, each of them by itself, both, and the baseline."""
_MOST_PROOF = 0.5
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
    return max(options.proof_share, min(_MOST_PROOF, least / (60 * options.minutes)))


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
