"""A trial's measured seconds in figures."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dialin.model.course import Course
from dialin.model.evidence import Watched
from dialin.model.load_driver import ALL_KINDS, TransactionTimes
from dialin.model.traffic import TrafficPeriod, of_watched
from dialin.model.trial import CostFigure, Sample, Step, Trial, TrialState
from dialin.model.workload import MEAN, WorkloadSpec
from dialin.stats import counted_times
from dialin.stats.steady import Shape, examine
from dialin.stats.summaries import geometric_mean
from dialin.stats.throughput import TrialSpeed
from dialin.stats.window import Window, effective_seconds, window

_AS_IT_IS = Shape(begin=0, settled=True, course=Course.STEADY)


@dataclass(frozen=True, slots=True)
class Figures:
    """One trial, summed up.

    Attributes:
        window: the figures of every measured second but those that the host lost.
        typical: the typical speed, transactions per second; see `stats.window.Window`.
        shape: what the seconds looked like; of several numbers of threads, the first that was not steady.
        effective: how many independent seconds they are worth.
        error: relative standard error of the typical speed by these seconds alone.
        cv_error: relative standard error of the coefficient of variation by these seconds alone.
        latency: the percentile of the trial's transactions, from the driver's histograms, milliseconds; where it reports none,
            the mean of its seconds' percentiles, weighted by transactions. None without any.
        latency_error: relative standard error of that by the trial's own seconds; 0 where it is not known.
        transactions: how many were completed in the seconds that count, and `queries` how many queries.
        errors: errors per second that the driver ignored.
        lost: measured seconds that the host lost; a spoiled run of a timed query counts with the seconds that it took.
        seconds: seconds of load that count.
        traffic: what a live server did meanwhile; None for all other trials.
        per_transaction: what a transaction cost the server, by each goal that is a cost.
    """

    window: Window
    typical: float
    shape: Shape
    effective: float
    error: float
    cv_error: float
    latency: float | None
    latency_error: float
    transactions: float
    queries: float
    errors: float
    lost: int
    seconds: float
    traffic: TrafficPeriod | None = None
    per_transaction: Mapping[str, CostFigure] = field(default_factory=dict)


def figures_of_trial(
    trial: Trial,
    samples: Mapping[int, Sequence[Sample]],
    workload: WorkloadSpec,
    watched: Mapping[str, Watched] | None = None,
) -> Figures | None:
    """Sum up a trial of a study; None where it is not completed, or no second of it counts.

    `watched` is what its probes saw; that of live traffic is needed. The load of live traffic varies, so it need not be steady.
    """
    if trial.state is not TrialState.DONE:
        return None
    times = trial.transaction_times
    summed = figures(samples.get(trial.id, ()), rate=workload.rate, times=times, percentile=workload.percentile)
    if summed is None:
        return None
    traffic = of_watched(watched or {})
    shape = summed.shape if traffic is None else _AS_IT_IS
    return replace(summed, traffic=traffic, shape=shape, per_transaction=trial.costs.per_transaction if trial.costs else {})


def figures(
    samples: Sequence[Sample], *, rate: int = 0, times: Sequence[TransactionTimes] = (), percentile: int = MEAN
) -> Figures | None:
    """Sum up a trial; None where no second of it counts.

    Where it measured several numbers of threads, each is judged by itself, and the seconds of all are put on one level: that
    of the geometric mean of their throughputs. What a candidate gains at 1 thread and at 64 then counts alike, as a ratio, and
    each second keeps its distance from its level. Typical speed and latency are geometric means as well. Where nothing was
    done at one of them, the trial did nothing.

    Args:
        samples: of the whole trial.
        rate: the load's transactions per second; 0 for no limit.
        times: of its transactions; empty where the load driver reports no histograms.
        percentile: of latency.
    """
    measured = [sample for sample in samples if sample.step is Step.MEASURE]
    levels = list(by_threads(measured, rate=rate).values())
    if not levels:
        return None
    windows = [window(level.tps, level.lengths) for level in levels]
    overall = geometric_mean([one.mean for one in windows])
    scales = [overall / one.mean if one.mean > 0 else 0.0 for one in windows]
    tps = [value * scale for level, scale in zip(levels, scales, strict=True) for value in level.tps]
    latencies = _latencies(levels, times, percentile)
    counted = [sample for level in levels for sample in level.counted]
    lengths = [sample.seconds for sample in counted] if any(level.lengths for level in levels) else None
    overall_window = window(tps, lengths) if len(levels) > 1 else windows[0]
    effective = sum(effective_seconds(level.tps) for level in levels)
    return Figures(
        window=overall_window,
        typical=geometric_mean([one.typical for one in windows]) if overall else 0.0,
        shape=next((level.shape for level in levels if not level.shape.steady), levels[0].shape),
        effective=effective,
        error=overall_window.typical_cv / math.sqrt(effective),
        cv_error=math.sqrt(max(overall_window.kurtosis - 1, 0.0) / (4 * effective)),
        latency=statistics.geometric_mean(latencies) if len(latencies) == len(levels) else None,
        latency_error=math.hypot(*(level.latency_error for level in levels)) / len(levels),
        transactions=sum(sample.tps * sample.seconds for sample in counted),
        queries=sum((sample.reads + sample.writes + sample.other) * sample.seconds for sample in counted),
        errors=sum(sample.errors for sample in counted) / len(counted),
        lost=round(sum(sample.seconds for sample in measured if sample.lost)),
        seconds=sum(sample.seconds for sample in counted),
    )


def _latencies(levels: Sequence[Level], times: Sequence[TransactionTimes], percentile: int) -> list[float]:
    """Return the latency at each number of threads; those without any transaction are left out."""
    by_threads = counted_times.counts_of_kind(times, ALL_KINDS)
    if percentile != MEAN and len(by_threads) == len(levels):
        known = [counted_times.percentile(counts, percentile / 100) for counts in by_threads]
    else:
        known = [level.latency for level in levels]
    return [latency for latency in known if latency]


def throughput_of_trial(samples: Iterable[Sample]) -> float | None:
    """Return the transactions per second of a trial's measured seconds; None where no second counts.

    Over several numbers of threads that is the geometric mean of theirs.
    """
    grouped: dict[int, list[Sample]] = {}
    for sample in samples:
        if sample.step is Step.MEASURE and not sample.lost:
            grouped.setdefault(sample.threads, []).append(sample)
    rates = [sum(one.tps * one.seconds for one in level) / sum(one.seconds for one in level) for level in grouped.values()]
    return geometric_mean(rates) if rates else None


def queries_per_transaction(trials: Sequence[Figures]) -> float | None:
    """Return the queries of all trials of a candidate divided by their transactions; None where either is zero."""
    queries, transactions = (math.fsum(values) for values in ([t.queries for t in trials], [t.transactions for t in trials]))
    return queries / transactions if queries > 0 and transactions > 0 else None


@dataclass(frozen=True, slots=True)
class Level:
    """What was measured at one number of threads.

    Attributes:
        counted: every measured sample but those that the host lost.
    """

    counted: Sequence[Sample]
    shape: Shape

    @property
    def tps(self) -> list[float]:
        return [sample.tps for sample in self.counted]

    @property
    def lengths(self) -> list[float] | None:
        """The length of each sample, in seconds; None where all have the same length."""
        lengths = [sample.seconds for sample in self.counted]
        return lengths if len(set(lengths)) > 1 else None

    @property
    def throughput(self) -> float:
        return statistics.fmean(self.tps, weights=self.lengths)

    @property
    def latency(self) -> float | None:
        """The mean of the samples' latency percentiles, weighted by transactions, milliseconds; None without any."""
        total = sum(self.tps)
        return sum(sample.latency_ms * sample.tps for sample in self.counted) / total if total > 0 else None

    @property
    def latency_error(self) -> float:
        """The relative standard error of `latency` by the samples' own scatter; 0 for a single one."""
        latencies = np.array([sample.latency_ms for sample in self.counted if sample.tps > 0])
        if latencies.size < 2 or not latencies.mean() > 0:
            return 0.0
        return float(latencies.std(ddof=1) / latencies.mean()) / math.sqrt(effective_seconds(latencies))


def steadiness(sample: Sample, rate: int) -> float:
    """Return the figure of a second that shows whether seconds are steady: throughput, or latency at a rate.

    A rate that is reached keeps throughput constant, whatever the server does.
    """
    return sample.latency_ms if rate else sample.tps


def by_threads(samples: Iterable[Sample], *, rate: int = 0) -> dict[int, Level]:
    """Return what was measured at each number of threads; each is judged by itself."""
    grouped: dict[int, list[Sample]] = {}
    for sample in samples:
        if sample.step is Step.MEASURE and not sample.lost:
            grouped.setdefault(sample.threads, []).append(sample)
    return {
        threads: Level(counted, examine([steadiness(sample, rate) for sample in counted], latency=rate > 0))
        for threads, counted in grouped.items()
    }


def completed(trials: Iterable[Trial], by_trial: Mapping[int, Figures]) -> Iterator[tuple[Trial, Figures]]:
    """Yield the completed trials that have figures, with these."""
    return ((trial, by_trial[trial.id]) for trial in trials if trial.state is TrialState.DONE and trial.id in by_trial)


def trial_speeds(trials: Iterable[Trial], by_trial: Mapping[int, Figures]) -> list[TrialSpeed]:
    """Return throughput and typical speed of each completed trial, with its time."""
    return [
        TrialSpeed(trial.run, trial.candidate, trial.middle, one.window.mean, one.typical, one.error)
        for trial, one in completed(trials, by_trial)
    ]
