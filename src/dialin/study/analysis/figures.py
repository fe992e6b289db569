"""One run's log in figures: where its measurement begins, what it did from there on. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dialin.errors import UserError
from dialin.model.analysis import RunAnalysis
from dialin.model.course import Course, PeriodicDip
from dialin.stats.correlation import effective_seconds
from dialin.stats.dips import Dip, find_dip, without
from dialin.stats.runs import weighed
from dialin.stats.series import window
from dialin.stats.steady import examine_run
from dialin.stats.warm_up_cut import Start, find_start
from dialin.study.analysis.logs import FEWEST, Run, is_summary_only
from dialin.text import counted
from dialin.workloads.sysbench_log import Log


@dataclass(frozen=True, slots=True)
class Figures:
    """One run in figures.

    Attributes:
        run: what the analysis tells of it.
        stalls: how long each stall lasted, seconds.
    """

    run: RunAnalysis
    stalls: tuple[float, ...]


def figures(run: Run, label: str, candidate: str | None, others: Mapping[str, str], skip: float | None) -> Figures:
    """Sum up a run.

    Args:
        run: what its log tells.
        label: a short name of it.
        candidate: what it is a run of; None where it is left out.
        others: what else is not alike in all runs.
        skip: seconds to leave out at its start; None where the end of its warm-up is to be found.

    Raises:
        UserError: less than anything can be told of remains.
    """
    log = run.log
    if is_summary_only(run):
        return _of_summary(run, label, candidate, others)
    start = find_start(log.tps.tolist())
    if skip is not None:
        start = Start(int(np.searchsorted(log.times, skip, side="right")), settled=True)
        if (left := log.times.size - start.length) < FEWEST:
            raise UserError(f"--skip {skip:g} leaves {counted(left, 'line')} of {run.name}", "Skip less, or leave that run out")
    begin = start.length
    measured = log.tps[begin:]
    dip = find_dip(measured, log.interval)
    shape = examine_run((without(measured, dip) if dip else measured).tolist())
    summed = window(measured.tolist())
    lengths = summed.stall_lengths
    logged = bool(log.latency_ms.any())
    return Figures(
        RunAnalysis(
            file=run.name,
            label=label,
            candidate=candidate,
            copy_of=run.copy_of,
            others=dict(others),
            threads=log.threads,
            interval=log.interval,
            seconds=log.times.size * log.interval,
            warm_up_seconds=begin * log.interval,
            warm_up_given=skip is not None,
            start_change=start.change,
            settled=start.settled and shape.settled,
            course=shape.course,
            change=shape.change,
            shift_at=None if shape.at is None else float(log.times[begin + shape.at]),
            period=None if shape.period is None else shape.period * log.interval,
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
            latency_ms=weighed(log.latency_ms[begin:].tolist(), measured.tolist()) if logged else None,
            percentile=log.percentile if logged else None,
            errors_per_s=float(log.errors[begin:].mean()),
            effective_seconds=effective_seconds(measured.tolist()) * log.interval,
        ),
        tuple(length * log.interval for length in lengths),
    )


def _of_summary(run: Run, label: str, candidate: str | None, others: Mapping[str, str]) -> Figures:
    """Return what the summary of a log shows that has no interval reports."""
    summary = run.log.summary
    if summary is None:
        raise RuntimeError(f"{run.name} has no summary")
    seconds = summary.seconds or 0.0
    return Figures(
        RunAnalysis(
            file=run.name,
            label=label,
            candidate=candidate,
            copy_of=run.copy_of,
            others=dict(others),
            threads=run.log.threads,
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
            errors_per_s=(summary.errors or 0) / seconds if seconds else 0.0,
            effective_seconds=0.0,
        ),
        (),
    )


def _in_seconds(dip: Dip, log: Log, begin: int) -> PeriodicDip:
    """Return a dip in the log's own seconds: a phase is the remainder of a line's time by the period."""
    period = dip.period * log.interval
    seconds = sorted(float(log.times[begin + phase]) % period for phase in dip.phases)
    return PeriodicDip(period=period, seconds=seconds, depth=dip.depth)
