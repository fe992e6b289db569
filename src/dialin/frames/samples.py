"""Every second of every trial, labelled with its trial, block and candidate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import polars as pl

from dialin.frames import columns
from dialin.frames.tables import frame, of_trial
from dialin.model.trial import LOST_GAP, LOST_OF_A_RUN, LOST_STOLEN, Trial
from dialin.store.store import Store

_PIECE = 50_000
"""Rows that are read from the store at a time."""


def iterate_frames(store: Store, rows: int = _PIECE) -> Iterator[pl.DataFrame]:
    """Yield the samples of a study in order of trial and second, at most `rows` at a time."""
    trials = {trial.id: trial for trial in store.trials()}
    labels = _labels(trials)
    for piece in store.sample_columns(rows):
        yield _with_trials(pl.DataFrame(piece), labels)


def concatenate_frames(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Return pieces as one frame; they are not copied."""
    return pl.concat([frame(columns.SAMPLES, ()), *parts], rechunk=False)


def _labels(trials: Mapping[int, Trial]) -> pl.DataFrame:
    kinds = columns.schema(columns.SAMPLES)
    names = ("trial", "block", "candidate", "purpose", "state")
    rows = [(*of_trial(trial), str(trial.state)) for trial in trials.values()]
    return pl.DataFrame(rows, schema={name: kinds[name] for name in names}, orient="row")


def _with_trials(piece: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    kinds = columns.schema(columns.SAMPLES)
    joined = (
        piece.with_columns(pl.col("trial").cast(kinds["trial"]))
        .join(labels, on="trial", how="inner", maintain_order="left")
        .with_columns(
            (pl.col("at") * 1_000_000).round().cast(pl.Int64).cast(columns.TIME).alias("time"),
            pl.col("gap").alias("gap_s"),
            _lost().alias("lost"),
        )
    )
    return joined.select(pl.col(name).cast(kind) for name, kind in kinds.items())


def _lost() -> pl.Expr:
    stalled = pl.col("gap") >= pl.max_horizontal(pl.lit(LOST_GAP), LOST_OF_A_RUN * pl.col("seconds"))
    return stalled | (pl.col("stolen").cast(pl.Float64).fill_null(0.0) >= LOST_STOLEN)
