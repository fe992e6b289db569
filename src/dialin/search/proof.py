"""What fresh trials of the proof say: gain, interval and claim, by the statistics of every study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dialin.model.verdict import AgainstBest
from dialin.stats.allocation import next_block
from dialin.stats.decide import Decision, Rules, decide
from dialin.stats.posterior import chances
from dialin.stats.trial_fit import TimedTrial, fit_trials

CONFIDENCE = 0.95
_WORSE = (AgainstBest.BEHIND, AgainstBest.LOSES)


def decide_proof(trials: Sequence[TimedTrial], names: Sequence[str], baseline: str, worthwhile: float) -> Decision:
    """Return the decision by the trials of the proof, made as that of a study."""
    return decide(trials, names, baseline, _rules(worthwhile))


def _rules(worthwhile: float) -> Rules:
    return Rules(worthwhile=worthwhile, confidence=CONFIDENCE)


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
    statics: Sequence[tuple[object, ...]], running: tuple[object, ...] | None, rng: np.random.Generator
) -> list[int]:
    """Return the order of a block: random, but candidates with one static part in a row, the running server's first."""
    groups = list(dict.fromkeys(statics))
    rng.shuffle(groups)
    groups.sort(key=lambda group: group != running)
    order: list[int] = []
    for group in groups:
        members = [index for index, static in enumerate(statics) if static == group]
        order += [int(member) for member in rng.permutation(members)]
    return order
