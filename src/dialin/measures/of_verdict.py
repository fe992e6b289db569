"""What a verdict says by the measure of its goal: the ratio that decides, and whether it is an improvement."""

from __future__ import annotations

from dialin.measures.table import MEASURES, Measure
from dialin.model.study import Goal
from dialin.model.verdict import CandidateVerdict, Estimate, Verdict
from dialin.model.workload import LoadTraits


def measure_of(verdict: Verdict) -> Measure:
    """Return what a verdict was reached by, with its texts for the study's load."""
    traits = LoadTraits.model_validate(verdict.workload.get("traits", {}))
    return MEASURES[verdict.goal].filled(verdict.percentile, traits.unit)


def deciding(candidate: CandidateVerdict, verdict: Verdict) -> Estimate | None:
    """Return the candidate's ratio to the baseline that decides the verdict."""
    return candidate.ratio if verdict.goal is Goal.THROUGHPUT else candidate.goal_ratio


def improvement(ratio: Estimate, verdict: Verdict) -> int:
    """Return 1 where the whole interval is better than the baseline, -1 where all of it is worse, else 0."""
    if not ratio.excludes_one:
        return 0
    return 1 if (ratio.mean > 1) == MEASURES[verdict.goal].higher_is_better else -1


def band(verdict: Verdict) -> tuple[float, float]:
    """Return the ratios between which a difference is too small to matter."""
    return 1 / (1 + verdict.worthwhile), 1 + verdict.worthwhile


def capital(noun: str) -> str:
    """Return a noun with a capital first letter; the rest of it stays as it is."""
    return noun[:1].upper() + noun[1:]
