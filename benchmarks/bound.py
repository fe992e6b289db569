"""The fewest trials, on average, in which any method could answer with 95 % confidence, to compare the minutes of a study with.

The bound is that of fixed-confidence identification of a best arm (Garivier and Kaufmann, COLT 2016; several right answers:
Degenne and Koolen, NeurIPS 2019): T* kl(0.05, 0.95) trials, where T* follows from the true levels and the noise of each
candidate, as if noise and drift were known beforehand and each trial went where it tells most.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy.optimize import minimize_scalar

_ERROR = 0.05
INFORMATION = (1 - 2 * _ERROR) * math.log((1 - _ERROR) / _ERROR)
"""kl(0.05, 0.95): what an answer with 95 % confidence takes, in nats."""


def trials_to_choose(levels: Sequence[float], noise: Sequence[float], margin: float) -> float:
    """Return the bound for a choice that no candidate exceeds by more than a margin: the easiest of all right answers.

    Args:
        levels: of the candidates, log scale.
        noise: standard deviation of one trial of each, log scale.
        margin: what does not matter, log scale.
    """
    right = [i for i, level in enumerate(levels) if level >= max(levels) - margin - 1e-9]
    return min(_trials(levels, noise, i, margin) for i in right)


def trials_to_show_better(levels: Sequence[float], noise: Sequence[float], baseline: int = 0) -> float | None:
    """Return the bound for the claim that one candidate is better than the baseline: the easiest one; None where none is."""
    return min(
        (
            2 * INFORMATION * ((noise[i] + noise[baseline]) / (level - levels[baseline])) ** 2
            for i, level in enumerate(levels)
            if level > levels[baseline]
        ),
        default=None,
    )


def _trials(levels: Sequence[float], noise: Sequence[float], answer: int, margin: float) -> float:
    """Return the bound where the answer is one candidate: trials that refute each other one as the best, shared best.

    With w trials of the answer and w_j of another, the evidence against that other is d² / 2 / (s² / w + s_j² / w_j). All
    others share one evidence c for each trial of the answer where trials are shared best, which gives the w_j for a c.
    """
    others = [(levels[answer] - levels[j] + margin, noise[j]) for j in range(len(levels)) if j != answer]
    most = min(d**2 for d, _ in others) / (2 * noise[answer] ** 2)

    def trials(share: float) -> float:
        evidence = share * most
        rest = sum(s**2 / (d**2 / (2 * evidence) - noise[answer] ** 2) for d, s in others)
        return (1 + rest) / evidence

    best = minimize_scalar(trials, bounds=(1e-6, 1 - 1e-6), method="bounded")
    return INFORMATION * float(best.fun)
