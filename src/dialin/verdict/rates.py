"""Notes on a requested rate: whether it was reached, and what was dropped."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dialin.model.evidence import Gauge, Watched, load_gauge
from dialin.model.study import Goal, StudySpec
from dialin.model.trial import Sample, Trial
from dialin.model.verdict import Note
from dialin.report.names import several
from dialin.stats.trial_figures import by_threads
from dialin.text import counted, percent

_SHORT = 0.01
"""The share of the rate asked for by which it may be missed."""
_CHANCE = 3.0
"""How many standard deviations of a Poisson count are taken for chance: transactions may be due at random moments."""
_STALL_MS = 1000.0
"""Milliseconds from which on a transaction that latency leaves out deserves a note."""
_BUSY_THREAD = 0.9
"""The share of a CPU above which the busiest load thread limits the load."""
_LATE_MS = 5.0
"""How late a load driver's own timers are, on average, that lacks a CPU."""

_WatchedByTrial = Mapping[int, Mapping[str, Watched]]


@dataclass(frozen=True, slots=True)
class Missed:
    """A trial that did not reach the rate.

    Attributes:
        achieved: the lowest transactions per second at any number of threads.
        threads: that number.
    """

    trial: Trial
    achieved: float
    threads: int


def missed(rate: int, done: Sequence[Trial], samples: Mapping[int, Sequence[Sample]]) -> list[Missed]:
    """Return the trials that did not reach the rate (0 for none); each number of threads is checked by itself."""
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


def before(rate: int, goal: Goal) -> str:
    """Return a warning before a study begins that throughput cannot differ at a rate; empty where the goal can."""
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
) -> list[Note]:
    """Return notes on a rate that was or was not reached, and on what the driver had to do with it."""
    short = missed(spec.workload.rate, done, samples)
    dropped = _dropped_notes(spec, done, watched)
    return [
        *_missed_notes(spec, done, short, dropped=bool(dropped)),
        *dropped,
        *_late_notes(spec, done, watched),
        *_busy_thread_notes(done, watched),
        *_unfinished_notes(done, watched),
        *_failure_notes(done, watched),
        *_unprepared_notes(done, watched),
        *_reached_notes(spec, done, short),
    ]


def _missed_notes(spec: StudySpec, done: Sequence[Trial], short: Sequence[Missed], *, dropped: bool) -> list[Note]:
    if not short:
        return []
    rate, hit = spec.workload.rate, [(one.trial, one.achieved) for one in short]
    least = min(short, key=lambda one: one.achieved)
    where = f" with {counted(least.threads, 'thread')}" if spec.workload.levels else ""
    text = (
        f"The rate of {rate} transactions/s was not reached in {_among(hit, done)}: the lowest was {least.achieved:.0f}{where}"
    )
    if not dropped:  # else some never began, and have no latency
        text += ". Transactions that could not begin in time waited; their latency includes the wait"
    data = {"asked": rate, "achieved": least.achieved, "candidates": _candidates(hit)}
    return [Note(code="rate_not_reached", text=text, data=data)]


def _dropped_notes(spec: StudySpec, done: Sequence[Trial], watched: _WatchedByTrial) -> list[Note]:
    hit = [(trial, gauge.mean) for trial, gauge in _gauges(done, watched, "dropped") if gauge.mean > 0]
    if not hit:
        return []
    # The driver counts from its start, once for each number of threads.
    total = round(max(1, len(spec.workload.levels)) * sum(mean for _, mean in hit))
    text = (
        f"{counted(total, 'transaction')} {'was' if total == 1 else 'were'} due and never began, in {_among(hit, done)}, "
        "warm-up included: more were waiting than the load driver can queue. Latency does not include them, so it looks better "
        "than it was; use a lower --rate"
    )
    return [Note(code="transactions_dropped", text=text, data={"dropped": total, "candidates": _candidates(hit)})]


def _late_notes(spec: StudySpec, done: Sequence[Trial], watched: _WatchedByTrial) -> list[Note]:
    late = max((gauge.most for _, gauge in _gauges(done, watched, "late_ms")), default=0.0)
    if late <= _LATE_MS:
        return []
    counted_in = ", which latency includes" if spec.workload.rate else ""
    text = (
        f"The load driver itself was {late:.0f} ms late on average{counted_in}: it lacks CPU; give it CPUs of its own "
        "(--load-cpus)"
    )
    return [Note(code="driver_late", text=text, data={"late_ms": late})]


def _busy_thread_notes(done: Sequence[Trial], watched: _WatchedByTrial) -> list[Note]:
    hit = [(trial, gauge.mean) for trial, gauge in _gauges(done, watched, "busiest_thread") if gauge.mean > _BUSY_THREAD]
    if not hit:
        return []
    most = max(share for _, share in hit)
    text = (
        f"The load driver was the limit in {_among(hit, done)}: its busiest load thread used up to {percent(most)} of a CPU. "
        "Give it CPUs of its own (--load-cpus), or use a heavier workload"
    )
    return [Note(code="busy_load_thread", text=text, data={"share": most, "candidates": _candidates(hit)})]


def _unfinished_notes(done: Sequence[Trial], watched: _WatchedByTrial) -> list[Note]:
    """Return a note on transactions that were open when a trial ended, which latency leaves out."""
    hit = [(trial, gauge.most) for trial, gauge in _gauges(done, watched, "unfinished_ms") if gauge.most >= _STALL_MS]
    if not hit:
        return []
    count = round(sum(gauge.most for _, gauge in _gauges([trial for trial, _ in hit], watched, "unfinished")))
    oldest = max(age for _, age in hit)
    text = (
        f"{counted(count, 'transaction')} had not finished at the end of {_among(hit, done)}; the oldest was due "
        f"{oldest / 1000:.1f} s before, longer than any finished one took. Latency does not include them"
    )
    data = {"unfinished": count, "oldest_ms": oldest, "candidates": _candidates(hit)}
    return [Note(code="unfinished_transactions", text=text, data=data)]


def _failure_notes(done: Sequence[Trial], watched: _WatchedByTrial) -> list[Note]:
    """Return a note on slow transactions that failed, which latency leaves out."""
    hit = [(trial, gauge.most) for trial, gauge in _gauges(done, watched, "failed_ms") if gauge.most >= _STALL_MS]
    if not hit:
        return []
    slowest = max(took for _, took in hit)
    text = (
        f"The slowest failed transaction took {slowest / 1000:.1f} s, longer than any that succeeded, in "
        f"{_among(hit, done)}. Latency includes successful transactions only"
    )
    return [Note(code="slow_failures", text=text, data={"slowest_ms": slowest, "candidates": _candidates(hit)})]


def _unprepared_notes(done: Sequence[Trial], watched: _WatchedByTrial) -> list[Note]:
    hit = [(trial, gauge.most) for trial, gauge in _gauges(done, watched, "unprepared") if gauge.most > 0]
    if not hit:
        return []
    most = round(max(count for _, count in hit))
    text = (
        f"Up to {counted(most, 'statement')} per trial could not be prepared, in {_among(hit, done)}, and were sent as text: "
        "max_prepared_stmt_count of the server is too low for this load. Raise it"
    )
    return [Note(code="statements_unprepared", text=text, data={"statements": most, "candidates": _candidates(hit)})]


def _reached_notes(spec: StudySpec, done: Sequence[Trial], short: Sequence[Missed]) -> list[Note]:
    rate = spec.workload.rate
    behind, measured = {one.trial.candidate for one in short}, {trial.candidate for trial in done}
    reached = [one.name for one in spec.candidates if one.name in measured - behind]
    if not rate or spec.goal is not Goal.THROUGHPUT or len(reached) < 2:
        return []
    who = "All candidates" if len(reached) == len(spec.candidates) else several(spec, reached)
    text = (
        f"{who} kept up with the rate of {rate} transactions/s, so their throughput could not differ. Their latency may: "
        "start a new study with --goal latency"
    )
    return [Note(code="rate_reached", text=text, data={"asked": rate, "candidates": reached})]


def _gauges(trials: Iterable[Trial], watched: _WatchedByTrial, name: str) -> Iterator[tuple[Trial, Gauge]]:
    for trial in trials:
        if gauge := load_gauge(watched.get(trial.id, {}), name):
            yield trial, gauge


def _among(hit: Sequence[tuple[Trial, float]], done: Sequence[Trial]) -> str:
    return f"{len(hit)} of {counted(len(done), 'trial')} ({', '.join(_candidates(hit))})"


def _candidates(hit: Sequence[tuple[Trial, float]]) -> list[str]:
    return sorted({trial.candidate for trial, _ in hit})
