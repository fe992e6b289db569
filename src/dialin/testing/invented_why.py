"""Invented studies with what their probes saw, whose truth is known: for tests of evidence and of what shows it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from statistics import fmean

from dialin.model.evidence import ALL, Gauge, RawWaits, WaitRow, Watched
from dialin.model.record import StudyRecord
from dialin.model.trial import Purpose, Sample, Step, Trial, TrialState
from dialin.model.verdict import CandidateState, Outcome
from dialin.model.why import Usl
from dialin.stats import usl
from dialin.testing.invented import VARIABLE, Plan, Shape, Words, build
from dialin.testing.invented_verdict import judged

LOCKS = "wait/synch/sxlock/innodb/hash_table_locks"
"""The event whose waits moved in `waits_moved`."""

LAW = Usl(rate=900.0, contention=0.04, coherency=0.0008, peak=34.64, relative_error=0.0)
"""The law that the throughput of every candidate of `levels` follows, at its own rate."""

_MIB = 2**20


class Per(StrEnum):
    """What an invented figure goes by."""

    TRANSACTION = "transaction"
    SECOND = "second"
    GAUGE = "gauge"


@dataclass(frozen=True, slots=True)
class Told:
    """An invented figure.

    Attributes:
        probe: what tells it.
        name: of the figure.
        per: what it goes by.
        values: for every candidate; those that are not named have that of "".
        noise: standard deviation between trials, relative.
    """

    probe: str
    name: str
    per: Per
    values: Mapping[str, float]
    noise: float = 0.02


def _alike(probe: str, name: str, per: Per, value: float, noise: float = 0.02) -> Told:
    return Told(probe, name, per, {"": value}, noise)


ORDINARY: tuple[Told, ...] = (
    _alike("process", "server_cpu_user", Per.TRANSACTION, 900e-6),
    _alike("process", "server_cpu_system", Per.TRANSACTION, 300e-6),
    _alike("process", "client_cpu", Per.TRANSACTION, 400e-6),
    _alike("process", "voluntary_switches", Per.TRANSACTION, 42.0),
    _alike("process", "involuntary_switches", Per.TRANSACTION, 6.0),
    _alike("process", "read_calls", Per.TRANSACTION, 22.0),
    _alike("process", "read_chars", Per.TRANSACTION, 22 * 900.0),
    _alike("process", "read_bytes", Per.TRANSACTION, 8192.0),
    _alike("process", "write_calls", Per.TRANSACTION, 5.0),
    _alike("process", "write_bytes", Per.TRANSACTION, 30_000.0),
    _alike("process", "minor_faults", Per.TRANSACTION, 1.0),
    _alike("process", "resident_bytes", Per.GAUGE, 9e9, 0.001),
    _alike("machine", "disk_busy_seconds", Per.SECOND, 0.4),
    _alike("machine", "pressure_io_seconds", Per.SECOND, 0.2),
    _alike("machine", "disk_writes", Per.TRANSACTION, 6.0),
    _alike("machine", "disk_write_seconds", Per.TRANSACTION, 0.012),
    _alike("status", "Innodb_os_log_written", Per.TRANSACTION, 5200.0),
    _alike("status", "Innodb_os_log_fsyncs", Per.TRANSACTION, 0.4),
    _alike("status", "Innodb_data_fsyncs", Per.TRANSACTION, 0.6),
    _alike("status", "Innodb_log_writes", Per.TRANSACTION, 1.1),
    _alike("status", "Innodb_buffer_pool_reads", Per.TRANSACTION, 0.5),
    _alike("status", "Innodb_buffer_pool_read_requests", Per.TRANSACTION, 160.0),
    _alike("status", "Innodb_buffer_pool_pages_flushed", Per.TRANSACTION, 2.0),
    _alike("status", "Innodb_row_lock_waits", Per.TRANSACTION, 0.02, 0.1),
    _alike("status", "Innodb_row_lock_time", Per.TRANSACTION, 0.1, 0.2),
    _alike("status", "Handler_read_key", Per.TRANSACTION, 14.0),
    _alike("status", "Threads_running", Per.GAUGE, 9.0, 0.05),
    _alike("waits", "wait/io/file/innodb/innodb_log_file/seconds", Per.TRANSACTION, 400e-6, 0.05),
    _alike("waits", "wait/io/file/innodb/innodb_log_file/count", Per.TRANSACTION, 1.5, 0.05),
    _alike("waits", "wait/synch/cond/innodb/cleaner_cond/seconds", Per.SECOND, 3.9, 0.001),
    _alike("waits", "wait/synch/cond/innodb/cleaner_cond/count", Per.SECOND, 4.0, 0.001),
    _alike("waits", "wait/synch/mutex/innodb/trx_mutex/seconds", Per.TRANSACTION, 20e-6, 0.1),
    _alike("waits", "wait/synch/mutex/innodb/trx_mutex/count", Per.TRANSACTION, 30.0, 0.1),
)
"""What every invented server does alike: at its own pace, or with each transaction."""


@cache
def waits_moved() -> StudyRecord:
    """Return a study in which 8 instances win, and the waits of one lock went from 0.12 s a second to 0.01 s."""
    shapes = [
        Shape("1", {VARIABLE: 1}, 1180, state=CandidateState.LOSES),
        Shape("8", {VARIABLE: 8}, 1400, state=CandidateState.WINS),
    ]
    words = Words(
        Outcome.WINNER,
        f"{VARIABLE} = 8 wins: +18.6 % (+17 % to +20 %) against the baseline.",
        f"{VARIABLE} = 8 gives +18.6 % throughput against the baseline.",
        "8",
        ("8",),
    )
    told = (
        *ORDINARY,
        Told("waits", f"{LOCKS}/seconds", Per.SECOND, {"1": 0.12, "8": 0.01}, 0.05),
        Told("waits", f"{LOCKS}/count", Per.SECOND, {"1": 24_000, "8": 9_000}, 0.05),
    )
    record = watched(_judged(shapes, words, Plan(blocks=5, measure=40)), told)
    return _with_waits(record, {"1": (24_000, 5.0e6), "8": (9_000, 1.1e6)})


@cache
def room_unused() -> StudyRecord:
    """Return a study without a difference, whose change buffer took 4 MiB of the 2 GiB it may; its log buffer was full."""
    shapes = [Shape(str(value), {"innodb_change_buffer_max_size": value}, 1320, noise=0.03) for value in (25, 26)]
    told = (
        *ORDINARY,
        _alike("innodb", "ibuf_size_pages", Per.GAUGE, 4 * _MIB / 16384, 0.0),
        _alike("status", "Innodb_log_waits", Per.SECOND, 3.0, 0.1),
    )
    return watched(_judged(shapes, _no_difference(shapes), Plan(blocks=5, measure=40, between=0.003)), told)


@cache
def nothing_moved() -> StudyRecord:
    """Return a study in which neither throughput nor anything that was watched differs."""
    shapes = [Shape(str(value), {VARIABLE: value}, 1320, noise=0.03) for value in (1, 4, 16)]
    return watched(_judged(shapes, _no_difference(shapes), Plan(blocks=5, measure=40, between=0.003)), ORDINARY)


@cache
def unseen() -> StudyRecord:
    """Return a study with a winner and nothing in what was watched that tells why."""
    shapes = [
        Shape("1", {VARIABLE: 1}, 1180, state=CandidateState.LOSES),
        Shape("16", {VARIABLE: 16}, 1400, state=CandidateState.WINS),
    ]
    words = Words(Outcome.WINNER, f"{VARIABLE} = 16 wins: +18.6 %.", f"{VARIABLE} = 16 is faster.", "16", ("16",))
    return watched(_judged(shapes, words, Plan(blocks=5, measure=40)), ORDINARY)


@cache
def levels() -> StudyRecord:
    """Return a study of two candidates at 1, 4, 16 and 64 threads that follow `LAW`, the second one a tenth faster."""
    rates = {"1": 1.0, "8": 1.1}
    threads = (1, 4, 16, 64)
    shapes = [Shape(name, {VARIABLE: int(name)}, 1000 * rate, noise=0.02) for name, rate in rates.items()]
    record = build(shapes, None, Plan(blocks=3, measure=40))
    workload = record.spec.workload.model_copy(update={"threads": threads[-1], "levels": threads})
    samples = {}
    for trial in record.trials:
        measured = [sample for sample in record.samples[trial.id] if sample.step is Step.MEASURE]
        own = []
        for place, sample in enumerate(measured):
            at = threads[place * len(threads) // len(measured)]
            factor = usl.throughput(LAW, at) / 1000
            own.append(_scaled(sample, factor, at))
        samples[trial.id] = own
    return watched(replace(record, spec=record.spec.model_copy(update={"workload": workload}), samples=samples), ORDINARY)


EVERY: Mapping[str, Callable[[], StudyRecord]] = {
    "waits_moved": waits_moved,
    "room_unused": room_unused,
    "nothing_moved": nothing_moved,
    "unseen": unseen,
    "levels": levels,
}
"""Every one of these studies by its name."""


def watched(record: StudyRecord, told: Sequence[Told], seed: int = 3) -> StudyRecord:
    """Return a record whose trials that ended well were watched, and told these figures."""
    rng = random.Random(seed)  # noqa: S311
    seen = {
        trial.id: _watched(rng, trial, record.samples[trial.id], told)
        for trial in record.trials
        if trial.state is TrialState.DONE
    }
    return replace(record, watched=seen, trials=[replace(trial, in_force=_in_force(trial)) for trial in record.trials])


def _in_force(trial: Trial) -> dict[str, str]:
    usual = {"innodb_page_size": "16384", "innodb_change_buffer_max_size": "25", "innodb_change_buffering": "all"}
    return {**usual, **trial.in_force}


def _scaled(sample: Sample, factor: float, threads: int) -> Sample:
    return replace(
        sample,
        tps=sample.tps * factor,
        reads=sample.reads * factor,
        writes=sample.writes * factor,
        other=sample.other * factor,
        threads=threads,
    )


def _watched(rng: random.Random, trial: Trial, samples: Sequence[Sample], told: Sequence[Told]) -> dict[str, Watched]:
    measured = [sample for sample in samples if sample.step is Step.MEASURE]
    seconds, transactions = float(len(measured)), sum(sample.tps for sample in measured)
    counters: dict[str, dict[str, float]] = {}
    gauges: dict[str, dict[str, Gauge]] = {}
    for one in told:
        value = one.values.get(trial.candidate, one.values.get("", 0.0)) * (1 + rng.gauss(0, one.noise))
        if one.per is Per.GAUGE:
            gauges.setdefault(one.probe, {})[one.name] = Gauge(value, value, 0.9 * value, value, 0.95 * value)
        else:
            times = transactions if one.per is Per.TRANSACTION else seconds
            counters.setdefault(one.probe, {})[one.name] = value * times
    return {
        probe: Watched(
            probe=probe,
            seconds=seconds,
            counters=counters.get(probe, {}),
            gauges=gauges.get(probe, {}),
            readings=len(measured) + 1,
            waited=0.002 * seconds,
            cpu=0.001 * seconds,
        )
        for probe in sorted({one.probe for one in told})
    }


def _with_waits(record: StudyRecord, waits: Mapping[str, tuple[float, float]]) -> StudyRecord:
    """Return a record with a trial for each candidate that collected raw waits: how many a second, and their mean, ps.

    Collecting took a fifth of throughput.
    """
    trials, samples, raw = list(record.trials), dict(record.samples), dict(record.waits)
    for name, (rate, mean) in waits.items():
        last = trials[-1]
        like = next(trial for trial in record.trials if trial.candidate == name)
        began = last.started + sum(last.steps.values()) + 0.5
        trial = replace(like, id=last.id + 1, block=record.trials[-1].block + 1, started=began, purpose=Purpose.WAITS)
        own = [trial_id for trial_id in record.samples if _is(record, trial_id, name)]
        level = fmean(s.tps for trial_id in own for s in record.samples[trial_id] if s.step is Step.MEASURE)
        samples[trial.id] = [
            replace(sample, tps=0.8 * level, at=sample.at - like.started + began) for sample in record.samples[like.id]
        ]
        raw[trial.id] = _raw(rate, mean, float(len([s for s in samples[trial.id] if s.step is Step.MEASURE])))
        trials.append(trial)
    return replace(record, trials=trials, samples=samples, waits=raw)


def _is(record: StudyRecord, trial_id: int, name: str) -> bool:
    return any(trial.id == trial_id and trial.candidate == name for trial in record.trials)


def _raw(rate: float, mean: float, seconds: float) -> RawWaits:
    count = round(rate * seconds)
    both = WaitRow(
        instrument=LOCKS,
        operation=ALL,
        count=count,
        mean=mean,
        p50=0.04 * mean,
        p90=0.2 * mean,
        p99=0.6 * mean,
        p999=60 * mean,
        most=6e-3 * count * mean * 12,
        total=count * mean,
        worst_share=0.93,
        ten_share=0.64,
        histogram=(0, 0, 0, 0, 0, 0, count // 2, count - count // 2),
    )
    shared = replace(both, operation="shared_lock", count=count // 2, total=both.total / 2)
    return RawWaits("hash_table_locks", seconds, count, 0, "CYCLE", 2.1e9, (both, shared))


def _no_difference(shapes: Sequence[Shape]) -> Words:
    return Words(
        Outcome.NO_WORTHWHILE_DIFFERENCE,
        "No worthwhile difference: no candidate differs from the best by 1 % or more.",
        "The baseline does as well as any other, so there is no reason to change it.",
        shapes[0].name,
    )


def _judged(shapes: Sequence[Shape], words: Words, plan: Plan) -> StudyRecord:
    return judged(build(shapes, words, plan), shapes, words, plan)
