"""The profile of a trial as folded stacks, in Parquet: a row for each stack and slice of time."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from pathlib import Path

from dialin.model.profile import Profile, Slice, Stack, ThreadKind
from dialin.model.trial import Purpose, Trial
from dialin.store.series import file_name

_SEPARATOR = ";"


def write(path: Path, profile: Profile) -> None:
    """Write a profile to a file, which appears complete or not at all.

    Raises:
        OSError: the file cannot be written.
    """
    import polars as pl

    rows = [
        (number, one.began, one.ended, profile.seconds_per_sample, "", "", 0) for number, one in enumerate(profile.slices)
    ] + [
        (
            *(number, profile.slices[number].began, profile.slices[number].ended, profile.seconds_per_sample),
            *(stack.kind.value, _SEPARATOR.join(stack.frames), count),
        )
        for stack in profile.stacks
        for number, count in enumerate(stack.samples)
        if count
    ]
    schema = {
        "slice": pl.Int32,
        "began": pl.Float64,
        "ended": pl.Float64,
        "seconds_per_sample": pl.Float64,
        "thread": pl.String,
        "stack": pl.String,
        "samples": pl.Int64,
    }
    path.parent.mkdir(exist_ok=True)
    making = path.with_suffix(".making")
    try:
        pl.DataFrame(rows, schema=schema, orient="row").write_parquet(making, compression="zstd")
        making.replace(path)
    except pl.exceptions.PolarsError as error:  # a full disk is reported like this
        raise OSError(errno.EIO, str(error)) from error
    finally:
        making.unlink(missing_ok=True)


def read(path: Path) -> Profile | None:
    """Return the profile of a file; None if no file can be read."""
    import polars as pl

    if not path.is_file():
        return None
    try:
        rows = pl.read_parquet(path).rows()
        slices = {row[0]: Slice(row[1], row[2]) for row in rows if not row[4]}
        counts: dict[tuple[ThreadKind, str], list[int]] = {}
        for number, _, _, _, thread, stack, samples in rows:
            if thread:
                counts.setdefault((ThreadKind(thread), stack), [0] * len(slices))[number] = samples
    except (OSError, pl.exceptions.PolarsError, ValueError, IndexError):
        return None
    if not slices:
        return None
    stacks = tuple(Stack(kind, tuple(stack.split(_SEPARATOR)), tuple(found)) for (kind, stack), found in counts.items())
    return Profile(rows[0][3], tuple(slices[number] for number in sorted(slices)), stacks)


def read_all(directory: Path, trials: Iterable[Trial]) -> dict[int, Profile]:
    """Return the profiles of the trials that were run for one, by trial; those without a readable file are left out."""
    found = {trial.id: read(directory / file_name(trial.id)) for trial in trials if trial.purpose is Purpose.PROFILE}
    return {trial: profile for trial, profile in found.items() if profile is not None}


def folded(profile: Profile) -> str:
    """Return a profile as folded stacks, the kind of thread first: the input of the tools that draw flame graphs."""
    lines = (f"{_SEPARATOR.join((stack.kind, *stack.frames))} {sum(stack.samples)}\n" for stack in profile.stacks)
    return "".join(lines)
