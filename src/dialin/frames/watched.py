"""The frames of probe readings: counters and gauges by trial, figures over time, raw waits and their statistics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from dialin.frames import columns
from dialin.frames.columns import Columns
from dialin.frames.tables import frame, of_trial
from dialin.model.evidence import RawWaits, WaitRow, Watched
from dialin.model.trial import Trial
from dialin.store import series

_PS = 1000.0
"""Picoseconds in a nanosecond."""

WatchedByTrial = Mapping[int, Mapping[str, Watched]]


def counters(trials: Sequence[Trial], watched: WatchedByTrial) -> pl.DataFrame:
    """Return by how much each counter rose over the measured window of each trial."""
    return frame(
        columns.COUNTERS,
        (
            (*of_trial(trial), one.probe, name, rise, one.seconds, rise / one.seconds if one.seconds else None)
            for trial, one in _by_trial(trials, watched)
            for name, rise in one.counters.items()
        ),
    )


def gauges(trials: Sequence[Trial], watched: WatchedByTrial) -> pl.DataFrame:
    """Return the first, last, least, most and mean value of each gauge in the measured window of each trial."""
    return frame(
        columns.GAUGES,
        (
            (*of_trial(trial), one.probe, name, gauge.first, gauge.last, gauge.least, gauge.most, gauge.mean)
            for trial, one in _by_trial(trials, watched)
            for name, gauge in one.gauges.items()
        ),
    )


def _by_trial(trials: Sequence[Trial], watched: WatchedByTrial) -> Iterable[tuple[Trial, Watched]]:
    return ((trial, one) for trial in trials for one in watched.get(trial.id, {}).values())


def waits(trials: Sequence[Trial], waits_of: Mapping[int, RawWaits]) -> pl.DataFrame:
    """Return statistics of the raw waits of each trial, by instrument and operation."""
    return frame(
        columns.WAITS,
        (
            (
                *(*of_trial(trial), row.instrument, row.operation, row.count, raw.seconds),
                *(time / _PS for time in (row.mean, row.p50, row.p90, row.p99, row.p999, row.most, row.total)),
                *(row.worst_share, row.ten_share),
            )
            for trial, raw, row in _wait_rows(trials, waits_of)
        ),
    )


def wait_histograms(trials: Sequence[Trial], waits_of: Mapping[int, RawWaits]) -> pl.DataFrame:
    """Return how many raw waits fell into each power of two of nanoseconds, by instrument and operation."""
    return frame(
        columns.WAIT_HISTOGRAMS,
        (
            (*of_trial(trial), row.instrument, row.operation, float(2**power), float(2 ** (power + 1)), count)
            for trial, _, row in _wait_rows(trials, waits_of)
            for power, count in enumerate(row.histogram)
        ),
    )


def _wait_rows(trials: Sequence[Trial], waits_of: Mapping[int, RawWaits]) -> Iterable[tuple[Trial, RawWaits, WaitRow]]:
    return ((trial, waits_of[trial.id], row) for trial in trials if trial.id in waits_of for row in waits_of[trial.id].rows)


def scan_evidence(trials: Sequence[Trial], directory: Path) -> pl.LazyFrame:
    """Return the figures over time of all trials; a file is read when the frame is collected."""
    time = (pl.col("at") * 1_000_000).round().cast(pl.Int64).cast(columns.TIME).alias("time")
    return _scanned(columns.EVIDENCE, trials, directory, [time])


def scan_waits(trials: Sequence[Trial], directory: Path) -> pl.LazyFrame:
    """Return the raw waits of all trials that collected some, one by one; a file is read when the frame is collected."""
    return _scanned(columns.RAW_WAITS, trials, directory, [])


def _scanned(of: Columns, trials: Sequence[Trial], directory: Path, computed: Sequence[pl.Expr]) -> pl.LazyFrame:
    parts = [frame(of, ()).lazy()]
    for trial in trials:
        path = directory / series.file_name(trial.id)
        if path.is_file():
            values: dict[str, Any] = dict(zip(("trial", "block", "candidate", "purpose"), of_trial(trial), strict=True))
            labels = [pl.lit(value).alias(name) for name, value in values.items()]
            lazy = pl.scan_parquet(path).with_columns(*labels, *computed)
            parts.append(lazy.select(pl.col(name).cast(kind) for name, kind in columns.schema(of).items()))
    return pl.concat(parts)
