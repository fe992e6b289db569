"""One run's log in figures: where its measurement begins, what it did from there on. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from dialin.errors import UserError
from dialin.model.analysis import RunAnalysis
from dialin.stats.correlation import effective_seconds
from dialin.stats.runs import cold_start, weighed
from dialin.stats.series import window
from dialin.stats.steady import examine
from dialin.study.analysis.logs import FEWEST, Run
from dialin.text import counted


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
    begin, settled = cold_start(log.tps.tolist())
    if skip is not None:
        begin, settled = int(np.searchsorted(log.times, skip, side="right")), True
        if (left := log.times.size - begin) < FEWEST:
            raise UserError(f"--skip {skip:g} leaves {counted(left, 'line')} of {run.name}", "Skip less, or leave that run out")
    measured = log.tps[begin:]
    shape = examine(measured.tolist())
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
            settled=settled and shape.settled,
            course=shape.course,
            change=shape.change,
            shift_at=None if shape.at is None else float(log.times[begin + shape.at]),
            period=None if shape.period is None else shape.period * log.interval,
            cycles=shape.cycles,
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
