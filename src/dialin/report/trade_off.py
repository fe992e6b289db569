"""Throughput against steadiness in words: which candidates nothing else beats at both, and how surely they differ."""

from __future__ import annotations

from collections.abc import Mapping

from dialin.model.study import Goal
from dialin.model.verdict import CandidateState, CandidateVerdict, Estimate, Verdict
from dialin.text import listed


def placed(verdict: Verdict) -> list[CandidateVerdict]:
    """Return the candidates whose throughput and variation are known: those that have a place in the chart."""
    return [one for one in verdict.candidates if one.tps is not None and one.cv is not None]


def front(verdict: Verdict) -> list[CandidateVerdict]:
    """Return the candidates that no other one beats at both, from the steadiest, which is the slowest, to the fastest."""
    return sorted((one for one in placed(verdict) if one.pareto), key=_place)


def trade_off(verdict: Verdict, labels: Mapping[str, str]) -> str:
    """Return the choice between fast and steady candidates; empty if one is best at both, or all differences may be chance."""
    ends = front(verdict)
    if len(ends) < 2:
        return ""
    steadiest, fastest = ends[0], ends[-1]
    doubted = _doubted(steadiest, fastest, verdict)
    if len(doubted) > 1:
        return ""
    between = [labels[one.name] for one in ends[1:-1]]
    middle = f"; between: {listed(between)}" if between else ""
    others = " Every other candidate is worse in both than one of these." if len(ends) < len(placed(verdict)) else ""
    doubt = f" Their intervals of {doubted[0]} overlap." if doubted else ""
    return f"Fastest: {labels[fastest.name]}; steadiest: {labels[steadiest.name]}{middle}.{others}{doubt}"


def _doubted(steadiest: CandidateVerdict, fastest: CandidateVerdict, verdict: Verdict) -> list[str]:
    """Return the measures by which the two ends of the front may be equal; what the verdict proved is not doubted."""
    proven = {one.name for one in verdict.candidates if one.state is CandidateState.WINS}
    speed_proven = verdict.goal is Goal.THROUGHPUT and fastest.name in proven
    calm_proven = verdict.goal is Goal.STABILITY and steadiest.name in proven
    return [
        *(["throughput"] if not speed_proven and _may_equal(steadiest.ratio, fastest.ratio) else []),
        *(["CV"] if not calm_proven and _may_equal(steadiest.cv, fastest.cv) else []),
    ]


def _place(candidate: CandidateVerdict) -> float:
    return candidate.tps.mean if candidate.tps else 0.0


def _may_equal(one: Estimate | None, other: Estimate | None) -> bool:
    return one is None or other is None or one.may_equal(other)
