"""What a study on live traffic found beside its verdict, and the caveats that follow from it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from dialin.model.study import StudySpec
from dialin.model.traffic import TrafficPeriod, TrafficTotals
from dialin.model.trial import GUARD, Trial, TrialState
from dialin.model.verdict import Estimate, LiveCandidate, LiveCost, LiveFindings, Note
from dialin.stats.decide import Rules
from dialin.stats.switchback import QUADS_TO_DECIDE, Switchback, fit_periods
from dialin.stats.trial_figures import Figures
from dialin.verdict.live_periods import Measured, figure_periods, measured_periods, switchback

_SATURATED = 0.9
"""The share of the machine's CPU from which on a server does all that it can, and clients have to wait for it."""


def live_findings(
    spec: StudySpec, trials: Sequence[Trial], figures: Mapping[int, Figures], rules: Rules, trips: Mapping[str, int]
) -> LiveFindings:
    """Return what the periods of a study say; `trips` are the times that the guard restored the baseline, by candidate."""
    measured = measured_periods(trials, figures)
    names = [candidate.name for candidate in spec.candidates]
    found = switchback(trials, figures, names, spec.baseline, rules)
    together = TrafficTotals.of(traffic.totals for _, traffic in measured)
    costs = {cost: _cost_ratios(measured, cost, names, spec.baseline, rules) for cost in LiveCost}
    return LiveFindings(
        quads=found.quads,
        quads_needed=QUADS_TO_DECIDE,
        statements_per_s=together.per_second if measured else 0.0,
        cpu_share=_cpu_share(measured),
        own_share=together.figures.get("own", 0.0) / together.seconds if measured else 0.0,
        candidates=[_candidate(name, found, costs, trips.get(name, 0)) for name in names],
    )


def _candidate(
    name: str, found: Switchback, costs: Mapping[LiveCost, Mapping[str, Estimate | None]], trips: int
) -> LiveCandidate:
    carry = found.carry_over.get(name)
    return LiveCandidate(
        name=name,
        load=found.load.get(name),
        with_load=_inverse(found.adjusted.get(name)),
        without_load=_inverse(found.plain.get(name)),
        disagrees=name in found.disagreeing,
        costs={cost: ratio for cost, ratios in costs.items() if (ratio := ratios.get(name)) is not None},
        settling=_inverse(carry.settling) if carry else None,
        after_other=_inverse(carry.after_other) if carry else None,
        carries_over=carry is not None and carry.is_shown,
        reverses=carry is not None and carry.is_reversed,
        trips=trips,
    )


def _inverse(ratio: Estimate | None) -> Estimate | None:
    """Return the ratio of latencies; periods have their inverse, the higher the better."""
    if ratio is None:
        return None
    low, high = (None if end is None else 1 / end for end in (ratio.high, ratio.low))
    return Estimate(mean=1 / ratio.mean, low=low, high=high)


def _cost_ratios(
    measured: Measured, cost: LiveCost, names: Sequence[str], baseline: str, rules: Rules
) -> dict[str, Estimate | None]:
    fitted = fit_periods(figure_periods(measured, _per_statement(cost)), names)
    if fitted is None or baseline not in fitted.names:
        return {}
    return {name: fitted.ratio(name, baseline, rules.alpha) for name in fitted.names}


def _per_statement(cost: LiveCost) -> Callable[[TrafficPeriod], float]:
    def value(traffic: TrafficPeriod) -> float:
        totals = traffic.totals
        return totals.figures.get(cost, 0.0) / totals.statements

    return value


def _cpu_share(measured: Measured) -> float | None:
    """Return the share of the machine's CPU that the server used in the median period."""
    shares = [
        cpu / (traffic.totals.seconds * trial.costs.cpus)
        for trial, traffic in measured
        if trial.costs is not None and (cpu := traffic.totals.figures.get(LiveCost.CPU, 0.0)) > 0
    ]
    return statistics.median(shares) if shares else None


def live_notes(findings: LiveFindings, trials: Sequence[Trial], given_up: Sequence[str]) -> list[Note]:
    """Return the caveats of a study on live traffic, the gravest first; `given_up` are candidates that tripped too often."""
    notes = [_trip_note(one, trials, is_given_up=one.name in given_up) for one in findings.candidates if one.trips]
    for one in findings.candidates:
        if one.disagrees and one.with_load and one.without_load and one.load:
            ratios = {"load": one.load, "with_load": one.with_load, "without_load": one.without_load}
            data = {"candidate": one.name, **{name: ratio.model_dump() for name, ratio in ratios.items()}}
            notes.append(Note(code="load_disagrees", data=data))
        if one.carries_over or one.reverses:
            known = {"settling": one.settling, "after_other": one.after_other}
            shown = {name: ratio.mean for name, ratio in known.items() if ratio is not None}
            notes.append(Note(code="carries_over", data={"candidate": one.name, "reverses": one.reverses, **shown}))
    if findings.quads < findings.quads_needed:
        notes.append(Note(code="few_quads", data={"quads": findings.quads, "needed": findings.quads_needed}))
    if findings.cpu_share is not None and findings.cpu_share >= _SATURATED:
        notes.append(Note(code="saturated", data={"share": findings.cpu_share}))
    return notes


def _trip_note(one: LiveCandidate, trials: Sequence[Trial], *, is_given_up: bool) -> Note:
    ended = [t for t in trials if t.candidate == one.name and t.state in (TrialState.DONE, TrialState.FAILED)]
    causes = [t.failure.cause for t in ended if t.failure is not None and t.failure.fault == GUARD]
    restored = [cause.figures["restored_in"] for cause in causes]
    return Note(
        code="guard_tripped",
        data={
            "candidate": one.name,
            "trips": one.trips,
            "periods": len(ended),
            "given_up": is_given_up,
            "restored_in": None if None in restored else max(restored, default=0.0),
            "cause": causes[-1].as_stored(),
        },
    )
