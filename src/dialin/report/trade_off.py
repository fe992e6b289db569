"""Throughput against steadiness: which candidates nothing else beats at both, and how surely they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dialin.evidence import measured
from dialin.measures.of_trials import goal_ratio, timed_trials
from dialin.model.record import StudyRecord
from dialin.model.study import Goal
from dialin.model.trial import Purpose, TrialState
from dialin.model.verdict import CandidateVerdict, Estimate, Outcome, Verdict
from dialin.stats.standings import FEWEST_COMPARED
from dialin.stats.trial_fit import fit_trials
from dialin.text import listed


@dataclass(frozen=True, slots=True)
class PairComparison:
    """One candidate's figures as ratios to another's; None where the two cannot be compared."""

    throughput: Estimate | None = None
    cv: Estimate | None = None


def compare_pair(record: StudyRecord, one: str, other: str) -> PairComparison:
    """Return how the throughput and the coefficient of variation of one candidate compare with those of another."""
    names = (one, other)
    trials = [
        trial
        for trial in record.trials
        if trial.candidate in names and trial.purpose is Purpose.RACE and trial.state is TrialState.DONE
    ]

    def ratio(goal: Goal) -> Estimate | None:
        fitted = fit_trials(timed_trials(trials, measured.figures(record), goal), names)
        if fitted is None or set(fitted.names) != set(names):
            return None
        return goal_ratio(fitted.ratio(one, other, record.spec.alpha), goal)

    return PairComparison(ratio(Goal.THROUGHPUT), ratio(Goal.STABILITY))


def plotted_candidates(verdict: Verdict) -> list[CandidateVerdict]:
    """Return the candidates that have a place in the chart: a single trial does not show how steady a candidate is."""
    return [one for one in verdict.candidates if one.tps is not None and one.cv is not None and one.trials >= FEWEST_COMPARED]


def pareto_candidates(verdict: Verdict) -> list[CandidateVerdict]:
    """Return the candidates that no other one beats at both, from the steadiest, which is the slowest, to the fastest."""
    return sorted((one for one in plotted_candidates(verdict) if one.pareto), key=lambda one: one.tps.mean if one.tps else 0.0)


def compare_ends(record: StudyRecord, verdict: Verdict) -> PairComparison:
    """Return how the fastest candidate of the front compares with the steadiest."""
    ends = pareto_candidates(verdict)
    return compare_pair(record, ends[-1].name, ends[0].name) if len(ends) > 1 else PairComparison()


def trade_off(verdict: Verdict, labels: Mapping[str, str], compared: PairComparison) -> str:
    """Return the choice between fast and steady candidates; empty if one is best at both, or both differences may be chance.

    `compared` is the fastest candidate of the front against the steadiest.
    """
    ends = pareto_candidates(verdict)
    if len(ends) < 2:
        return ""
    steadiest, fastest = ends[0], ends[-1]
    inconclusive = _inconclusive_measures(steadiest, fastest, verdict, compared)
    if len(inconclusive) > 1:
        return ""
    between = [labels[one.name] for one in ends[1:-1]]
    middle = f"; between: {listed(between)}" if between else ""
    others = (
        " Every other candidate is worse in both than one of these." if len(ends) < len(plotted_candidates(verdict)) else ""
    )
    caveat = f" Their difference in {inconclusive[0]} is inconclusive." if inconclusive else ""
    return f"Fastest: {labels[fastest.name]}; steadiest: {labels[steadiest.name]}{middle}.{others}{caveat}"


def _inconclusive_measures(
    steadiest: CandidateVerdict, fastest: CandidateVerdict, verdict: Verdict, compared: PairComparison
) -> list[str]:
    """Return the measures in which the two ends of the front may be equal; what the verdict proved is not among them."""
    proven = set(verdict.winners) if verdict.verdict is Outcome.WINNER else set()
    is_faster = compared.throughput is not None and compared.throughput.excludes_one
    is_steadier = compared.cv is not None and compared.cv.excludes_one
    return [
        *([] if is_faster or (verdict.goal is Goal.THROUGHPUT and fastest.name in proven) else ["throughput"]),
        *([] if is_steadier or (verdict.goal is Goal.STABILITY and steadiest.name in proven) else ["CV"]),
    ]
