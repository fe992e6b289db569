"""Which candidates' servers fail more often than the baseline's, so that they are never recommended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import comb

_CHANCE = 0.2
"""The p value above which an excess of failures is attributed to the machine, where the baseline's server failed as well. It is
high, because passing over a safe candidate costs less than recommending one that crashes."""


@dataclass(frozen=True, slots=True)
class Failures:
    """How often a candidate's server failed: it died, hung, ran out of memory or refused to start."""

    failed: int
    trials: int


def unsafe(failures: Mapping[str, Failures], baseline: str) -> frozenset[str]:
    """Return the candidates whose servers failed more often than the baseline's.

    Where the baseline's server never failed, one failure is enough. Where it did, the machine or the load may make every server
    fail, so a candidate is unsafe only if its excess is unlikely to be chance (Fisher's exact test, one-sided, p value below
    0.2).
    """
    reference = failures.get(baseline, Failures(0, 0))
    return frozenset(
        name
        for name, one in failures.items()
        if name != baseline
        and one.failed > reference.failed
        and (not reference.failed or _chance_of_as_many(one, reference) < _CHANCE)
    )


def _chance_of_as_many(one: Failures, reference: Failures) -> float:
    """Return the probability of at least this many failures, were both equally likely to fail (hypergeometric tail)."""
    failed = one.failed + reference.failed
    ways = [comb(one.trials, k) * comb(reference.trials, failed - k) for k in range(one.failed, min(failed, one.trials) + 1)]
    return sum(ways) / comb(one.trials + reference.trials, failed)
