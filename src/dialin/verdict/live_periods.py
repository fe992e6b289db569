"""From the periods of a live server to what is compared: latency in one mix of statements, with the offered load beside it."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dialin.model.study import Goal, StudySpec
from dialin.model.traffic import TrafficPeriod, TrafficTotals, fixed_mix
from dialin.model.trial import Purpose, Sample, Step, Trial, TrialState
from dialin.question.plan import Plan
from dialin.stats.baseline_observation import detectable_in, observe
from dialin.stats.decide import Decision, Rules, candidate_levels, candidate_ratios
from dialin.stats.switchback import Period, Switchback, decide_periods, fit_periods
from dialin.stats.trial_figures import Figures

FORECAST_HOURS = (1, 4, 24)
"""Hours for which a study says what it could detect."""

Measured = list[tuple[Trial, TrafficPeriod]]


def measured_periods(trials: Sequence[Trial], figures: Mapping[int, Figures]) -> Measured:
    """Return the completed periods of the race in which the server was sent statements, in order of time."""
    done = (t for t in trials if t.purpose is Purpose.RACE and t.state is TrialState.DONE and t.id in figures)
    found = ((trial, figures[trial.id].traffic) for trial in sorted(done, key=lambda one: one.id))
    return [(trial, traffic) for trial, traffic in found if traffic is not None and traffic.totals.statements > 0]


def latency_periods(measured: Measured) -> list[Period]:
    """Return the periods with the inverse of their latency in one mix of statements."""
    mix = fixed_mix(traffic for _, traffic in measured)

    def inverse(totals: TrafficTotals) -> float:
        return 1 / latency if (latency := totals.latency(mix)) else 0.0

    periods = figure_periods(measured, lambda traffic: inverse(traffic.totals))
    return [
        replace(period, halves=(inverse(traffic.halves[0]), inverse(traffic.halves[1])))
        for period, (_, traffic) in zip(periods, measured, strict=True)
    ]


def figure_periods(measured: Measured, value: Callable[[TrafficPeriod], float]) -> list[Period]:
    """Return the periods with a figure each; 0 where it is not known.

    The load is the logarithm of what clients sent per second, and of the mean latency that the mix alone would have.
    """
    together = TrafficTotals.of(traffic.totals for _, traffic in measured)
    usual = {kind: together.times.get(kind, 0.0) / count for kind, count in together.counts.items() if count > 0}

    def by_mix(totals: TrafficTotals) -> float:
        expected = sum(count * usual.get(kind, 0.0) for kind, count in totals.counts.items()) / totals.statements
        return math.log(expected) if expected > 0 else 0.0

    periods: list[Period] = []
    before: Trial | None = None
    for trial, traffic in measured:
        follows = before is not None and before.run == trial.run and trial.id == before.id + 1
        totals = traffic.totals
        periods.append(
            Period(
                run=trial.run,
                candidate=trial.candidate,
                at=trial.middle,
                value=value(traffic),
                quad=(*trial.run, (trial.block + 1) // 2),
                load=(math.log(totals.per_second), by_mix(totals)),
                previous=before.candidate if follows and before is not None else None,
            )
        )
        before = trial
    return periods


def switchback(
    trials: Sequence[Trial],
    figures: Mapping[int, Figures],
    names: Sequence[str],
    baseline: str,
    rules: Rules,
    identical: Sequence[frozenset[str]] = (),
) -> Switchback:
    """Return what the periods say of latency."""
    return decide_periods(latency_periods(measured_periods(trials, figures)), names, baseline, rules, identical=identical)


def decide_live(
    spec: StudySpec,
    goal: Goal,
    trials: Sequence[Trial],
    figures: Mapping[int, Figures],
    names: Sequence[str],
    rules: Rules,
    identical: Sequence[frozenset[str]],
) -> Decision:
    """Compare the candidates of a study on live traffic; of throughput, which is offered, only ratios and levels are of use."""
    found = switchback(trials, figures, names, spec.baseline, rules, identical).decision
    if goal is Goal.LATENCY:
        return found
    offered = figure_periods(measured_periods(trials, figures), lambda traffic: traffic.totals.per_second)
    fitted = fit_periods(offered, names, with_load=False)
    return replace(
        found,
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
