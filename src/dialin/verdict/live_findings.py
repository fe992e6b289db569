"""The findings of a study on live traffic in addition to its verdict, and the caveats that follow from them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from dialin.measures.of_trials import goal_ratio
from dialin.measures.table import COSTS
from dialin.model.cause import Fault
from dialin.model.live import PERIOD
from dialin.model.study import Goal, StudySpec
from dialin.model.traffic import ALL_SATURATED, TrafficTotals
from dialin.model.trial import Trial, TrialState
from dialin.model.verdict import Estimate, LiveCandidate, LiveFindings
from dialin.sentences import live_notes as caveats
from dialin.sentences.note import TypedNote
from dialin.stats.decide import Rules
from dialin.stats.switchback import QUADS_TO_DECIDE, Switchback, fit_periods, washout_needed
from dialin.stats.trial_figures import Figures
from dialin.verdict.live_periods import (
    Measured,
    cpu_share,
    goal_periods,
    longest_washout,
    measured_periods,
    share_saturated,
    switchback,
    washout_of,
)

_MOSTLY = 0.5
"""The share of saturated periods from which a study without throughput as its goal has a note on saturation."""


def live_findings(
    spec: StudySpec, trials: Sequence[Trial], figures: Mapping[int, Figures], rules: Rules, trips: Mapping[str, int]
) -> LiveFindings:
    """Return the findings from a study's periods; `trips` counts how often the guard restored the baseline, by candidate."""
    measured = measured_periods(trials, figures)
    names = [candidate.name for candidate in spec.candidates]
    result = switchback(spec, trials, figures, names, rules)
    totals = TrafficTotals.of(traffic.totals for _, traffic in measured)
    washout = washout_of(measured)
    costs = {cost: _ratios(measured, cost, names, spec.baseline, rules) for cost in COSTS}
    latencies = {} if spec.goal is Goal.LATENCY else _ratios(measured, Goal.LATENCY, names, spec.baseline, rules)
    shares = [share for trial, traffic in measured if (share := cpu_share(trial, traffic)) is not None]
    return LiveFindings(
        quads=result.quads,
        quads_needed=QUADS_TO_DECIDE,
        statements_per_s=totals.per_second if measured else 0.0,
        cpu_share=statistics.median(shares) if shares else None,
        running=statistics.median(traffic.running for _, traffic in measured) if measured else None,
        saturated=share_saturated(measured),
        second_halves=result.is_late,
        washout=washout or None,
        shorter=len(measured) - len(longest_washout(measured)),
        washout_needed=washout_needed(result, spec.measure or PERIOD, washout),
        own_share=totals.figures.get("own", 0.0) / totals.seconds if measured else 0.0,
        candidates=[_candidate(name, spec.goal, result, latencies, costs, trips.get(name, 0)) for name in names],
    )


def _candidate(
    name: str,
    goal: Goal,
    result: Switchback,
    latencies: Mapping[str, Estimate | None],
    costs: Mapping[Goal, Mapping[str, Estimate | None]],
    trips: int,
) -> LiveCandidate:
    carry_over = result.carry_over.get(name)
    with_load, without_load = (goal_ratio(ratios.get(name), goal) for ratios in (result.adjusted, result.plain))
    return LiveCandidate(
        name=name,
        load=result.load.get(name) or (without_load if goal is Goal.THROUGHPUT else None),
        with_load=with_load,
        without_load=without_load,
        latency=latencies.get(name),
        disagrees=name in result.disagreeing,
        costs={cost: ratio for cost, ratios in costs.items() if (ratio := ratios.get(name)) is not None},
        settling=goal_ratio(carry_over.settling, goal) if carry_over else None,
        after_other=goal_ratio(carry_over.after_other, goal) if carry_over else None,
        carries_over=carry_over is not None and carry_over.is_shown,
        lasts=carry_over is not None and carry_over.lasts,
        trips=trips,
    )


def _ratios(measured: Measured, goal: Goal, names: Sequence[str], baseline: str, rules: Rules) -> dict[str, Estimate | None]:
    """Return each candidate's latency, or its cost per statement, as a ratio to the baseline's."""
    fitted = fit_periods(goal_periods(measured, goal), names)
    if fitted is None or baseline not in fitted.names:
        return {}
    return {name: goal_ratio(fitted.ratio(name, baseline, rules.alpha), goal) for name in fitted.names}


def live_notes(
    spec: StudySpec, findings: LiveFindings, trials: Sequence[Trial], given_up: Sequence[str]
) -> Iterator[TypedNote]:
    """Yield the caveats of a study on live traffic, the gravest first; `given_up` candidates tripped the guard too often."""
    for one in findings.candidates:
        if one.trips:
            yield _trip_note(one, trials, is_given_up=one.name in given_up)
    for one in findings.candidates:
        if one.disagrees and one.with_load and one.without_load and one.load:
            yield caveats.LoadDisagrees(
                candidate=one.name, load=one.load, with_load=one.with_load, without_load=one.without_load
            )
        if one.carries_over or one.lasts:
            yield caveats.CarriesOver(
                candidate=one.name,
                lasts=one.lasts,
                washout_needed=findings.washout_needed,
                settling=one.settling.mean if one.settling else None,
                after_other=one.after_other.mean if one.after_other else None,
            )
        if one.latency is not None and one.latency.low is not None and one.latency.low > 1:
            yield caveats.CostsLatency(candidate=one.name, ratio=one.latency)
    if findings.shorter:
        yield caveats.LongerWashout(washout=findings.washout or 0.0, shorter=findings.shorter)
    if findings.second_halves:
        yield caveats.SecondHalves()
    if findings.quads < findings.quads_needed:
        yield caveats.FewQuads(quads=findings.quads, needed=findings.quads_needed)
    share, cpu, running = findings.saturated, findings.cpu_share, findings.running
    if spec.goal is Goal.THROUGHPUT and findings.saturated < ALL_SATURATED:
        yield caveats.NotSaturated(periods=share, cpu=cpu, running=running)
    elif spec.goal is not Goal.THROUGHPUT and findings.saturated >= _MOSTLY:
        yield caveats.Saturated(periods=share, cpu=cpu, running=running)


def _trip_note(one: LiveCandidate, trials: Sequence[Trial], *, is_given_up: bool) -> caveats.GuardTripped:
    ended = [t for t in trials if t.candidate == one.name and t.state in (TrialState.DONE, TrialState.FAILED)]
    causes = [t.failure.cause for t in ended if t.failure is not None and t.failure.fault is Fault.GUARD]
    restored = [cause.figures["restored_in"] for cause in causes]
    return caveats.GuardTripped(
        candidate=one.name,
        trips=one.trips,
        periods=len(ended),
        given_up=is_given_up,
        restored_in=None if None in restored else max(restored, default=0.0),
        cause=causes[-1],
    )
