"""Runs of one server that nothing is compared in: how its throughput changes with threads, and which rate it sustains. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from dialin.logs.factors import same_numbers
from dialin.logs.log_folder import Run, is_queue_full, natural_order, rate_of
from dialin.logs.run_figures import RunFigures
from dialin.logs.run_names import NONE
from dialin.model.analysis import RatePoint, RateRamp, RunAnalysis, ScalingCurve, ThreadsPoint
from dialin.stats import usl
from dialin.stats.runs import weighted_mean
from dialin.stats.summaries import geometric_mean

_KEPT_UP = 0.98
"""The share of a requested rate that must be completed."""
_BEHIND = 1.0
"""Seconds of a requested rate that may be waiting at the end of a run, in transactions."""
_RISEN = 2.0
"""The ratio of the latency at the end to that at the beginning from which it has risen."""
_QUEUE = 100_000
"""Requested transactions that sysbench queues; a run whose queue is full ends."""
_FULL = 0.97


def scaling_curves(runs: Sequence[RunAnalysis], *, by_candidate: bool) -> list[ScalingCurve]:
    """Return a curve for runs that differ only in threads, where there are two numbers of threads or more."""
    besides = _besides(runs, {run.file: str(run.threads) for run in runs})
    curves: dict[tuple[str, ...], list[RunAnalysis]] = {}
    for run in runs:
        candidate = (run.candidate or "") if by_candidate else ""
        curves.setdefault((candidate, *besides[run.file].values()), []).append(run)
    ordered = sorted(curves.items(), key=lambda one: [natural_order(text) for text in one[0]])
    return [
        _curve(of[0].candidate or "" if by_candidate else "", besides[of[0].file], of)
        for _, of in ordered
        if len({run.threads for run in of if run.threads}) > 1 and all(run.tps > 0 for run in of)
    ]


def _besides(runs: Sequence[RunAnalysis], numbers: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the conditions of each run, by its name, without those that only say its number."""
    of_numbers = [
        key
        for key in (runs[0].conditions if runs else ())
        if same_numbers({run.file: run.conditions.get(key, NONE).partition("/")[0] for run in runs}, numbers)
    ]
    return {run.file: {key: value for key, value in run.conditions.items() if key not in of_numbers} for run in runs}


def _curve(candidate: str, conditions: Mapping[str, str], runs: Sequence[RunAnalysis]) -> ScalingCurve:
    by_threads = {n: [run for run in runs if run.threads == n] for n in sorted({run.threads for run in runs})}
    levels = {threads: geometric_mean([run.tps for run in of]) for threads, of in by_threads.items()}
    first = min(levels)
    points = []
    for threads, of in by_threads.items():
        latencies, percentiles = [run.latency_ms for run in of if run.latency_ms], {run.percentile for run in of}
        points.append(
            ThreadsPoint(
                threads=threads,
                runs=len(of),
                tps=levels[threads],
                latency_ms=geometric_mean(latencies) if len(latencies) == len(of) and len(percentiles) == 1 else None,
                percentile=of[0].percentile if len(percentiles) == 1 else None,
                efficiency=levels[threads] / threads / (levels[first] / first),
            )
        )
    return ScalingCurve(
        candidate=candidate,
        conditions=dict(conditions),
        points=points,
        peak_threads=max(levels, key=levels.__getitem__),
        usl=None if any(run.requested_rate for run in runs) else usl.fit(levels),
    )


def rate_ramps(runs: Sequence[Run], figures: Sequence[RunFigures], *, by_candidate: bool) -> list[RateRamp]:
    """Return a ramp for runs that differ only in the rate that they requested, where there are two rates or more."""
    of_name = {run.name: run for run in runs}
    ramps: dict[tuple[str, ...], list[tuple[RatePoint, RunAnalysis]]] = {}
    analyzed = [one.run for one in figures if one.run.copy_of is None and one.run.candidate is not None]
    besides = _besides(analyzed, {run.file: f"{run.requested_rate or 0:g}" for run in analyzed})
    for run in analyzed:
        if run.requested_rate:
            candidate = (run.candidate or "") if by_candidate else ""
            key = (candidate, *besides[run.file].values())
            ramps.setdefault(key, []).append((_rate_point(of_name[run.file], run), run))
    found = []
    for (candidate, *_), points in sorted(ramps.items(), key=lambda one: [natural_order(text) for text in one[0]]):
        ordered = sorted((point for point, _ in points), key=lambda point: (point.rate, point.file))
        if len({point.rate for point in ordered}) > 1:
            sustained = [point.rate for point in ordered if point.sustained]
            found.append(
                RateRamp(
                    candidate=candidate,
                    conditions=besides[points[0][1].file],
                    points=ordered,
                    highest_sustained=max(sustained, default=None),
                )
            )
    return found


def _rate_point(run: Run, analyzed: RunAnalysis) -> RatePoint:
    log, rate = run.log, float(rate_of(run))
    completed = float(log.tps.sum()) * log.interval
    seconds = log.times.size * log.interval
    if not log.times.size and log.summary is not None:
        completed, seconds = float(log.summary.transactions), log.summary.seconds or 0.0
    waiting = max(0.0, rate * seconds - completed)
    is_full = is_queue_full(log) or waiting >= _FULL * _QUEUE
    tenth = max(1, log.times.size // 10)
    latency_begin, latency_end = (
        weighted_mean(log.latency_ms[part], log.tps[part]) if log.latency_ms.any() else None
        for part in (np.s_[:tenth], np.s_[-tenth:])
    )
    has_risen = bool(latency_begin and latency_end and latency_end > _RISEN * latency_begin)
    chance = 3 * math.sqrt(rate * seconds)  # requests come at random
    keeps_up = completed >= _KEPT_UP * rate * seconds - chance and waiting <= _BEHIND * rate + chance
    return RatePoint(
        file=run.name,
        rate=rate,
        tps=completed / seconds if seconds else 0.0,
        seconds=seconds,
        latency_ms=analyzed.latency_ms,
        latency_begin_ms=latency_begin,
        latency_end_ms=latency_end,
        percentile=analyzed.percentile,
        waiting=min(waiting, float(_QUEUE)) if is_full else waiting,
        overloaded=is_full,
        sustained=keeps_up and not has_risen and not is_full and log.fatal is None,
    )
