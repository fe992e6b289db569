"""The profile of a trial as folded stacks, in Parquet: a row for each stack and slice of time, and one for each function.

Functions have numbers in the stacks: of a large server there are 100,000 stacks, each as long as a paragraph.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dialin.model.profile import Profile, Slice, Stack, ThreadKind
from dialin.model.trial import Purpose, Trial
from dialin.store.damaged_study import BAD_ROWS
from dialin.store.series import file_name, made_whole, scan

if TYPE_CHECKING:
    import polars as pl

_SEPARATOR = ";"


_CPU, _WAITS, _CALLS, _NAMES = "cpu", "waits", "calls", "names"
"""What a row is of; a row of a name has it in place of a stack, and its number in place of a slice."""

_ROWS_AT_ONCE = 20_000

_Row = tuple[int, float, float, float, str, str, int, str]


def _schema() -> dict[str, Any]:
    import polars as pl

    return {
        "slice": pl.Int32,
        "began": pl.Float64,
        "ended": pl.Float64,
        "seconds_per_sample": pl.Float64,
        "thread": pl.String,
        "stack": pl.String,
        "samples": pl.Int64,
        "of": pl.String,
    }


def write(path: Path, profile: Profile) -> None:
    """Write a profile to a file, which appears complete or not at all.

    Raises:
        OSError: the file cannot be written.
    """
    import polars as pl

    with made_whole(path) as making:
        rows, frames = _every_row(profile), []
        while some := list(islice(rows, _ROWS_AT_ONCE)):
            frames.append(pl.DataFrame(some, schema=_schema(), orient="row"))
        pl.concat(frames, rechunk=False).write_parquet(making, compression="zstd")


def _parts(profile: Profile) -> dict[str, Profile]:
    every = {_CPU: profile, _WAITS: profile.waits, _CALLS: profile.calls}
    return {of: part for of, part in every.items() if part is not None}


def _every_row(profile: Profile) -> Iterator[_Row]:
    numbers: dict[str, int] = {}
    for of, part in _parts(profile).items():
        yield from _rows(of, part, numbers)
    for name, number in numbers.items():
        yield (number, 0.0, 0.0, 0.0, "", name, 0, _NAMES)


def _rows(of: str, profile: Profile, numbers: dict[str, int]) -> Iterator[_Row]:
    """Yield a row without a thread for each slice, with why nothing was traced in place of a stack, and one for each count."""
    for number, one in enumerate(profile.slices):
        yield (number, one.began, one.ended, profile.per_sample, "", profile.untraced, 0, of)
    for stack in profile.stacks:
        folded_stack = _SEPARATOR.join(str(numbers.setdefault(name, len(numbers))) for name in stack.frames)
        for number, count in enumerate(stack.samples):
            if count:
                one = profile.slices[number]
                yield (number, one.began, one.ended, profile.per_sample, stack.kind.value, folded_stack, count, of)


def read(path: Path) -> Profile | None:
    import polars as pl

    if not path.is_file():
        return None
    try:
        frame = scan(path).collect()
        if "of" not in frame.columns:  # written before waits were traced
            frame = frame.with_columns(of=pl.lit(_CPU))
        _check(frame := frame.select(pl.col(name).cast(kind) for name, kind in _schema().items()))
        names = {str(number): sys.intern(name) for number, name in _rows_of(frame, _NAMES, "slice", "stack")}
        parts = {of: _read_part(_rows_of(frame, of, *_OF_PART), names) for of in (_CPU, _WAITS, _CALLS)}
    except (OSError, pl.exceptions.PolarsError, *BAD_ROWS):
        return None
    profile = parts[_CPU]
    return None if profile is None else replace(profile, waits=parts[_WAITS], calls=parts[_CALLS])


def _check(frame: pl.DataFrame) -> None:
    """Raise ValueError for figures that no profile has, in a file that somebody altered."""
    import polars as pl

    sizes = frame.select(pl.col(pl.Float64).is_finite().all(), pl.col("samples").min() >= 0, pl.col("slice").min() >= 0)
    if any(frame.null_count().row(0)) or not all(sizes.row(0)):
        raise ValueError("it is no profile")


_OF_PART = ("slice", "began", "ended", "seconds_per_sample", "thread", "stack", "samples")


def _rows_of(frame: pl.DataFrame, of: str, *columns: str) -> Iterator[Any]:
    import polars as pl

    return frame.lazy().filter(pl.col("of") == of).select(columns).collect().iter_rows()


def _read_part(rows: Iterable[Any], names: Mapping[str, str]) -> Profile | None:
    """Return what rows of a part have; in files without names the stacks have them."""
    slices: dict[int, Slice] = {}
    counts: dict[tuple[str, str], list[int]] = {}
    untraced, per_sample = "", 0.0
    for number, began, ended, each, thread, stack, samples in rows:
        if thread:
            counts.setdefault((thread, stack), [0] * len(slices))[number] = samples
        else:
            slices[number], untraced, per_sample = Slice(began, ended), stack, each
    if not slices:
        return None
    stacks = tuple(Stack(ThreadKind(thread), _frames(stack, names), tuple(each)) for (thread, stack), each in counts.items())
    return Profile(per_sample, tuple(slices[number] for number in sorted(slices)), stacks, untraced=untraced)


def _frames(stack: str, names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the frames of a stack; a function is in many, and its name in memory once."""
    frames = stack.split(_SEPARATOR)
    return tuple(names[number] for number in frames) if names else tuple(map(sys.intern, frames))


def read_all(directory: Path, trials: Iterable[Trial]) -> dict[int, Profile]:
    """Return the profiles of the trials that were run for one, by trial; those without a readable file are left out."""
    found = {trial.id: read(directory / file_name(trial.id)) for trial in trials if trial.purpose is Purpose.PROFILE}
    return {trial: profile for trial, profile in found.items() if profile is not None}


def folded(profile: Profile) -> str:
    """Return a profile as folded stacks, the kind of thread first: the input of the tools that draw flame graphs."""
    lines = (f"{_SEPARATOR.join((stack.kind, *stack.frames))} {sum(stack.samples)}\n" for stack in profile.stacks)
    return "".join(lines)
