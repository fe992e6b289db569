"""Trials of known truth on the time axis."""

import math

from dialin.stats.trial_fit import TimedTrial

WIGGLE = [-0.002, 0.001, 0.002, -0.001, 0.0, 0.0015, -0.0015, 0.0005]
SECONDS = 60.0


def wiggle(factor):
    return [factor * step for step in WIGGLE]


def study(blocks=6, drift=0.005, wiggle=WIGGLE, error=0.0, **levels):
    """Complete blocks: candidates at known levels, small fixed deviations, a steady drift of so much per block."""
    trials, count = [], len(levels)
    for block in range(blocks):
        for place, (name, level) in enumerate(levels.items() if block % 2 == 0 else reversed(levels.items())):
            number = block * count + place
            value = level * math.exp(drift * number / count + wiggle[(3 * block + 5 * list(levels).index(name)) % len(wiggle)])
            trials.append(TimedTrial("run", name, SECONDS * number, value, error))
    return trials


def noisy_study(rng, levels, blocks, sd, *, drift=0.03, noisier=None, error=0.0):
    """Blocks in random order, a drift that wanders smoothly, and noise from trial to trial.

    `noisier` says by how much each candidate's trials are noisier than the others'.
    """
    noisier = noisier or {}
    phase, trials = rng.uniform(0, 6), []
    total = blocks * len(levels)
    for number, name in enumerate(name for _ in range(blocks) for name in rng.permutation(list(levels))):
        share = noisier.get(str(name), 1.0)
        shift = drift * math.sin(phase + 4 * number / total) + rng.normal(scale=sd * share)
        trials.append(TimedTrial("run", str(name), SECONDS * number, levels[str(name)] * math.exp(shift), error * share))
    return trials
