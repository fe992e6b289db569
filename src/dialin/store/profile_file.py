"""The profile of a trial as folded stacks, in Parquet: a row for each stack and slice of time."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dialin.model.profile import Profile, Slice, Stack, ThreadKind
from dialin.model.trial import Purpose, Trial
from dialin.store.series import file_name, scan

if TYPE_CHECKING:
    import polars as pl

_SEPARATOR = ";"


_CPU, _WAITS, _CALLS = "cpu", "waits", "calls"
"""What a row is of."""


def write(path: Path, profile: Profile) -> None:
    """Write a profile to a file, which appears complete or not at all.

    Raises:
        OSError: the file cannot be written.
    """
    import polars as pl

    schema = {
        "slice": pl.Int32,
        "began": pl.Float64,
        "ended": pl.Float64,
        "seconds_per_sample": pl.Float64,
        "thread": pl.String,
        "stack": pl.String,
        "samples": pl.Int64,
        "of": pl.String,
    }
    path.parent.mkdir(exist_ok=True)
    making = path.with_suffix(".making")
    try:
        rows = [row for of, part in _parts(profile).items() for row in _rows(of, part)]
        pl.DataFrame(rows, schema=schema, orient="row").write_parquet(making, compression="zstd")
        making.replace(path)
    except pl.exceptions.PolarsError as error:  # a full disk is reported like this
        raise OSError(errno.EIO, str(error)) from error
    finally:
        making.unlink(missing_ok=True)


def _parts(profile: Profile) -> dict[str, Profile]:
    every = {_CPU: profile, _WAITS: profile.waits, _CALLS: profile.calls}
    return {of: part for of, part in every.items() if part is not None}


def _rows(of: str, profile: Profile) -> Iterator[tuple[int, float, float, float, str, str, int, str]]:
    """Yield a row without a thread for each slice, with why nothing was traced in place of a stack, and one for each count."""
    for number, one in enumerate(profile.slices):
        yield (number, one.began, one.ended, profile.per_sample, "", profile.untraced, 0, of)
    for stack in profile.stacks:
        folded_stack = _SEPARATOR.join(stack.frames)
        for number, count in enumerate(stack.samples):
            if count:
                one = profile.slices[number]
                yield (number, one.began, one.ended, profile.per_sample, stack.kind.value, folded_stack, count, of)


def read(path: Path) -> Profile | None:
    """Return the profile of a file; None if no file can be read."""
    import polars as pl

    if not path.is_file():
        return None
    try:
        frame = scan(path).collect()
        if "of" not in frame.columns:  # written before waits were traced
            frame = frame.with_columns(of=pl.lit(_CPU))
        parts = {of: _read_part(frame.filter(pl.col("of") == of)) for of in (_CPU, _WAITS, _CALLS)}
    except (OSError, pl.exceptions.PolarsError, ValueError, LookupError):
        return None
    profile = parts[_CPU]
    return None if profile is None else replace(profile, waits=parts[_WAITS], calls=parts[_CALLS])


def _read_part(frame: pl.DataFrame) -> Profile | None:
    import polars as pl

    heads = frame.filter(pl.col("thread") == "").sort("slice").select("began", "ended", "seconds_per_sample", "stack").rows()
    if not heads:
        return None
    counted = frame.filter(pl.col("thread") != "").group_by("thread", "stack", maintain_order=True).agg("slice", "samples")
    stacks = []
    for thread, stack, numbers, samples in counted.iter_rows():  # there may be 100,000 long ones: no second copy of all
        counts = [0] * len(heads)
        for number, count in zip(numbers, samples, strict=True):
            counts[number] = count
        stacks.append(Stack(ThreadKind(thread), _frames(stack), tuple(counts)))
    slices = tuple(Slice(began, ended) for began, ended, _, _ in heads)
    _, _, per_sample, untraced = heads[0]
    return Profile(per_sample, slices, tuple(stacks), untraced=untraced)


def _frames(stack: str) -> tuple[str, ...]:
    """Return the frames of a stack; a function is in many, and its name in memory once."""
    return tuple(map(sys.intern, stack.split(_SEPARATOR)))


def read_all(directory: Path, trials: Iterable[Trial]) -> dict[int, Profile]:
    """Return the profiles of the trials that were run for one, by trial; those without a readable file are left out."""
    found = {trial.id: read(directory / file_name(trial.id)) for trial in trials if trial.purpose is Purpose.PROFILE}
    return {trial: profile for trial, profile in found.items() if profile is not None}


def folded(profile: Profile) -> str:
    """Return a profile as folded stacks, the kind of thread first: the input of the tools that draw flame graphs."""
    lines = (f"{_SEPARATOR.join((stack.kind, *stack.frames))} {sum(stack.samples)}\n" for stack in profile.stacks)
    return "".join(lines)
