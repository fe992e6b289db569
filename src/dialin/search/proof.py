"""What fresh trials of the proof say: the interval of the gain, by the statistics of every study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dialin.model.verdict import CandidateState, Estimate
from dialin.stats.blocks import Observation, fit
from dialin.stats.decide import Decision, Rules
from dialin.stats.throughput import TrialSpeed, decide_throughput

WORTHWHILE = 0.02
"""The smallest set that is safely within this of the best one is recommended; a gain below it is nothing."""
CONFIDENCE = 0.95
_RULES = Rules(worthwhile=WORTHWHILE, confidence=CONFIDENCE)


@dataclass(frozen=True, slots=True)
class ProofTrial:
    """A completed trial of the proof."""

    block: int
    candidate: str
    throughput: float


def judge(trials: Sequence[ProofTrial], names: Sequence[str], baseline: str) -> Decision:
    """Return what the trials show, by the decision of a study; their order stands for their time."""
    speeds = [TrialSpeed(0, one.candidate, place, one.throughput, one.throughput) for place, one in enumerate(trials)]
    return decide_throughput(speeds, names, baseline, _RULES)


def ratio_to_baseline(trials: Sequence[ProofTrial], names: Sequence[str], candidate: str, baseline: str) -> Estimate | None:
    """Return a candidate's throughput as a ratio to the baseline's; None while that cannot be estimated."""
    fitted = fit([Observation(trial.block, trial.candidate, trial.throughput) for trial in trials], names)
    return fitted.ratio(candidate, baseline, 1 - CONFIDENCE) if fitted else None


def who_leaves(trials: Sequence[ProofTrial], names: Sequence[str], racing: Sequence[str], baseline: str) -> frozenset[str]:
    """Return the candidates that get no further trials: clearly worse than the best; never the baseline, nor its last rival."""
    decision = judge(trials, names, baseline)
    worse = (CandidateState.BEHIND, CandidateState.LOSES)
    gone = {name for name in racing if name != baseline and decision.states[name] in worse}
    if gone and not set(racing) - gone - {baseline}:
        gone.remove(max(gone, key=lambda name: (decision.chances.get(name, 0.0), name)))
    return frozenset(gone)


def block_order(
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
