"""Turns the periods of a live server into the values that the goal compares, with the offered load as covariates.

The values are latency in one mix of statements, the cost per statement, or throughput where the server is saturated.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dialin.measures.table import COSTS, MEASURES
from dialin.model.study import Goal, StudySpec
from dialin.model.traffic import ALL_SATURATED, ALL_STATEMENTS, TrafficPeriod, TrafficTotals, fixed_mix, is_saturated
from dialin.model.trial import Purpose, Sample, Step, Trial, TrialState
from dialin.question.plan import Plan
from dialin.stats.baseline_observation import detectable_in, observe
from dialin.stats.decide import Decision, Rules
from dialin.stats.switchback import Period, Switchback, decide_periods, fit_periods, without_any_claim
from dialin.stats.trial_figures import Figures
from dialin.stats.trial_fit import figures_of_fit

FORECAST_HOURS = (1, 4, 24)
"""Hours of live traffic for which a study reports the detectable difference."""

_HIDDEN_KINDS = (ALL_STATEMENTS, "com/Execute")
"""Kinds of statements that hide what the statements do: the only kind of servers that count one, and prepared statements."""
_MOSTLY = 0.5
"""The share of statements of hidden kinds above which the share of changes is a covariate."""

Measured = list[tuple[Trial, TrafficPeriod]]


def measured_periods(trials: Sequence[Trial], figures: Mapping[int, Figures]) -> Measured:
    """Return the completed periods of the race in which clients sent statements, in order of time."""
    done = (t for t in trials if t.purpose is Purpose.RACE and t.state is TrialState.DONE and t.id in figures)
    periods = ((trial, figures[trial.id].traffic) for trial in sorted(done, key=lambda one: one.id))
    return [(trial, traffic) for trial, traffic in periods if traffic is not None and traffic.totals.statements > 0]


def goal_periods(measured: Measured, goal: Goal) -> list[Period]:
    """Return the periods with the value that the goal measures, the higher the better: latency and costs as their inverse.

    Latency is compared in one mix of statements. Throughput has no covariates, because the offered load is the same figure.
    """
    measured = longest_washout(measured)
    mix, measure = fixed_mix(traffic for _, traffic in measured), MEASURES[goal]

    def value(totals: TrafficTotals) -> float:
        figure = measure.of_traffic(totals, mix) if measure.of_traffic else None
        return 0.0 if figure is None else measure.compared(figure)

    load = _Load(measured, has_changes=goal in COSTS)
    periods: list[Period] = []
    previous: Trial | None = None
    for trial, traffic in measured:
        follows = previous is not None and previous.run == trial.run and trial.id == previous.id + 1
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
                previous=previous.candidate if follows and previous is not None else None,
            )
        )
        previous = trial
    return periods


def longest_washout(measured: Measured) -> Measured:
    """Return the periods with the longest washout: a study that lengthened its washout leaves out the periods before that."""
    longest = washout_of(measured)
    return [(trial, traffic) for trial, traffic in measured if (traffic.washout or 0.0) >= longest]


def washout_of(measured: Measured) -> float:
    """Return the longest washout of some periods in seconds; 0 where it is unknown."""
    return max((traffic.washout or 0.0 for _, traffic in measured), default=0.0)


class _Load:
    """The covariates of a period: the logarithm of the statements per second, then figures that describe the mix of statements.

    The mix is described by the logarithm of the mean latency that the mix alone would give. Where most statements are counted
    under a kind that hides what they do, the share of statements that change rows is added. The cost per statement depends on
    both, so a goal on costs always has both (`has_changes`).
    """

    def __init__(self, measured: Measured, *, has_changes: bool) -> None:
        totals = TrafficTotals.of(traffic.totals for _, traffic in measured)
        self._mean_times = {kind: totals.times.get(kind, 0.0) / count for kind, count in totals.counts.items() if count > 0}
        hidden = sum(totals.counts.get(kind, 0.0) for kind in _HIDDEN_KINDS)
        self._has_changes = has_changes or hidden > _MOSTLY * totals.statements

    def __call__(self, totals: TrafficTotals) -> tuple[float, ...]:
        expected = sum(count * self._mean_times.get(kind, 0.0) for kind, count in totals.counts.items()) / totals.statements
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
    """Return the comparison of periods by the study's goal; throughput claims nothing where the server was not saturated."""
    measured = measured_periods(trials, figures)
    compared = decide_periods(goal_periods(measured, spec.goal), names, spec.baseline, rules, identical=identical)
    if spec.goal is Goal.THROUGHPUT and share_saturated(measured) < ALL_SATURATED:
        return replace(compared, decision=without_any_claim(compared.decision))
    return compared


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
    """Return the share of its machine's CPU that the server used in a period; None where it runs on another machine."""
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
    """Compare the candidates of a study on live traffic by a goal.

    Where that is not the study's goal, only the ratios and levels of the decision are by it; the rest is by the study's goal.
    """
    decision = switchback(spec, trials, figures, names, rules, identical).decision
    if goal is spec.goal:
        return decision
    periods = goal_periods(measured_periods(trials, figures), goal)
    fitted = fit_periods(periods, names)
    shown = figures_of_fit(fitted, periods, names, spec.baseline, rules.alpha)
    return replace(decision, ratios=shown.ratios, levels=shown.levels, fit=fitted)


def observed_figures(spec: StudySpec, plan: Plan, samples: Sequence[Sample]) -> dict[str, Any]:
    """Return what the observation of the baseline predicts for the study's periods, as the study's log stores it."""
    measured = [sample for sample in samples if sample.step is Step.MEASURE and sample.tps > 0]
    observed = observe(
        [sample.latency_ms for sample in measured],
        [sample.tps for sample in measured],
        period=max(1, round(plan.measure)),
        washout=round(plan.warmup),
    )
    figures: dict[str, Any] = {
        "seconds": len(measured),
        "per_second": statistics.fmean(sample.tps for sample in measured) if measured else 0.0,
    }
    if observed is None:
        return figures
    hours = {
        str(each): detectable_in(observed, each, plan.trial_seconds, len(spec.candidates), confidence=spec.confidence)
        for each in (*FORECAST_HOURS, spec.minutes / 60)
    }
    return figures | {
        "noise": observed.noise,
        "latency_ms": observed.level,
        "memory": observed.memory,
        "trend": observed.trend,
        "trend_error": observed.trend_error,
        "hours": hours,
        "minutes": spec.minutes,
    }
