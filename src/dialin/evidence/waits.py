"""Raw waits by candidate, and the throughput that collecting them cost."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from dialin.evidence import measured
from dialin.evidence.measured import MeasuredTrial
from dialin.model.evidence import RawWaits, WaitRow
from dialin.model.record import StudyRecord
from dialin.model.trial import Purpose, Trial, TrialState
from dialin.model.verdict import Estimate
from dialin.model.why import WaitSummary, WaitTrial
from dialin.sentences.probe_notes import probe_note_text

_PICOSECONDS_PER_NANOSECOND = 1e3
_PICOSECONDS_PER_MILLISECOND = 1e9

_Collected = tuple[RawWaits, WaitRow]


def summaries(record: StudyRecord) -> list[WaitSummary]:
    """Return the raw waits by candidate, instrument and operation, the largest total of each candidate first.

    Over several trials of one candidate, counts, totals and histograms are added up, and the longest wait is the longest of all
    trials. Percentiles are the means of the trials' percentiles, weighted by their numbers of waits; shares of the total are
    weighted by the totals. The rate per second includes lost waits, assuming the same share of loss for each instrument and
    operation.
    """
    grouped: dict[tuple[str, str, str], list[_Collected]] = {}
    for trial, raw in _collected(record):
        for row in raw.rows:
            if row.count > 0:
                grouped.setdefault((trial.candidate, row.instrument, row.operation), []).append((raw, row))
    order = record.spec.names
    results = [_summary(key, rows) for key, rows in grouped.items() if key[0] in order]
    return sorted(results, key=lambda one: (order.index(one.candidate), -one.total_ms))


def _collected(record: StudyRecord) -> list[tuple[Trial, RawWaits]]:
    # Only completed trials count: an interrupted trial is run again.
    done = [trial for trial in record.trials if trial.state is TrialState.DONE]
    return [(trial, raw) for trial in done if (raw := record.waits.get(trial.id)) is not None]


def _summary(key: tuple[str, str, str], rows: Sequence[_Collected]) -> WaitSummary:
    counts = [row.count for _, row in rows]
    totals = [row.total for _, row in rows]
    by_count = {name: _weighed([getattr(row, name) for _, row in rows], counts) for name in ("p50", "p90", "p99", "p999")}
    times = {"mean": sum(totals) / sum(counts), **by_count, "max": max(row.most for _, row in rows)}
    raw = rows[0][0]
    length = max(len(row.histogram) for _, row in rows)
    histogram = [sum(row.histogram[i] for _, row in rows if i < len(row.histogram)) for i in range(length)]
    seconds = sum(raw.seconds for raw, _ in rows)
    return WaitSummary(
        candidate=key[0],
        instrument=key[1],
        operation=key[2],
        count=sum(counts),
        per_second=sum(row.count * _waits_per_stored_wait(raw) for raw, row in rows) / seconds if seconds > 0 else 0.0,
        total_ms=sum(totals) / _PICOSECONDS_PER_MILLISECOND,
        total_cycles=sum(raw.cycles(row.total) for raw, row in rows),
        worst_share=_weighed([row.worst_share for _, row in rows], totals),
        ten_share=_weighed([row.ten_share for _, row in rows], totals),
        histogram=histogram,
        **{f"{name}_ns": value / _PICOSECONDS_PER_NANOSECOND for name, value in times.items()},
        **{f"{name}_cycles": raw.cycles(value) for name, value in times.items()},
    )


def _waits_per_stored_wait(raw: RawWaits) -> float:
    return (raw.events + raw.lost) / raw.events if raw.events > 0 else 1.0


def _weighed(values: Sequence[float], weights: Sequence[float]) -> float:
    total = sum(weights)
    return sum(v * w for v, w in zip(values, weights, strict=True)) / total if total > 0 else statistics.fmean(values)


def wait_trials(record: StudyRecord, trials: Sequence[MeasuredTrial]) -> list[WaitTrial]:
    """Return the trials that collected raw waits, each with its slowdown against the candidate's throughput without that."""
    clean = measured.throughput(record, trials).levels
    instrumented = {one.trial.id: one for one in measured.of(record, Purpose.WAITS)}
    return [
        WaitTrial(
            candidate=trial.candidate,
            pattern=raw.pattern,
            seconds=raw.seconds,
            events=raw.events,
            lost=raw.lost,
            timer=raw.timer,
            notes=list(map(probe_note_text, raw.notes)),
            ticks_per_second=raw.frequency,
            tps=instrumented[trial.id].transactions if trial.id in instrumented else None,
            slowdown=_slowdown(instrumented.get(trial.id), clean.get(trial.candidate)),
        )
        for trial, raw in _collected(record)
    ]


def _slowdown(one: MeasuredTrial | None, clean: Estimate | None) -> float | None:
    return None if one is None or clean is None or clean.mean <= 0 else 1 - one.transactions / clean.mean
