"""The differences that a number of blocks can detect, and the blocks that a difference takes."""

from __future__ import annotations

import math

from scipy.special import stdtrit

_POWER = 0.8
_MOST_BLOCKS = 100_000
_FEWEST = 2


def detectable(sd: float, candidates: int, blocks: int, *, confidence: float, worthwhile: float) -> float:
    """Return the smallest relative difference that so many blocks settle four times out of five.

    Settled means that the better one of two candidates is taken for within what is worthwhile of the best, and all others
    are not, at the study's confidence (Bonferroni for those others).

    Args:
        sd: standard deviation of one trial within its block, on the log scale.
        candidates: how many there are, two at least.
        blocks: trials of each.
        confidence: how sure the choice must be.
        worthwhile: the smallest relative difference that matters, which is also the least that can be settled.
    """
    reach = _reach(candidates, blocks, confidence) * sd * math.sqrt(2 / blocks)
    return max(worthwhile, math.expm1(min(reach - math.log1p(worthwhile), 50.0)))


def blocks_for(difference: float, sd: float, candidates: int, *, confidence: float, worthwhile: float) -> int:
    """Return how many blocks settle a relative difference as `detectable` has it, at most 100,000.

    A difference smaller than `worthwhile` need not be settled.
    """
    room = math.log1p(max(difference, worthwhile)) + math.log1p(worthwhile)
    low, high = _FEWEST - 1, _FEWEST
    while high < _MOST_BLOCKS and _reach(candidates, high, confidence) * sd * math.sqrt(2 / high) > room:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if _reach(candidates, middle, confidence) * sd * math.sqrt(2 / middle) > room:
            low = middle
        else:
            high = middle
    return min(high, _MOST_BLOCKS)


def _reach(candidates: int, blocks: int, confidence: float) -> float:
    """Return how many standard errors of a difference must lie between two candidates."""
    dof = max(1, (blocks - 1) * (candidates - 1))
    return float(stdtrit(dof, 1 - (1 - confidence) / (candidates - 1)) + stdtrit(dof, _POWER))
