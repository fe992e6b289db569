"""Notes on a requested rate: whether it was reached, and which transactions were dropped, slow or left out of latency."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from dialin.model.evidence import Gauge, Watched, load_gauge
from dialin.model.study import Goal, StudySpec
from dialin.model.trial import Sample, Trial
from dialin.sentences import load_notes
from dialin.sentences.note import TypedNote
from dialin.stats.trial_figures import by_threads
from dialin.verdict import driver_delay

_SHORT = 0.01
"""The share of the requested rate by which throughput may fall short."""
_CHANCE = 3.0
"""How many standard deviations of a Poisson count are attributed to chance: transactions may be due at random moments."""
_STALL_MS = 1000.0
"""Milliseconds from which a transaction that latency leaves out has a note."""
_BUSY_THREAD = 0.9
"""The share of a CPU above which the busiest load thread limits the load."""

_WatchedByTrial = Mapping[int, Mapping[str, Watched]]


@dataclass(frozen=True, slots=True)
class Missed:
    """A trial that did not reach the rate.

    Attributes:
        achieved: the lowest transactions per second of the numbers of threads that fell short.
        threads: the number of threads at which that was measured.
    """

    trial: Trial
    achieved: float
    threads: int


def trials_below_rate(rate: int, done: Sequence[Trial], samples: Mapping[int, Sequence[Sample]]) -> list[Missed]:
    """Return the trials that did not reach the rate (0: no rate was requested); each number of threads is checked by itself."""
    trials = []
    for trial in done if rate else ():
        short = [
            (achieved, threads)
            for threads, level in by_threads(samples.get(trial.id, ()), rate=rate).items()
            if _is_short(achieved := statistics.fmean(level.tps), rate, len(level.tps))
        ]
        if short:
            trials.append(Missed(trial, *min(short)))
    return trials


def _is_short(achieved: float, rate: int, seconds: int) -> bool:
    due = rate * seconds
    return due > 0 and achieved < rate * (1 - max(_SHORT, _CHANCE / math.sqrt(due)))


def rate_warning(rate: int, goal: Goal) -> str:
    """Return a warning, before a study begins, that throughput cannot differ at a rate; empty for another goal or no rate."""
    if not rate or goal is not Goal.THROUGHPUT:
        return ""
    return (
        f"Candidates that keep up with the rate of {rate} transactions/s all have that throughput, so throughput cannot "
        "differ; use --goal latency"
    )


def notes(
    spec: StudySpec,
    done: Sequence[Trial],
    samples: Mapping[int, Sequence[Sample]],
    watched: _WatchedByTrial,
) -> list[TypedNote]:
    """Return notes on whether the rate was reached, and on limits of the load driver."""
    short = trials_below_rate(spec.workload.rate, done, samples)
    dropped = any(gauge.mean > 0 for _, gauge in _gauges(done, watched, "dropped"))
    return [
        *_missed_notes(spec, done, short, dropped=dropped),
        *_driver_notes(spec, done, watched),
        *_reached_notes(spec, done, short),
    ]


def _missed_notes(spec: StudySpec, done: Sequence[Trial], short: Sequence[Missed], *, dropped: bool) -> list[TypedNote]:
    if not short:
        return []
    least = min(short, key=lambda one: one.achieved)
    note = load_notes.RateNotReached(
        asked=spec.workload.rate,
        achieved=least.achieved,
        threads=least.threads,
        dropped=dropped,
        **_where([(one.trial, one.achieved) for one in short], done),
    )
    return [note]


def _driver_notes(spec: StudySpec, done: Sequence[Trial], watched: _WatchedByTrial) -> Iterator[TypedNote]:
    """Yield notes on transactions that the load driver dropped, delayed or left out of latency, and on what limited it."""

    def by_mean(name: str, limit: float) -> _Hit:
        return [(trial, gauge.mean) for trial, gauge in _gauges(done, watched, name) if gauge.mean > limit]

    def by_most(name: str, least: float) -> _Hit:
        return [(trial, gauge.most) for trial, gauge in _gauges(done, watched, name) if gauge.most > 0 and gauge.most >= least]

    def beside(hit: _Hit, name: str) -> list[Gauge]:
        return [gauge for _, gauge in _gauges((trial for trial, _ in hit), watched, name)]

    if hit := by_mean("dropped", 0):
        # The gauge is a count since the driver's start, and the driver starts once for each number of threads.
        total = round(spec.workload.number_of_levels * sum(mean for _, mean in hit))
        yield load_notes.TransactionsDropped(dropped=total, **_where(hit, done))
    if hit := by_mean("driver_share_p99", driver_delay.LIMIT):
        added = max(gauge.mean for gauge in beside(hit, "driver_added_p99_ms"))
        yield load_notes.DriverAdded(added_ms=added, share=_most(hit), **_where(hit, done))
    hosts = len(spec.workload.load_hosts or ())
    if hosts > 1 and (hit := by_mean("queued_share", driver_delay.LIMIT)):
        queued = max(gauge.mean for gauge in beside(hit, "queued_ms"))
        yield load_notes.SeparateQueues(hosts=hosts, queued_ms=queued, share=_most(hit), **_where(hit, done))
    if hit := by_mean("busiest_thread", _BUSY_THREAD):
        yield load_notes.BusyLoadThread(share=_most(hit), **_where(hit, done))
    if hit := by_most("unfinished_ms", _STALL_MS):
        count = round(sum(gauge.most for gauge in beside(hit, "unfinished")))
        yield load_notes.UnfinishedTransactions(unfinished=count, oldest_ms=_most(hit), **_where(hit, done))
    if hit := by_most("failed_ms", _STALL_MS):
        yield load_notes.SlowFailures(slowest_ms=_most(hit), **_where(hit, done))
    if hit := by_most("unprepared", 0):
        yield load_notes.StatementsUnprepared(statements=round(_most(hit)), **_where(hit, done))


def _reached_notes(spec: StudySpec, done: Sequence[Trial], short: Sequence[Missed]) -> list[TypedNote]:
    rate = spec.workload.rate
    fell_short, measured = {one.trial.candidate for one in short}, {trial.candidate for trial in done}
    reached = [name for name in spec.names if name in measured - fell_short]
    if not rate or spec.goal is not Goal.THROUGHPUT or len(reached) < 2:
        return []
    return [load_notes.RateReached(asked=rate, candidates=tuple(reached))]


def _gauges(trials: Iterable[Trial], watched: _WatchedByTrial, name: str) -> Iterator[tuple[Trial, Gauge]]:
    for trial in trials:
        if gauge := load_gauge(watched.get(trial.id, {}), name):
            yield trial, gauge


_Hit = Sequence[tuple[Trial, float]]


def _most(hit: _Hit) -> float:
    return max(figure for _, figure in hit)


class _Where(TypedDict):
    candidates: tuple[str, ...]
    trials: tuple[int, ...]
    of: int


def _where(hit: _Hit, done: Sequence[Trial]) -> _Where:
    candidates = sorted({trial.candidate for trial, _ in hit})
    return {"candidates": tuple(candidates), "trials": tuple(trial.id for trial, _ in hit), "of": len(done)}
