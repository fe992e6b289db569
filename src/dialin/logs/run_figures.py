"""Sums up a run's log in figures: where its measurement begins, and its throughput, stalls and course from there. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dialin.errors import UserError
from dialin.logs.log_folder import FEWEST, Run, is_summary_only, rate_of
from dialin.model.analysis import RunAnalysis, Starts
from dialin.model.course import Course, PeriodicDip
from dialin.readers.sysbench_log import RunLog
from dialin.stats.dips import Dip, find_dip, without_dip
from dialin.stats.runs import weighted_mean
from dialin.stats.steady import examine_run
from dialin.stats.warm_up import Start, find_start
from dialin.stats.window import effective_seconds, window
from dialin.text import counted

_PERCENTILES = (50, 95, 99)
"""Percentiles that are read from a histogram of latency."""
_DAY = 86_400
"""Lines of a log above which its warm-up and its course are determined by means of successive lines, to limit memory."""


@dataclass(frozen=True, slots=True)
class RunFigures:
    """One run in figures.

    Attributes:
        stalls: how long each stall lasted, seconds.
    """

    run: RunAnalysis
    stalls: tuple[float, ...]


def sum_up_run(run: Run, label: str, candidate: str | None, conditions: Mapping[str, str], skip: float | None) -> RunFigures:
    """Sum up a run.

    `candidate` is None where the run is left out; `conditions` are the factors of its cell, with their values; `skip` is the
    number of seconds to leave out at its start, None to detect the end of its warm-up.

    Raises:
        UserError: too few lines remain.
    """
    log = run.log
    if is_summary_only(run):
        return _of_summary(run, label, candidate, conditions)
    tps = np.ascontiguousarray(log.tps)  # in a table of all figures each is far from the next
    step = -(-tps.size // _DAY)
    if skip is None:
        means = _means(tps, step)
        whole = examine_run(means)
        start = find_start(means, whole)
        start = replace(start, length=start.length * step)
    else:
        whole = None
        start = Start(int(np.searchsorted(log.times, skip, side="right")), settled=True)
        if (remaining := log.times.size - start.length) < FEWEST:
            raise UserError(
                f"--skip {skip:g} leaves {counted(remaining, 'line')} of {run.name}", "Skip less, or exclude that run"
            )
    begin = start.length
    measured = tps[begin:]
    dip = find_dip(measured, log.interval)
    shape = None if begin or dip else whole
    shape = shape or examine_run(_means(without_dip(measured, dip) if dip else measured, step))
    summed = window(measured)
    lengths = summed.stall_lengths
    logged = bool(log.latency_ms.any())
    return RunFigures(
        RunAnalysis(
            file=run.name,
            label=label,
            candidate=candidate,
            copy_of=run.copy_of,
            conditions=dict(conditions),
            starts=Starts.UNKNOWN,
            starts_shown_by="",
            shared_start=None,
            host="",
            threads=log.threads,
            unit=log.unit,
            requested_rate=float(rate) if (rate := rate_of(run)) else None,
            interval=log.interval,
            seconds=log.times.size * log.interval,
            warm_up_seconds=begin * log.interval,
            warm_up_given=skip is not None,
            start_change=start.change,
            settled=start.settled and shape.settled,
            course=shape.course,
            change=shape.change,
            shift_at=None if shape.at is None else float(log.times[begin + shape.at * step]),
            period=None if shape.period is None else shape.period * step * log.interval,
            cycles=shape.cycles,
            levels=shape.levels,
            switches=shape.switches,
            low_share=shape.low_share,
            dip=_in_seconds(dip, log, begin) if dip else None,
            tps=summed.mean,
            cv=summed.cv,
            worst_tps=summed.worst,
            stalls=len(lengths),
            stall_seconds=sum(lengths) * log.interval,
            longest_stall=max(lengths, default=0) * log.interval,
            latency_ms=weighted_mean(log.latency_ms[begin:], measured) if logged else None,
            percentile=log.percentile if logged else None,
            latencies_ms=_latencies(log, begin, measured),
            errors_per_s=float(log.errors[begin:].mean()),
            effective_seconds=_effective_lines(measured) * log.interval,
        ),
        tuple(length * log.interval for length in lengths),
    )


def _latencies(log: RunLog, begin: int, measured: NDArray[np.float64]) -> dict[str, float]:
    """Return the percentiles of latency in a log: means over its lines, else those of its whole run, by its summary."""
    found: dict[int | None, float | None] = {}
    if (summary := log.summary) is not None:
        found |= {one: summary.percentile_of(one) for one in _PERCENTILES}
        found[summary.percentile] = summary.latency_ms
    if log.latency_ms.any():
        for percentile, latencies in ((log.percentile, log.latency_ms), *log.other_latencies.items()):
            found[percentile] = weighted_mean(latencies[begin:], measured)
    known = {percentile: value for percentile, value in found.items() if percentile and value is not None}
    return {f"p{percentile}": known[percentile] for percentile in sorted(known)}


def _means(tps: NDArray[np.float64], step: int) -> NDArray[np.float64]:
    """Return the means of `step` successive figures each; an incomplete last group is dropped."""
    means: NDArray[np.float64] = tps[: tps.size // step * step].reshape(-1, step).mean(axis=1) if step > 1 else tps
    return means


def _effective_lines(tps: NDArray[np.float64]) -> float:
    """Return the number of independent lines; beyond `_DAY` lines it is extrapolated from the last `_DAY` of them."""
    last = tps[-_DAY:]
    return effective_seconds(last) * tps.size / last.size


def _of_summary(run: Run, label: str, candidate: str | None, conditions: Mapping[str, str]) -> RunFigures:
    summary = run.log.summary
    if summary is None:
        raise RuntimeError(f"{run.name} has no summary")
    seconds = summary.seconds or 0.0
    return RunFigures(
        RunAnalysis(
            file=run.name,
            label=label,
            candidate=candidate,
            copy_of=run.copy_of,
            conditions=dict(conditions),
            starts=Starts.UNKNOWN,
            starts_shown_by="",
            shared_start=None,
            host="",
            threads=run.log.threads,
            unit=run.log.unit,
            requested_rate=float(rate) if (rate := rate_of(run)) else None,
            interval=0.0,
            seconds=seconds,
            warm_up_seconds=0.0,
            warm_up_given=False,
            start_change=0.0,
            settled=True,
            course=Course.STEADY,
            change=0.0,
            shift_at=None,
            period=None,
            cycles=None,
            levels=None,
            switches=0,
            low_share=0.0,
            dip=None,
            tps=summary.tps,
            cv=None,
            worst_tps=None,
            stalls=0,
            stall_seconds=0.0,
            longest_stall=0.0,
            latency_ms=summary.latency_ms,
            percentile=summary.percentile,
            latencies_ms=_latencies(run.log, 0, run.log.tps),
            errors_per_s=(summary.errors or 0) / seconds if seconds else 0.0,
            effective_seconds=0.0,
        ),
        (),
    )


def _in_seconds(dip: Dip, log: RunLog, begin: int) -> PeriodicDip:
    """Return a dip in seconds of the log's clock: a phase is a line's time modulo the period."""
    period = dip.period * log.interval
    seconds = sorted(float(log.times[begin + phase]) % period for phase in dip.phases)
    return PeriodicDip(period=period, seconds=seconds, depth=dip.depth)
