"""The card of main figures: with the baseline, and with the recommended candidate."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from dialin.evidence import measured
from dialin.evidence.measured import MeasuredTrial
from dialin.model.load_driver import ALL_KINDS
from dialin.model.measure import capital, cost_unit, measure_of
from dialin.model.record import StudyRecord
from dialin.model.study import COST_GOALS, Goal
from dialin.model.verdict import CandidateVerdict, Estimate, Verdict
from dialin.model.why import Why
from dialin.model.workload import MEAN, latency_name
from dialin.report import verdict_sentences
from dialin.report.document.parts import Tile
from dialin.report.headline import change_with_confidence
from dialin.report.load_units import Units, seconds_a_run, units_of_record
from dialin.text import change, number, percent, size

_CPU = "server CPU"
"""The name of the cost that is the server's CPU time per query."""

_PERCENTILES = {"p50": "p50_ms", "p95": "p95_ms", "p99": "p99_ms"}
"""Percentiles of latency, and the attribute of `TransactionLatency` that has each."""

_ALL_TRANSACTIONS = "Of all transactions."
"""The sentence that tells a percentile from histograms apart from one of a typical trial."""

_Show = Callable[[float], str]


def before_after(record: StudyRecord, verdict: Verdict, why: Why) -> list[Tile]:
    """Return a tile for each main figure that is known: throughput, queries, latency, CPU per query and memory."""
    unit = units_of_record(record)
    base = verdict.candidate(verdict.baseline)
    trials = measured.of(record)
    every = [
        _throughput(verdict, base, unit),
        _variation(verdict, base) if verdict.goal is Goal.STABILITY else None,
        _cost(verdict, base) if verdict.goal in COST_GOALS else None,
        _run_time(verdict, base, unit) if unit.by_run else _queries(verdict, trials),
        *([] if unit.by_run else _latencies(verdict, base, why)),
        _cpu(verdict, why),
        _memory(verdict, trials),
    ]
    return [tile for tile in every if tile is not None]


def _throughput(verdict: Verdict, base: CandidateVerdict, unit: Units) -> Tile | None:
    ratio = _sentence(verdict.chosen.ratio, verdict)
    title = "Offered load" if verdict.is_throughput_offered else "Throughput"
    return _of_estimates("throughput", title, base.tps, verdict.chosen.tps, verdict, number, unit.title, ratio)


def _variation(verdict: Verdict, base: CandidateVerdict) -> Tile | None:
    ratio = _sentence(verdict.chosen.goal_ratio, verdict)
    return _of_estimates("variation", "Variation (CV)", base.cv, verdict.chosen.cv, verdict, percent, "", ratio)


def _cost(verdict: Verdict, base: CandidateVerdict) -> Tile | None:
    ratio, title = _sentence(verdict.chosen.goal_ratio, verdict), capital(measure_of(verdict).noun)
    return _of_estimates("cost", title, base.cost, verdict.chosen.cost, verdict, number, cost_unit(verdict.goal), ratio)


def _latencies(verdict: Verdict, base: CandidateVerdict, why: Why) -> list[Tile | None]:
    """Return p50, p95 and p99: the one that the study reports is that of its table, the others come from histograms."""
    reported, tiles = latency_name(verdict.percentile), {}
    by_candidate = {one.candidate: one for one in why.latencies if one.transaction == ALL_KINDS}
    before, after = by_candidate.get(verdict.baseline), by_candidate.get(verdict.recommended_candidate)
    for name, field in _PERCENTILES.items():
        pair = (getattr(before, field, None), getattr(after, field, None))
        tiles[name] = _of_estimates(name, f"{name} latency", *pair, verdict, number, "ms", _ALL_TRANSACTIONS)
    tiles[reported] = _latency(verdict, base)
    return [tiles[name] for name in sorted(tiles, key=lambda name: name[1:].zfill(2))]


def _latency(verdict: Verdict, base: CandidateVerdict) -> Tile | None:
    before, after = base.latency_ms, verdict.chosen.latency_ms
    name = "Mean latency" if verdict.percentile == MEAN else f"{latency_name(verdict.percentile)} latency"
    ratio = _sentence(verdict.chosen.goal_ratio, verdict) if verdict.goal is Goal.LATENCY else ""
    return _of_estimates("latency", name, before, after, verdict, number, "ms", ratio)


def _run_time(verdict: Verdict, base: CandidateVerdict, unit: Units) -> Tile | None:
    before, after = (seconds_a_run(one.tps, verdict) for one in (base, verdict.chosen))
    return _of_estimates("run-time", f"Time of a {unit.one}", before, after, verdict, number, "s", "")


def _queries(verdict: Verdict, trials: Sequence[MeasuredTrial]) -> Tile | None:
    rates = [one for one in trials if one.queries > one.transactions]
    return _of_means("queries", "Queries", _means(verdict, rates, lambda one: one.queries), verdict, number, "QPS")


def _cpu(verdict: Verdict, why: Why) -> Tile | None:
    row = next((one for one in why.costs if one.name == _CPU), None)
    if row is None:
        return None
    pair = (row.per_query.get(verdict.baseline), row.per_query.get(verdict.recommended_candidate))
    return _of_means("cpu", "Server CPU per query", pair, verdict, number, row.unit)


def _memory(verdict: Verdict, trials: Sequence[MeasuredTrial]) -> Tile | None:
    def resident(one: MeasuredTrial) -> float | None:
        gauge = one.gauge("process", "resident_bytes")
        return gauge.mean if gauge else None

    return _of_means("memory", "Server memory (RSS)", _means(verdict, trials, resident), verdict, size, "")


def _means(
    verdict: Verdict, trials: Sequence[MeasuredTrial], of: Callable[[MeasuredTrial], float | None]
) -> tuple[float | None, float | None]:
    known: dict[str, list[float]] = {verdict.baseline: [], verdict.recommended_candidate: []}
    for one in trials:
        value = of(one)
        if value is not None and one.trial.candidate in known:
            known[one.trial.candidate].append(value)
    before, after = known[verdict.baseline], known[verdict.recommended_candidate]
    return (statistics.fmean(before) if before else None, statistics.fmean(after) if after else None)


def _of_estimates(
    key: str, label: str, before: Estimate | None, after: Estimate | None, verdict: Verdict, show: _Show, unit: str, ratio: str
) -> Tile | None:
    if after is None:
        return None
    figure = _figure(before.mean if before else None, after.mean, verdict, show, unit)
    ends = verdict_sentences.interval(after, show)
    interval = f"Interval{'' if _is_unchanged(verdict) else ' of the new value'}: {ends}." if ends else ""
    return Tile(key, label, figure, " ".join(part for part in (ratio, interval) if part))


def _of_means(
    key: str, label: str, pair: tuple[float | None, float | None], verdict: Verdict, show: _Show, unit: str
) -> Tile | None:
    before, after = pair
    if after is None:
        return None
    figure = _figure(before, after, verdict, show, unit)
    is_compared = before is not None and before > 0 and not _is_unchanged(verdict)
    return Tile(key, label, figure, f"{change(after / before)}, means of the trials." if is_compared and before else "")


def _figure(before: float | None, after: float, verdict: Verdict, show: _Show, unit: str) -> str:
    new_value = f"{show(after)} {unit}".rstrip()
    return new_value if before is None or _is_unchanged(verdict) else f"{show(before)} → {new_value}"


def _is_unchanged(verdict: Verdict) -> bool:
    return verdict.recommended_candidate == verdict.baseline


def _sentence(ratio: Estimate | None, verdict: Verdict) -> str:
    return (
        ""
        if ratio is None or _is_unchanged(verdict)
        else f"{change_with_confidence(ratio, verdict.confidence, verdict.chosen.trials)}."
    )
