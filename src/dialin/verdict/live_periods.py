"""From the periods of a live server to what is compared, by the goal, with the offered load beside it.

That is latency in one mix of statements, what a statement costs, or throughput where the server is saturated.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dialin.model.saturation import ALL_SATURATED, is_saturated
from dialin.model.study import COST_GOALS, Goal, StudySpec
from dialin.model.traffic import ALL_STATEMENTS, TrafficPeriod, TrafficTotals, fixed_mix
from dialin.model.trial import Purpose, Sample, Step, Trial, TrialState
from dialin.question.plan import Plan
from dialin.stats.baseline_observation import detectable_in, observe
from dialin.stats.decide import Decision, Rules, candidate_levels, candidate_ratios
from dialin.stats.switchback import Period, Switchback, decide_periods, fit_periods, without_any_claim
from dialin.stats.trial_figures import FIGURE_OF, Figures

FORECAST_HOURS = (1, 4, 24)
"""Hours for which a study says what it could detect."""

_HIDDEN_KINDS = (ALL_STATEMENTS, "com/Execute")
"""Kinds of statements that do not say what these do: of servers that count one kind alone, and prepared statements."""
_MOSTLY = 0.5

Measured = list[tuple[Trial, TrafficPeriod]]


def measured_periods(trials: Sequence[Trial], figures: Mapping[int, Figures]) -> Measured:
    """Return the completed periods of the race in which the server was sent statements, in order of time."""
    done = (t for t in trials if t.purpose is Purpose.RACE and t.state is TrialState.DONE and t.id in figures)
    found = ((trial, figures[trial.id].traffic) for trial in sorted(done, key=lambda one: one.id))
    return [(trial, traffic) for trial, traffic in found if traffic is not None and traffic.totals.statements > 0]


def goal_periods(measured: Measured, goal: Goal) -> list[Period]:
    """Return the periods with what the goal measures, the higher the better: the inverse of latency and of costs.

    Latency is that in one mix of statements. What clients send is no covariate of throughput, which is the same figure.
    """
    measured = longest_washout(measured)
    mix = fixed_mix(traffic for _, traffic in measured)

    def value(totals: TrafficTotals) -> float:
        if goal is Goal.THROUGHPUT:
            return totals.per_second
        figure = totals.latency(mix) if goal is Goal.LATENCY else totals.cost(goal.value)
        return 1 / figure if figure else 0.0

    load = _Load(measured, has_changes=goal in COST_GOALS)
    periods: list[Period] = []
    before: Trial | None = None
    for trial, traffic in measured:
        follows = before is not None and before.run == trial.run and trial.id == before.id + 1
        late = traffic.halves[1]
        has_load = goal is not Goal.THROUGHPUT
        periods.append(
            Period(
                run=trial.run,
                candidate=trial.candidate,
                at=trial.middle,
                value=value(traffic.totals),
                quad=(*trial.run, (trial.block + 1) // 2),
                load=load(traffic.totals) if has_load else (),
                late_load=load(late) if has_load and late.statements else (),
                halves=(value(traffic.halves[0]), value(late)) if all(half.statements for half in traffic.halves) else None,
                previous=before.candidate if follows and before is not None else None,
            )
        )
        before = trial
    return periods


def longest_washout(measured: Measured) -> Measured:
    """Return the periods with the longest washout: a study that lengthened it leaves those before that out."""
    longest = washout_of(measured)
    return [(trial, traffic) for trial, traffic in measured if (traffic.washout or 0.0) >= longest]


def washout_of(measured: Measured) -> float:
    """Return the longest washout of some periods, seconds; 0 where it is not known."""
    return max((traffic.washout or 0.0 for _, traffic in measured), default=0.0)


class _Load:
    """The covariates of a period: the logarithm of what clients sent per second, then what describes its mix of statements.

    That is the mean latency that the mix alone would have; where most statements are counted as one kind that hides what they
    do, the share of them that changes rows as well. What a statement costs depends on both (`has_changes`).
    """

    def __init__(self, measured: Measured, *, has_changes: bool) -> None:
        together = TrafficTotals.of(traffic.totals for _, traffic in measured)
        self._usual = {kind: together.times.get(kind, 0.0) / count for kind, count in together.counts.items() if count > 0}
        hidden = sum(together.counts.get(kind, 0.0) for kind in _HIDDEN_KINDS)
        self._has_changes = has_changes or hidden > _MOSTLY * together.statements

    def __call__(self, totals: TrafficTotals) -> tuple[float, ...]:
        expected = sum(count * self._usual.get(kind, 0.0) for kind, count in totals.counts.items()) / totals.statements
        by_mix = math.log(expected) if expected > 0 else 0.0
        changes = (totals.share_of_changes,) if self._has_changes else ()
        return (math.log(totals.per_second), by_mix, *changes)


def switchback(
    spec: StudySpec,
    trials: Sequence[Trial],
    figures: Mapping[int, Figures],
    names: Sequence[str],
    rules: Rules,
    identical: Sequence[frozenset[str]] = (),
) -> Switchback:
    """Return what the periods say by the study's goal; of throughput nothing where the server was not saturated."""
    measured = measured_periods(trials, figures)
    found = decide_periods(goal_periods(measured, spec.goal), names, spec.baseline, rules, identical=identical)
    decision = replace(found.decision, decided_by=FIGURE_OF[spec.goal])
    if spec.goal is Goal.THROUGHPUT and share_saturated(measured) < ALL_SATURATED:
        decision = without_any_claim(decision)
    return replace(found, decision=decision)


def share_saturated(measured: Measured) -> float:
    """Return the share of periods in which the server was saturated."""
    return statistics.fmean(_was_saturated(trial, traffic) for trial, traffic in measured) if measured else 0.0


def _was_saturated(trial: Trial, traffic: TrafficPeriod) -> bool:
    share = cpu_share(trial, traffic)
    return is_saturated(
        cpu_share=share,
        cpus=trial.costs.cpus if share is not None and trial.costs is not None else None,
        running=traffic.running,
        connected=traffic.connected,
    )


def cpu_share(trial: Trial, traffic: TrafficPeriod) -> float | None:
    """Return the share of its machine's CPU that the server used in a period; None where it runs elsewhere."""
    cpu = traffic.totals.figures.get("cpu", 0.0)
    return cpu / (traffic.totals.seconds * trial.costs.cpus) if cpu > 0 and trial.costs is not None else None


def decide_live(
    spec: StudySpec,
    goal: Goal,
    trials: Sequence[Trial],
    figures: Mapping[int, Figures],
    names: Sequence[str],
    rules: Rules,
    identical: Sequence[frozenset[str]],
) -> Decision:
    """Compare the candidates of a study on live traffic; by another goal than the study's only ratios and levels are of use."""
    decision = switchback(spec, trials, figures, names, rules, identical).decision
    if goal is spec.goal:
        return decision
    fitted = fit_periods(goal_periods(measured_periods(trials, figures), goal), names)
    return replace(
        decision,
        decided_by=FIGURE_OF[goal],
        ratios=candidate_ratios(fitted, names, spec.baseline, rules.alpha),
        levels=candidate_levels(fitted, names, rules.alpha),
    )


def observed_figures(spec: StudySpec, plan: Plan, samples: Sequence[Sample]) -> dict[str, Any]:
    """Return what a watched baseline says of the periods to come, as the study's log stores it."""
    measured = [sample for sample in samples if sample.step is Step.MEASURE and sample.tps > 0]
    found = observe(
        [sample.latency_ms for sample in measured],
        [sample.tps for sample in measured],
        period=max(1, round(plan.measure)),
        washout=round(plan.warmup),
    )
    figures: dict[str, Any] = {
        "seconds": len(measured),
        "per_second": statistics.fmean(sample.tps for sample in measured) if measured else 0.0,
    }
    if found is None:
        return figures
    hours = {
        str(each): detectable_in(
            found,
            each,
            plan.trial_seconds,
            len(spec.candidates),
            confidence=spec.confidence,
            worthwhile=spec.worthwhile,
        )
        for each in (*FORECAST_HOURS, spec.minutes / 60)
    }
    return figures | {
        "noise": found.noise,
        "latency_ms": found.level,
        "memory": found.memory,
        "trend": found.trend,
        "trend_error": found.trend_error,
        "hours": hours,
        "minutes": spec.minutes,
    }
